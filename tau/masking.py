"""The one rule by which secrets are kept out of logs, messages and records.

Masked are: values of environment variables whose names say key, token, secret, password or credentials;
values that a provider or the configuration named as keys; the well-known shapes of keys; and, in logs and
notices, what stands behind a label such as ``api_key=``. Hashes, UUIDs and session ids stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"

_SECRET_NAME = re.compile(
    r"(?:\A|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)S?(?=_|\Z)(?!.*_(?:FILE|PATH|DIR|ENV)\Z)",
    re.IGNORECASE,
)
_SHORTEST = 8

_START = r"(?<![A-Za-z0-9])"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (marker, re.compile(pattern, re.DOTALL))
    for marker, pattern in (
        # OpenAI, Anthropic and many compatible ones; payment keys
        *((f"{kind}-", _START + kind + r"-[A-Za-z0-9*_-]{16,}") for kind in ("sk", "pk", "rk")),
        *((kind, _START + kind + r"[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA")),  # AWS
        *((f"gh{kind}_", _START + f"gh{kind}" + r"_[A-Za-z0-9_-]{16,}") for kind in "pousr"),
        ("github_pat_", _START + r"github_pat_[A-Za-z0-9_-]{16,}"),
        ("glpat-", _START + r"glpat-[A-Za-z0-9_-]{16,}"),
        ("AIza", _START + r"AIza[A-Za-z0-9_-]{20,}"),  # Google
        *((kind, _START + kind + r"[A-Za-z0-9]{16,}") for kind in ("hf_", "gsk_", "xai-", "r8_")),
        ("xox", _START + r"xox[a-z]-[A-Za-z0-9-]{10,}"),
        ("eyJ", _START + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"),  # JSON web tokens
        ("Bearer ", r"(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"),
        ("://", r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),  # user:password in a URL
        ("?key=", r"(?<=\?key=)[^&\s'\"]{8,}"),
        ("&key=", r"(?<=&key=)[^&\s'\"]{8,}"),
        ("PRIVATE KEY", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----"),
    )
)
"""The well-known shapes of keys, each with a text that it has in it: looking for that text is a hundred times
faster than matching, and most content has none of them."""

_LABELLED = re.compile(
    r"""((?:api[-_ ]?key|secret(?:[_-]?access[_-]?key)?|password|passwd|(?<![A-Za-z])token)"""
    r"""["']?\s*[:=]\s*["']?)"""
    r"""([^\s"',;&}\])]{8,})""",
    re.IGNORECASE,
)

_values: set[str] = set()


def remember(value: str) -> None:
    """Have a value masked from now on in this process.

    A short word without a digit is left: local servers are given ``ollama`` for a key, and masking a word
    that people write would hide more than it protects.
    """
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
        if name in named or _SECRET_NAME.search(name):
            remember(value)


def mask(text: str) -> str:
    """A line for a log or a notice with every secret replaced by `MASK`."""
    return _LABELLED.sub(rf"\g<1>{MASK}", mask_content(text))


def mask_content(text: str) -> str:
    """Content, such as a tool's result, with the known values and the well-known shapes replaced by `MASK`.

    What merely stands behind a label stays: in a program, ``token = next(tokens)`` is no secret.
    """
    for value in sorted(_values, key=len, reverse=True):
        text = text.replace(value, MASK)
    for marker, shape in _SHAPES:
        if marker in text:
            text = shape.sub(MASK, text)
    return text


def mask_all(value: Any) -> Any:
    """A value of JSON with `mask_content` applied to every text in it, keys too."""
    if isinstance(value, str):
        return mask_content(value)
    if isinstance(value, Mapping):
        return {mask_content(str(key)): mask_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_all(inner) for inner in value]
    return value
