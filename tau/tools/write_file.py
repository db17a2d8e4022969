"""The tool `write_file`: a new file, or another content for a whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strands.types.tools import AgentTool

from tau.tools import paths, replacing, text_form
from tau.tools.call_arguments import text_argument
from tau.tools.changing import Change, check_known, check_masked, declared, notes
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.unified_diff import difference

DESCRIPTION = (
    "Write a whole text file. A new one gets the directories it needs; an existing one must be read with "
    "read_file first and is replaced. To change a part of a file use edit_file instead. "
    "When a file is replaced the result shows what changed as a unified diff."
)
ARGUMENTS: dict[str, Any] = {
    "path": {"type": "string", "description": "The file, relative to the working directory."},
    "content": {"type": "string", "description": "All the text that the file is to have."},
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""
    return [declared(context, plan, name="write_file", description=DESCRIPTION, arguments=ARGUMENTS)]


def plan(context: ToolContext, use: Mapping[str, Any]) -> Change:
    """The change that a call asks for.

    An existing file keeps its encoding, its byte order mark and its line endings.

    Args:
        context: Where files may be written, what the model knows of them, and what the call is held to.
        use: The call: ``toolUseId``, and ``input``, its arguments as the model gave them.

    Raises:
        Refused: It cannot be carried out.
    """
    arguments = use["input"]
    path, content = text_argument(arguments, "path"), text_argument(arguments, "content")
    text_form.check(content, "content")
    real = paths.held(context, use["toolUseId"], paths.writable(context, path))
    name = paths.display(context, real)
    before = replacing.current(context, real)
    if before.data is None:
        lines = content.count("\n") + bool(content and not content.endswith("\n"))
        summary = f"Wrote new file {name}, {lines:,} {'line' if lines == 1 else 'lines'}."
        made = difference(None, content, name)
        return Change(real, name, before, content.encode(), made, summary + notes(context, real, before))
    old, form = text_form.decode(before.data, name)
    check_known(context, real, name, before.data, whole=True)
    new = form.plain(content)
    ending = text_form.line_ending(old)
    if ending:
        new = text_form.with_newlines(new).replace("\n", ending)
    if new == old:
        raise Refused(f"{name} has exactly this content already; there is nothing to write")
    check_masked(old, new)
    made = difference(form.whole(old), form.whole(new), name)
    summary = f"Replaced {name}: {made.counts()}."
    return Change(real, name, before, form.encoded(new), made, summary + notes(context, real, before))
