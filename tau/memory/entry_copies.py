"""The folder of an entry: copies of memory files as they were and as they were written."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tau.display import one_line, visible
from tau.memory.entries import FILES, WRITTEN, Change, digest, split
from tau.sessions import file_system as fs

TEMPORARY = ".new"
"""How the name of a folder ends that is not complete yet, or not wanted any more; a dot begins it."""


def copy_all(inner: int, before: Mapping[str, bytes], written: Mapping[str, bytes]) -> None:
    """Keep memory files in the open folder of an entry.

    Args:
        inner: The folder.
        before: All files as they are, by their titles.
        written: Those that will be written.

    Raises:
        OSError: The disk refused.
    """
    _copy(inner, FILES, before)
    _copy(inner, WRITTEN, written)


def drop(name: str, history: int) -> None:
    """Remove the folder of an entry that is none: at once, so that nobody ever sees half of it."""
    hidden = name if name.startswith(".") else f".{name}{TEMPORARY}"
    with suppress(OSError):  # what is left is removed by the next change
        if hidden != name:
            fs.replace(name, hidden, history)
        shutil.rmtree(hidden, ignore_errors=True, dir_fd=history)


def kept_bytes(path: Path) -> bytes | None:
    """A copy in an entry; None when it is not there or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return fs.read_all(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def difference(change: Change, folder: Path) -> Iterator[str]:
    """What a change did to its file, as the lines of a unified diff, safe to show."""
    title = one_line(change.title)
    sides: list[list[str]] = []
    for copy, wanted in (
        (change.copy(FILES, folder), change.before),
        (change.copy(WRITTEN, folder), change.after),
    ):
        data = b"" if wanted is None else kept_bytes(copy)
        if data is None or (wanted is not None and digest(data) != wanted):
            yield f"{title}: the copy {one_line(str(copy))} is damaged or gone"
            return
        sides.append(visible(data.decode("utf-8", "replace")).splitlines(keepends=True))
    before = title if change.before else "/dev/null"
    after = title if change.after else "/dev/null"
    for line in difflib.unified_diff(sides[0], sides[1], before, after):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _copy(inner: int, kept: str, contents: Mapping[str, bytes]) -> None:
    folder = fs.make_directory(kept, inner)
    opened: dict[str, int] = {}
    try:
        for title, data in contents.items():
            scope, name = split(title)
            if scope not in opened:
                opened[scope] = fs.make_directory(scope, folder)
            fs.write_new(name, opened[scope], data)
    finally:
        for descriptor in (*opened.values(), folder):
            os.close(descriptor)
