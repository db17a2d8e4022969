"""Reads a unified diff out of a text, for channels that show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

DiffKind: TypeAlias = Literal["file", "hunk", "same", "removed", "added", "note"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SIGNS: dict[str, DiffKind] = {" ": "same", "-": "removed", "+": "added"}
_BETWEEN_FILES = re.compile(r"diff |index |old mode |new mode |new file |deleted file |similarity |rename ")
SEARCHED_LINES = 8
"""A diff begins within so many lines, or the text counts as none."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff, without its sign.

    Attributes:
        kind: What it is; ``file`` names a file, ``note`` is a remark of the format.
        text: The line; of a ``file``, its name. Not safe to show as it is.
        old: Its number in the file as it was; None where it has none.
        new: Its number in the file as it will be; None where it has none.
    """

    kind: DiffKind
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """A diff and the text around it.

    Attributes:
        before: What stands above it.
        lines: Its lines, in order.
        after: What stands below it.
        added: How many lines are added.
        removed: How many lines are removed.
        files: How many files it is about.
        creates: Whether its first file is new.
    """

    before: str
    lines: Sequence[DiffLine]
    after: str
    added: int
    removed: int
    files: int
    creates: bool


def parse(text: str) -> Diff | None:
    """The diff in a text, or None when there is none near its beginning.

    A diff that was cut short counts as far as it goes; the rest is `Diff.after`. Lines that all end in
    CRLF lose the CR; where only some do, it stays, since that is what the diff is about.
    """
    rows = text.split("\n")
    start = _start(rows)
    if start is None:
        return None
    lines: list[DiffLine] = []
    place = start
    while place < len(rows):
        if _is_file(rows, place):
            old, new = _name(rows[place]), _name(rows[place + 1])
            lines.append(DiffLine("file", old if new == "/dev/null" else new))
            place += 2
        elif (hunk := _HUNK.match(rows[place])) is not None:
            lines.append(DiffLine("hunk", rows[place]))
            place = _hunk(rows, place + 1, hunk, lines)
        elif _BETWEEN_FILES.match(rows[place]):
            place += 1
        else:
            break
    kinds = [line.kind for line in lines]
    return Diff(
        before="\n".join(row for row in rows[:start] if not _BETWEEN_FILES.match(row)),
        lines=_without_cr(lines),
        after="\n".join(rows[place:]).strip("\n"),
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        files=kinds.count("file"),
        creates=_name(rows[start]) == "/dev/null",
    )


def _start(rows: Sequence[str]) -> int | None:
    for place in range(min(SEARCHED_LINES, len(rows) - 2)):
        if _is_file(rows, place) and _HUNK.match(rows[place + 2]):
            return place
    return None


def _is_file(rows: Sequence[str], place: int) -> bool:
    return rows[place].startswith("--- ") and place + 1 < len(rows) and rows[place + 1].startswith("+++ ")


def _name(row: str) -> str:
    name = row[4:].split("\t", 1)[0].rstrip("\r")
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunk(rows: Sequence[str], place: int, head: re.Match[str], lines: list[DiffLine]) -> int:
    """Read the lines of a hunk; the place after them."""
    old, old_left = int(head[1]), int(head[2] or 1)
    new, new_left = int(head[3]), int(head[4] or 1)
    while place < len(rows):
        row = rows[place]
        if row.startswith("\\"):
            lines.append(DiffLine("note", row[1:].strip()))
            place += 1
            continue
        kind = _SIGNS.get(row[:1], "same" if not row else None)
        if kind is None or (old_left <= 0 and new_left <= 0) or (place == len(rows) - 1 and not row):
            break
        lines.append(
            DiffLine(kind, row[1:], None if kind == "added" else old, None if kind == "removed" else new)
        )
        if kind != "added":
            old, old_left = old + 1, old_left - 1
        if kind != "removed":
            new, new_left = new + 1, new_left - 1
        place += 1
    return place


def _without_cr(lines: list[DiffLine]) -> list[DiffLine]:
    content = [line for line in lines if line.kind in ("same", "added", "removed")]
    if not content or not all(line.text.endswith("\r") for line in content):
        return lines
    return [DiffLine(line.kind, line.text.removesuffix("\r"), line.old, line.new) for line in lines]
