"""Refuses files that are no text in UTF-8: to add to them would spoil them."""

from __future__ import annotations

from tau.errors import JournalRefused

_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
"""How UTF-16 and UTF-32 begin, either way round."""


def check_encoding(data: bytes, shown: str, *, to_change: bool = False) -> None:
    """See that a file is text that can be read, or changed, as UTF-8.

    Args:
        data: What it holds.
        shown: Its name, for the person.
        to_change: Whether it is to be changed: then all of it must be UTF-8.

    Raises:
        JournalRefused: It is not.
    """
    if data.startswith(_OTHER_MARKS) or b"\0" in data:
        raise JournalRefused(f"{shown} is UTF-16 or no text, so it is not read", "save it as UTF-8")
    if to_change:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise JournalRefused(
                f"{shown} is not UTF-8 in line {line}, so it is not changed", "save it as UTF-8"
            ) from None
