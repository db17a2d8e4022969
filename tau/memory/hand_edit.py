"""A file that was edited after a change of it: what that edit did, and what undoing the change would do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tau.display import one_line
from tau.memory import applying, entry_copies, files
from tau.memory.entries import FILES, WRITTEN, Change, Entry, digest
from tau.memory.places import MemoryPlaces

MOST_LINES = 40
"""Lines of one difference that are shown."""

MOST_CHARACTERS = 400
"""Characters of a line of a difference that are shown."""

AS_LEFT, AS_NOW, AS_BEFORE = "as that change left it", "as it is now", "as it was before"

_LARGEST = 400_000


@dataclass(frozen=True)
class HandEdit:
    """A file that holds neither what a change wrote nor what was there before it.

    Attributes:
        title: The file.
        path_now: Where it is.
        path_written: Where it is kept as the change wrote it; None when the change removed it.
        path_before: Where it is kept as it was before; None when it was not there.
        kept: Each version, `AS_NOW` first, and where it is, on one line.
        edit: What was changed since, as the lines of a unified diff, safe to show and not too many.
        back: What undoing the change would do to the file as it is, in the same form.
        unreadable: Why what is there now cannot be kept, so that nothing may be put in its place; or empty.
    """

    title: str
    path_now: Path
    path_written: Path | None
    path_before: Path | None
    kept: tuple[tuple[str, str], ...]
    edit: tuple[str, ...]
    back: tuple[str, ...]
    unreadable: str

    @property
    def differences(self) -> list[tuple[str, tuple[str, ...]]]:
        """What differs, each with a heading."""
        found = [(f"Changed since in {one_line(self.title)}:", self.edit)]
        return [*found, ("What undo would do to it:", self.back)] if self.back else found


@dataclass(frozen=True)
class _Version:
    """A file as it was or is.

    Attributes:
        called: Which version it is.
        path: Where it is; None when it was not there.
        data: What it holds; None where that is nothing, or cannot be read.
        expected: The digest of what it must hold.
    """

    called: str
    path: Path | None
    data: bytes | None
    expected: str | None

    @property
    def place(self) -> str:
        """Where it is, on one line."""
        return one_line(str(self.path), 1_000) if self.path and self.expected else "not there"


def look(where: MemoryPlaces, entry: Entry, change: Change) -> HandEdit:
    """What there is to know of a file that was edited since."""
    title, path = change.title, applying.path_of(where, change.title)
    data, unreadable = None, ""
    try:
        data = applying.read(where, title)
    except OSError as error:
        unreadable = files.reason(error)
    written = _copy(AS_LEFT, change.copy(WRITTEN, entry.folder), change.after)
    before = _copy(AS_BEFORE, change.copy(FILES, entry.folder), change.before)
    now = _Version(AS_NOW, path, data, "" if unreadable else digest(data))
    place = one_line(str(path), 1_000) if unreadable else now.place
    kept = ((AS_NOW, place), (AS_LEFT, written.place), (AS_BEFORE, before.place))
    if unreadable:
        edit, back = [f"{place} cannot be read: {unreadable}"], []
    else:
        edit, back = _difference(title, written, now), _difference(title, now, before)
    return HandEdit(title, path, written.path, before.path, kept, tuple(edit), tuple(back), unreadable)


def _copy(called: str, path: Path, expected: str | None) -> _Version:
    if expected is None:
        return _Version(called, None, None, None)
    return _Version(called, path, entry_copies.kept_bytes(path), expected)


def _difference(title: str, old: _Version, new: _Version) -> list[str]:
    """The lines of a unified diff, or one that says why there are none."""
    for version in (old, new):
        if digest(version.data) != version.expected:
            return [f"the copy {version.place} is damaged or gone"]
        if version.data is not None and len(version.data) > _LARGEST:
            return [f"too large to be compared here: {version.place} has {len(version.data):,} bytes"]
    names = [
        "/dev/null" if version.data is None else f"{one_line(title)} {version.called}"
        for version in (old, new)
    ]
    lines = list(entry_copies.unified(old.data, new.data, *names))
    if not lines:
        return ["only what cannot be seen differs, such as how its lines end"]
    shown = [_cut(line) for line in lines[:MOST_LINES]]
    if more := len(lines) - len(shown):
        at = " and ".join(version.place for version in (old, new) if version.data is not None)
        shown.append(f"… {more:,} more line{'' if more == 1 else 's'}; all of it is in {at}")
    return shown


def _cut(line: str) -> str:
    more = len(line) - MOST_CHARACTERS
    return line if more <= 0 else f"{line[:MOST_CHARACTERS]}… {more:,} more characters"
