"""Estimates what a text costs in tokens without a tokenizer, rather too much than too little."""

from __future__ import annotations

from unicodedata import east_asian_width

TOKEN = 6
"""Units of cost that are one token."""

_ASCII, _NARROW, _WIDE, _RARE = 2, 3, 6, 12


def cost(text: str) -> int:
    """Units of `TOKEN`: a token is three ASCII characters, two other ones or a wide one; an emoji is two."""
    if text.isascii():
        return _ASCII * len(text)
    return sum(map(_cost, text))


def _cost(char: str) -> int:
    if char < "\x80":
        return _ASCII
    if char > "\uffff":
        return _RARE
    return _WIDE if east_asian_width(char) in "WF" else _NARROW
