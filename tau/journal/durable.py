"""Whether what is saved in a folder will still be there for the next session, as far as that can be known."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux says what lies where; elsewhere there is none, and nothing is known."""

_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_LAYERS = ("overlay", "aufs", "fuse.fuse-overlayfs")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def read_only(folder: Path) -> str:
    """Why nothing can be saved in a folder, which need not be there yet; empty when something can."""
    there = _existing(folder)
    try:
        if os.statvfs(there).f_flag & os.ST_RDONLY:
            return "its file system is mounted read-only"
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(there, os.W_OK | os.X_OK) else "it takes no writes from this user"


def doubt(folder: Path) -> str:
    """Why a folder may be gone by the next session, to follow its name; empty when nothing says so.

    Args:
        folder: Need not exist yet.
    """
    kind = _file_system(_existing(folder))
    if kind in _IN_MEMORY:
        return f"lies in memory ({kind}), which is empty after the next start of the machine or container"
    if kind in _LAYERS:
        return f"lies in the layer of a container ({kind}), which goes when the container does"
    return ""


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there; its real path."""
    for there in (folder, *folder.parents):
        if there.exists():
            return there.resolve()
    return Path("/")


def _file_system(real: Path) -> str:
    """The kind of the file system that a path is on, as the kernel calls it; empty when that is not known."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    found, depth = "", -1
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields, behind = before.split(), after.split()
        if not separator or len(fields) < 5 or not behind:
            continue
        point = Path(_ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        if (real == point or point in real.parents) and len(point.parts) >= depth:
            found, depth = behind[0], len(point.parts)  # a later one lies over an earlier one
    return found
