"""Reads chosen lines, or a part of one, from text of any size without holding more than is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Line(NamedTuple):
    """A line, or the part of it that was asked for.

    Attributes:
        number: Counted from 1.
        begin: Characters before `text` in the line.
        text: The part, without the newline.
        length: Characters of the whole line.
    """

    number: int
    begin: int
    text: str
    length: int


class LineReader:
    """Lines of a text that comes in chunks.

    Args:
        chunks: The text; no chunk is empty. Only one of them is held at a time.
    """

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._chunk = next(chunks, "")
        self._at = 0
        self._number = 1
        self._ended_with_newline = True

    @property
    def number(self) -> int:
        """The line that comes next."""
        return self._number

    def skip_to(self, number: int) -> bool:
        """Go to the beginning of a line further on; False when the text ends before it."""
        while self._chunk:
            newlines = self._chunk.count("\n", self._at)
            if self._number + newlines >= number:
                for _ in range(number - self._number):
                    self._at = self._chunk.index("\n", self._at) + 1
                self._number = number
                return self.more()
            self._number += newlines
            self._next_chunk()
        if not self._ended_with_newline:
            self._number += 1
        return False

    def line(self, *, begin: int, keep: int) -> Line:
        """The next line, of which `keep` characters from the one after `begin` on are kept."""
        parts: list[str] = []
        length = 0
        while self._chunk:
            end = self._chunk.find("\n", self._at)
            stop = end if end >= 0 else len(self._chunk)
            first = max(self._at, self._at + begin - length)
            last = min(stop, self._at + begin + keep - length)
            if first < last:
                parts.append(self._chunk[first:last])
            length += stop - self._at
            if end >= 0:
                self._at = end + 1
                break
            self._next_chunk()
        line = Line(self._number, begin, "".join(parts), length)
        self._number += 1
        return line

    def more(self) -> bool:
        """Whether there is another line."""
        if self._chunk and self._at >= len(self._chunk):
            self._next_chunk()
        return bool(self._chunk)

    def count(self) -> int:
        """Read to the end and return how many lines the text has."""
        if not self.more():
            return self._number - 1
        number = self._number
        while self._chunk:
            number += self._chunk.count("\n", self._at)
            self._next_chunk()
        return number - 1 if self._ended_with_newline else number

    def _next_chunk(self) -> None:
        self._ended_with_newline = self._chunk.endswith("\n")
        self._chunk = next(self._chunks, "")
        self._at = 0
