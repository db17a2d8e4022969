"""The one rule by which secrets are kept out of logs, messages and records.

Masked are: values of environment variables whose names speak of secrets; values that a provider or the
configuration named as keys; the well-known shapes of keys; and, in logs and notices, what stands behind a
label such as ``api_key=``. Hashes, UUIDs and session ids stay as they are.

A name is read as words, parted by ``_`` and other signs and by capitals (``accessToken``). It speaks of a
secret when one of them is KEY, TOKEN, SECRET, CREDENTIAL, PAT or AUTH, also with an S, or ends with PASSWORD,
PASSWD, PASSPHRASE, PASS, PWD or APIKEY (``PGPASSWORD``, ``SSHPASS``). It does not when it is ``PWD`` or
``OLDPWD``, or its last word is FILE, PATH, DIR, ENV or SOCK; nor, where only AUTH or PAT speaks for it, when
that is URL, URI, HOST, TYPE, METHOD or MODE. ASKPASS, BYPASS and COMPASS are other words. Of the values are
left: the path of something that exists; what has fewer than 8 characters, or no digit and fewer than 12; one
character over and over; and, where only AUTH or PAT speaks for it, a word of letters.

All of it takes time in proportion to the text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

MASK = "***"

LONGEST = 16_384
"""Characters of a secret that are waited for where a text comes in pieces."""

Span: TypeAlias = tuple[int, int]
"""Where a secret begins and ends in a text, in characters."""

_SHORTEST = 8
_WORDS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    "(?:KEY|TOKEN|SECRET|CREDENTIAL)S?"
    "|.*(?:PASSWORD|PASSWD|PASSPHRASE|APIKEY|(?<!ASK)(?<!BY)(?<!COM)PASS|PWD)S?"
)
_LIKELY_WORD = re.compile("(?:AUTH|PAT)S?")
_NOT_NAMES = ("PWD", "OLDPWD")
_NOT_LAST = ("FILE", "PATH", "DIR", "ENV", "SOCK")
_NOT_LAST_OF_LIKELY = ("URL", "URI", "HOST", "TYPE", "METHOD", "MODE")


@dataclass(frozen=True)
class _Shape:
    """What a kind of key looks like.

    Attributes:
        marker: What it begins with, or what stands before it. Looking for that is a hundred times faster than
            matching, and most content has none of them.
        body: The class of the characters that follow; no other stands in the key.
        pattern: The whole, from the marker on. Where it has a group, it is a key only when that has matched.
        stands_before: Whether the marker stands before the key and is kept, and is no part of it.
    """

    marker: str
    body: str
    pattern: re.Pattern[str]
    stands_before: bool = False

    def spans(self, text: str) -> Iterator[Span]:
        """Where the keys of this shape are, in order."""
        # Faster than `re.finditer`, and other threads are let in between two keys.
        kept = len(self.marker) if self.stands_before else 0
        at = text.find(self.marker)
        while at >= 0:
            match = self.pattern.match(text, at)
            if match is None:
                at = text.find(self.marker, at + 1)
                continue
            if not match.re.groups or match.group(1):
                yield at + kept, match.end()
            at = text.find(self.marker, match.end())

    def begun(self, text: str, end: int) -> int:
        """Where a key begins that the text ends in the middle of, or the text's length.

        Args:
            text: The text.
            end: Where the run of characters of `body` begins with which the text ends.
        """
        at = text.find(self.marker, max(0, end - len(self.marker)))
        while at >= 0 and self._is_inside(text, at):
            at = text.find(self.marker, at + 1)
        if at >= 0:
            return at
        for length in range(min(len(self.marker) - 1, len(text)), 0, -1):
            at = len(text) - length
            if text.startswith(self.marker[:length], at) and not self._is_inside(text, at):
                return at
        return len(text)

    def _is_inside(self, text: str, at: int) -> bool:
        """Whether it is the middle of a word, where no marker that is one itself begins: ``risk-``."""
        before = text[at - 1 : at]
        return self.marker[0].isalpha() and before.isascii() and before.isalnum()


def _key(marker: str, body: str, least: int) -> _Shape:
    return _special(marker, body, f"{body}{{{least},}}")


def _special(marker: str, body: str, rest: str) -> _Shape:
    """A key that begins with its marker."""
    # The marker comes first, so that the search for it is fast; only then what may not stand before it.
    pattern = f"{marker}(?<![A-Za-z0-9]{marker}){rest}"
    return _Shape(marker, body, re.compile(pattern))


def _behind(marker: str, body: str, rest: str) -> _Shape:
    """A key that a marker stands before, which is kept."""
    start = f"(?<![A-Za-z0-9]{re.escape(marker)})" if marker[0].isalpha() else ""
    return _Shape(marker, body, re.compile(re.escape(marker) + start + rest), stands_before=True)


_DASHED = "[A-Za-z0-9_-]"
_PLAIN = "[A-Za-z0-9]"
_SHAPES: tuple[_Shape, ...] = (
    # OpenAI, Anthropic and many compatible ones; payment keys
    *(_key(f"{kind}-", "[A-Za-z0-9*_-]", 16) for kind in ("sk", "pk", "rk")),
    *(_special(kind, _PLAIN, "[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA")),  # AWS
    _special("gh", _DASHED, f"[pousr]_{_DASHED}{{16,}}"),  # GitHub
    _key("github_pat_", _DASHED, 16),
    _key("glpat-", _DASHED, 16),
    _key("AIza", _DASHED, 20),  # Google
    *(_key(marker, _PLAIN, 16) for marker in ("hf_", "gsk_", "xai-", "r8_")),
    _special("xox", "[A-Za-z0-9-]", "[a-z]-[A-Za-z0-9-]{10,}"),
    # JSON web tokens. What begins like one and is none is taken whole and put back: a search that went on
    # inside it would take the square of its length.
    _Shape(
        "eyJ",
        "[A-Za-z0-9_.-]",
        re.compile(rf"eyJ(?<![A-Za-z0-9]eyJ){_DASHED}{{8,}}+(\.{_DASHED}{{8,}}+\.{_DASHED}++)?"),
    ),
    _behind("Bearer ", "[A-Za-z0-9._~+/=-]", "[A-Za-z0-9._~+/=-]{8,}"),
    _behind("://", r"[^/\s@]", r"[^/\s:@]*+:[^/\s@]++(?=@)"),  # user:password in a URL
    *(_behind(f"{sign}key=", r"[^&\s'\"]", r"[^&\s'\"]{8,}") for sign in "?&"),
)
_BODIES = {shape.body: re.compile(shape.body + "*") for shape in _SHAPES}

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BEGIN = "-----BEGIN "
_KEY_BEGUN = re.compile(r"-----BEGIN [A-Z ]{0,60}-{0,4}\Z")

_LABELLED = re.compile(
    r"""((?:api[-_ ]?key|secret(?:[_-]?access[_-]?key)?|password|passwd|(?<![A-Za-z])token)"""
    r"""["']?\s*[:=]\s*["']?)"""
    r"""([^\s"',;&}\])]{8,})""",
    re.IGNORECASE,
)

_values: set[str] = set()


def remember(value: str) -> None:
    """Have a value masked from now on in this process.

    What stands in for a key is left, such as ``ollama`` or ``xxxxxxxxxxxxxxxx``: masking what people write
    would hide more than it protects.
    """
    value = value.strip()
    if len(set(value)) == 1:
        return
    if len(value) >= 12 or (len(value) >= _SHORTEST and any(character.isdigit() for character in value)):
        _values.add(value)


def remember_environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> None:
    """Have the secrets of an environment masked from now on in this process.

    Args:
        environ: The environment.
        names: Variables that hold secrets whatever they are called.
    """
    named = set(names)
    for name, value in environ.items():
        if name in named or _is_secret(name, value):
            remember(value)


def _is_secret(name: str, value: str) -> bool:
    words = [word.upper() for word in _WORDS.findall(name)]
    if not words or name in _NOT_NAMES or words[-1] in _NOT_LAST:
        return False
    speaks = any(map(_SECRET_WORD.fullmatch, words))
    if not speaks and any(map(_LIKELY_WORD.fullmatch, words)):
        speaks = words[-1] not in _NOT_LAST_OF_LIKELY and not value.isalpha()
    return speaks and not _is_path(value)


def _is_path(value: str) -> bool:
    """Whether a value is the path of something that exists."""
    if "/" not in value:
        return False
    try:
        return Path(value).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long for one; no home
        return False


def mask(text: str) -> str:
    """A line for a log or a notice with every secret replaced by `MASK`."""
    return _LABELLED.sub(rf"\g<1>{MASK}", mask_content(text))


def mask_content(text: str) -> str:
    """Content, such as a tool's result, with the known values and the well-known shapes replaced by `MASK`.

    What merely stands behind a label stays: in a program, ``token = next(tokens)`` is no secret.
    """
    spans = [span for value in _values if value in text for span in _places(value, text)]
    for shape in _SHAPES:
        spans += shape.spans(text)
    spans += _private_keys(text)
    # All are found in the text as it is: what is put in the place of one would be read as a part of another.
    pieces = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces += [text[done:start], MASK]
        done = max(done, end)
    return "".join((*pieces, text[done:])) if pieces else text


def _places(value: str, text: str) -> Iterator[Span]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)  # one may begin inside another


