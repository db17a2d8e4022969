"""Says why a text is not found in a file and where nearly the same is, so that a model can mend its call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from tau.masking import MASK

_MOST_PLACES = 3
_MOST_LINES = 12
_LINE = 300
_COMPARED = 600
_CANDIDATES = 12
_ALIKE = 0.5

_NUMBERS = re.compile(r"^ *\d+(?::\d+)?\t", re.MULTILINE)
_WORDS = re.compile(r"\w+")
_SPACE = re.compile(r"\s+")
_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", "'"),
        '"': "'",
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u200b\ufeff\u00ad", ""),
        "…": "...",
    }
)

Reading = Callable[[str], str]

_READINGS: tuple[tuple[str, Reading], ...] = (
    ("white space at the ends of lines", str.rstrip),
    ("indentation", str.strip),
    ("white space", lambda line: _SPACE.sub("", line)),
    ("quotes, dashes or other characters that look alike", lambda line: line.translate(_LOOKALIKES)),
    ("upper and lower case", str.casefold),
    (
        "white space and characters that look alike",
        lambda line: _SPACE.sub("", line.translate(_LOOKALIKES)),
    ),
)
"""What models get wrong, from the least to the most."""


def explain(text: str, old: str, new: str) -> str:
    """Why a text is not in a file, and what is there instead; one line or several.

    Args:
        text: The file, with newlines.
        old: What is not in it.
        new: What was to be put there.
    """
    plain = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if plain != old and plain in text:
        return 'It would be there with real characters for \\n, \\t and \\" in old: do not escape them twice.'
    bare = _NUMBERS.sub("", old)
    if bare != old and bare in text:
        return (
            "It would be there without the line numbers that read_file puts before each line: leave them out."
        )
    core = old.strip("\n")
    lines, wanted = text.split("\n"), core.split("\n")
    if core and core in text:
        first = text.count("\n", 0, text.find(core))
        return (
            "It would be there without the newlines at its beginning or end. There the file has:\n"
            + _shown(lines, first, len(wanted) + 1)
        )
    said = _differing(lines, wanted) or _already(text, new) or _nearest(lines, wanted)
    if MASK in old and MASK not in text:
        return f"{MASK} stands for a secret that was masked in what you read: leave it out of old.\n{said}"
    return said


def numbered(lines: Sequence[str], numbers: Iterable[int]) -> str:
    """Some lines, which are counted from 0, with their numbers from 1, as `read_file` shows them."""
    return "\n".join(f"{number + 1:>6}\t{_cut(lines[number])}" for number in numbers)


def _differing(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """Where the file has the text but for one kind of difference, or the empty string."""
    for kind, reading in _READINGS:
        wanted_read = [reading(line) for line in wanted]
        if not any(wanted_read):
            continue
        found = _windows([reading(line) for line in lines], wanted_read)
        if found:
            where = "this place" if len(found) == 1 else "these places"
            shown = [_shown(lines, start, len(wanted)) for start in found]
            return "\n".join(
                [
                    f"It differs only in {kind} from {where}:",
                    *shown,
                    _first_difference(lines, wanted, found[0]),
                ]
            )
    return ""


def _windows(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where lines hold the wanted ones, of which the first may begin and the last end inside a line."""
    first, *middle, last = wanted if len(wanted) > 1 else (wanted[0], "")
    found = []
    for start in range(len(lines) - len(wanted) + 1):
        if len(wanted) == 1:
            if first not in lines[start]:
                continue
        elif not (
            lines[start].endswith(first)
            and lines[start + len(wanted) - 1].startswith(last)
            and list(lines[start + 1 : start + len(wanted) - 1]) == middle
        ):
            continue
        found.append(start)
        if len(found) == _MOST_PLACES:
            break
    return found


def _already(text: str, new: str) -> str:
    at = text.find(new) if new.strip() else -1
    if at < 0:
        return ""
    line = text.count("\n", 0, at) + 1
    return f"But new is there already, on line {line:,}: this edit may have been made before."


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """The lines that are most like the wanted ones."""
    words = [set(_WORDS.findall(line)) for line in wanted]
    anchor = max(range(len(wanted)), key=lambda number: len(words[number]))
    scores = [
        (len(words[anchor].intersection(_WORDS.findall(line))), -number) for number, line in enumerate(lines)
    ]
    best, where = 0.0, 0
    for score, negative in sorted(scores, reverse=True)[:_CANDIDATES]:
        start = max(0, -negative - anchor)
        window = "\n".join(lines[start : start + len(wanted)])[:_COMPARED]
        ratio = SequenceMatcher(None, "\n".join(wanted)[:_COMPARED], window, autojunk=False).ratio()
        if score and ratio > best:
            best, where = ratio, start
    if best < _ALIKE:
        return "No lines of the file are like it; look at the file with read_file."
    return "\n".join(
        [
            "These lines are most like it:",
            _shown(lines, where, len(wanted)),
            _first_difference(lines, wanted, where),
        ]
    )


def _shown(lines: Sequence[str], start: int, count: int) -> str:
    """Lines from one on, and how many of them are left out."""
    shown = numbered(lines, range(start, min(start + min(count, _MOST_LINES), len(lines))))
    return f"{shown}\n       … and {count - _MOST_LINES:,} more lines" if count > _MOST_LINES else shown


def _first_difference(lines: Sequence[str], wanted: Sequence[str], start: int) -> str:
    """The first of the wanted lines that is not as in the file, with all white space to be seen."""
    for offset, line in enumerate(wanted):
        if start + offset >= len(lines):
            return f"The file ends before line {offset + 1} of old."
        there = lines[start + offset]
        alike = line in there if len(wanted) == 1 else line == there
        if offset == 0 and len(wanted) > 1:
            alike = there.endswith(line)
        elif offset == len(wanted) - 1 and offset:
            alike = there.startswith(line)
        if not alike:
            return (
                f"Line {start + offset + 1:,} of the file is {_quoted(there)}\nwhere old has {_quoted(line)}."
            )
    return "The lines are the same, but not with what is before or after them in old."


def _quoted(line: str) -> str:
    return json.dumps(_cut(line), ensure_ascii=False).replace("\u00a0", "\\u00a0")


def _cut(line: str) -> str:
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"
