"""Which run of this machine's kernel this is: what was written in this run, no power cut has taken since."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from zlib import crc32


@cache
def boot_id() -> str:
    """A text no other run has; empty where the system has no such thing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def boot_number() -> int:
    """A short form of `boot_id`; 0 where the system has none."""
    return crc32(boot_id().encode())
