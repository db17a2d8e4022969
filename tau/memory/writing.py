"""What tau may write as the content of a memory file, and how it stands there: front matter, then text."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

from tau.display import one_line, visible
from tau.errors import MemoryRefused
from tau.memory.documents import front_lines, front_matter

LONGEST = 20_000
"""Characters of content. What is longer is a document to refer to, not a memory to load each turn."""

BUILTIN, ORIGIN = "builtin", "origin"

Line: TypeAlias = tuple[str, str]
"""A line of front matter: its key, empty for a comment, and the line as it stands."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def check(content: str, *, there: str = "") -> None:
    """Refuse content that no memory file can have.

    Args:
        content: All that the file is to hold.
        there: What it holds: characters in that were let in by a person.

    Raises:
        MemoryRefused: It is too long, or holds characters that are none in a text, or that cannot be seen.
    """
    if len(content) > LONGEST:
        raise MemoryRefused(
            f"A memory has at most {LONGEST:,} characters, this one {len(content):,}",
            "write down what matters of it and where the rest is, or spread it over several labels",
        )
    if "\0" in content:
        raise MemoryRefused("The content holds a NUL character, which no text has", "leave it out")
    if _SURROGATE.search(content):
        raise MemoryRefused("The content holds half a character, which no text has", "leave it out")
    if hidden := _hidden(content) - _hidden(there):
        named = ", ".join(sorted(visible(character) for character in hidden))
        raise MemoryRefused(
            f"The content holds what cannot be seen, or steers a terminal: {one_line(named, 80)}",
            "leave it out",
        )
    if not _parted(content)[1].strip():
        raise MemoryRefused("The content is empty but for its front matter", "give the text as well")


def whole(content: str, before: bytes | None, *, origin: str) -> bytes:
    """A file's bytes for a content that `check` let pass.

    The front matter of the file that is there stays as it stands, but for keys that the content gives another
    value. Only this says that a file came with tau or from outside: a content that claims it of itself does
    not. An origin stays. Lines end as they did, and a byte order mark stays.

    Args:
        content: The text, with front matter of its own or not.
        before: The file as it is, in UTF-8; None when there is none.
        origin: Where the content came from when it came from outside, names with commas between them.
    """
    there = _text(before or b"")
    held = there.replace("\r\n", "\n")
    kept, old = front_matter(held)
    brought, body = _parted(content)
    front = [line for line in front_lines(held) if line[0] != BUILTIN]
    front = _put_over(front, [line for line in brought if line[0] not in (BUILTIN, ORIGIN)])
    if came := united(kept.get(ORIGIN, ""), origin):
        front = _put_over(front, [(ORIGIN, f"{ORIGIN}: {came}")])
    text = _block(front)
    if text and old != held:
        text += "\n" * (len(old) - len(old.lstrip("\n")))
    text = _ended_as(text + body.rstrip() + "\n", there)
    return (codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b"") + text.encode()


def united(*origins: str) -> str:
    """Several origins as one, each name once, on one line; empty when all are."""
    names = dict.fromkeys(name for origin in origins for name in one_line(origin).split(", ") if name)
    return one_line(", ".join(names))


def origin_of(data: bytes) -> str:
    """Where a file says that its content came from, when it came from outside; empty otherwise."""
    return front_matter(_text(data))[0].get(ORIGIN, "")


def first_line(data: bytes, limit: int = 200) -> str:
    """The first line of a file that says something, without the marks of a heading."""
    for line in front_matter(_text(data))[1].splitlines():
        said = one_line(line, limit).lstrip("#").strip()
        if said:
            return said
    return ""


def _hidden(content: str) -> set[str]:
    """The characters that `visible` would not show as they are; a mark at the very beginning is left out."""
    text = content.replace("\r\n", "\n").lstrip("\ufeff\n")
    return {character for character in set(text) if visible(character) != character}


def _parted(content: str) -> tuple[list[Line], str]:
    """The front matter a content brings, and its text, which does not begin with any more of it."""
    front: list[Line] = []
    body = content.replace("\r\n", "\n").lstrip("\ufeff\n")
    while (rest := front_matter(body)[1]) != body:
        keys = {key for key, _ in front if key}
        front += [line for line in front_lines(body) if line[0] not in keys]
        body = rest.lstrip("\ufeff\n")
    return front, body


def _put_over(front: Sequence[Line], brought: Sequence[Line]) -> list[Line]:
    """Front matter with other lines put over it; what gets the value that it has stays as it stands."""
    kept, values = front_matter(_block(front))[0], front_matter(_block(brought))[0]
    by_key: dict[str, list[Line]] = {}
    for line in brought:
        by_key.setdefault(line[0], []).append(line)
    there = set(front)
    comments = [line for line in by_key.pop("", []) if line not in there]
    new = {key: lines for key, lines in by_key.items() if len(lines) > 1 or kept.get(key) != values[key]}
    left = dict(new)
    found: list[Line] = []
    for line in front:
        found += left.pop(line[0], []) if line[0] in new else [line]
    return [*found, *comments, *chain.from_iterable(left.values())]


def _block(front: Sequence[Line]) -> str:
    return "\n".join(["---", *(line for _, line in front), "---", ""]) if front else ""


def _ended_as(text: str, before: str) -> str:
    """A text whose lines end as those of a file: one that was there as it did, a new one as most did."""
    ends: defaultdict[str, deque[str]] = defaultdict(deque)
    lines = before.split("\n")[:-1]
    for line in lines:
        plain = line.removesuffix("\r")
        ends[plain].append("\n" if line == plain else "\r\n")
    most = "\r\n" if 2 * before.count("\r\n") > len(lines) else "\n"
    return "".join(
        line + (ends[line].popleft() if ends[line] else most) for line in text.removesuffix("\n").split("\n")
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
