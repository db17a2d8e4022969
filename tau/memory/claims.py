"""What came from outside and stands in prompts: a text that repeats it has its origin, whoever says it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tau.memory.documents import front_matter

_LEAST = 3
"""Words from which on a line is known again also within other words; a shorter one only as a whole line."""

_NO_WORD = re.compile(r"[\W_]+")
_HEADING = re.compile(r"\s*#{1,6}\s")


@dataclass(frozen=True)
class Claim:
    """A text that was noted after content from outside.

    Attributes:
        title: The memory file that holds it, or what else does.
        origin: Where the content had come from.
        text: The text, with front matter or without.
    """

    title: str
    origin: str
    text: str


def repeated(text: str, claims: Iterable[Claim]) -> list[Claim]:
    """The claims of which a text repeats a line, in other marks, letters and line breaks too.

    A heading of one or two words says nothing of its own and does not count.
    """
    lines = _lines(text)
    return [claim for claim in claims if _share(lines, _lines(claim.text))]


def _share(ours: list[str], theirs: list[str]) -> bool:
    same = {line for line in set(ours) & set(theirs) if len(theirs) == 1 or not _is_common(line)}
    return bool(same) or _within(ours, theirs) or _within(theirs, ours)


def _is_common(line: str) -> bool:
    """Whether a line is a single word, as lists are full of."""
    return " " not in line and line.isascii()


def _within(lines: list[str], others: list[str]) -> bool:
    """Whether one of the lines stands in the words of the others."""
    words = f" {' '.join(others)} "
    return any(line.count(" ") >= _LEAST - 1 and f" {line} " in words for line in lines)


def _lines(text: str) -> list[str]:
    """The words of each line that has any."""
    found = []
    for line in front_matter(text.removeprefix("\ufeff"))[1].splitlines():
        words = _NO_WORD.sub(" ", line).strip().casefold()
        if words and not (_HEADING.match(line) and words.count(" ") < _LEAST - 1):
            found.append(words)
    return found
