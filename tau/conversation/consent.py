"""Changes of memory that a refinement proposed and that wait for the person's yes, as long as tau runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tau.display import one_line, visible
from tau.memory.applying import MemoryChanged, read
from tau.memory.desk import Desk
from tau.memory.entries import Entry, Source, digest
from tau.memory.proposals import Checked
from tau.tools.unified_diff import difference

UNDONE_BY = "/refine undo takes it back"


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of one file: what it is to hold, the digest of what it must hold, why, and why it waits."""

    wanted: bytes | None
    expected: str | None
    sentence: str
    reason: str


class Waiting:
    """What waits for the person's yes, a change a file. May be used from any thread.

    Args:
        desk: The memory of the directory.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._changes: dict[str, _Change] = {}
        self._source = Source("", 0, "manual")
        self._lock = threading.Lock()

    def take(self, checked: Checked, source: Source) -> None:
        """Have what needs consent wait. What is changed without it waits no longer.

        Args:
            checked: A proposal that was carried out but for that.
            source: What it came from.
        """
        with self._lock:
            for title in checked.wanted:
                self._changes.pop(title, None)
            for title, reason in checked.consent.items():
                self._changes[title] = _Change(
                    checked.wanted[title], checked.expected[title], checked.sentences[title], reason
                )
                self._source = Source(source.session, source.messages, "manual")

    def carry_out(self, given_up: Callable[[], bool]) -> tuple[list[str], Entry | None]:
        """Make the changes that wait, all as one; a file that was changed since is left as it is.

        Args:
            given_up: Whether nobody waits for it any more; once it has begun it is carried out.

        Returns:
            What is to be said of files that were left, a line each, and the change, if there was one.

        Raises:
            GivenUp: `given_up` said so before it began.
            MemoryRefused: It cannot be written; they wait on.
        """
        left: list[str] = []
        entry = None
        with self._lock:
            while self._changes:
                try:
                    entry = self._desk.history().change(
                        {title: change.wanted for title, change in self._changes.items()},
                        sentences={title: change.sentence for title, change in self._changes.items()},
                        source=self._source,
                        expected={title: change.expected for title, change in self._changes.items()},
                        given_up=given_up,
                    )
                except MemoryChanged as error:
                    del self._changes[error.title]
                    left.append(f"{one_line(error.title)} was changed since, so it was left as it is")
                else:
                    self._changes.clear()
        return left, entry

    def lines(self, titles: Collection[str] | None = None) -> list[str]:
        """What waits, each with its difference; empty when nothing does.

        Args:
            titles: Only these files.
        """
        lines: list[str] = []
        with self._lock:
            waiting = dict(self._changes)
        for title, change in waiting.items():
            if titles is None or title in titles:
                lines.append(f"Waits for your yes: {one_line(title)}, {change.reason} — {change.sentence}")
                lines += self._difference(title, change)
        return [*lines, "/refine accept carries it out"] if lines else []

    def _difference(self, title: str, change: _Change) -> list[str]:
        try:
            now = read(self._desk.where(), title)
        except OSError:
            now = None
        if digest(now) != change.expected:
            return ["    it was changed since, so it will be left as it is"]
        before = None if now is None else visible(now.decode("utf-8", "replace"))
        after = visible((change.wanted or b"").decode("utf-8", "replace"))
        return difference(before, after, one_line(title)).text.splitlines()


def changed(entry: Entry) -> list[str]:
    """What a change did, a line a file."""
    return [
        f"    {change.kind} {one_line(change.title)}" + (f" — {change.sentence}" if change.sentence else "")
        for change in entry.changes
    ]
