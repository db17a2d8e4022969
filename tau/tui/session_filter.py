"""Tells which sessions fit what is typed, and where in their titles and names it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tau.input.fuzzy import best, fold, match

if TYPE_CHECKING:
    from tau.tui.known_session import Known

SIMILAR = 30
"""Sessions that are shown in which the letters only stand in their order."""
LEAST_SIMILAR = 0.55
"""What share of the best score such a session has at least."""


class SessionFilter:
    """What is typed, as it is looked for.

    Attributes:
        text: As it was typed.
        words: Its words; a session fits that has all of them.
        letters: Its letters, to be found with others between.
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.words: Sequence[str] = fold(text).split()
        self.letters = "".join(text.split())

    def fits(self, known: Known) -> bool:
        """Whether a session has every word."""
        return all(word in known.words for word in self.words)

    def is_of_id(self, known: Known) -> bool:
        """Whether a word is in the id of a session."""
        folded = fold(known.session_id)
        return any(word in folded for word in self.words)

    def marks(self, known: Known, folded: str) -> Sequence[int]:
        """The places of what is typed in the title or the name of a session, which was folded."""
        if not self.words:
            return ()
        if self.fits(known):
            spans = [(folded.find(word), len(word)) for word in self.words]
            return sorted({place for at, count in spans if at >= 0 for place in range(at, at + count)})
        lies = match(self.letters, folded, folded)
        return lies.positions if lies is not None else ()

    def similar(self, sessions: Iterable[Known]) -> list[Known]:
        """The sessions with the letters in their order in title or name, close together; the best first."""
        least = LEAST_SIMILAR * best(self.letters)
        found = []
        for known in sessions:
            lies = match(self.letters, known.title, known.folded) or match(self.letters, known.name)
            if lies is not None and lies.score >= least:
                found.append((known, lies.score))
        found.sort(key=lambda pair: -pair[1])
        return [known for known, _ in found[:SIMILAR]]
