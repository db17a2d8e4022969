"""The tool `find_files`: names that match a glob pattern, in all directories below one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.tools import paths
from tau.tools.context import ToolContext
from tau.tools.glob import Glob
from tau.tools.names import named, shown
from tau.tools.refusals import Refused, Watch
from tau.tools.rows import Rows
from tau.tools.tool_kit import declare
from tau.tools.walk import walk

MOST_FILES = 1_000
SECONDS = 20.0

DESCRIPTION = (
    "Find files by name with a glob pattern. In it * and ? stay within a name, ** is any directories, {a,b} "
    "is either. "
    "A pattern without / matches names in every directory below path (*.py); with / it matches from path "
    "(src/**/*.py). A pattern that ends with / finds directories. Hidden files are found; what .gitignore or "
    ".ignore leaves out is not, unless path lies in it. Results are relative to the working directory."
)
ARGUMENTS: dict[str, Any] = {
    "pattern": {"type": "string", "description": "The glob pattern, relative to path."},
    "path": {
        "type": "string",
        "description": "The directory to look in; the working directory unless given.",
        "default": ".",
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""

    def find_files(pattern: str, tool_context: Call, path: str | None = None) -> str:
        return find(context, pattern, path or ".", watch=Watch(tool_context.cancel_signal, SECONDS))

    return [declare(find_files, name="find_files", tier=0, description=DESCRIPTION, arguments=ARGUMENTS)]


def find(context: ToolContext, pattern: str, path: str, *, watch: Watch) -> str:
    """One path a line, in order, then how many there are.

    Args:
        context: Where directories may be read, and how much.
        pattern: The glob pattern.
        path: Where to look, as the model gave it.
        watch: When to stop.

    Raises:
        Refused: The directory may not or cannot be read, or the pattern cannot be used.
    """
    real = paths.readable(context, path)
    if not paths.is_directory(context, real):
        raise Refused(f"{paths.display(context, real)} is a file, not a directory; read_file shows it")
    glob = pattern_of(pattern)
    directories = pattern.endswith("/")
    rows = Rows(context.room, MOST_FILES)
    more = False
    for entry in walk(real, directory=context.directory, watch=watch):
        if entry.is_directory == directories and glob.matches(entry.path):
            row = shown_below(context, real, entry.path) + ("/" if directories else "")
            if not rows.add(row):
                more = True
                break
    kind = "directories" if directories else "files"
    if more:
        rows.note(f"[The first {len(rows):,} {kind} are shown; there are more. Narrow the pattern or path.]")
    elif watch.over:
        rows.note(f"[Stopped after {watch.seconds:g} s; not everything was looked at. Give a narrower path.]")
    elif not len(rows):
        rows.note(
            f"[No {kind} {place(context, real)} match {shown(pattern)}."
            " What .gitignore or .ignore leaves out was not looked at; list_files shows it.]"
        )
    else:
        rows.note(f"[{len(rows):,} {kind if len(rows) > 1 else kind.removesuffix('s')}.]")
    return rows.text()


def pattern_of(pattern: str) -> Glob:
    """A glob pattern of a model.

    Raises:
        Refused: It cannot be used.
    """
    try:
        return Glob(named(pattern))
    except UnicodeEncodeError:
        raise Refused("The pattern has half a surrogate pair, which no name can have") from None


def shown_below(context: ToolContext, real: Path, path: str) -> str:
    """A path below a directory, as results name it."""
    above = paths.display(context, real)
    return shown(path) if above == "." else f"{above.rstrip('/')}/{shown(path)}"


def place(context: ToolContext, real: Path) -> str:
    """Where something was looked for, for a sentence."""
    return "in the working directory" if real == context.directory else f"in {paths.display(context, real)}"
