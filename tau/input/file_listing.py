"""The paths below a directory, in a form that two hundred thousand of them are searched in within moments.

Paths are kept in pieces of a thousand, short ones in the first pieces. A piece has its paths folded in one
text, and their last names in another, so that a query runs over all of them in one step of the interpreter's
own search; only what that finds is scored. Shorter paths come first, so when there is enough the rest can be
left.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence

from tau.input.fuzzy import fold

PIECE = 1_024
"""Paths in a piece."""

_STEP = 12
_BUCKETS = 16
"""Pieces hold paths of like length: of up to 12 characters, 24, 36, …, and all that are longer than 180."""

_WORD = r"[^\x00-\x2f\x3a-\x60\x7b-\x7f]"
_BETWEEN = r"[\x00-\x09\x0b-\x2f\x3a-\x60\x7b-\x7f]"
"""What words are made of in a folded text, and what stands between two of them."""


class _Piece:
    """Some paths, ready to be searched."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        folded = [fold(path).replace("\n", " ") for path in paths]
        self.whole = "".join(f"\n{path}" for path in folded)
        self.names = "".join(f"\n{path[path.rfind('/', 0, len(path) - 1) + 1 :]}" for path in folded)

    def hits(self, pattern: re.Pattern[str], letters: frozenset[str], *, names: bool) -> Iterator[str]:
        """The paths that a pattern finds in their folded form, or in that of their last names."""
        text = self.names if names else self.whole
        if any(letter not in text for letter in letters):
            return
        number, done, last = -1, 0, -1
        for found in pattern.finditer(text):
            at = found.start() + 1
            number += text.count("\n", done, at)
            done = at
            if number != last:
                last = number
                yield self.paths[number]


class Listing:
    """Paths that are added by one thread while others search.

    Attributes:
        made_at: When the last path was added, on the monotonic clock; None until then.
        seconds: How long it took.
        truncated: Whether there were more than are kept.
    """

    def __init__(self) -> None:
        self.made_at: float | None = None
        self.seconds = 0.0
        self.truncated = False
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._full: list[list[_Piece]] = [[] for _ in range(_BUCKETS)]
        self._open: list[list[str]] = [[] for _ in range(_BUCKETS)]
        self._recent: dict[int, _Piece] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, paths: Sequence[str]) -> None:
        """Add paths; directories end with ``/``."""
        with self._lock:
            for path in paths:
                bucket = min((len(path) - 1) // _STEP, _BUCKETS - 1)
                waiting = self._open[bucket]
                waiting.append(path)
                if len(waiting) >= PIECE:
                    self._full[bucket].append(_Piece(waiting))
                    self._open[bucket] = []
                    self._recent.pop(bucket, None)
            self._count += len(paths)

    def finish(self, *, truncated: bool) -> None:
        """No more paths will come."""
        self.truncated = truncated
        self.made_at = time.monotonic()
        self.seconds = self.made_at - self._begun

    def pieces(self) -> list[_Piece]:
        """What there is so far, short paths first."""
        found = []
        with self._lock:
            for bucket in range(_BUCKETS):
                found += self._full[bucket]
                paths = self._open[bucket]
                if paths:
                    piece = self._recent.get(bucket)
                    if piece is None or len(piece.paths) != len(paths):
                        piece = self._recent[bucket] = _Piece(tuple(paths))
                    found.append(piece)
        return found


class Patterns:
    """What finds a folded query in the texts of a piece.

    None of the patterns can try anything twice: the time is in proportion to the text.

    Attributes:
        begins: At the beginning of a line.
        run: In one run.
        initials: At the beginnings of words, the first one in the line.
        scattered: In its order, anywhere.
        letters: The letters of the query; a piece without one of them need not be looked at.
    """

    def __init__(self, query: str) -> None:
        letters = [re.escape(letter) for letter in query]
        self.begins = re.compile(f"\n{re.escape(query)}")
        self.run = re.compile(re.escape(query))
        self.initials = re.compile(f"\n{letters[0]}" + "".join(map(_next_word, letters[1:])))
        self.scattered = re.compile("\n" + "".join(f"[^\n{letter}]*+{letter}" for letter in letters))
        self.letters = frozenset(query)


def _next_word(letter: str) -> str:
    """The way from within a word to the next one that begins with a letter."""
    on = f"{_WORD}*+{_BETWEEN}++"
    return f"(?:{on}(?!{letter}))*+{on}{letter}"
