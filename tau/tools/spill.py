"""Keeps long results out of the conversation: the whole goes to a file, the model gets its two ends."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.sessions import file_system
from tau.sessions.lineage import behind
from tau.tools.context import ToolContext
from tau.tools.cutting import boundary, sendable
from tau.tools.names import shown
from tau.tools.refusals import os_reason

if TYPE_CHECKING:
    from strands.types.tools import ToolResult

HEAD = 4_096
TAIL = 1_024
"""Characters of a spilled result that the model gets: the first and the last."""

_log = logging.getLogger(__name__)
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_RESULT = re.compile(r"[0-9]{4,}-[A-Za-z0-9_-]+\.txt", re.ASCII)


def spill_result(result: ToolResult, *, tool: str, context: ToolContext) -> ToolResult:
    """A tool's result as it may enter the conversation; for results of any tool, once each.

    What is too long together, text and JSON, is spilled as one text; images and documents stay. What has
    U+0000 in it is said to be binary, and the character is shown as an escape, in every result.

    Args:
        result: The result; it is not changed.
        tool: The tool's name.
        context: Where results are kept and from which size on; is granted the file.
    """
    content = result["content"]
    texts = [text for block in content if (text := _text(block)) is not None]
    whole = "\n".join(texts)
    if len(whole) <= context.context.spill_result_chars and "\0" not in whole:
        return result
    others = [block for block in content if _text(block) is None]
    return {**result, "content": [{"text": spill(whole, tool=tool, context=context)}, *others]}


def spill(text: str, *, tool: str, context: ToolContext) -> str:
    """The text itself when it is short enough; else its two ends and the path of the file with all of it.

    Args:
        text: A result.
        tool: The tool's name, which becomes part of the file's.
        context: Where results are kept and from which size on; is granted the file.
    """
    size = len(_encoded(text))
    binary = binary_line(size) if "\0" in text else ""
    sent = sendable(text)
    if len(binary) + len(sent) <= context.context.spill_result_chars:
        return binary + sent
    head, tail = boundary(sent, HEAD), boundary(sent, len(sent) - TAIL)
    try:
        path, lost = _keep(text, tool, context), ""
    except OSError as error:
        _log.warning("A result of %s could not be kept: %s", tool, os_reason(error))
        path, lost = None, os_reason(error)
    line = left_out(tail - head, len(sent), size, path=path, lost=lost)
    return f"{binary}{sent[:head]}\n{line}\n{sent[tail:]}"


def is_result(context: ToolContext, real: Path) -> bool:
    """Whether a resolved path lies where long results are kept, of whatever session."""
    return real.parent.parent == _results(context)


def is_own_result(context: ToolContext, real: Path) -> bool:
    """Whether it is a file with a long result of this conversation: of its session, or one behind it."""
    if not is_result(context, real) or _RESULT.fullmatch(real.name) is None or not _is_file(real):
        return False
    sessions = {context.session_id}
    if (record := context.record) is not None:
        sessions |= {record.session_id, *behind(record.read, record.session_id)}
    return real.parent.name in sessions


def binary_line(size: int) -> str:
    """The line before a result that has U+0000 in it; `size` is in bytes."""
    return f"[Binary output, {size:,} bytes; NUL is shown as \\x00.]\n"


def left_out(gone: int, characters: int, size: int, *, path: Path | None, lost: str = "") -> str:
    """The line between the two ends of a result that was cut.

    Args:
        gone: Characters that are not shown.
        characters: Characters of the whole result.
        size: Its size in bytes.
        path: The file with all of it, or as much of it as could be written; None when there is no file.
        lost: Why not all of it could be written, or empty.
    """
    said = f"{gone:,} of {characters:,} characters ({size:,} bytes) are left out here"
    if path is None:
        return f"[… {said} and lost, since they could not be kept: {lost} …]"
    if lost:
        return f"[… {said}; {shown(str(path))} has the beginning, the rest is lost: {lost} …]"
    return f"[… {said}; the whole result is in {shown(str(path))}, which read_file shows from any offset …]"


class SpillFile:
    """A result that goes to its file as it comes. The run may read the file.

    Args:
        text: The beginning.
        tool: The tool's name, which becomes part of the file's.
        context: Where results are kept; is granted the file.

    Attributes:
        path: The file; its real path.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, text: str, *, tool: str, context: ToolContext) -> None:
        with _folder(context) as folder:
            name = _write_new(text, tool, folder)
            self._descriptor = file_system.open_for_append(name, folder)
        self.path = _place(context, name)
        context.grants.add(self.path)

    def write(self, text: str) -> None:
        """Go on with the result.

        Raises:
            OSError: The disk refused.
        """
        file_system.write_all(self._descriptor, _encoded(text))

    def close(self) -> None:
        """End the file."""
        os.close(self._descriptor)


def _keep(text: str, tool: str, context: ToolContext) -> Path:
    """Write the text to a new file, 0600, in the session's folder, 0700; its real path, which is granted."""
    with _folder(context) as folder:
        path = _place(context, _write_new(text, tool, folder))
    context.grants.add(path)
    return path


@contextlib.contextmanager
def _folder(context: ToolContext) -> Iterator[int]:
    """The session's folder of spilled results, open, and made where it is not there."""
    context.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    opened = [os.open(context.state_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for name in ("spill", context.session_id):
            opened.append(file_system.open_or_make_directory(name, opened[-1])[0])
        yield opened[-1]
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _write_new(text: str, tool: str, folder: int) -> str:
    """Write the text to a new file and return its name."""
    named = _NO_NAME.sub("-", tool)[:60] or "tool"
    number = _next_number(file_system.names(folder))
    while True:
        name = f"{number:04}-{named}.txt"
        try:
            file_system.write_new(name, folder, _encoded(text))
        except FileExistsError:
            number += 1
        else:
            return name


def _results(context: ToolContext) -> Path:
    """The folder of all results that are kept; it is no link itself, nor are those of sessions in it."""
    return Path(os.path.realpath(context.state_dir)) / context.spill_dir.parent.name


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # it is gone
        return False


def _place(context: ToolContext, name: str) -> Path:
    return Path(os.path.realpath(context.spill_dir)) / name


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _next_number(names: list[str]) -> int:
    return 1 + max((int(name[:4]) for name in names if name[:4].isdecimal()), default=0)


def _text(block: Any) -> str | None:
    """What a block of a result says in text, or None for an image or a document."""
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False)
    return None
