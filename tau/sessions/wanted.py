"""What a search looks for: the words of a query as they stand, and words that may be meant by them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tau.sessions.near_words import WordLike, written_apart
from tau.sessions.searching import fold, parse, tokens_of

AS_WRITTEN, PHRASE, ALL, SOME = 4, 3, 2, 1
"""How much of a query a text has; 0 is nothing."""

NEAR_COUNTS = 0.9
"""What a word that is nearly the one looked for counts for, beside that one."""

_WORDS_COMPARED = 12
_WRITTEN_APART = 4


@dataclass(frozen=True, slots=True)
class Look:
    """What of a query a text has.

    Attributes:
        words: The words of the text.
        found: Numbers of the pieces it has.
        kind: `AS_WRITTEN`, `PHRASE`, `ALL`, `SOME` or 0.
        folded: The text, folded.
    """

    words: frozenset[str]
    found: frozenset[int]
    kind: int
    folded: str


class Wanted:
    """What is looked for.

    Args:
        query: As it was given.

    Attributes:
        pieces: Single words; of scripts without spaces, pairs of characters.
    """

    def __init__(self, query: str) -> None:
        bare = query.strip().strip('"')
        written = " ".join(fold(bare).split())
        tokens = tokens_of(written)
        self._phrase = f" {' '.join(tokens)} " if tokens else ""
        self._chunk = max(written.split(), key=len, default="")
        self._written = _as_written(written) if written and written != self._phrase.strip() else None
        self.terms = [term.tokens for term in parse(bare) if term.tokens]
        self.pieces = list(dict.fromkeys(piece for term in self.terms for piece in _pieces(term)))
        self._singles = {piece: number for number, piece in enumerate(self.pieces) if " " not in piece}
        self._pairs = {f" {piece} ": number for number, piece in enumerate(self.pieces) if " " in piece}

    def look(self, text: str) -> Look:
        """What of the query a text has."""
        folded = fold(text)
        tokens = tokens_of(folded)
        words = frozenset(tokens)
        found = {self._singles[word] for word in self._singles.keys() & words}
        joined = ""
        if self._pairs or len(found) == len(self.pieces):
            joined = f" {' '.join(tokens)} "
            found.update(number for pair, number in self._pairs.items() if pair in joined)
        return Look(words, frozenset(found), self._kind(folded, joined, found), folded)

    def _kind(self, folded: str, joined: str, found: Collection[int]) -> int:
        """How much of the query a text has; `joined` are its words, not looked at where some are lacking."""
        written = self._written if self._chunk in folded else None
        if written is not None and written.search(" ".join(folded.split())):
            return AS_WRITTEN
        if len(found) < len(self.pieces) or not found:
            return SOME if found else 0
        if self._phrase in joined:
            return PHRASE
        return ALL if all(f" {' '.join(term)} " in joined for term in self.terms) else SOME


def _as_written(text: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return re.compile(f"{before}{re.escape(text)}{after}")


def _pieces(term: Sequence[str]) -> Iterator[str]:
    """The words of a term; neighbouring characters of a script without spaces in pairs."""
    for at, token in enumerate(term):
        if not _unspaced(token):
            yield token
        elif at + 1 < len(term) and _unspaced(term[at + 1]):
            yield f"{token} {term[at + 1]}"
        elif not at or not _unspaced(term[at - 1]):
            yield token


def _unspaced(token: str) -> bool:
    return len(token) == 1 and not token.isascii()


class NearWords:
    """The words that are taken for those of a query; each word of a text is compared when it first comes up.

    Args:
        wanted: The query. Of its words the longest are compared.
    """

    def __init__(self, wanted: Wanted) -> None:
        numbers = {piece: number for number, piece in enumerate(wanted.pieces)}
        self._known: set[str] = set()
        self._forms: dict[str, list[tuple[int, float]]] = {}
        self._by_length: dict[int, list[tuple[int, WordLike]]] = {}
        for piece in sorted(numbers, key=len, reverse=True)[:_WORDS_COMPARED]:
            like = WordLike(piece)
            for length in like.lengths if " " not in piece else ():
                self._by_length.setdefault(length, []).append((numbers[piece], like))
        terms = sorted(set(wanted.terms), key=lambda term: -len("".join(term)))
        self._apart = [
            (pattern, [numbers[token] for token in term if token in numbers])
            for term in terms[:_WRITTEN_APART]
            if (pattern := written_apart(term)) is not None
        ]

    def found(self, look: Look) -> dict[int, tuple[float, str]]:
        """The pieces that a text does not have, but something like it: how much alike, and what."""
        if not look.words <= self._known:
            new = look.words - self._known
            self._known |= new
            for word in new:
                self._learn(word)
        found: dict[int, tuple[float, str]] = {}
        for form in self._forms.keys() & look.words:
            for number, alike in self._forms[form]:
                if number not in look.found:
                    found[number] = max(found.get(number, (0.0, "")), (alike, form))
        for pattern, numbers in self._apart:
            if any(number not in look.found for number in numbers) and (there := pattern.search(look.folded)):
                found.update(
                    (number, (NEAR_COUNTS, there[0])) for number in numbers if number not in look.found
                )
        return found

    def _learn(self, word: str) -> None:
        for number, like in self._by_length.get(len(word), ()):
            if word != like.word and (alike := like.alike(word)):
                self._forms.setdefault(word, []).append((number, alike * NEAR_COUNTS))
