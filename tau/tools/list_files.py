"""The tool `list_files`: what is in one directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.sessions import file_system
from tau.tools import paths
from tau.tools.context import ToolContext
from tau.tools.ignore_rules import rules_above
from tau.tools.names import shown
from tau.tools.refusals import Refused, Watch, os_reason
from tau.tools.rows import Rows
from tau.tools.subject import Subject
from tau.tools.tool_kit import declare

MOST_ENTRIES = 1_000
SECONDS = 20.0

DESCRIPTION = (
    "List one directory. Subdirectories end with /, files have their size in bytes, links show where they "
    "lead. Hidden and ignored entries are listed, too; ignored ones are marked. "
    "To look for names in all directories below, use find_files."
)
ARGUMENTS: dict[str, Any] = {
    "path": {
        "type": "string",
        "description": "The directory, relative to the working directory; that one itself unless given.",
        "default": ".",
    }
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""

    def list_files(tool_context: Call, path: str | None = None) -> str:
        watch = Watch(tool_context.cancel_signal, SECONDS)
        return listing(context, path or ".", watch=watch, use_id=tool_context.tool_use["toolUseId"])

    return [
        declare(
            list_files,
            name="list_files",
            tier=0,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            subject=Subject("path", "path"),
        )
    ]


def listing(context: ToolContext, path: str, *, watch: Watch, use_id: str = "") -> str:
    """One line an entry, by name, then one that counts them.

    Args:
        context: Where directories may be read, how much, and what the call is held to.
        path: As the model gave it.
        watch: When to stop.
        use_id: Of the call; empty where there is none.

    Raises:
        Refused: The directory may not or cannot be read.
    """
    real = paths.held(context, use_id, paths.readable(context, path))
    name = paths.display(context, real)
    descriptor = paths.open_directory(context, real)
    try:
        names = sorted(file_system.names(descriptor))
        above, prefix = rules_above(real, context.directory)
        ignored = above.entered(prefix, real, names)
        rows = Rows(context.room, MOST_ENTRIES)
        for entry in names:
            watch.check()
            if watch.over or not rows.add(_row(entry, descriptor, ignored.matches, prefix)):
                break
    except OSError as error:
        raise Refused(f"{name} cannot be listed: {os_reason(error)}") from error
    finally:
        os.close(descriptor)
    if not names:
        return f"[{name} is empty.]"
    if len(rows) < len(names):
        rows.note(
            f"[{len(rows):,} of {len(names):,} entries of {name} are shown."
            " find_files with path and a pattern such as ./a* shows others.]"
        )
    else:
        rows.note(f"[{len(names):,} {'entry' if len(names) == 1 else 'entries'}.]")
    return rows.text()


def _row(entry: str, directory: int, is_ignored: Callable[[str], bool], prefix: str) -> str:
    try:
        status = os.stat(entry, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        return f"{shown(entry)}  ({os_reason(error)})"
    is_directory = stat.S_ISDIR(status.st_mode)
    mark = "  (ignored)" if is_ignored(prefix + entry + ("/" if is_directory else "")) else ""
    if is_directory:
        return f"{shown(entry)}/{mark}"
    if stat.S_ISLNK(status.st_mode):
        return f"{shown(entry)} -> {shown(os.readlink(entry, dir_fd=directory))}{mark}"
    if stat.S_ISREG(status.st_mode):
        return f"{shown(entry)}  {status.st_size:,}{mark}"
    return f"{shown(entry)}  (no regular file){mark}"
