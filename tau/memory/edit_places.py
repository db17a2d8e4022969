"""Where the text stands that an edit is to replace: exactly, else with other white space in it."""

from __future__ import annotations

import re
from collections.abc import Iterator


def places(body: str, old: str) -> list[tuple[int, int]]:
    """The start and the end of each place where a text stands in a file, also where they overlap.

    Only a text that stands nowhere exactly is looked for with other white space: models break lines anew.
    """
    exactly = list(_matches(re.compile(re.escape(old)), body)) if old else []
    if exactly or not (words := old.split()):
        return exactly
    return list(_matches(re.compile(r"\s+".join(map(re.escape, words))), body))


def replaced(body: str, place: tuple[int, int], old: str, new: str) -> str:
    """A file with a new text in one place; where the new text only adds to the old one, that stays."""
    start, end = place
    stays = body[start:end] + new[len(old) :] if new.startswith(old) else new
    return body[:start] + stays + body[end:]


def _matches(wanted: re.Pattern[str], body: str) -> Iterator[tuple[int, int]]:
    found = wanted.search(body)
    while found:
        yield found.span()
        found = wanted.search(body, found.start() + 1)
