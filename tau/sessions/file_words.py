"""Whether the words of a search may stand in a session's files, told from the bytes where that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tau.sessions.file_folder import META_PART, message_name
from tau.sessions.file_journal_lines import MESSAGE, META, Header
from tau.sessions.file_records import stored_message
from tau.sessions.plain_json import NotJson, decode_object
from tau.sessions.records import message_text
from tau.sessions.searching import fold, unaccented

_ASCII = bytes(range(128))

_WRITTEN_OTHERWISE = re.compile(
    r".*[0-9]|n$|no$|none?$"  # numbers and null
    r"|x([a-f]?$|[a-f]{2})|u([a-f]{0,3}$|[a-f]{4})"  # characters that are not printable
)
"""Words that may begin in what is no text in a tool's input, which is searched as Python writes it.

There null is None, and a no-break space in a list is ``\\xa0``. Any other word stands in the JSON, too.
"""


class WordsSought:
    """The words of a search, until each was met in some file of a session; it may be met where it is not.

    Args:
        words: Lower-case ASCII letters and digits.

    Attributes:
        lacking: Those not met so far.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.lacking = list(words)
        self._letters = set("".join(self.lacking))
        self._stand_in_json = not any(map(_WRITTEN_OTHERWISE.match, self.lacking))

    def look_at_log(
        self, bodies: Iterable[tuple[Header, int, memoryview]], files: dict[str, tuple[int, int]]
    ) -> None:
        """Look for the words in the log.

        Args:
            bodies: The records of the log.
            files: Name to size and time of modification (ns) of the files; those are taken out that the log
                has as they are.
        """
        for header, _begin, body in bodies:
            if header.kind == MESSAGE:
                name = message_name(header.key)
            elif header.kind == META:
                name = META_PART
            else:
                continue
            if self._stand_in_json:
                self._look_at_json(bytes(body), errors="replace")
            else:
                try:
                    self.look_at(bytes(body), is_meta=name == META_PART)
                except NotJson:
                    continue
            if not self.lacking:
                return
            if files.get(name) == (header.size, header.mtime_ns):
                del files[name]

    def look_at(self, data: bytes, *, is_meta: bool) -> None:
        """Look for the words in a file.

        Args:
            data: The file's content.
            is_meta: Whether it is that of the metadata, not of a message.

        Raises:
            NotJson: It holds neither.
        """
        if self._stand_in_json and b"\\u" not in data and b"\0" not in data:  # NULs: UTF-16
            try:
                self._look_at_json(data)
                return
            except UnicodeDecodeError:  # which JSON may be all the same
                pass
        self._look_in(_searched_text(data, is_meta=is_meta))

    def _look_at_json(self, data: bytes, errors: str = "strict") -> None:
        """Look in JSON that escapes control characters alone, with each letter plain that something hides."""
        lower = data.lower()
        text = lower.decode("utf-8", errors)
        if not text.isascii():
            for char in set(lower.translate(None, _ASCII).decode("utf-8", errors)):
                plain = unaccented(char)
                if not plain or not self._letters.isdisjoint(plain):
                    text = text.replace(char, plain)
        self._look_in(text)

    def _look_in(self, text: str) -> None:
        self.lacking = [word for word in self.lacking if word not in text]


def _searched_text(data: bytes, *, is_meta: bool) -> str:
    if is_meta:
        return fold("\n".join(value for value in decode_object(data).values() if isinstance(value, str)))
    return fold(message_text(stored_message(0, data).message))
