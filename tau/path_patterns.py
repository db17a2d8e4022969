"""Patterns of ignore files, matched as git matches them, at a cost that no pattern can drive up.

A pattern is cut at ``/`` into segments, and a segment at its stars into blocks of fixed length. The first
place where a block fits is as good as any later one, and so is the first place for the segments after a
``**``: nothing is ever tried again, and matching costs at most the length of the pattern times that of the
path. Regular expressions, which could run for years, have no part in it.

Unlike in git, ``?`` and ``[…]`` stand for a character, however many bytes it has.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

S = TypeVar("S")

LONGEST = 10_000
"""Characters of a pattern at most; no path is as long."""

_ASCII = [chr(code) for code in range(128)]
_CLASSES = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "cntrl": frozenset(character for character in _ASCII if not character.isprintable()),
    "digit": frozenset(string.digits),
    "graph": frozenset(string.ascii_letters + string.digits + string.punctuation),
    "lower": frozenset(string.ascii_lowercase),
    "print": frozenset(string.ascii_letters + string.digits + string.punctuation + " "),
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "xdigit": frozenset(string.hexdigits),
}


class _Set(NamedTuple):
    """What ``?`` and ``[…]`` stand for: one of some characters, or none of them."""

    negated: bool
    characters: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()

    def has(self, character: str) -> bool:
        found = character in self.characters or any(low <= character <= high for low, high in self.ranges)
        return found != self.negated


_Block = str | tuple[str | _Set, ...]
_Segment = tuple[_Block, ...] | None  # blocks with a star between each two; None for "**"
_ANY: _Segment = ("", "")
_ANY_CHARACTER = _Set(negated=True)


class _Rule(NamedTuple):
    takes_back: bool
    only_directories: bool
    segments: tuple[_Segment, ...]


class PathPatterns:
    """The patterns of one ignore file.

    Args:
        lines: As they are in the file, with or without their ends; comments, empty lines and patterns that
            cannot match anything are passed over.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules: list[_Rule] = []
        for line in lines:
            text = line.removesuffix("\n").removesuffix("\r")
            if text.startswith("#"):
                continue
            takes_back = text.startswith("!")
            try:
                self._rules.append(_rule(text[takes_back:], takes_back=takes_back))
            except ValueError:  # git passes over it, too
                continue
        self._rules.reverse()

    def __bool__(self) -> bool:
        """Whether there are any patterns."""
        return bool(self._rules)

    def matches(self, path: str, *, is_dir: bool = False) -> bool | None:
        """What the last pattern that matches says of a path; the directories above it are not looked at.

        Args:
            path: Relative to where the file lies, with ``/`` between names.
            is_dir: Whether it is a directory.

        Returns:
            True when it is ignored, False when an ``!`` takes it back, None when no pattern matches.
        """
        names = path.split("/")
        for takes_back, only_directories, segments in self._rules:
            if (is_dir or not only_directories) and _match(segments, names):
                return not takes_back
        return None


def matches(pattern: str, path: str) -> bool:
    r"""Whether a single pattern matches a path or a directory above it.

    ``!`` and ``#`` at its beginning are characters like any other.

    Args:
        pattern: By the rules of ignore files.
        path: Relative, with ``/`` between names, and with one at its end when it is a directory.

    Raises:
        ValueError: The pattern is none: it is empty or too long, or a ``[`` or ``\`` lacks what follows.
    """
    rule = _single(pattern)
    names = path.removesuffix("/").split("/")
    inside = rule.only_directories and not path.endswith("/")
    return _match((*rule.segments, None, _ANY) if inside else (*rule.segments, None), names)


@lru_cache(maxsize=256)
def _single(pattern: str) -> _Rule:
    return _rule(pattern, takes_back=False)


# Reading patterns -------------------------------------------------------------------------------


