"""Opens the private folders of tau's state that keep what files of a project held."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tau.config.places import make_private
from tau.sessions import file_system as fs


def open_kept(state: Path, names: Sequence[str]) -> int:
    """A descriptor of a folder below the state directory, made where it is missing; no link is followed.

    Args:
        state: The state directory.
        names: The folders down to it.

    Raises:
        OSError: It cannot be made or opened, or something else has a name of it.
    """
    make_private(state)
    descriptor = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        try:
            inner, _ = fs.open_or_make_directory(name, descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def write_kept(name: str, folder: int, data: bytes) -> None:
    """Write a file of such a folder, whole or not at all; the disk has it, as what it replaces may go next.

    Raises:
        OSError: It cannot be written.
    """
    fs.write_temporary(fs.temporary_name(name), folder, data, sync=True)
    fs.replace(fs.temporary_name(name), name, folder)
    with suppress(OSError):  # where folders cannot be synced
        os.fsync(folder)
