"""What an undo of memory says: what it took back, or why it took nothing back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.entries import WRITTEN, Entry
from tau.memory.hand_edit import AS_BEFORE, AS_LEFT, AS_NOW, HandEdit

MOST_FILES = 4
"""Files whose differences are shown; further ones are named."""


@dataclass(frozen=True)
class Undone:
    """What an undo did, or would do.

    Attributes:
        entry: The change that is taken back.
        restored: Titles of the files that hold again what they held before it.
        removed: Titles of the files that it had added, and that are gone.
        already: Titles of the files that were as before it already.
        kept: What keeps the edits by hand that it went over; None where there were none.
    """

    entry: Entry
    restored: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    kept: Entry | None = None

    @property
    def lines(self) -> list[str]:
        """What was done, as the person is told: a line for the change, then one for each file."""
        source = self.entry.source
        return [
            f"Undone: the change of {self.entry.when}, session '{one_line(source.session)}', {source.how}",
            *(f"    put back {one_line(title)}" for title in self.restored),
            *(f"    removed {one_line(title)}" for title in self.removed),
            *(f"    {one_line(title)} was as before already" for title in self.already),
            *(_kept(self.kept) if self.kept else ()),
        ]


class NotNewest(MemoryRefused):
    """The change that was to be undone is not the newest one that stands; nothing was touched.

    Attributes:
        stands: Whether it stands below a newer one; else it was taken back already, or its copies are gone.
    """

    def __init__(self, wanted: str, there: Sequence[Entry]) -> None:
        entry = next((entry for entry in there if entry.id == wanted), None)
        self.stands = entry is not None and not entry.undone
        if entry is None:
            super().__init__("That change of memory is not in the history any more, so it is not undone")
        elif entry.undone:
            super().__init__(f"The change of {entry.when} was taken back already")
        else:
            newer = next(other for other in there if not other.undone)
            names = ", ".join(one_line(change.title) for change in newer.changes)
            super().__init__(
                f"The change of {entry.when} is not undone: memory was changed again since, by session"
                f" '{one_line(newer.source.session)}' ({one_line(names, 200)})",
                "/memory undo takes that back first",
            )


class UndoRefused(MemoryRefused):
    """Files hold neither what the change wrote nor what was there before it; nothing was touched.

    Attributes:
        entry: The change.
        edits: The files.
        may_go_over: Whether the change may be taken back all the same, with the edits kept in the history.
    """

    def __init__(self, entry: Entry, edits: Sequence[HandEdit]) -> None:
        first, others = edits[0], len(edits) - 1
        more = f" (and {others} more of its files)" if others else ""
        (_, now), (_, written), (_, before) = first.kept
        super().__init__(
            f"The change of {entry.when} is not undone: {one_line(first.title)} was changed since{more}",
            f"now: {now}; {AS_LEFT}: {written}; before it: {before}."
            " Make it one of the last two and undo again",
        )
        self.entry = entry
        self.edits = tuple(edits)
        self.may_go_over = not any(edit.unreadable for edit in edits)

    def told(self, anyway: str) -> list[str]:
        """All that a person decides by, a line each: where each version is, what differs, what can be done.

        Args:
            anyway: The command that takes the change back all the same.
        """
        lines = [self.message]
        for edit in self.edits[:MOST_FILES]:
            lines += [f"{name}: {path}" for name, path in edit.kept]
            for heading, difference in edit.differences:
                lines += [heading, *difference]
        lines += [
            f"Changed since as well: {one_line(edit.title)}, {AS_NOW}: {edit.kept[0][1]}"
            for edit in self.edits[MOST_FILES:]
        ]
        return [*lines, *self.ways(anyway)]

    def ways(self, anyway: str) -> list[str]:
        """What can be done, a sentence each.

        Args:
            anyway: As for `told`.
        """
        one = "the file" if len(self.edits) == 1 else "each of the files"
        ways = [f"Nothing was touched. Make {one} {AS_LEFT} or {AS_BEFORE}, and undo again"]
        if not self.may_go_over:
            return ways
        return [f"{ways[0]}; or {anyway} goes over the edit, which is kept in the history."]


def _kept(edits: Entry) -> Iterator[str]:
    """What is said of edits by hand that an undo went over, a line each."""
    for edit in edits.changes:
        title = one_line(edit.title)
        if edit.after is None:
            yield f"    {title} had been deleted by hand"
        else:
            path = one_line(str(edit.copy(WRITTEN, edits.folder)), 1_000)
            yield f"    your edit of {title} is kept: {path}"
