"""Finds words in lines of the screen, also where they go on from one line to the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """A line of the screen as text that can be searched.

    Attributes:
        text: What stands in it.
        start: Where the text begins in the line, in characters: behind an indentation, a number or a sign.
        gap: What stood between it and the line before, when it goes on with that one; else None.
    """

    text: str
    start: int = 0
    gap: str | None = None


class Span(NamedTuple):
    """A part of a line: its number, and from which character up to which one."""

    row: int
    start: int
    end: int


def pattern_for(words: str) -> re.Pattern[str] | None:
    """What matches the words: capitals only where there are some; None for no words."""
    if not words.strip():
        return None
    return re.compile(re.escape(words), 0 if words != words.lower() else re.IGNORECASE)


def joined(rows: Iterable[Row]) -> str:
    """The text of some lines, those that were only wrapped put together again."""
    pieces: list[str] = []
    for row in rows:
        pieces += ["\n" if row.gap is None else row.gap, row.text]
    return "".join(pieces[1:])


def places(rows: Sequence[Row], pattern: re.Pattern[str]) -> list[list[Span]]:
    """Every match in some lines, from the top, with the parts of the lines that it takes up."""
    found: list[list[Span]] = []
    begins: list[int] = []
    place = 0
    for number, row in enumerate(rows):
        if number:
            place += 1 if row.gap is None else len(row.gap)
        begins.append(place)
        place += len(row.text)
    number = 0
    for match in pattern.finditer(joined(rows)):
        while number + 1 < len(rows) and begins[number + 1] <= match.start():
            number += 1
        spans = []
        for at in range(number, len(rows)):
            if begins[at] >= match.end():
                break
            row = rows[at]
            first, last = max(0, match.start() - begins[at]), min(len(row.text), match.end() - begins[at])
            if first < last:
                spans.append(Span(at, row.start + first, row.start + last))
        found.append(spans)
    return found
