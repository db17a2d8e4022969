"""The tool `read_file`: numbered lines of a text file, or an image."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.tools import file_types, paths
from tau.tools.context import DIGEST, MOST_CHANGED_BYTES, ToolContext
from tau.tools.cutting import boundary, sendable
from tau.tools.image_size import is_whole
from tau.tools.line_reader import LineReader
from tau.tools.refusals import Refused, Watch
from tau.tools.spill import is_result
from tau.tools.subject import Subject
from tau.tools.tool_kit import declare

MOST_LINES = 2_000
LINE_CHARS = 2_000
IMAGE_BYTES = 3_932_160
"""The largest image providers take: 5 MiB once it is written as base64."""

SECONDS = 30.0
_CHUNK = 1 << 20
_COUNTED_BYTES = 64 << 20
"""Files up to this size are read to the end, to say how many lines they have."""

_OFFSET = re.compile(r"\s*(\d{1,15})(?:\s*:\s*(\d{1,15}))?\s*")

DESCRIPTION = (
    "Read a text file as numbered lines, or look at an image. Images are png, jpeg, gif or webp. "
    "Long files and long lines are cut, and the last lines of the result say with which offset to go on: "
    'a line number, or "LINE:CHARACTER" to go on inside a long line. '
    "The number and the tab before each line are not part of the file."
)
ARGUMENTS: dict[str, Any] = {
    "path": {"type": "string", "description": "The file, relative to the working directory."},
    "offset": {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}],
        "description": 'The line to begin with, from 1; or "LINE:CHARACTER".',
        "default": 1,
    },
    "limit": {
        "type": "integer",
        "minimum": 1,
        "description": f"How many lines at most; {MOST_LINES} unless given.",
        "default": MOST_LINES,
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""

    def read_file(
        path: str,
        tool_context: Call,
        offset: int | str | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        watch = Watch(tool_context.cancel_signal, SECONDS)
        use_id = tool_context.tool_use["toolUseId"]
        content = read(context, path, offset=offset, limit=limit, watch=watch, use_id=use_id)
        return {"status": "success", "content": content}

    return [
        declare(
            read_file,
            name="read_file",
            tier=0,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            subject=Subject("path", "path"),
        )
    ]


def read(
    context: ToolContext,
    path: str,
    *,
    offset: int | str | None,
    limit: int | None,
    watch: Watch,
    use_id: str = "",
) -> list[dict[str, Any]]:
    """The content blocks of a result: one of text, and one more for an image.

    Args:
        context: Where files may be read, how much, and what the call is held to.
        path: As the model gave it.
        offset: A line from 1, ``"LINE"`` or ``"LINE:CHARACTER"``; None for the beginning.
        limit: Lines at most; None for `MOST_LINES`.
        watch: When to stop.
        use_id: Of the call; empty where there is none.

    Raises:
        Refused: The file may not or cannot be read so.
    """
    first, character = _position(offset)
    if limit is not None and limit < 1:
        raise Refused("limit is a number of lines, at least 1")
    real = paths.held(context, use_id, paths.readable(context, path))
    name = paths.display(context, real)
    descriptor = paths.open_file(context, real)
    try:
        size = os.fstat(descriptor).st_size
        head = os.pread(descriptor, file_types.SAMPLE, 0)
        if kind := file_types.image_format(head):
            return _image(descriptor, kind, name, size)
        codec = file_types.encoding(head)
        if not codec and is_result(context, real):
            codec = "utf-8"  # a result of a tool was text, whatever characters it had
        if not codec:
            raise Refused(
                f"{name} is {file_types.binary_type(head)} of {size:,} bytes, not text; it is not shown"
            )
        page = _Page(name, room=context.room)
        digest = DIGEST() if size <= MOST_CHANGED_BYTES else None
        page.fill(
            LineReader(_decoded(descriptor, codec, watch, digest)),
            first=first,
            character=character,
            limit=min(limit or MOST_LINES, MOST_LINES),
            count=size <= _COUNTED_BYTES,
        )
        if digest is not None:  # the lines are counted to the end, so every byte has passed
            context.seen.note(real, digest.hexdigest())
    finally:
        os.close(descriptor)
    if codec in ("utf-16", "utf-32"):
        page.notes.append(f"[The file is encoded as {codec.upper()}.]")
    elif not _is_utf8(head):
        page.notes.append("[The file is not valid UTF-8: bytes that are not are shown as \\xNN.]")
    return [{"text": "\n".join([*page.rows, *page.notes])}]


def _position(offset: int | str | None) -> tuple[int, int | None]:
    """The line to begin with, and the character in it where one was named; both count from 1."""
    if offset is None:
        return 1, None
    match = _OFFSET.fullmatch(str(offset))
    if match is None or int(match[1]) < 1 or (match[2] and int(match[2]) < 1):
        raise Refused('offset is a line number from 1, or "LINE:CHARACTER", both from 1')
    return int(match[1]), int(match[2]) if match[2] else None


def _image(descriptor: int, kind: str, name: str, size: int) -> list[dict[str, Any]]:
    if size > IMAGE_BYTES:
        raise Refused(
            f"{name} is a {kind.upper()} image of {size:,} bytes;"
            f" only images up to {IMAGE_BYTES:,} bytes can be shown"
        )
    data = b"".join(iter(lambda: os.read(descriptor, _CHUNK), b""))
    if not is_whole(kind, data):
        raise Refused(f"{name} begins as a {kind.upper()} image and breaks off, or is none; it is not shown")
    return [
        {"text": f"{name} is a {kind.upper()} image of {size:,} bytes:"},
        {"image": {"format": kind, "source": {"bytes": data}}},
    ]


def _decoded(descriptor: int, codec: str, watch: Watch, digest: hashlib._Hash | None) -> Iterator[str]:
    """The text in chunks; the digest, if there is one, takes in the bytes as they pass."""
    decoder = codecs.getincrementaldecoder(codec)("backslashreplace")
    while data := os.read(descriptor, _CHUNK):
        watch.check()
        if watch.over:
            raise Refused(f"Reading took longer than {watch.seconds:g} s and was given up")
        if digest is not None:
            digest.update(data)
        if text := decoder.decode(data):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


class _Page:
    """The part of a file that fits into a result.

    Args:
        name: The file, as results name it.
        room: Characters there are for lines.

    Attributes:
        rows: Numbered lines.
        notes: What was left out and how to go on, a line each.
    """

    def __init__(self, name: str, *, room: int) -> None:
        self.rows: list[str] = []
        self.notes: list[str] = []
        self._name = name
        self._room = room
        self._cut: list[str] = []
        self._crlf = False

    def fill(self, lines: LineReader, *, first: int, character: int | None, limit: int, count: bool) -> None:
        """Take lines while there is room, and note what is left.

        Args:
            lines: The file, at its beginning.
            first: The first line to take.
            character: The character of it to begin with; such a line may fill all the room.
            limit: Lines at most.
            count: Whether to read to the end, to say how many lines there are.

        Raises:
            Refused: There is no such line or character.
        """
        if not lines.skip_to(first):
            total = lines.count()
            if total:
                raise Refused(f"{self._name} has {total:,} lines; there is no line {first:,}")
            self.notes.append(f"[{self._name} is empty.]")
            return
        following = first
        while len(self.rows) < limit and lines.more() and self._take(lines, character):
            following += 1
            character = None
        if following < lines.number or lines.more():
            whole = f"{lines.count():,}" if count else "many"
            self.notes.append(
                f"[Lines {first:,} to {following - 1:,} of {whole}. Go on with offset={following}.]"
            )
        elif first > 1:
            self.notes.append(f"[That was the last line, {following - 1:,}.]")
        self.notes += self._cut[:3]
        if len(self._cut) > 3:
            self.notes.append(f"[{len(self._cut) - 3:,} more lines are cut at {LINE_CHARS:,} characters.]")
        if self._crlf:
            self.notes.append("[Lines end with CRLF.]")

    def _take(self, lines: LineReader, character: int | None) -> bool:
        """Take the next line; False when there is no room for it any more."""
        begin = (character or 1) - 1
        keep = max(0, self._room if character is not None else min(LINE_CHARS, self._room))
        # One character more than is shown tells whether the cut would split one.
        line = lines.line(begin=begin, keep=keep + 1)
        if begin and begin >= line.length:
            raise Refused(
                f"Line {line.number:,} of {self._name} has {line.length:,} characters;"
                f" there is no character {begin + 1:,}"
            )
        text = line.text[: boundary(line.text, keep)]
        while len(sendable(text)) > keep:  # characters that are shown as escapes take more room
            text = text[: len(text) // 2]
        end = begin + len(text)
        ends_with_crlf = end == line.length and text.endswith("\r")
        label = f"{line.number}:{begin + 1}" if begin else f"{line.number}"
        row = f"{label:>6}\t{sendable(text.removesuffix(chr(13)) if ends_with_crlf else text)}"
        if self.rows and len(row) >= self._room:
            return False
        self.rows.append(row)
        self._room -= len(row) + 1
        self._crlf = self._crlf or ends_with_crlf
        if end < line.length:
            self._cut.append(
                f"[Line {line.number:,} is cut after character {end:,} of {line.length:,}."
                f' Go on inside it with offset="{line.number}:{end + 1}".]'
            )
        return True


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
