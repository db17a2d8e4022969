"""Text files as bytes and as text: encoding, byte order mark and line endings stay what they were."""

from __future__ import annotations

import codecs
from bisect import bisect_left
from dataclasses import dataclass

from tau.tools import file_types
from tau.tools.refusals import Refused

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Form:
    """How a file holds its text.

    Attributes:
        mark: The byte order mark it begins with, possibly none.
        codec: Of what follows. Bytes that are no UTF-8 are kept, as lone surrogates in the text.
    """

    mark: bytes = b""
    codec: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """The bytes of a file with this text."""
        return self.mark + text.encode(self.codec, "surrogateescape" if self.codec == "utf-8" else "strict")

    def plain(self, text: str) -> str:
        """A text from outside without the byte order mark, where the file has one anyway."""
        return text.removeprefix(_BOM) if self.mark else text

    def whole(self, text: str) -> str:
        """The text with the byte order mark as its first character, as a difference of UTF-8 files has it."""
        return _BOM + text if self.mark and self.codec == "utf-8" else text


def decode(data: bytes, name: str) -> tuple[str, Form]:
    """The text of a file, every character as it is there, and its form.

    Args:
        data: The whole file.
        name: The file, as results name it.

    Raises:
        Refused: It is binary, or is damaged text in UTF-16 or UTF-32.
    """
    mark, codec = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    form = Form(mark, codec)
    body = data[len(mark) :]
    head = data[: file_types.SAMPLE]
    try:
        text = body.decode(codec)
    except UnicodeDecodeError:
        if codec != "utf-8":
            raise Refused(f"{name} is no valid {codec[:-3].upper()} text and is not changed") from None
        text = body.decode(codec, "surrogateescape")
        if file_types.binary_type(head) != file_types.binary_type(b""):
            raise _binary(data, name) from None
    if "\0" in text or file_types.image_format(head):
        raise _binary(data, name)
    return text, form


def check(text: str, what: str) -> None:
    """Refuse what may not come into a file.

    Args:
        text: What a model wants to write or to find.
        what: The argument it is, for the refusal.

    Raises:
        Refused: It has U+0000 or half a surrogate pair.
    """
    if "\0" in text:
        raise Refused(f"{what} has a NUL character; only text can be written, use shell for binary data")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise Refused(
            f"{what} has half a surrogate pair, \\u{code:04x}, at character {error.start + 1:,};"
            " write the whole character"
        ) from None


def showable(text: str) -> str:
    r"""The text with bytes that are no UTF-8 as ``\xNN``, as `read_file` shows them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def with_newlines(text: str) -> str:
    """The text with every CRLF as one newline, as models see files."""
    return text.replace("\r\n", "\n")


def line_ending(text: str) -> str:
    r"""What most lines end with, ``\r\n`` or ``\n``; empty where no line ends."""
    newlines = text.count("\n")
    if not newlines:
        return ""
    return "\r\n" if text.count("\r\n") * 2 > newlines else "\n"


def substituted(text: str, *, at: int, old: str, new: str) -> str:
    """The text with a part replaced.

    Beginnings and ends that the part and the new text share are not touched. New lines end as the replaced
    ones, else as the lines around them.

    Args:
        text: With the line endings of the file.
        at: Where the part begins in the text `with_newlines`.
        old: The part, with newlines.
        new: What comes in its place, with newlines.
    """
    first = 0
    shorter = min(len(old), len(new))
    while first < shorter and old[first] == new[first]:
        first += 1
    last = 0
    while last < shorter - first and old[-1 - last] == new[-1 - last]:
        last += 1
    start, end = _places(text, at + first, at + len(old) - last)
    inserted = new[first : len(new) - last]
    if "\n" in inserted:
        inserted = inserted.replace("\n", _ending_around(text, start, end))
    return text[:start] + inserted + text[end:]


def _places(text: str, *offsets: int) -> list[int]:
    """Offsets in the text `with_newlines` as offsets in the text itself."""
    joined: list[int] = []  # where, with newlines, each CRLF is
    found = text.find("\r\n")
    while found >= 0:
        joined.append(found - len(joined))
        found = text.find("\r\n", found + 2)
    return [offset + bisect_left(joined, offset) for offset in offsets]


def _ending_around(text: str, start: int, end: int) -> str:
    newline = text.find("\n", start, end)
    if newline < 0:
        newline = text.find("\n", end)
    if newline < 0:
        newline = text.rfind("\n", 0, start)
    return "\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n"


def _binary(data: bytes, name: str) -> Refused:
    kind = file_types.binary_type(data[: file_types.SAMPLE])
    return Refused(f"{name} is {kind} of {len(data):,} bytes, not text; it is not changed")
