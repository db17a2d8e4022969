"""Makes plain text of what was written for a terminal: no escape sequences, no overwritten lines.

Each class takes text in pieces of any size and gives the same whatever the pieces are.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"""\x1b (?:
        \[ [0-?]* [ -/]* [@-~]                          # colours, movements, modes
      | [\]PX^_] [^\x07\x1b]* (?: \x07 | \x1b\\ )       # titles, clipboard, links, device strings
      | [ -/]* [0-OQ-WYZ\\`-~]                          # the rest: one final character
    )""",
    re.VERBOSE,
)
_BEGUN = re.compile(r"\x1b (?: \[ [0-?]* [ -/]* | [\]PX^_] [^\x07\x1b]* \x1b? | [ -/]* )? \Z", re.VERBOSE)
_LONGEST = 8_192
"""Characters of an escape sequence that are waited for; one that is longer stays in the text."""


class Unescaped:
    """Takes escape sequences out of text."""

    def __init__(self) -> None:
        self._begun = ""

    def feed(self, text: str) -> str:
        """The text without what is a sequence; the beginning of one is held back."""
        if not self._begun and "\x1b" not in text:
            return text
        text = self._begun + text
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        end = begun.start() if begun is not None else len(text)
        self._begun = text[end:]
        return _SEQUENCE.sub("", text[:end])

    def rest(self) -> str:
        """What is still held back, at the end."""
        begun, self._begun = self._begun, ""
        return begun


class Ends:
    """The first and last characters of a text that may be too long to be kept.

    Args:
        head: Characters kept of the beginning.
        tail: Characters kept of the end; not more than `head`.

    Attributes:
        length: Characters there were.
        head: The beginning; all of the text while `length` is not over its size.
        tail: The end.
    """

    def __init__(self, head: int, tail: int) -> None:
        self.length = 0
        self.head = ""
        self.tail = ""
        self._sizes = head, tail

    def add(self, text: str) -> None:
        """Go on with a text."""
        self._extend(len(text), text, text)

    def join(self, other: Ends) -> None:
        """Go on with a text of which the ends are known, of the same sizes."""
        whole = other.length <= len(other.head)
        self._extend(other.length, other.head, other.head if whole else other.tail)

    def _extend(self, length: int, head: str, tail: str) -> None:
        most, last = self._sizes
        if self.length < most:
            self.head += head[: most - self.length]
        self.tail = (self.tail + tail[-last:])[-last:]
        self.length += length


class Overwritten:
    r"""Keeps of each line what stands after its last ``\r``, as a terminal would show a progress bar.

    Args:
        head: Characters kept of the beginning.
        tail: Characters kept of the end.
    """

    def __init__(self, head: int, tail: int) -> None:
        self._sizes = head, tail
        self._done = Ends(head, tail)
        self._line = Ends(head, tail)
        self._returned = False

    def feed(self, text: str) -> None:
        """Go on with a text."""
        if self._returned and text.startswith("\n"):
            self._returned = False
        text = text.replace("\r\n", "\n")
        if not self._returned and "\r" not in text:
            lines, newline, text = text.rpartition("\n")
            if newline:
                self._line.add(lines + newline)
                self._end_line()
            self._line.add(text)
            return
        first, *more = text.split("\n")
        self._write(first)
        for line in more:
            self._line.add("\n")
            self._end_line()
            self._write(line)

    def text(self) -> Ends:
        """All of it so far; nothing may be fed after this."""
        self._end_line()
        return self._done

    def _end_line(self) -> None:
        self._done.join(self._line)
        self._line = Ends(*self._sizes)
        self._returned = False

    def _write(self, text: str) -> None:
        shown = text.rstrip("\r")
        if shown:
            _, returned, shown = shown.rpartition("\r")
            if returned or self._returned:
                self._line = Ends(*self._sizes)
            self._line.add(shown)
            self._returned = False
        self._returned = self._returned or text.endswith("\r")
