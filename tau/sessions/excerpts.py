"""The excerpt of a text around what a search found in it: plain, on one line, and where the words stand.

The words are looked for in the folded text, as the search itself does, and shown as they were written: what
folding changed is led back to whole characters, each with the accents that follow it.
"""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tau.sessions.searching import (
    UNSPACED,
    WORD_CHARACTER,
    Term,
    clean,
    flat,
    fold,
    split_words,
    unspaced,
)

LENGTH = 160
"""Characters an excerpt shows in all, the marks of omission aside."""

BEFORE = 40
"""Characters it shows before the first hit."""

MOST_PARTS = 3
"""Places of the text that an excerpt shows, where the words stand far from each other."""

_MOST_TERMS = 20
_MOST_HITS = 50
"""Hits of one word that are looked at."""

_LONGEST = 4 * LENGTH
"""Characters of a part after which even what was searched for is cut."""

_CHUNK = 128
"""Characters that are folded at a time, to know where they were."""

_BEGINS = f"(?:(?<={UNSPACED})|(?<!{WORD_CHARACTER}))"
_ENDS = f"(?:(?={UNSPACED})|(?!{WORD_CHARACTER}))"
_BETWEEN = f"[^{WORD_CHARACTER[1:]}*"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text.

    Attributes:
        text: One line, nothing in it that could steer a terminal.
        marks: Where the words stand in it that were searched for: pairs of begin and end.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    term: int


