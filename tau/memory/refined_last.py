"""When a project's memory was last refined, beside its history, whether that changed something or not."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from datetime import UTC, datetime

from tau.sessions import file_system as fs

STAMP = "refined"
"""The file: the time at which the newest refinement began."""


def claim(history: int, rest: float) -> float:
    """Write down that a refinement begins now, unless one began less than `rest` seconds ago.

    Args:
        history: The open folder of the history.
        rest: Seconds; 0 for one that a person asked for.

    Returns:
        Seconds until one may begin; 0.0 when it was written down.

    Raises:
        OSError: The disk refused.
    """
    descriptor = fs.open_for_append(STAMP, history)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another window begins one in this very moment
            return rest
        now = datetime.now(UTC)
        age = (now - begun).total_seconds() if (begun := _read(descriptor)) else rest
        if 0 <= age < rest:
            return rest - age
        os.ftruncate(descriptor, 0)
        fs.write_all(descriptor, f"{now.isoformat()}\n".encode())
        return 0.0
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> datetime | None:
    """The time in the open file; None where there is none that can be understood."""
    with suppress(ValueError):
        begun = datetime.fromisoformat(fs.read_at(descriptor, 0, 100).decode().strip())
        return begun if begun.tzinfo else None
    return None
