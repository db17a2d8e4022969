"""What a field of a session's file says, and what it becomes: its words, its quotes, a status."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["in-progress", "paused", "done"]

WORD = re.compile(r"[^\W_]")
"""What says anything."""

_NOTHING = ("", "-", "–", "—", "none", "(none)", "_none_", "*none*", "n/a", "null", "~")
_WRAPS = ("**", "__", "`", '"', "'", "*", "_")
_STATUS = re.compile(r"(?<![^\W_])(?:(in)[-_ ]progress|(paused)|(done))(?![^\W_])", re.IGNORECASE)
_MARKS = r"(?:[\s*_`'\".!✅✔☑✓🎉\ufe0f]|\[[xX]\])*+"
DONE = re.compile(rf"{_MARKS}done{_MARKS}", re.IGNORECASE)
"""A status that is done, and no more than that."""


def status_in(said: str) -> Status | None:
    """The status that is the first word, where no other one is named, as in a form that lists them.

    What is done says nothing else: not ``done but for the tests``, nor ``done?``.
    """
    if DONE.fullmatch(said):
        return "done"
    named = list(_STATUS.finditer(said))
    if not named:
        return None
    first, *others = named
    if WORD.search(said, 0, first.start()) or any(each.lastindex != first.lastindex for each in others):
        return None
    if first[3]:
        return None
    return "paused" if first[2] else "in-progress"


def new_status(value: str, before: str) -> str:
    """What a status becomes: another word in it; one that was not known stays in a comment behind it."""
    said = bare(before)
    known = status_in(value_in(said))
    found = _STATUS.search(said)
    if known in ("paused", "in-progress") and found is not None:
        if value != "done":
            return f"{before[: found.start()]}{value}{before[found.end() :]}"
        more = WORD.search(said, found.end()) is not None
    else:
        more = known is None and WORD.search(said) is not None
    if more:
        return f"{value} {in_comment(before)}"
    words = said.strip()
    start = said.find(words)
    return f"{before[:start]}{wrapped(value, words)}{before[start + len(words) :]}"


def bare(text: str) -> str:
    """A text with blanks in the place of its comments."""
    parts, end = [], 0
    while (opens := text.find("<!--", end)) >= 0 and (closes := text.find("-->", opens)) >= 0:
        parts += [text[end:opens], " " * (closes + 3 - opens)]
        end = closes + 3
    return "".join([*parts, text[end:]])


def in_comment(text: str) -> str:
    """A text, on one line, in a comment."""
    return f"<!-- {' '.join(text.replace('-->', '-- >').split())} -->"


def value_in(written: str) -> str:
    """What a field says, without what stands around it; empty where that says nothing."""
    value = " ".join(written.split())
    for wrap in _WRAPS:
        if len(value) > 2 * len(wrap) and value.startswith(wrap) and value.endswith(wrap):
            value = value[len(wrap) : -len(wrap)].strip()
    return "" if value.casefold() in _NOTHING else value


def wrapped(value: str, before: str) -> str:
    """A value in the quotes or code marks that the one before it stood in."""
    before = before.strip()
    for wrap in _WRAPS:
        if value and len(before) > 2 * len(wrap) and before.startswith(wrap) and before.endswith(wrap):
            return f"{wrap}{value}{wrap}"
    return value
