"""Which single words of a text are facts: addresses, paths, hashes, dates, numbers, identifiers."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from tau.agent.anchor_words import EVERYDAY, EXTENSIONS, SMALL_WORDS

LONGEST = 400
"""Characters of a word that is looked at; longer ones are no facts a reader could use."""

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
"""Scripts written without spaces, and their signs, for a character class."""


class Kind(StrEnum):
    """What a fact is; the value labels a list of such facts."""

    COMMAND = "commands"
    PATH = "paths"
    URL = "urls"
    HASH = "hashes"
    TICKET = "tickets"
    HOST = "hosts"
    MAIL = "mail"
    DATE = "dates"
    VERSION = "versions"
    NAME = "names"
    NUMBER = "numbers"
    WORDS = "words"


WORD = re.compile(
    r"(?<![a-zA-Z])[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>`|" + _WIDE + "]+"
    r"|[^\s\"'`<>()\[\]{}|,;“”„«»" + _WIDE + "]+(?:,\\d+)*"
)
"""One word: an address, or whatever stands between spaces, quotes, brackets and commas."""

_LEADING = "*_~:.!?…=/\\-–—•"
_TRAILING = "*~:.!?…=-–—•"
_HEX = "[0-9a-fA-F]"
_FORMS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.URL, re.compile(r"[a-z][a-z0-9+.-]+://.{2,}|[\w.-]+@[\w-]+\.[\w.-]+:[\w./~-]+")),
    (Kind.MAIL, re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (Kind.HASH, re.compile(r"(?:SHA|sha|MD|md)-?\d{1,3}[:=-][\w+/=:-]{6,}")),
    (Kind.HASH, re.compile(f"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}")),
    (Kind.HASH, re.compile(f"(?:{_HEX}{{2}}:){{5,}}{_HEX}{{2}}")),
    (Kind.HASH, re.compile(rf"(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])(?:0x)?{_HEX}{{7,}}")),
    (
        Kind.DATE,
        re.compile(
            r"\d{4}-\d{2}(?:-\d{2})?(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})|\d{4}/\d{2}/\d{2}"
            r"|\d{1,2}:\d{2}(?::\d{2})?(?:am|pm|AM|PM|Z|h)?|\d{1,2}(?:am|pm)|(?:Q[1-4]|KW|W)[-/]?\d{2,4}"
        ),
    ),
    (
        Kind.HOST,
        re.compile(
            r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\d{1,2})?|\[?(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}"
        ),
    ),
    (
        Kind.VERSION,
        re.compile(
            r"(?:[<>=~^!]=?)?[vV]?\d+(?:\.\d+){2,3}(?:[-+.]?[a-z]+[\w.+-]*)?|[vV]\d+(?:\.\d+)*|\d+\.\d+(?:rc|a|b|-rc|-beta|\.dev|\.post)\.?\d+"
        ),
    ),
    (Kind.TICKET, re.compile(r"[A-Z][A-Z0-9]{1,9}-\d+|[\w./-]*#\d+|(?:CVE|RFC|ISO|PEP)[- ]?\d[\d-]*")),
    (Kind.NAME, re.compile(r"--[a-zA-Z][\w-]*(?:=\S+)?|-[a-zA-Z](?:=?\d+)?")),
    (Kind.NAME, re.compile(r"\$[A-Za-z_]\w*|[A-Za-z_][\w.-]*(?:=|:=|==|>=|<=|~=)[^=\s]\S*")),
    (Kind.HOST, re.compile(r"(?:[A-Za-z0-9-]+\.)*[A-Za-z][A-Za-z0-9-]*:\d{2,5}")),
)
_PATH = re.compile(r"[\w.@+%=:$#~/-]+")
_FILE = re.compile(r"[\w@+-][\w.@+-]*\.(\w{1,8})(?::\d+(?:[:-]\d+)?|#L\d+)?|\.[a-z][\w.-]+")
_WINDOWS = re.compile(r"[A-Za-z]:\\\S*|\\\\\S+|[\w.-]+(?:\\[\w.-]+)+")
_FILE_NAMES = re.compile(r"Makefile|Dockerfile|Jenkinsfile|Procfile|Gemfile|Vagrantfile|Justfile")
_NUMBER = re.compile(
    r"[-+±~≈<>≥≤$€£¥]{0,2}\d[\d_]*(?:[.,:/x×–-]\d+)*"
    r"(?:%|‰|°[CF]?|[A-Za-zµ€]{1,4}(?:/[a-zA-Z]{1,5})?)?[€$]?"
)
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:(?:\.|::|->)[A-Za-z_*]\w+)+(?:\(\))?")
_SNAKE = re.compile(r"_*[^\W_]\w*_\w+|__\w+")
_CAMEL = re.compile(r"[a-z][a-z0-9]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}[A-Z]?|[A-Z]{2,}[a-z]+[A-Z]\w*")
_KEBAB = re.compile(r"[^\W_]\w*(?:[-.:+@][^\W_]\w*)+")
_MIXED = re.compile(r"(?=\w*\d)[^\W\d_]\w{2,}")
_OPAQUE = re.compile(r"(?=[^\d]*\d)(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[\w+/=-]{16,}")


def trimmed(word: str) -> str:
    """A word without the signs of the sentence around it."""
    bare = word.rstrip(_TRAILING)
    start = bare.lstrip("*:!?…=–—•")
    if start[:1] in ("-", ".", "_", "\\") and start.strip(_LEADING) == "":
        return ""
    return start


@lru_cache(maxsize=8192)
def kind_of(word: str) -> Kind | None:
    """What kind of fact a trimmed word is, or None when it is an ordinary word."""
    if not 1 < len(word) <= LONGEST or (word.isalpha() and (word.islower() or word.istitle())):
        return Kind.NUMBER if word.isdecimal() and word else None
    if word.isdecimal():
        return Kind.NUMBER
    if word.casefold() in EVERYDAY or not any(map(str.isalnum, word)):
        return None
    for kind, form in _FORMS:
        if form.fullmatch(word):
            return kind
    if _NUMBER.fullmatch(word):
        return Kind.NUMBER
    if _is_path(word):
        return Kind.PATH
    if _OPAQUE.fullmatch(word):
        return Kind.HASH
    if _DOTTED.fullmatch(word) or _SNAKE.fullmatch(word) or _CAMEL.fullmatch(word) or _MIXED.fullmatch(word):
        return Kind.NAME
    if _KEBAB.fullmatch(word):
        parts = re.split("[-.:+@]", word)
        if any(map(str.isdecimal, word)) or (len(parts) > 2 and not SMALL_WORDS.intersection(parts)):
            return Kind.NAME
    return None


def _is_path(word: str) -> bool:
    if _FILE_NAMES.fullmatch(word) or _WINDOWS.fullmatch(word):
        return True
    if "/" not in word:
        named = _FILE.fullmatch(word)
        return named is not None and (named[1] is None or named[1].lower() in EXTENSIONS)
    if not any(map(str.isalpha, word)) or "//" in word or _PATH.fullmatch(word) is None:
        return False
    parts = word.strip("/").split("/")
    return (
        word[0] in "/~."
        or word[-1] == "/"
        or len(parts) > 2
        or any(not part.isalpha() and part.strip("0123456789") for part in parts)
    )
