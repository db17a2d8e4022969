r"""How a file is named in a prompt: ``@src/a.py``, or ``@"my notes.txt"`` when its path is no plain word.

In quotes ``\"`` and ``\\`` stand for those characters, and what cannot be shown has the escapes that tools
use for names (``\n``, ``\u202e``, ``\xe9`` for a byte that is no UTF-8), so that every name can be written
and read back. A mention begins where a word does: an address such as ``ana@example.org`` has none. Behind a
plain one a colon and a line (``@a.py:12``) or the punctuation of the sentence may follow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tau.display import visible
from tau.tools.names import named, shown, unescaped

MOST = 500
"""Mentions of one text whose files are looked for."""

_BEFORE = r"(?<![^\s(\[{<>\"'`,;:=|])"
_MENTION = re.compile(rf'{_BEFORE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+)"|(?P<plain>[^\s"@][^\s"]*+))')
_OPEN = re.compile(rf'{_BEFORE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+)|(?P<plain>[^\s"@][^\s"]*+)?)\Z')
_BEGINS = re.compile(rf"{_BEFORE}(?<!^)@")
"""Where another mention would begin inside a path."""

_PUNCTUATION = ".,;:!?…)]}>'`*_"
_LINE = re.compile(r":\d{1,9}(?:[-:]\d{1,9})?\Z")
_MOST_BEHIND = 16
_MOST_BEGUN = 50
_PAIR = re.compile(r'(\\[\\"])')
_PLAIN = re.compile(r"""[^\s"'`\\@(\[{<][^\s"'`\\]*""")
_LONGEST = 4_096
"""Characters of a path; no system has longer ones."""


@dataclass(frozen=True)
class Mention:
    """A file or directory that a text names.

    Attributes:
        start: Where the ``@`` is in the text.
        end: Where the text goes on.
        path: Absolute; its links are not resolved.
        is_directory: Whether it is a directory.
    """

    start: int
    end: int
    path: Path
    is_directory: bool


def mention(path: str) -> str:
    """How a path is written in a prompt; `mentions` reads it back.

    Args:
        path: As Python has it from the system.
    """
    path = os.fsencode(path).decode("utf-8", "surrogateescape")
    return f"@{path}" if _is_plain(path) else f'@"{_escaped(path)}"'


def mentions(text: str, directory: Path) -> list[Mention]:
    """The mentions in a text of files and directories that exist, in its order. Looks at the disk.

    Args:
        text: What was written.
        directory: What relative paths start from; ``~/`` is the home directory.
    """
    found = []
    for number, match in enumerate(_MENTION.finditer(text)):
        if number >= MOST:
            break
        quoted = match["quoted"]
        if quoted is not None:
            there = _existing(read(quoted), directory)
            if there is not None:
                found.append(Mention(match.start(), match.end(), *there))
            continue
        for written in _ways(match["plain"]):
            there = None if written.endswith("/.") else _existing(written, directory)  # the sentence's
            if there is not None:
                found.append(Mention(match.start(), match.start() + 1 + len(written), *there))
                break
    return found


def absent(text: str, directory: Path, ending: re.Pattern[str]) -> list[Path]:
    """The paths that a text mentions where nothing is, in its order. Looks at the disk.

    Args:
        text: What was written.
        directory: What relative paths start from.
        ending: What such a path ends in.
    """
    found = []
    for number, match in enumerate(_MENTION.finditer(text)):
        if number >= MOST:
            break
        quoted = match["quoted"]
        ways = [read(quoted)] if quoted is not None else list(_ways(match["plain"]))
        path = next((way for way in ways if ending.search(way)), "")
        place = _place(path, directory)
        if place is not None and all(_existing(way, directory) is None for way in ways):
            found.append(place)
    return found


def begun(text: str, cursor: int) -> tuple[int, str] | None:
    """The mention that is being written before the cursor: where it begins, and the path so far.

    Returns:
        None when there is none.
    """
    offset = max(0, cursor - _LONGEST)
    head = text[offset:cursor]
    start = len(head)
    plain = None
    for _ in range(_MOST_BEGUN):
        start = head.rfind("@", 0, start)
        if start < 0:
            break
        match = _OPEN.match(head, start)
        if match is not None and match["quoted"] is not None:
            return offset + start, read(match["quoted"])
        if match is not None and plain is None:
            plain = offset + start, match["plain"] or ""
    return plain


def read(quoted: str) -> str:
    """The path that stands in the quotes of a mention, which need not be finished."""
    parts = _PAIR.split(quoted)
    try:
        return "".join(part[1] if number % 2 else unescaped(part) for number, part in enumerate(parts))
    except UnicodeEncodeError:  # half a surrogate pair, which no path has
        return visible(quoted)


def pieces(path: str) -> list[str]:
    """What each character of a path is shown as."""
    return [character if character.isprintable() else shown(character) for character in path]


def _ways(written: str) -> Iterator[str]:
    """What a plain mention can mean: all of it, or it without what stands behind it."""
    if len(written) > _LONGEST:
        return
    yield written
    for _ in range(_MOST_BEHIND):
        line = _LINE.search(written, max(0, len(written) - 20))
        if line is not None:
            written = written[: line.start()]
        elif written[-1] in _PUNCTUATION:
            written = written[:-1]
        else:
            return
        if not written:
            return
        yield written


def _is_plain(path: str) -> bool:
    return (
        _PLAIN.fullmatch(path) is not None
        and path[-1] not in _PUNCTUATION
        and _LINE.search(path) is None
        and _BEGINS.search(path) is None
        and all(map(_is_safe, path))
    )


def _escaped(path: str) -> str:
    return "".join(
        f"\\{character}" if character in '\\"' else character if _is_safe(character) else shown(character)
        for character in path
    )


def _is_safe(character: str) -> bool:
    return character.isprintable() and visible(character) == character


def _place(path: str, directory: Path) -> Path | None:
    """The absolute path, if it can be one."""
    if not path or "\0" in path or len(path) > _LONGEST:
        return None
    given = os.path.expanduser(path) if path.startswith("~/") else path  # noqa: PTH111  # raises nothing
    try:
        return directory / named(given)
    except ValueError:
        return None


def _existing(path: str, directory: Path) -> tuple[Path, bool] | None:
    """The absolute path and whether it is a directory, if there is something."""
    place = _place(path, directory)
    if place is None:
        return None
    try:
        place.lstat()
    except (OSError, ValueError):
        return None
    is_directory = os.path.isdir(place)  # noqa: PTH112  # Path.is_dir raises where it may not look
    return place, is_directory
