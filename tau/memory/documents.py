"""Reads the folders of memory files: regular files of text in them, no link followed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.labels import SCOPES, Scope, for_system, from_system, label_of
from tau.memory.places import MemoryPlaces, open_folder
from tau.sessions import file_system as fs

LARGEST = 1_000_000
"""Bytes above which a file is no memory that somebody wrote."""

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*))?\Z")
_OTHER = re.compile(r"[ \t#]|-[ \t]|\Z")


@dataclass(frozen=True)
class Document:
    """A memory file as it was read.

    Attributes:
        scope: Whether it holds everywhere or in this project.
        name: The file's name.
        path: Where it is.
        data: Its bytes.
        modified_ns: When it was written last, in nanoseconds.
    """

    scope: Scope
    name: str
    path: Path
    data: bytes
    modified_ns: int

    @property
    def title(self) -> str:
        """``global/NAME.md`` or ``project/NAME.md``."""
        return f"{self.scope}/{self.name}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal digits."""
        return sha256(self.data).hexdigest()

    @cached_property
    def text(self) -> str:
        """The bytes as text, without a byte order mark; what is not UTF-8 is replaced."""
        return self.data.decode("utf-8-sig", "replace")

    @property
    def builtin(self) -> bool:
        """Whether it came with tau and was not made somebody's own: ``builtin: true`` in its front matter."""
        return self._keys.get("builtin", "").lower() == "true"

    @property
    def origin(self) -> str:
        """Where the content came from when it came from outside; empty otherwise."""
        return self._keys.get("origin", "")

    @cached_property
    def _keys(self) -> dict[str, str]:
        return front_matter(self.text)[0]


def read(where: MemoryPlaces) -> tuple[list[Document], list[str]]:
    """The memory files of a place, global ones first, each by name; and what could not be read, a line each.

    Names that begin with a dot, and names that do not end in ``.md``, are nobody's memory and not looked at.
    """
    documents: list[Document] = []
    problems: list[str] = []
    for scope in SCOPES:
        for found in _of_scope(where, scope):
            if isinstance(found, Document):
                documents.append(found)
            else:
                problems.append(found)
    return documents, problems


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The ``key: value`` lines between two ``---`` at the beginning, and the text after them.

    Without such a block, or with prose in it, there are no keys and the text is all of it. Of a key given
    twice the first counts. Quotes around a value are no part of it.
    """
    keys: dict[str, str] = {}
    first, *lines = text.split("\n")
    if first.rstrip() != "---":
        return {}, text
    for number, line in enumerate(map(str.rstrip, lines), 1):
        if line == "---":
            return keys, "\n".join(lines[number:])
        entry = _KEY.match(line)
        if entry is not None:
            keys.setdefault(entry.group(1), _unquoted((entry.group(2) or "").strip()))
        elif _OTHER.match(line) is None:
            break
    return {}, text


def front_lines(text: str) -> list[tuple[str, str]]:
    """The lines of the front matter as they stand, each with its key; comments and empty lines have none.

    What is indented below a key, and the items below it, belong to it.
    """
    block = text[: len(text) - len(front_matter(text)[1])]
    found = []
    key = ""
    for line in block.removesuffix("\n").split("\n")[1:-1]:
        entry = _KEY.match(line.rstrip())
        key = entry.group(1) if entry else key
        found.append(("" if line.startswith("#") or not line.strip() else key, line))
    return found


def is_utf_8(data: bytes) -> bool:
    """Whether bytes are text, so that nothing of them is lost when they are read as such."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def line_count(data: bytes) -> int:
    """How many lines there are; what stands after the last end of a line is one, too."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def read_regular(name: str, folder: int, shown: str) -> tuple[bytes, os.stat_result]:
    """A regular file that is not too large, and what the disk says of it. Never waits and follows no link.

    Args:
        name: Its name.
        folder: The open folder that holds it.
        shown: Its path, for messages.

    Raises:
        FileNotFoundError: It is not there.
        MemoryRefused: It is something else, too large, or cannot be read.
    """
    try:
        descriptor = fs.open_file(name, folder)
        try:
            state = os.fstat(descriptor)
            data = fs.read_at(descriptor, 0, LARGEST + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise MemoryRefused(f"{shown} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise MemoryRefused(f"{shown} is larger than {LARGEST // 1000:,} kB, so it is not read")
    return data, state


def _of_scope(where: MemoryPlaces, scope: Scope) -> Iterator[Document | str]:
    """The documents of one folder, with a line for each that cannot be read in its place."""
    path = where.folder(scope)
    try:
        folder = open_folder(where, *where.folder_names(scope))
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"{one_line(str(path))} cannot be read: {error.strerror}"
        return
    try:
        for name in sorted(map(from_system, fs.names(folder))):
            if name.startswith(".") or not name.lower().endswith(".md"):
                continue
            file = path / for_system(name)
            shown = one_line(str(file))
            try:
                label_of(name)
            except MemoryRefused as problem:
                yield f"{shown} is not read: {problem.line()}"
                continue
            try:
                data, state = read_regular(file.name, folder, shown)
            except FileNotFoundError:
                continue  # removed since the folder was listed
            except MemoryRefused as problem:
                yield problem.line()
                continue
            if state.st_uid != os.geteuid():
                yield f"{shown} belongs to another user, so it is not read"
                continue
            yield Document(scope, name, file, data, state.st_mtime_ns)
    except OSError as error:
        yield f"{one_line(str(path))} cannot be read: {error.strerror}"
    finally:
        os.close(folder)


def _unquoted(value: str) -> str:
    for quote in ('"', "'"):
        if len(value) > 1 and value.startswith(quote) and value.endswith(quote):
            return value[1:-1]
    return value
