"""Keeps long results out of the conversation: the whole goes to a file, the model gets its two ends."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.sessions import file_system
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
    size = len(text.encode("utf-8", "surrogatepass"))
    binary = f"[Binary output, {size:,} bytes; NUL is shown as \\x00.]\n" if "\0" in text else ""
    sent = sendable(text)
    if len(binary) + len(sent) <= context.context.spill_result_chars:
        return binary + sent
    head, tail = boundary(sent, HEAD), boundary(sent, len(sent) - TAIL)
    gone = f"{tail - head:,} of {len(sent):,} characters ({size:,} bytes) are left out here"
    try:
        path = _keep(text, tool, context)
    except OSError as error:
        _log.warning("A result of %s could not be kept: %s", tool, os_reason(error))
        line = f"[… {gone} and lost, since they could not be kept: {os_reason(error)} …]"
    else:
        context.grants.add(path)
        line = (
            f"[… {gone}; the whole result is in {shown(str(path))}, which read_file shows from any offset …]"
        )
    return f"{binary}{sent[:head]}\n{line}\n{sent[tail:]}"


def _keep(text: str, tool: str, context: ToolContext) -> Path:
    """Write the text to a new file, 0600, in the session's folder, 0700; its real path."""
    context.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = text.encode("utf-8", "surrogatepass")
    name = _NO_NAME.sub("-", tool)[:60] or "tool"
    opened = [os.open(context.state_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for folder in ("spill", context.session_id):
            opened.append(file_system.open_or_make_directory(folder, opened[-1])[0])
        number = _next_number(file_system.names(opened[-1]))
        while True:
            file = f"{number:04}-{name}.txt"
            try:
                file_system.write_new(file, opened[-1], data)
                return Path(os.path.realpath(context.spill_dir)) / file
            except FileExistsError:
                number += 1
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _next_number(names: list[str]) -> int:
    return 1 + max((int(name[:4]) for name in names if name[:4].isdecimal()), default=0)


def _text(block: Any) -> str | None:
    """What a block of a result says in text, or None for an image or a document."""
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False)
    return None