def excerpt(text: str, terms: Sequence[Term]) -> Excerpt:
    """What a text says around the words that were searched for.

    It shows the place where most of the words stand close together, and the others at places of their own.
    """
    folded = _Folded(clean(text))
    hits = sorted(_hits(folded.text, terms[:_MOST_TERMS]), key=lambda hit: (hit.start, hit.end))
    parts = _parts(hits)
    shown = _Shown(folded.original)
    for part in parts:
        spans = [folded.span(hit.start, hit.end) for hit in part]
        firsts = {hit.term: span for hit, span in zip(reversed(part), reversed(spans), strict=True)}
        needed = max(end for _, end in firsts.values())
        shown.add(spans, needed, room=LENGTH // len(parts), before=BEFORE // len(parts))
    if not parts:
        shown.add([(0, 0)], 0, room=LENGTH, before=0)
    return shown.excerpt()


def _hits(folded: str, terms: Sequence[Term]) -> Iterator[_Hit]:
    words = split_words(folded)
    for number, term in enumerate(terms):
        found: list[_Hit] = []
        if term.literal:
            literal = r"\s+".join(map(re.escape, term.literal.split(" ")))
            found = _found(literal, folded, number)
        if not found and term.tokens:
            found = _found(_run_of(term), words, number)
        yield from found


def _found(pattern: str, text: str, number: int) -> list[_Hit]:
    matches = itertools.islice(re.finditer(pattern, text), _MOST_HITS)
    return [_Hit(*match.span(), number) for match in matches]


def _run_of(term: Term) -> str:
    """The pattern of a term's tokens, one after the other."""
    pieces = []
    for place, token in enumerate(term.tokens, start=1):
        piece = re.escape(token)
        if not unspaced().match(token):
            goes_on = term.prefix and place == len(term.tokens)
            piece = f"{_BEGINS}{piece}{'' if goes_on else _ENDS}"
        pieces.append(piece)
    return _BETWEEN.join(pieces)


def _parts(hits: Sequence[_Hit]) -> list[list[_Hit]]:
    """The hits to show, in groups that stand close together, in the order of the text."""
    parts: list[list[_Hit]] = []
    wanted = {hit.term for hit in hits}
    while wanted and len(parts) < MOST_PARTS:
        part = _closest([hit for hit in hits if hit.term in wanted])
        wanted -= {hit.term for hit in part}
        parts.append(part)
    return sorted(parts, key=lambda part: part[0].start)


def _closest(hits: Sequence[_Hit]) -> list[_Hit]:
    """The first hits within reach of each other that are of most terms."""
    best: Sequence[_Hit] = ()
    most = end = 0
    for place, first in enumerate(hits):
        while end < len(hits) and hits[end].start < first.start + LENGTH - BEFORE:
            end += 1
        if (count := len({hit.term for hit in hits[place:end]})) > most:
            best, most = hits[place:end], count
    return list(best)


class _Folded:
    """A text, folded, with the way back.

    Args:
        original: The text, without lone surrogates.
    """

    def __init__(self, original: str) -> None:
        self.original = original
        self._starts: list[int] = []
        self._folded_starts: list[int] = []
        if original.isascii():
            self.text = original.lower()
            return
        pieces: list[str] = []
        start = length = 0
        while start < len(original):
            end = _boundary(original, start + _CHUNK)
            self._starts.append(start)
            self._folded_starts.append(length)
            pieces.append(fold(original[start:end]))
            length += len(pieces[-1])
            start = end
        self.text = "".join(pieces)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that a part of the folded text was made from, in whole characters."""
        if not self._starts:
            return start, end
        return self._character(start)[0], self._character(max(start, end - 1))[1]

    def _character(self, place: int) -> tuple[int, int]:
        chunk = bisect.bisect_right(self._folded_starts, place) - 1
        start, length = self._starts[chunk], self._folded_starts[chunk]
        while start < len(self.original):
            end = _boundary(self.original, start + 1)
            length += len(fold(self.original[start:end]))
            if length > place:
                return start, end
            start = end
        return len(self.original), len(self.original)


def _boundary(text: str, place: int) -> int:
    """The first place from `place` on that is not within a character and its accents."""
    while place < len(text) and (
        unicodedata.combining(text[place])
        or "\u1160" <= text[place] <= "\u11ff"  # the later parts of a Hangul syllable
        or text[place] in "\u200d\ufe0e\ufe0f"
        or text[place - 1] == "\u200d"
    ):
        place += 1
    return min(place, len(text))


class _Shown:
    """An excerpt in the making."""

    def __init__(self, original: str) -> None:
        self._original = original
        self._text = ""
        self._marks: list[tuple[int, int]] = []
        self._reached = 0

    def add(self, spans: Sequence[tuple[int, int]], needed: int, *, room: int, before: int) -> None:
        """Show a part of the original.

        Args:
            spans: The hits in it, in order.
            needed: Where it may end at the earliest.
            room: Characters it has, if that is not too few for what is needed.
            before: Characters of them that come before the first hit.
        """
        text = self._original
        start = self._start(spans[0][0], before)
        end = _boundary(text, min(len(text), start + _LONGEST, max(start + room, needed)))
        if start > self._reached:
            self._text = f"{self._text.rstrip()} … " if self._text else "…"
        at = max(start, self._reached)
        for begin, stop in spans:
            shown = flat(text[begin : min(stop, end)]).strip() if at <= begin < end else ""
            if shown:  # else another hit may begin there that can be seen
                self._say(text[at:begin])
                self._mark(shown)
                at = min(stop, end)
        self._say(text[at:end])
        self._reached = max(end, at)

    def excerpt(self) -> Excerpt:
        """What there is now."""
        rest = "…" if self._reached < len(self._original) else ""
        return Excerpt(f"{self._text.rstrip()}{rest}", tuple(self._marks))

    def _start(self, hit: int, before: int) -> int:
        start = max(0, hit - before)
        if start <= self._reached:
            return self._reached
        space = self._original.find(" ", start, hit)
        return space + 1 if space >= 0 else min(_boundary(self._original, start), hit)

    def _say(self, part: str) -> None:
        shown = flat(part)
        self._text += shown.lstrip() if not self._text or self._text.endswith((" ", "…")) else shown

    def _mark(self, shown: str) -> None:
        begin = len(self._text)
        self._text += shown
        self._marks.append((begin, len(self._text)))
