"""What a change of one memory file says, in a few words: what a person needs to know of it at a glance."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

from tau.display import one_line
from tau.memory.documents import front_matter

LONGEST = 56
"""Characters of the line that is quoted, so that its file and the count of the rest fit beside it."""

_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_MARK = re.compile(r"#+\s*|[-*+>]\s+")
_RULE = re.compile(r"(?:[-*_=~`+|:]\s*)+")
_MOST_COMPARED = 2_000
"""Lines from which on two versions are compared by what they hold, not by where."""
_MOST_PAIRS = 20_000
"""The same for pairs of a line and one like it in the other version."""


def gist(after: bytes, before: bytes | None = None) -> str:
    """The first line that a file says, or that is new in it, and how many more there are.

    Headings are passed over as long as there is another line. Of a file that lost lines and got none, the
    first one lost is named.

    Args:
        after: What the file holds.
        before: What it held; None for a new one.
    """
    new = _lines(after)
    if before is None:
        return _quoted(_below_headings(new))
    added, lost = map(_below_headings, _differing(_lines(before), new))
    if added:
        instead = bool(lost) and _is_heading(added[0]) == _is_heading(lost[0])
        return _quoted(added, less=len(lost) - instead)
    if lost:
        return f"without “{_said(lost[0])}”{_counts(0, len(lost) - 1)}"
    return _quoted(_below_headings(new)[:1])


def _quoted(lines: list[str], *, less: int = 0) -> str:
    return f"{_said(lines[0])}{_counts(len(lines) - 1, less)}" if lines else ""


def _counts(more: int, less: int) -> str:
    """How many lines came and went beside the one that is quoted, in brackets; empty where none did."""
    counts = [f"{sign}{count:,}" for sign, count in (("+", more), ("−", less)) if count > 0]
    lines = "line" if max(more, 0) + max(less, 0) == 1 else "lines"
    return f" ({' '.join(counts)} {lines})" if counts else ""


def _said(line: str) -> str:
    mark = _MARK.match(line)
    return one_line(line[mark.end() :] if mark else line, LONGEST)


def _is_heading(line: str) -> bool:
    return _HEADING.match(line) is not None


def _below_headings(lines: list[str]) -> list[str]:
    """The lines that are more than a heading; all of them where none is."""
    return [line for line in lines if not _is_heading(line)] or lines


def _lines(data: bytes) -> list[str]:
    """The lines that say something, without front matter, and without what only parts them."""
    text = front_matter(data.decode("utf-8-sig", "replace"))[1]
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not _RULE.fullmatch(line)]


def _differing(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """The lines that are new, and those that are gone."""
    there, here = Counter(old), Counter(new)
    pairs = sum(count * here[line] for line, count in there.items())
    if max(len(old), len(new)) > _MOST_COMPARED or pairs > _MOST_PAIRS:
        return list((here - there).elements()), list((there - here).elements())
    added: list[str] = []
    lost: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            lost += old[start:end]
            added += new[new_start:new_end]
    return added, lost
