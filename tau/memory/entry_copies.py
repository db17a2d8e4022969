"""The folder of an entry: copies of memory files as they were and as they were written."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tau.display import one_line, visible
from tau.memory import files
from tau.memory.entries import FILES, WRITTEN, Change, digest, split
from tau.sessions import file_system as fs

TEMPORARY = ".new"
"""How the name of a folder ends that is not complete yet, or not wanted any more; a dot begins it."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def copy_all(
    inner: int, before: Mapping[str, bytes], written: Mapping[str, bytes], history: int, newest: str
) -> None:
    """Keep memory files in the open folder of an entry; what it wrote is on the disk when this returns.

    A copy that the entry before has as well is no second file but a second name of that one: what a change
    leaves alone takes no room, and the disk need not be waited for.

    Args:
        inner: The folder.
        before: All files as they are, by their titles.
        written: Those that will be written.
        history: The open folder of all entries.
        newest: The id of the entry before; empty where there is none.

    Raises:
        OSError: The disk refused.
    """
    _copy(inner, FILES, before, _Kept(history, newest))
    _copy(inner, WRITTEN, written, None)


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
        descriptor = os.open(path, _READ)
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
    sides: list[bytes | None] = []
    for copy, wanted in (
        (change.copy(FILES, folder), change.before),
        (change.copy(WRITTEN, folder), change.after),
    ):
        data = None if wanted is None else kept_bytes(copy)
        if digest(data) != wanted:
            yield f"{title}: the copy {one_line(str(copy))} is damaged or gone"
            return
        sides.append(data)
    before, after = (title if wanted else "/dev/null" for wanted in (change.before, change.after))
    yield from unified(sides[0], sides[1], before, after)


def unified(before: bytes | None, after: bytes | None, old: str, new: str) -> Iterator[str]:
    """The lines of a unified diff of a file, safe to show; none when the two look the same.

    Args:
        before: What it held; None for no file.
        after: What it holds.
        old: What the one is called, safe to show.
        new: What the other is called.
    """
    one, other = (
        visible((data or b"").decode("utf-8", "replace")).splitlines(keepends=True)
        for data in (before, after)
    )
    for line in difflib.unified_diff(one, other, old, new):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


class _Kept:
    """The copies of an entry, to be linked.

    Args:
        history: The open folder of all entries.
        newest: The entry's id.
    """

    def __init__(self, history: int, newest: str) -> None:
        self._ways = [f"{newest}/{kept}/" for kept in (WRITTEN, FILES)] if newest else []
        self._history = history

    def link(self, title: str, data: bytes, name: str, directory: int) -> bool:
        """Give a copy that holds just this a second name; False when there is none, or it cannot have one."""
        for way in self._ways:
            with suppress(OSError):
                descriptor = os.open(way + title, _READ, dir_fd=self._history)
                try:
                    same = os.fstat(descriptor).st_size == len(data) and fs.read_all(descriptor) == data
                finally:
                    os.close(descriptor)
                if same:
                    os.link(
                        way + title,
                        name,
                        src_dir_fd=self._history,
                        dst_dir_fd=directory,
                        follow_symlinks=False,
                    )
                    return True
        return False


def _copy(inner: int, kept: str, contents: Mapping[str, bytes], earlier: _Kept | None) -> None:
    folder = fs.make_directory(kept, inner)
    opened: dict[str, int] = {}
    new: list[tuple[str, int]] = []
    try:
        for title, data in contents.items():
            scope, name = split(title)
            if scope not in opened:
                opened[scope] = fs.make_directory(scope, folder)
            if earlier is None or not earlier.link(title, data, name, opened[scope]):
                fs.write_new(name, opened[scope], data)
                new.append((name, opened[scope]))
        # All are written first and synced then: a file system writes its journal once for all of them.
        for name, directory in new:
            files.sync_file(name, directory)
        for descriptor in (*opened.values(), folder):
            files.sync(descriptor)
    finally:
        for descriptor in (*opened.values(), folder):
            os.close(descriptor)
