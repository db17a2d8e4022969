"""How a search reads words: the terms of a query, and the tokens of a text.

Index and scan use the same rules, so that a search finds the same messages with and without an index:
every term must occur; a term is a run of tokens; the last one may be the beginning of a word; quotes make
a phrase. A term with punctuation (``C++``, ``[/]``) must also occur as it is written. Case, accents and
compatibility forms do not matter. In scripts written without spaces every character is a token, so that
any part of a sentence is found.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase, digits

_MARKS = re.compile("[\u0300-\u036f]+")
_ACCENTS = re.compile(r"(?<=\w)" + _MARKS.pattern)
_BEYOND_ASCII = re.compile(rb"([\x80-\xff]+)")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_WORD = re.compile(r"[^\w\x00-\x7f]")
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_QUERY = re.compile(r'"([^"]*)"?|(\S+)')
_ESCAPES = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?")
_SPACES = re.compile(r"\s+")
WORD_CHARACTER = "[a-z0-9\u0080-\U0010ffff]"
"""A character class of regular expressions: what tokens of a folded text are made of."""

UNSPACED = (
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul syllables
    "]"
)
"""Likewise: the characters that are tokens by themselves."""

_KEPT = {*(ascii_lowercase + digits).encode(), *range(128, 256)}
_BYTES_SPACED = bytes(byte if byte in _KEPT else ord(" ") for byte in range(256))
_ASCII_SPACED = _BYTES_SPACED[:128].decode()
"""Tables of translation that leave of a text what tokens are made of, with spaces between them."""

_PIECE_KEPT = 8
"""Bytes beyond ASCII in a row whose folded form is kept: the one or two letters that an accented word has."""


@functools.cache
def unspaced() -> re.Pattern[str]:
    """One of the characters in `UNSPACED`, compiled when there first is a text that may hold one."""
    return re.compile(UNSPACED)


def clean(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be encoded."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def fold(text: str) -> str:
    """The text without differences of case, accent and compatibility form."""
    if text.isascii():
        return text.lower()
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = clean(text).encode()
    if b"\xcc" in data or b"\xcd" in data:  # an accent of its own, which may belong to a letter before it
        return _fold_slowly(data.decode())
    parts = _BEYOND_ASCII.split(data.lower())
    parts[1::2] = map(_fold_piece, parts[1::2])
    return b"".join(parts).decode()


def _fold_slowly(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", _decomposed(text)))


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


@functools.lru_cache(maxsize=4096)
def unaccented(char: str) -> str:
    """What one character adds to a folded text; nothing when it is an accent of its own.

    It is what `fold` makes of it anywhere, but for accents that `fold` keeps where no letter is before them.
    """
    return _MARKS.sub("", _decomposed(char))


def _fold_piece(piece: bytes) -> bytes:
    return _fold_known(piece) if len(piece) <= _PIECE_KEPT else _fold_slowly(piece.decode()).encode()


@functools.lru_cache(maxsize=4096)
def _fold_known(piece: bytes) -> bytes:
    return _fold_slowly(piece.decode()).encode()


def _split(folded: str) -> str:
    if folded.isascii():
        return folded
    return unspaced().sub(r" \g<0> ", _NOT_WORD.sub(" ", folded))


def index_text(text: str) -> str:
    """The text as the full-text index is given it.

    Its tokens are the runs of ASCII letters and digits and of characters beyond ASCII.
    """
    return _split(fold(text))


def tokens_of(folded: str) -> list[str]:
    """The tokens of a text that is folded already, in order."""
    split = _split(folded)
    if split.isascii():
        return split.translate(_ASCII_SPACED).split()
    return split.encode().translate(_BYTES_SPACED).decode().split()


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a search looks for.

    Attributes:
        tokens: Tokens that must follow one another; empty when the term is punctuation alone.
        literal: What must occur as it is written, folded and with single spaces; empty when the tokens
            say it all.
        prefix: Whether the last token may be the beginning of a word.
    """

    tokens: tuple[str, ...]
    literal: str
    prefix: bool


def parse(words: str) -> list[Term]:
    """The terms of what a person typed; empty when it holds nothing but space."""
    written = [phrase if phrase.strip() else word for phrase, word in _QUERY.findall(clean(words))]
    written = [text for text in written if text.strip()] or ([words.strip()] if words.strip() else [])
    ends_open = not words.rstrip().endswith('"')
    terms: list[Term] = []
    for place, text in enumerate(written, start=1):
        folded = " ".join(fold(text).split())
        tokens = tuple(tokens_of(folded))
        if not tokens and not folded:
            continue
        literal = folded if not tokens or _PUNCTUATION.search(folded) else ""
        terms.append(Term(tokens, literal, prefix=ends_open and place == len(written)))
    return terms


def match_expression(terms: Sequence[Term]) -> str:
    """The terms as an FTS5 expression; empty when none of them has a token.

    Tokens hold neither quotes nor any other ASCII punctuation, so nothing a person types is read as syntax.
    """
    return " AND ".join(
        f'"{" ".join(term.tokens)}"{" *" if term.prefix else ""}' for term in terms if term.tokens
    )


def has_literals(text: str, terms: Sequence[Term]) -> bool:
    """Whether the text holds what must occur as it is written; tokens are not looked at."""
    wanted = [term.literal for term in terms if term.literal]
    if not wanted:
        return True
    folded = fold(text)
    if any(" " in literal for literal in wanted):
        folded = " ".join(folded.split())
    return all(literal in folded for literal in wanted)


def occurrences(text: str, terms: Sequence[Term]) -> int:
    """How often the terms occur in a text in all; 0 when one of them does not."""
    folded = fold(text)
    if any(token not in folded for term in terms for token in term.tokens):
        return 0
    if not has_literals(text, terms):
        return 0
    tokens = f" {' '.join(tokens_of(folded))} "
    total = 0
    for term in terms:
        if not term.tokens:
            total += folded.count(term.literal) or 1
            continue
        found = tokens.count(f" {' '.join(term.tokens)}{'' if term.prefix else ' '}")
        if not found:
            return 0
        total += found
    return total


def split_words(folded: str) -> str:
    """A folded text of the same length in which only characters of tokens and ASCII punctuation are left."""
    return folded if folded.isascii() else _NOT_WORD.sub(" ", folded)


def flat(text: str) -> str:
    """The text on one line, without escape sequences, control and direction characters; a part of a line."""
    shown = _ESCAPES.sub("", text)
    spaced = "".join(c if c.isprintable() or c == "\u200d" else " " for c in shown)
    return _SPACES.sub(" ", spaced)


def plain(text: str) -> str:
    """The text on one line, without escape sequences, control and direction characters."""
    return flat(text).strip()
