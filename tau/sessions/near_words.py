"""Which words are nearly those that are looked for: misspelt, inflected, identifiers written apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

SHORTEST = 3
"""Letters that a word has at least before others are taken for it."""

_ALIKE = 0.75
_STEM = 5
_STEM_SHARE = 0.6
_LONGEST = 64
_SAME_BEGINNING = {3: 3, 4: 1}
"""Letters that begin both words, where one is as short as this: nearly all short words are alike."""

_JOINED = 6


class WordLike:
    """Says of other words whether they may be meant by one. All are folded.

    Args:
        word: A number, or a word shorter than `SHORTEST`, is like no other.

    Attributes:
        lengths: How long the others may be.
    """

    def __init__(self, word: str) -> None:
        self.word = word
        compared = SHORTEST <= len(word) <= _LONGEST and not word.isdigit()
        least, most = int(len(word) * _STEM_SHARE), int(len(word) / _STEM_SHARE)
        self.lengths = range(max(SHORTEST, least), most + 1) if compared else range(0)
        self._pairs = {word[at : at + 2] for at in range(len(word) - 1)}
        self._least = max(1, len(self._pairs) // 3)
        self._beginning = word[: _SAME_BEGINNING.get(len(word), 0)]
        self._matcher = SequenceMatcher(None, b=word, autojunk=False)

    def alike(self, other: str) -> float:
        """How much a word of one of the lengths is like it: 0 when not enough, 1 when it is the same."""
        if sum(map(other.__contains__, self._pairs)) < self._least or not other.startswith(self._beginning):
            return 0.0
        self._matcher.set_seq1(other)
        alike = self._matcher.ratio() if self._matcher.real_quick_ratio() >= _ALIKE else 0.0
        if alike >= _ALIKE:
            return alike
        return _ALIKE if _one_stem(self.word, other) else 0.0


def _one_stem(word: str, other: str) -> bool:
    shared = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    same = min(len(word), len(other)) if shared is None else shared
    return same >= max(_STEM, _STEM_SHARE * max(len(word), len(other)))


def written_apart(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """Finds an identifier in folded text whatever parts it: ``retrybudget`` for ``retry_budget``, and back.

    Args:
        tokens: Of the identifier, in order.

    Returns:
        None for one that is too short or long for this, or has other characters than ASCII.
    """
    joined = "".join(tokens)
    if not _JOINED <= len(joined) <= _LONGEST or not joined.isascii() or joined.isdigit():
        return None
    first = joined[0]  # stands before what is looked back for, so that it is skipped to
    rest = "".join(rf"[-_./: ]?{character}" for character in joined[1:])
    return re.compile(rf"{first}(?<![a-z0-9]{first}){rest}(?![a-z0-9])")
