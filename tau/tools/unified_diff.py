"""Unified differences of texts, exact to the last character, and quick on long files."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

CONTEXT = 3
"""Unchanged lines shown before and after a change."""

_MOST_COMPARISONS = 4_000_000
"""Two pieces with more pairs of lines than this are not compared line by line but shown as replaced."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What tells two texts apart.

    Attributes:
        text: The unified difference, empty when they are equal; each line but the last ends with a newline.
        added: How many lines the new text has that the old one has not.
        removed: And the other way round.
    """

    text: str
    added: int
    removed: int

    def counts(self) -> str:
        """How many lines it adds and removes, as a phrase."""
        lines = "line" if self.added == 1 else "lines"
        return f"{self.added:,} {lines} added, {self.removed:,} removed"


class _Block(NamedTuple):
    """Lines `start` to `end` of the old text are replaced by lines `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


def difference(before: str | None, after: str, name: str) -> Difference:
    """The unified difference of two texts.

    Args:
        before: The old text, or None where there was no file.
        after: The new text.
        name: The file, relative or absolute.
    """
    old, new = _lines(before or ""), _lines(after)
    blocks = list(_blocks(old, new))
    added = sum(block.new_end - block.new_start for block in blocks)
    removed = sum(block.end - block.start for block in blocks)
    if not blocks and before is not None:
        return Difference("", 0, 0)
    end = "\t" if " " in name else ""  # or else other programs cut the name at the space
    rows = ["--- /dev/null" if before is None else f"--- a/{name}{end}", f"+++ b/{name}{end}"]
    for hunk in _hunks(blocks):
        rows += _rows(hunk, old, new)
    return Difference("\n".join(rows), added, removed)


def _lines(text: str) -> list[str]:
    """Lines with their newline; only the last one may lack it."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Block]:
    """What differs, in order."""
    start = _common(old, new)
    ends = _common(old[start:][::-1], new[start:][::-1])
    olds, news = old[start : len(old) - ends], new[start : len(new) - ends]
    for piece in _pieces(olds, news):
        for block in _compared(olds, news, piece):
            if block.end > block.start or block.new_end > block.new_start:
                yield _Block(*(number + start for number in block))


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[_Block]:
    """The whole when it is short, else what is between lines that are in both texts once and in order."""
    if len(old) * len(new) <= _MOST_COMPARISONS:
        yield _Block(0, len(old), 0, len(new))
        return
    anchors = [(-1, -1), *_anchors(old, new), (len(old), len(new))]
    for (start, new_start), (end, new_end) in pairwise(anchors):
        yield _Block(start + 1, end, new_start + 1, new_end)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run of lines, in order in both, of those that each text has once."""
    once = [line for line, count in Counter(old).items() if count == 1]
    counts = Counter(new)
    places = {line: number for number, line in enumerate(new) if counts[line] == 1}
    where = {line: number for number, line in enumerate(old)}
    pairs = sorted((where[line], places[line]) for line in once if line in places)
    ends: list[int] = []  # of runs of each length, where the best one ends in the new text
    last: list[int] = []  # and the number of its last pair
    before = [-1] * len(pairs)
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before[number] = last[length - 1] if length else -1
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _compared(old: Sequence[str], new: Sequence[str], piece: _Block) -> Iterator[_Block]:
    olds, news = old[piece.start : piece.end], new[piece.new_start : piece.new_end]
    if olds == news:
        return
    if len(olds) * len(news) > _MOST_COMPARISONS:
        yield piece
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, olds, news, False).get_opcodes():
        if kind != "equal":
            yield _Block(
                piece.start + start, piece.start + end, piece.new_start + new_start, piece.new_start + new_end
            )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    for number, (line, line2) in enumerate(zip(one, other, strict=False)):
        if line != line2:
            return number
    return min(len(one), len(other))


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Blocks that are shown together, since the lines around them touch."""
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block.start - hunk[-1].end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _rows(hunk: Sequence[_Block], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    start = max(0, hunk[0].start - CONTEXT)
    end = min(len(old), hunk[-1].end + CONTEXT)
    new_start = hunk[0].new_start - (hunk[0].start - start)
    new_end = hunk[-1].new_end + (end - hunk[-1].end)
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
    at = start
    for block in hunk:
        yield from _marked(" ", old[at : block.start])
        yield from _marked("-", old[block.start : block.end])
        yield from _marked("+", new[block.new_start : block.new_end])
        at = block.end
    yield from _marked(" ", old[at:end])


def _range(start: int, end: int) -> str:
    length = end - start
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
