"""Directories of tasks: what of them can be marked, and whether one is gone and not only out of reach.

A directory on a disk that is not mounted, or that a container does not have, is missing, too. So a task keeps
on which file system its directory was, and where that was mounted: only what is missing on that very one is
gone, and only where the folder that it was in is there and has other things in it: an empty one may be where
something is mounted at other times.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from tau.display import one_line
from tau.errors import TaskRefused
from tau.tasks.imports.project import within


class Disk(msgspec.Struct, frozen=True):
    """A file system as it is mounted.

    Attributes:
        at: Where.
        device: Its number.
    """

    at: str
    device: int


def disk_of(directory: Path) -> Disk | None:
    """The file system that a directory is on.

    Args:
        directory: A real path.

    Returns:
        None where that cannot be said, or its path is no text that leads back to it.
    """
    try:
        str(directory).encode()
        at = next(folder for folder in (directory, *directory.parents) if os.path.ismount(folder))
        return Disk(str(at), directory.stat().st_dev)
    except (OSError, ValueError, StopIteration):
        return None


def is_gone(directory: str, disk: Disk) -> bool:
    """Whether a directory is gone from its file system, which is mounted as it was.

    Args:
        directory: Its path, as it was.
        disk: As `disk_of` told it then.
    """
    try:
        at, above = Path(disk.at), Path(directory).parent
        folder = above.lstat()
        if not at.is_mount() or folder.st_dev != disk.device:
            return False
        if not stat.S_ISDIR(folder.st_mode) or not any(above.iterdir()):
            return False
    except (OSError, ValueError):
        return False
    try:
        os.lstat(directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def place_in(root: Path, path: str) -> tuple[Path, str]:
    """The file of a directory that a path means.

    Args:
        root: The real path of the directory.
        path: Relative to it, or absolute.

    Returns:
        Its real path, and what is kept of it.

    Raises:
        TaskRefused: It leads out of the directory, or can be no file.
    """
    shown = one_line(path, 120)
    if not path.strip():
        raise TaskRefused("A file to be marked needs a path", "relative to the directory tau works in")
    try:
        real = Path(os.path.realpath(root / path))
        place = within(str(real), str(root))
        if place is None and real != root:
            raise TaskRefused(f"{shown} leads out of {one_line(str(root))}", "only files in it are marked")
        (place or "").encode()
        is_directory = place is None or real.is_dir()
    except ValueError as error:  # a NUL, or bytes that are no UTF-8
        raise TaskRefused(f"'{shown}' cannot be the path of a file") from error
    except OSError as error:  # too long for one, or in a folder that may not be entered
        raise TaskRefused(f"'{shown}' cannot be looked at: {error.strerror or error}") from error
    if place is None or is_directory:
        raise TaskRefused(f"{shown} is a directory", "mark the files in it that were looked at")
    return real, place
