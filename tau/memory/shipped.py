"""The documents of behaviour that come with tau, each handed over once: from then on it is the person's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import files
from tau.memory.places import SHARED, MemoryPlaces
from tau.sessions import file_system as fs

FOLDER = Path(__file__).parent / "shipped"

SEEDED = ".seeded"
"""The file beside the global memory that lists what was handed over, one name a line."""


def seed(where: MemoryPlaces) -> list[str]:
    """Write each shipped document that was never handed over and whose name is free to the global memory.

    One that was edited, adopted or deleted is not written again.

    Returns:
        The titles of those written.

    Raises:
        MemoryRefused: The folder or its list of names cannot be used; what was written is named in it.
    """
    shipped = sorted(FOLDER.glob("*.md"))
    written: list[str] = []
    try:
        if _handed_over(where).issuperset(path.name for path in shipped):
            return []
        with files.locked(where), files.folder(where, SHARED) as folder:
            record = fs.open_for_append(SEEDED, folder)
            try:
                _hand_over(shipped, folder, record, written)
            finally:
                os.close(record)
    except OSError as error:
        done = f"; written: {', '.join(written)}" if written else ""
        raise MemoryRefused(
            f"The documents that come with tau cannot be written to {one_line(str(where.shared))}:"
            f" {files.reason(error)}{done}"
        ) from error
    return [f"global/{name}" for name in written]


def _handed_over(where: MemoryPlaces) -> set[str]:
    """The names in the list; none when there is no list yet."""
    try:
        with files.folder(where, SHARED) as folder:
            return _names(files.read(SEEDED, folder) or b"")
    except FileNotFoundError:
        return set()


def _names(listed: bytes) -> set[str]:
    return {line.strip() for line in listed.decode("utf-8", "replace").splitlines()}


def _hand_over(shipped: Sequence[Path], folder: int, record: int, written: list[str]) -> None:
    """Write what is due to an open folder, and record it; `written` grows with each file."""
    listed = fs.read_all(record)
    if listed and not listed.endswith(b"\n"):
        fs.write_all(record, b"\n")
    for path in shipped:
        if path.name in _names(listed):
            continue
        if files.write_whole(path.name, folder, path.read_bytes()):
            written.append(path.name)  # else it is the person's own file of that name
        fs.write_all(record, path.name.encode() + b"\n")
