"""The mark of what was noted in a session that content from outside came into."""

from __future__ import annotations

import re

from tau.display import one_line
from tau.journal.wrapping import whole

_WORDS = "noted after content from outside"
_MARK = re.compile(rf"(?<!\s)\s*\({_WORDS}: [^()]*\)\.?\s*\Z", re.IGNORECASE)
_LONGEST_ORIGIN = 200


def noted(text: str, origin: str) -> str:
    """A text with a mark that says where its session had content from.

    Args:
        text: What is noted; it gets on one line.
        origin: What came from outside, named by tools; without one the text is as it was given.
    """
    if not origin:
        return text
    named = one_line(re.sub(r"[()<>]", " ", origin), _LONGEST_ORIGIN)
    return f"{whole(without_mark(text))} ({_WORDS}: {named})".lstrip()


def without_mark(text: str) -> str:
    """A text without the mark."""
    return _MARK.sub("", text)
