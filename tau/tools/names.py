r"""File names as text a model can read and give back, whatever bytes they are made of.

A name of printable characters stands as it is. In any other, bytes that are no UTF-8 are shown as ``\xe9``,
control and invisible characters as ``\n`` or ``\u202e``, and a backslash as ``\\``; `named` reads that back.
"""

from __future__ import annotations

import os
import re

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_LONG = {written: character for character, written in _SHORT.items()}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|[nrt\\])")


def shown(name: str) -> str:
    """A file name or path, as Python has it from the system, on one line of valid text."""
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def named(text: str) -> str:
    """The file name that a text stands for when it is read without any escapes.

    Raises:
        UnicodeEncodeError: It has half a surrogate pair, which no file name can have.
    """
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def unescaped(text: str) -> str:
    """The file name that `shown` wrote as `text`.

    Raises:
        UnicodeEncodeError: It has half a surrogate pair.
    """
    return named(_ESCAPE.sub(_character, text))


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as surrogateescape carries it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _character(match: re.Match[str]) -> str:
    byte, short, long = match.groups()
    if byte is not None:
        code = int(byte, 16)
        return chr(code if code < 0x80 else 0xDC00 + code)
    if short is not None or long is not None:
        code = int(short or long, 16)
        return chr(code) if code <= 0x10FFFF else match.group()
    return _LONG[match.group()]
