"""A search through history, letter by letter: what was read for one letter is there for the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tau.input import fuzzy
from tau.input.history_file import SHOWN, Entry

KEPT_CHARACTERS = 32_000_000
"""Texts that are searched at most, in characters, the newest first."""

FUZZY_FROM = 3
"""Letters of a query from which on scattered ones are found, too."""

FUZZY_SHARE = 0.6
"""Of the best score there is, what scattered letters must reach: over a long text any query can be laid."""


@dataclass(frozen=True)
class Hit:
    """A text that was found.

    Attributes:
        entry: The text.
        positions: Where in `Entry.text` the query's letters stand, rising.
    """

    entry: Entry
    positions: Sequence[int]


@dataclass(frozen=True)
class Found:
    """What a search has found so far.

    Attributes:
        hits: Texts that have every word of the query, newest first; then those with its letters scattered,
            newest first. No text stands twice.
        complete: Whether no more can be found by asking again.
    """

    hits: Sequence[Hit]
    complete: bool


class HistorySearch:
    """One search, from the moment it is opened until it is left.

    Args:
        entries: Begins to read, newest first; None where it has read and has no text yet.
        settle: Waits until what was sent before is on disk.
    """

    def __init__(self, entries: Callable[[], Iterator[Entry | None]], settle: Callable[[], None]) -> None:
        self._begin = entries
        self._settle = settle
        self._source: Iterator[Entry | None] | None = None
        self._read: list[tuple[Entry, str]] = []
        self._seen: set[tuple[str, str]] = set()
        self._characters = 0
        self._ended = False
        self._query: str | None = None
        self._at = 0
        self._exact: list[Hit] = []
        self._scattered: list[Hit] = []

    def find(self, query: str, limit: int = 50, seconds: float = 0.1) -> Found:
        """The newest texts that a query finds. Blocks for about `seconds` at most.

        Asked again with the same query it goes on where it stopped. An empty query finds every text.

        Args:
            query: Words to be found in any order, without regard to case and accents.
            limit: How many hits at most.
            seconds: When to stop looking.
        """
        if query != self._query:
            self._query, self._at, self._exact, self._scattered = query, 0, [], []
        ends = time.monotonic() + seconds
        words = fuzzy.fold(query).split()
        while len(self._exact) < limit and time.monotonic() < ends:
            if self._at >= len(self._read):
                if self._ended:
                    break
                self._read_one()
                continue
            entry, folded = self._read[self._at]
            self._at += 1
            if (places := _places(words, folded)) is not None:
                self._exact.append(Hit(entry, places))
            elif len(self._scattered) < limit and (scattered := _scattered(words, entry.text, folded)):
                self._scattered.append(Hit(entry, scattered))
        complete = self._ended and self._at >= len(self._read)
        return Found([*self._exact, *self._scattered][:limit], complete)

    def _read_one(self) -> None:
        """Read on; a text that is known already is left out."""
        if self._source is None:
            self._settle()
            self._source = self._begin()
        try:
            entry = next(self._source)
        except StopIteration:
            self._ended = True
            return
        if entry is None:
            return
        key = (entry.text, entry.file)
        if key not in self._seen:
            self._seen.add(key)
            self._read.append((entry, fuzzy.fold(entry.text)))
            self._characters += len(entry.text)
            self._ended = self._characters > KEPT_CHARACTERS


def _places(words: Sequence[str], folded: str) -> list[int] | None:
    """Where the words are, or None when one is missing."""
    places: set[int] = set()
    for word in words:
        at = folded.find(word)
        if at < 0:
            return None
        places.update(range(at, at + len(word)))
    return sorted(places)


def _scattered(words: Sequence[str], text: str, folded: str) -> list[int] | None:
    """Where the letters of the words are, or None when they are missing or too far apart."""
    if sum(map(len, words)) < FUZZY_FROM:
        return None
    places: set[int] = set()
    for word in words:
        found = fuzzy.match(word, text[:SHOWN], folded[:SHOWN])
        if found is None or found.score < FUZZY_SHARE * fuzzy.best(word):
            return None
        places.update(found.positions)
    return sorted(places)