def masked_over(before: str, after: str) -> int:
    """The number of a new text's first line that is one of the old text as it looks masked; 0 for none."""
    if MASK not in after:
        return 0
    kept = set(before.splitlines())
    masked = {line for line in mask_content(before).splitlines() if MASK in line and line not in kept}
    return next((number for number, line in enumerate(after.splitlines(), 1) if line in masked), 0)


def mask_all(value: Any) -> Any:
    """A value of JSON with `mask_content` applied to every text in it, keys too."""
    if isinstance(value, str):
        return mask_content(value)
    if isinstance(value, Mapping):
        return {mask_content(str(key)): mask_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_all(inner) for inner in value]
    return value


def settled(text: str) -> int:
    """How much of a text can be masked by itself, because no secret goes on behind it whatever follows.

    Args:
        text: The text so far. A secret that began more than `LONGEST` characters before its end is not seen.

    Returns:
        A number of characters from the beginning of the text.
    """
    start = max(0, len(text) - LONGEST)
    tail = text[start:]
    backwards = tail[::-1]
    ends = {body: len(tail) - _length(pattern.match(backwards)) for body, pattern in _BODIES.items()}
    at = min(
        _private_key_begun(tail),
        *(shape.begun(tail, ends[shape.body]) for shape in _SHAPES),
        *(_value_begun(value, tail) for value in _values),
    )
    cut = start + at
    if cut < len(text) and mask_content(text[:cut]) + mask_content(text[cut:]) != mask_content(text):
        return 0  # what may be a beginning is the end of a secret as well
    return cut


def _length(match: re.Match[str] | None) -> int:
    return match.end() if match is not None else 0


def _value_begun(value: str, text: str) -> int:
    """Where a known value begins that the text ends in the middle of, or the text's length."""
    last = text[-1:]
    length = value.rfind(last, 0, len(value) - 1) + 1 if last else 0
    while length > 0:
        if text.endswith(value[:length]):
            return len(text) - length
        length = value.rfind(last, 0, length - 1) + 1
    return len(text)


def _private_key_begun(text: str) -> int:
    """Where a private key begins that the text ends in the middle of, or the text's length."""
    at = 0
    while begins := _KEY_BEGINS.search(text, at):
        ends = _KEY_ENDS.search(text, begins.end())
        if ends is None:
            return begins.start()
        at = ends.end()
    last = text.rfind(_BEGIN, at)
    if last >= 0 and _KEY_BEGUN.match(text, last):
        return last
    return _value_begun(_BEGIN, text)


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" not in text:
        return
    at = 0
    while (begins := _KEY_BEGINS.search(text, at)) and (ends := _KEY_ENDS.search(text, begins.end())):
        at = ends.end()
        yield begins.start(), at
