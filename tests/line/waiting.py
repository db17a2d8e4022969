"""Waits for what a process writes, with a deadline."""

from __future__ import annotations

import os
import select
import subprocess
import time

DEADLINE = 60.0


def read_until(process: subprocess.Popen[bytes], wanted: bytes) -> bytes:
    """Read stdout until `wanted` has come; what was read."""
    assert process.stdout is not None
    end = time.monotonic() + DEADLINE
    seen = b""
    while wanted not in seen:
        ready, _, _ = select.select([process.stdout], [], [], max(end - time.monotonic(), 0))
        assert ready, f"{wanted!r} did not come within {DEADLINE:.0f} s, but {seen[-2000:]!r}"
        chunk = os.read(process.stdout.fileno(), 65_536)
        assert chunk, f"stdout ended before {wanted!r}: {seen[-2000:]!r}"
        seen += chunk
    return seen
