"""Tells a paste that a terminal does not mark from keys, by how much comes at once, and gathers it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

GAP_SECONDS = 0.1
"""What comes this soon behind a part of a paste belongs to it."""

LEAST_CHARACTERS = 256
"""So many characters in one read are a paste: a person's keys do not pile up so far on a slow line."""

MOST_LINES = 8
"""And so are more lines than these with something in each."""

_SEQUENCE = re.compile(r"\x1b(?:\[M...|\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
"""What keys, the mouse and the terminal itself send; none of it is text, however much comes at once."""

_REPORT = re.compile(r"\x1b\[(?:(?P<mouse><\d+;-?\d+;-?\d+[Mm])|[IO]|\?\d+;\d+\$y|\d+;\d+R)")
"""What a terminal tells of the mouse, of its focus, and in answer to a question."""
_REPORT_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Gathered:
    """A paste, and what came with it.

    Attributes:
        reports: What the terminal told of itself right before and behind it.
        text: The paste.
        enter: The Enter behind a paste of one line, as where a program types a message and sends it.
    """

    reports: str
    text: str
    enter: str


class Burst:
    """Gathers what comes at once, for as long as it keeps coming. Nothing in it acts as a key.

    Args:
        clock: Seconds that only rise.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._parts: list[str] = []
        self._came = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a paste is being gathered."""
        return bool(self._parts)

    @property
    def is_over(self) -> bool:
        """Whether one is, and nothing more of it comes."""
        return self.is_open and self._clock() - self._came >= GAP_SECONDS

    def take(self, read: str) -> None:
        """Begin a paste with the characters of a read, or go on with it."""
        self._parts.append(read)
        self._came = self._clock()

    def end(self) -> Gathered:
        """What was gathered; nothing is from now on."""
        whole, self._parts = "".join(self._parts), []
        first, last = 0, len(whole)
        reports: list[re.Match[str]] = []
        while found := _REPORT.match(whole, first):
            reports.append(found)
            first = found.end()
        behind: list[re.Match[str]] = []
        while last > first:
            begin = whole.rfind("\x1b", max(first, last - _REPORT_LENGTH), last)
            if begin < 0 or not (found := _REPORT.fullmatch(whole, begin, last)):
                break
            behind.append(found)
            last = begin
        told = "".join(each.group() for each in [*reports, *reversed(behind)] if not each["mouse"])
        text = whole[first:last]
        line = text.rstrip("\r\n")
        if "\r" in line or "\n" in line:
            return Gathered(told, text, "")
        return Gathered(told, line, text[len(line) :])


def is_pasted(read: str) -> bool:
    """Whether nobody typed these characters, which were there at once."""
    if len(read) <= 2 * MOST_LINES:
        return False
    text = _SEQUENCE.sub("", read)
    lines = text.replace("\r", "\n").split("\n")
    if sum(map(bool, map(str.strip, lines))) > MOST_LINES:
        return True
    return sum(map(str.isprintable, text)) >= LEAST_CHARACTERS
