"""What tau may write as the content of a memory file, and how it stands there: front matter, then text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tau.display import one_line, visible
from tau.errors import MemoryRefused
from tau.memory.documents import front_matter

LONGEST = 20_000
"""Characters of content. What is longer is a document to refer to, not a memory to load each turn."""

BUILTIN, ORIGIN = "builtin", "origin"

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

    The keys of the file that is there stay, those that the content brings are put over them. Only this says
    that a file came with tau or from outside: a content that claims it of itself does not. An origin stays.

    Args:
        content: The text, with front matter of its own or not.
        before: The file as it is; None when there is none.
        origin: Where the content came from when it came from outside, names with commas between them.
    """
    kept = front_matter(_text(before))[0] if before is not None else {}
    brought, body = _parted(content)
    marks = (BUILTIN, ORIGIN)
    keys = {key: value for key, value in (kept | brought).items() if key not in marks}
    if came := united(kept.get(ORIGIN, ""), origin):
        keys[ORIGIN] = came
    text = _block(keys) + body.rstrip() + "\n"
    if before and before.count(b"\n") == before.count(b"\r\n") > 0:
        text = text.replace("\n", "\r\n")
    return text.encode()


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


def _parted(content: str) -> tuple[dict[str, str], str]:
    """The keys a content brings, and its text, which does not begin with front matter any more."""
    keys: dict[str, str] = {}
    body = content.replace("\r\n", "\n").lstrip("\ufeff\n")
    while True:
        more, rest = front_matter(body)
        if rest == body:
            return keys, body
        keys = more | keys
        body = rest.lstrip("\ufeff\n")


def _block(keys: Mapping[str, str]) -> str:
    if not keys:
        return ""
    return "---\n" + "".join(f"{key}: {value}".rstrip() + "\n" for key, value in keys.items()) + "---\n"


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
