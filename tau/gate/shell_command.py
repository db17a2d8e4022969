"""One simple command, as the judge of shell commands hands it on, and what its arguments do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command that would run.

    Attributes:
        words: The words as the shell would make them, quotes removed; a computed one roughly as written.
        loose: Which words, by index, become other words when the command runs: globs, tildes, expansions.
        more: Whether further words, which nobody has seen yet, come from the output of another command.
        free: Whether it has no effect of its own and needs no approval: ``true``, ``nice`` before others.
    """

    words: tuple[str, ...]
    loose: frozenset[int] = frozenset()
    more: bool = False
    free: bool = False

    @property
    def name(self) -> str:
        """The name of the program, without the directories before it."""
        return self.words[0].rpartition("/")[2]


class Effect(NamedTuple):
    """A word that does more than a star means.

    Attributes:
        place: The word's index in the command; a pattern with its star behind that word allows it.
        why: A short phrase.
    """

    place: int
    why: str