def _rule(text: str, *, takes_back: bool) -> _Rule:
    """A pattern, read.

    Raises:
        ValueError: It is none.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    text = _trimmed(text)
    only_directories = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        raise ValueError("it is empty")
    segments = _segments(text.removeprefix("/"))
    if "/" not in text:
        # A name, in whatever directory; without directories, "**" is "*".
        segments = [None, *(_ANY if segment is None else segment for segment in segments)]
    elif segments[-1] is None:
        segments.append(_ANY)  # what is in a directory, not the directory itself
    return _Rule(takes_back, only_directories, tuple(segments))


def _trimmed(text: str) -> str:
    r"""The text without the spaces at its end, except one that is written ``\ ``."""
    bare = text.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return text[: len(bare) + 1] if backslashes % 2 else bare


def _segments(text: str) -> list[_Segment]:
    segments: list[_Segment] = []
    blocks: list[list[str | _Set]] = [[]]
    begin = at = 0

    def end_segment() -> None:
        name = text[begin:at]
        is_deep = len(name) > 1 and not name.strip("*")
        segments.append(None if is_deep else tuple(_block(block) for block in blocks))

    while at < len(text):
        character = text[at]
        if character == "\\":
            if at + 1 == len(text):
                raise ValueError("it ends with a backslash")
            at += 1
            character = text[at]
        elif character == "[":
            found, at = _set(text, at + 1)
            blocks[-1].append(found)
            continue
        elif character == "?":
            blocks[-1].append(_ANY_CHARACTER)
            at += 1
            continue
        elif character == "*":
            if blocks[-1] or len(blocks) == 1:  # several stars are as one
                blocks.append([])
            at += 1
            continue
        if character == "/":
            end_segment()
            blocks, begin = [[]], at + 1
        else:
            blocks[-1].append(character)
        at += 1
    end_segment()
    return segments


def _block(items: list[str | _Set]) -> _Block:
    plain = [item for item in items if isinstance(item, str)]
    return "".join(plain) if len(plain) == len(items) else tuple(items)


def _set(text: str, at: int) -> tuple[_Set, int]:
    """The set of characters that begins after a ``[``, and where the text goes on after its ``]``."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    characters: set[str] = set()
    ranges: list[tuple[str, str]] = []
    begin, low = at, ""  # of a range that a "-" may complete
    while at == begin or text[at : at + 1] != "]":
        character, after = _escaped(text, at)
        if character == "-" and after == at + 1 and low and text[after : after + 1] not in ("", "]"):
            high, at = _escaped(text, after)
            ranges.append((low, high))
            low = ""
            continue
        if text.startswith("[:", at):
            close = text.find("]", at + 2)
            if close < 0:
                raise ValueError("a [ is not closed")
            if close > at + 2 and text[close - 1] == ":":
                name = text[at + 2 : close - 1]
                if name not in _CLASSES:
                    raise ValueError(f"there is no class of characters [:{name}:]")
                characters |= _CLASSES[name]
                at, low = close + 1, ""
                continue
        characters.add(character)
        at, low = after, character
    return _Set(negated, frozenset(characters), tuple(ranges)), at + 1


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character at a place in a set, and the place after it."""
    if text[at : at + 1] == "\\":
        at += 1
    if at >= len(text):
        raise ValueError("a [ is not closed")
    return text[at], at + 1


# Matching ---------------------------------------------------------------------------------------


def _match(segments: Sequence[_Segment], names: Sequence[str]) -> bool:
    if len(segments) == 2 and segments[0] is None and segments[1] is not None:
        return _fits_whole(segments[1], names[-1])
    return fits_names(segments, names, _fits_whole)


def fits_names(segments: Sequence[S | None], names: Sequence[str], fits: Callable[[S, str], object]) -> bool:
    """Whether names fit segments, one by one; None stands for any number of names, also none.

    A place to return to is kept for the last None only, so the cost is at most the product of both lengths.

    Args:
        segments: One a name.
        names: Of a path.
        fits: Whether one segment fits one name.
    """
    at = name = resume = 0
    deep = -1
    while name < len(names):
        if at < len(segments):
            segment = segments[at]
            if segment is None:
                deep, resume = at, name
                at += 1
                if at == len(segments):
                    return True
                continue
            if fits(segment, names[name]):
                at += 1
                name += 1
                continue
        if deep < 0:
            return False
        resume += 1
        at, name = deep + 1, resume
    return all(segment is None for segment in segments[at:])


def _fits_whole(blocks: tuple[_Block, ...], name: str) -> bool:
    """Whether the blocks, with anything between each two, are a whole name."""
    first, last = blocks[0], blocks[-1]
    end = len(name) - len(last)
    if len(blocks) == 1:
        return end == 0 and _fits(first, name, 0)
    at = len(first)
    if at > end or not _fits(first, name, 0) or not _fits(last, name, end):
        return False
    for block in blocks[1:-1]:
        at = _find(block, name, at, end)
        if at < 0:
            return False
        at += len(block)
    return True


def _find(block: _Block, name: str, at: int, end: int) -> int:
    """The first place from `at` on where a block fits before `end`, or -1."""
    if isinstance(block, str):
        return name.find(block, at, end)
    return next((place for place in range(at, end - len(block) + 1) if _fits(block, name, place)), -1)


def _fits(block: _Block, name: str, at: int) -> bool:
    """Whether a block fits at a place after which the name is long enough."""
    if isinstance(block, str):
        return name.startswith(block, at)
    for item, character in zip(block, name[at : at + len(block)], strict=True):
        if item != character if isinstance(item, str) else not item.has(character):
            return False
    return True
