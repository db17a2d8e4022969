"""What a model knows of memory in a conversation: what it was shown of the files, and what it wrote."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tau.memory.claims import Claim
from tau.memory.documents import Document
from tau.memory.entries import Entry
from tau.memory.goals import NOTES_SHOWN, Goal
from tau.memory.loading import Part

GOAL_NOTES = "a note on the goal"
"""What a note on the goal is called where a text repeats it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What of memory stands in a prompt.

    Attributes:
        whole: By title the digests of the files of which all is loaded.
        unseen: Those of the others.
        claims: What of it was noted after content from outside.
    """

    whole: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    claims: Sequence[Claim] = ()


NOTHING = Shown()
"""A prompt without memory."""


def shown(documents: Sequence[Document], parts: Sequence[Part], goal: Goal | None) -> Shown:
    """What stands in the prompt that these files, loaded so, and this goal are part of."""
    cut = {part.title for part in parts if not part.whole}
    notes = goal.notes[-NOTES_SHOWN:] if goal is not None else ()
    return Shown(
        whole={each.title: each.digest for each in documents if each.title not in cut},
        unseen={each.title: each.digest for each in documents if each.title in cut},
        claims=[
            *(Claim(each.title, each.origin, each.text) for each in documents if each.origin),
            *(Claim(GOAL_NOTES, note.origin, note.text) for note in notes if note.origin),
        ],
    )


class ModelKnows:
    """Keeps it from turn to turn. May be used from any thread."""

    def __init__(self) -> None:
        self._whole: dict[str, str] | None = None
        self._unseen: Mapping[str, str] = {}
        self._claims: dict[Claim, None] = {}
        self._lock = threading.Lock()

    def take(self, now: Shown) -> None:
        """This stands in the prompt from now on. What came from outside was heard all the same before."""
        with self._lock:
            self._whole = dict(now.whole)
            self._unseen = now.unseen
            self._claims |= dict.fromkeys(now.claims)

    def wrote(self, entry: Entry) -> None:
        """It made this change, so it knows what the files hold."""
        with self._lock:
            if self._whole is None:
                return
            for change in entry.changes:
                self._whole.pop(change.title, None)
                if change.after:
                    self._whole[change.title] = change.after

    def noted(self, goal: Goal) -> None:
        """It made the last note on a goal."""
        with self._lock:
            if goal.notes and (origin := goal.notes[-1].origin):
                self._claims[Claim(GOAL_NOTES, origin, goal.notes[-1].text)] = None

    @property
    def whole(self) -> dict[str, str] | None:
        """By title the digests of the files that it has seen all of; None before there was a prompt."""
        with self._lock:
            return None if self._whole is None else dict(self._whole)

    @property
    def unseen(self) -> Mapping[str, str]:
        """Those of the files of which it has seen nothing, or not all."""
        with self._lock:
            return self._unseen

    @property
    def claims(self) -> list[Claim]:
        """What it was told after content from outside, in this prompt or one before."""
        with self._lock:
            return list(self._claims)
