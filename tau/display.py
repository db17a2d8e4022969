"""Makes text from outside safe to show, the one filter between foreign text and a terminal; and amounts."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, except tab and newline
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, bidi
    "\ud800-\udfff"  # lone surrogates
    "\U000e0000-\U000e007f"  # tag characters, which hide text
    "]"
)
_WHITE_SPACE = re.compile(r"\s+")
_BLANK = " \t\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0"
_GAP = re.compile(f"^[{_BLANK}]{{41,}}|(?<=[^{_BLANK}\n])[{_BLANK}]{{9,}}", re.MULTILINE)
_EMPTY_LINES = re.compile(f"\n(?:[{_BLANK}]*\n){{4,}}")
_LIKE_A_MARK = re.compile("[␠⏎](?=×)")
MARK = re.compile("[␠⏎]×[0-9,]+")
"""Where `spelled_out` counts what it does not show."""


def visible(text: str) -> str:
    r"""The text with everything that could steer a terminal, hide or reorder text shown as an escape.

    Controls (ESC among them), bidirectional and invisible format characters and lone surrogates become
    ``\x1b``, ``\u202e``, ``\ud83d`` and so on. Newlines and tabs stay; ``\r\n`` becomes a newline. The
    result can be encoded as UTF-8, and applying the function again changes nothing.
    """
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 400) -> str:
    """`visible` text on one line: every run of white space is one space, cut with ``…`` after `limit`."""
    flat = _WHITE_SPACE.sub(" ", visible(text[: limit * 4])).strip()
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def storable(path: str) -> str:
    r"""A path as text that can be kept, with bytes that are no UTF-8 as escapes: ``caf\udce9``."""
    return path.encode("utf-8", "backslashreplace").decode()


def dollars(amount: float) -> str:
    """An amount of US dollars as a person reads it: ``$0.12``, ``$3.40``, ``<$0.01``, ``$1,204``."""
    if 0 < amount < 0.005:
        return "<$0.01"
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"


def spelled_out(text: str) -> str:
    """`visible` text in which nothing can be pushed out of sight: long gaps are counted.

    More than 8 blanks in a line (more than 40 where it begins) become ``␠×300``, more than 4 ends of lines in
    a row ``⏎×300`` on a line of its own. What looks like such a mark already becomes an escape.
    """
    text = _LIKE_A_MARK.sub(_escape, visible(text))
    text = _GAP.sub(lambda gap: f"␠×{len(gap.group()):,}", text)
    return _EMPTY_LINES.sub(lambda lines: f"\n⏎×{lines.group().count(chr(10)):,}\n", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return "\\r" if code == 0x0D else f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
