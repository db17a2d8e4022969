"""Puts the text of files into a fence that it cannot close, for prompts."""

from __future__ import annotations

import re

from tau.display import one_line, visible

_TILDES = re.compile("~+")


def fenced(info: str, text: str) -> str:
    """A text in a fence of tildes that is longer than any in it, under what it is."""
    text = visible(text).rstrip("\n")
    longest = max(map(len, _TILDES.findall(text)), default=0)
    fence = "~" * max(3, longest + 1)
    return f"{fence}{one_line(info, 200)}\n{text}\n{fence}"
