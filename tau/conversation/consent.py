"""Changes of memory that a refinement proposed and that wait for the person's yes, as long as tau runs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tau.display import one_line, visible
from tau.errors import MemoryRefused
from tau.memory.applying import MemoryChanged, read
from tau.memory.desk import Desk
from tau.memory.entries import Entry, Source, digest
from tau.memory.proposals import Checked
from tau.tools.unified_diff import difference

UNDONE_BY = "/refine undo takes it back"
ACCEPTED_BY = "/refine accept carries it out"
LOST = "Memory was not changed, as tau was left before your yes, and the change is kept nowhere:"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingChange:
    """A change of a memory file that waits for the person's yes; all of it is safe to show.

    Attributes:
        title: ``global/NAME.md`` or ``project/NAME.md``.
        reason: Why it waits, in a few words.
        sentence: What changes and why.
        difference: What it would do to the file as it is now, as a diff; a line that says why nothing when
            that was changed since.
        proposal: The number of the proposal that it is a part of; each has another one.
    """

    title: str
    reason: str
    sentence: str
    difference: str
    proposal: int

    @property
    def line(self) -> str:
        """What it is, in one line."""
        return f"{self.title}, {self.reason} — {self.sentence}"


class NotShown(MemoryRefused):
    """Something waits that the person was not shown when they said yes; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(
            "What waits for your yes is not what you were shown, so no memory file was changed",
            "look at it and say yes to that",
        )


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of one file: what it is to hold, the digest of what it must hold, why, and why it waits."""

    wanted: bytes | None
    expected: str | None
    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Proposal:
    """What of a proposal waits, and what was carried out at once: the digests of the files it left."""

    number: int
    changes: dict[str, _Change]
    beside: dict[str, str]

    @property
    def expected(self) -> dict[str, str | None]:
        """What files must hold for it to be carried out; what left a file that waits may be in the others."""
        return {**{title: change.expected for title, change in self.changes.items()}, **self.beside}


class Waiting:
    """What waits for the person's yes: the changes of a proposal stand or go together. For any thread.

    Args:
        desk: The memory of the directory.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._proposals: list[_Proposal] = []
        self._numbers = itertools.count(1)
        self._shown: set[int] = set()
        self._source = Source("", 0, "manual")
        self._lock = threading.Lock()

    def take(self, checked: Checked, source: Source) -> list[str]:
        """Have what needs consent wait. What is proposed anew for a file ends what waits with that file.

        Args:
            checked: A proposal that was carried out but for that.
            source: What it came from.

        Returns:
            The files whose changes wait no longer, though the new proposal has none for them.
        """
        with self._lock:
            ended = [
                each
                for each in self._proposals
                if not checked.wanted.keys().isdisjoint({**each.changes, **each.beside})
            ]
            self._proposals = [each for each in self._proposals if each not in ended]
            if checked.consent:
                self._proposals.append(_parted(checked, next(self._numbers)))
                self._source = Source(source.session, source.messages, "manual")
        return [title for each in ended for title in each.changes if title not in checked.wanted]

    def carry_out(
        self, given_up: Callable[[], bool], listed: Sequence[WaitingChange] | None = None
    ) -> tuple[list[str], Entry | None]:
        """Make the changes that wait, all as one; of a proposal one of whose files was changed since, none.

        Args:
            given_up: Whether nobody waits for it any more; once it has begun it is carried out.
            listed: What the person says yes to; None for all that `changes` has given.

        Returns:
            What is to be said of files that were left, a line each, and the change, if there was one.

        Raises:
            NotShown: Something else waits; nothing was changed.
            GivenUp: `given_up` said so before it began.
            MemoryRefused: It cannot be written; they wait on.
        """
        left: list[str] = []
        entry = None
        with self._lock:
            shown = self._shown if listed is None else {change.proposal for change in listed}
            if any(each.number not in shown for each in self._proposals):
                raise NotShown
            while changes := self._changes():
                try:
                    entry = self._desk.history().change(
                        {title: change.wanted for title, change in changes.items()},
                        sentences={title: change.sentence for title, change in changes.items()},
                        source=self._source,
                        expected={
                            title: must for each in self._proposals for title, must in each.expected.items()
                        },
                        given_up=given_up,
                    )
                except MemoryChanged as error:
                    proposal = next(each for each in self._proposals if error.title in each.expected)
                    left += self._end(proposal, error.title)
                else:
                    self._proposals.clear()
        return left, entry

    def changes(self) -> list[WaitingChange]:
        """What waits, a change a file, each with its difference to what the file holds. Reads files.

        It is for the person to see: from now on a yes may be for it.
        """
        with self._lock:
            waiting = [*self._proposals]
            self._shown = {each.number for each in waiting}
        return [
            WaitingChange(
                title=one_line(title),
                reason=change.reason,
                sentence=change.sentence,
                difference=self._difference(title, change, behind=self._is_behind(each)),
                proposal=each.number,
            )
            for each in waiting
            for title, change in each.changes.items()
        ]

    def lines(self, titles: Collection[str] | None = None) -> list[str]:
        """What waits, each with its difference; empty when nothing does.

        Args:
            titles: Only these files.
        """
        shown = None if titles is None else set(map(one_line, titles))
        return listed([change for change in self.changes() if shown is None or change.title in shown])

    def lost(self) -> list[str]:
        """What is said of all that waits when tau ends, which keeps none of it."""
        with self._lock:
            waiting = self._changes()
        named = [
            f"    {one_line(title)} — {one_line(change.sentence, 200)}" for title, change in waiting.items()
        ]
        return [LOST, *named] if named else []

    def _changes(self) -> dict[str, _Change]:
        """All that waits, by file: no two proposals have one in common. The lock is held."""
        return {title: change for each in self._proposals for title, change in each.changes.items()}

    def _end(self, proposal: _Proposal, changed: str) -> list[str]:
        """A proposal waits no longer, since one of its files was changed. Returns what is to be said."""
        self._proposals.remove(proposal)
        others = ", ".join(one_line(title) for title in proposal.changes if title != changed)
        said = [f"{one_line(changed)} was changed since, so it was left as it is"]
        return [*said, f"    and {others} with it: these changes go together"] if others else said

    def _is_behind(self, proposal: _Proposal) -> bool:
        """Whether a file that was carried out with a proposal does not hold that any more."""
        return any(self._now(title)[1] != must for title, must in proposal.beside.items())

    def _now(self, title: str) -> tuple[bytes | None, str | None]:
        try:
            now = read(self._desk.where(), title)
        except OSError:
            now = None
        return now, digest(now)

    def _difference(self, title: str, change: _Change, *, behind: bool) -> str:
        now, known_by = self._now(title)
        if known_by != change.expected or behind:
            return "    it, or a file it goes with, was changed since, so it will be left as it is"
        before = None if now is None else visible(now.decode("utf-8", "replace"))
        after = visible((change.wanted or b"").decode("utf-8", "replace"))
        return difference(before, after, one_line(title)).text


def _parted(checked: Checked, number: int) -> _Proposal:
    return _Proposal(
        number,
        {
            title: _Change(checked.wanted[title], checked.expected[title], checked.sentences[title], reason)
            for title, reason in checked.consent.items()
        },
        {
            title: known_by
            for title, data in checked.wanted.items()
            if title not in checked.consent and (known_by := digest(data))
        },
    )


def listed(waiting: Sequence[WaitingChange]) -> list[str]:
    """Changes that wait, each with its difference, and what carries them out; empty when there are none."""
    lines: list[str] = []
    for change in waiting:
        lines += [f"Waits for your yes: {change.line}", *change.difference.splitlines()]
    return [*lines, ACCEPTED_BY] if lines else []


def changed(entry: Entry) -> list[str]:
    """What a change did, a line a file."""
    return [
        f"    {change.kind} {one_line(change.title)}" + (f" — {change.sentence}" if change.sentence else "")
        for change in entry.changes
    ]
