"""A line of text as it may stand in Markdown, as it was typed, and the marker that goes on with a list."""

from __future__ import annotations

import re

from tau.display import one_line
from tau.errors import JournalRefused

WHOLE = 1_000_000
"""As a limit of characters: nothing is cut of what a person was shown, or of what they wrote."""

_BLOCK_START = re.compile(
    r"#{1,6}(?:\s|\Z)|[-*+](?:\s|\Z)|>|`{3}|~{3}|<|=+\s*\Z|\[[ xX]\](?:\s|\Z)|(?:[-_*]\s*){3,}\Z"
)
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|\Z)")
_NUMBER_KEPT = re.compile(r"(\d{1,9})\\([.)])(?=\s|\Z)")


def as_line(text: str, limit: int = 2_000) -> str:
    """A text as it may stand in an item or a paragraph: one line, which begins no block and holds no comment.

    Args:
        text: Any text.
        limit: The most characters, an ellipsis included.

    Raises:
        JournalRefused: It holds a NUL character.
    """
    if "\0" in text:
        raise JournalRefused("The text holds a NUL character, which no text has", "leave it out")
    line = without_comments(one_line(text, limit))
    line = _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line
    return f"\\{line}" if _BLOCK_START.match(line) else line


def as_typed(line: str) -> str:
    """What `as_line` made a line of: without the backslashes that it put there."""
    if line.startswith("\\") and _BLOCK_START.match(line[1:]):
        line = line[1:]
    elif _NUMBER_KEPT.match(line):
        line = _NUMBER_KEPT.sub(r"\1\2", line, count=1)
    return line.replace("\\<!--", "<!--")


def begins_block(line: str) -> bool:
    """Whether a line begins an item, a quote, code or another block, and does not go on with a paragraph."""
    text = line.lstrip()
    return bool(_BLOCK_START.match(text) or _NUMBERED.match(text))


def without_comments(line: str) -> str:
    """A line in which no comment begins."""
    return line.replace("<!--", "\\<!--")


def next_marker(last: str, before: str = "") -> str:
    """The marker that goes on with a list, such as ``-`` or ``3.``.

    Args:
        last: The last item, from its marker on.
        before: The one before it, or empty. Where both have one number, as in a list of ``1.`` alone, so has
            the next one.
    """
    number = _NUMBERED.match(last)
    if number is None:
        return last[0] if last[:1] in ("-", "*", "+") else "-"
    earlier = _NUMBERED.match(before)
    same = earlier is not None and earlier[0] == number[0]
    following = int(number[1]) + (not same)
    return f"{following if following < 10**9 else number[1]}{number[2]}"
