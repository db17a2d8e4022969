"""Where a text may be cut, and text as it can be sent: never half a character, never U+0000."""

from __future__ import annotations

_LONGEST_CLUSTER = 64


def boundary(text: str, position: int) -> int:
    """The last place at or before `position` where a cut splits no character as a reader sees it.

    A combining sequence, an emoji of several parts, a flag and a surrogate pair stay whole, unless they are
    longer than 64 code points.
    """
    if position <= 0 or position >= len(text):
        return max(0, min(position, len(text)))
    if text[position].isascii() and text[position] not in "\n":
        return position
    from wcwidth import grapheme_boundary_before

    if "\ud800" <= text[position - 1] <= "\udbff" and "\udc00" <= text[position] <= "\udfff":
        return position - 1
    start = max(0, position - _LONGEST_CLUSTER)
    found = grapheme_boundary_before(text[start : position + 1], position + 1 - start)
    return start + found if found or not start else position


def sendable(text: str) -> str:
    r"""The text without U+0000 and lone surrogates, which are shown as ``\x00`` and ``\ud83d``."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace").decode()
    return text
