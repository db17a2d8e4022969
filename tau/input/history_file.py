"""One directory's history on disk: a line of JSON for each text, appended, and read from the end.

A text of more than `LARGE` characters is a file of its own beside it, named by its content; its line has only
the beginning. So a line is never long, and reading the newest ones costs the same whatever was pasted.

Writers take turns by a lock on the file and end what a power cut left of a line before they add their own.
What is no whole line of the kind is passed over by readers. Nobody waits for the disk: what was sent is on
record in its session, and a power cut costs the history of some seconds at most.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeGuard

from tau.errors import TauError
from tau.input.places import make_folder, opened
from tau.sessions import file_system as fs
from tau.sessions.plain_json import NotJson, decode_object, encode

LARGE = 8_192
"""Characters of a text from which on it has a file of its own."""

SHOWN = 2_000
"""Characters of a large text that stand in its line."""

LONGEST_LINE = 1 << 17
"""Bytes; a longer line is none that was written here, and is passed over without being kept in memory."""

TEXTS = "texts"
_BLOCK = 1 << 16
_LATEST = 1e11
"""Seconds; the year 5138, and a time that calendars can still show."""


@dataclass(frozen=True)
class Entry:
    """A text that was sent.

    Attributes:
        text: The text, or the first `SHOWN` characters of a large one.
        at: When it was sent, in seconds since 1970.
        directory: Where, as a real path.
        characters: How many the whole text has.
        file: The file that holds the whole of a large one; empty for others.
        place: Where its line begins in the history of its directory; negative for one that is not on disk.
    """

    text: str
    at: float
    directory: str
    characters: int
    file: str = ""
    place: int = -1

    @property
    def is_large(self) -> bool:
        """Whether `text` is only the beginning."""
        return self.characters > len(self.text)

    def is_same(self, other: Entry | None) -> bool:
        """Whether the other holds the same text."""
        return other is not None and (self.text, self.file) == (other.text, other.file)


class HistoryFile:
    """The history of one directory.

    Args:
        folder: Of all histories.
        name: Of the file, with its suffix.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    def append(self, text: str, *, at: float, directory: str) -> None:
        """Add a text, unless it is the same as the last one.

        Raises:
            OSError: It cannot be written. What of it was is passed over by readers.
        """
        make_folder(self.folder)
        with opened(self.folder) as folder:
            file = _write_large(text, folder) if len(text) > LARGE else ""
            shown = text[:SHOWN] if file else text
            record = {"at": at, "directory": directory, "text": shown}
            if file:
                record |= {"characters": len(text), "file": file}
            descriptor = fs.open_for_append(self.name, folder)
            try:
                with suppress(OSError):  # no locks on this file system: an append is whole all the same
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                end = os.fstat(descriptor).st_size
                newest = next(_entries(descriptor, end), None)
                if newest is not None and (newest.text, newest.file) == (shown, file):
                    return
                torn = end and fs.read_at(descriptor, end - 1, 1) != b"\n"
                fs.write_all(descriptor, (b"\n" if torn else b"") + encode(record) + b"\n")
            finally:
                os.close(descriptor)

    def entries(self, before: int | None = None) -> Iterator[Entry]:
        """The texts, newest first, read as far as they are asked for.

        Args:
            before: Only those whose lines begin before this place.

        Raises:
            OSError: It cannot be read; one that is not there is empty.
        """
        try:
            with opened(self.folder) as folder:
                descriptor = fs.open_file(self.name, folder)
        except FileNotFoundError:
            return
        try:
            size = os.fstat(descriptor).st_size
            yield from _entries(descriptor, size if before is None else min(before, size))
        finally:
            os.close(descriptor)

    def whole(self, entry: Entry) -> str:
        """The whole text of an entry.

        Raises:
            TauError: The file of a large one is not there any more, cannot be read, or was cut short.
        """
        if not entry.file:
            return entry.text
        place = self.folder / TEXTS / entry.file
        lost = f"This text of {entry.characters:,} characters cannot be brought back: {place}"
        try:
            with opened(self.folder) as folder:
                texts = fs.open_directory(TEXTS, folder)
                try:
                    text = fs.read_file(entry.file, texts)[0].decode("utf-8", "replace")
                finally:
                    os.close(texts)
        except OSError as error:
            raise TauError(f"{lost}: {error.strerror or error}") from None
        if len(text) != entry.characters:
            raise TauError(f"{lost} has only {len(text):,} of them")
        return text


def is_time(value: object) -> TypeGuard[float]:
    """Whether a value that was read can be a time in seconds since 1970."""
    return isinstance(value, int | float) and 0 <= value < _LATEST


def _write_large(text: str, folder: int) -> str:
    """The name of the file that holds a large text, written unless it is there."""
    data = text.encode("utf-8", "replace")
    name = f"{sha256(data).hexdigest()[:32]}.txt"
    texts, _ = fs.open_or_make_directory(TEXTS, folder)
    try:
        if (stamp := fs.stamp_of(name, texts)) is None or stamp.size != len(data):
            temporary = f".{name}.{os.getpid()}.tmp"
            fs.write_temporary(temporary, texts, data)
            fs.replace(temporary, name, texts)
    finally:
        os.close(texts)
    return name


def _entries(descriptor: int, end: int) -> Iterator[Entry]:
    for place, line in _lines(descriptor, end):
        if (entry := _entry(place, line)) is not None:
            yield entry


def _lines(descriptor: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Lines with the places where they begin, the last one first; long ones are left out."""
    rest = b""  # the beginning of what was read so far, whose line may begin further up
    is_long = False
    at = end
    while at > 0:
        length = min(_BLOCK, at)
        at -= length
        first, *lines = (fs.read_at(descriptor, at, length) + rest).split(b"\n")
        place = at + len(first) + 1 + sum(map(len, lines)) + len(lines)
        while lines:
            line = lines.pop()
            place -= len(line) + 1
            if is_long:
                is_long = False
            elif line:
                yield place, line
        if len(first) > LONGEST_LINE:
            first, is_long = b"", True
        rest = first
    if rest and not is_long:
        yield 0, rest


def _entry(place: int, line: bytes) -> Entry | None:
    """What a line holds, or None when it is damaged."""
    try:
        record = decode_object(line)
    except NotJson:
        return None
    text, at, directory = record.get("text"), record.get("at"), record.get("directory")
    if not isinstance(text, str) or not is_time(at) or not isinstance(directory, str):
        return None
    characters, file = record.get("characters"), record.get("file")
    if not isinstance(file, str) or not isinstance(characters, int) or "/" in file:
        return Entry(text, float(at), directory, len(text), place=place)
    return Entry(text, float(at), directory, characters, file, place)
