"""The tool `remember`: keeps one thing for later conversations, in a memory file of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.errors import TauError
from tau.memory.remembering import Foreseen
from tau.tools.call_arguments import text_argument
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.tool_kit import declare
from tau.tools.unified_diff import difference

NAME = "remember"

DESCRIPTION = (
    "Keep one durable fact, preference or decision for later conversations in this project, as a small file "
    "that is loaded into each of them. Use it when the person says to remember something, or corrects you in "
    "a way that will matter again; not for what stands in the project's files or only matters now. Give one "
    "label and the whole content; an empty content deletes, with replace or without. A label that is there "
    "already is only written over with replace, so give the whole new content then. A label that begins with "
    "global/ holds in every project."
)
ARGUMENTS: dict[str, Any] = {
    "label": {
        "type": "string",
        "description": 'What it is about, a few words: "build commands", or "global/writing style".',
    },
    "content": {
        "type": "string",
        "description": "All of what is to be remembered under this label, as markdown; empty to delete it.",
    },
    "replace": {
        "type": "boolean",
        "description": "Whether the content is to be written over the file that has this label already.",
        "default": False,
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point: no tool where there is no memory."""
    desk = context.desk
    if desk is None or desk.bare:
        return []

    def foreseen(arguments: Mapping[str, Any]) -> Foreseen:
        return desk.would_hold(
            text_argument(arguments, "label"),
            text_argument(arguments, "content"),
            replace=arguments.get("replace") not in (None, False),  # what else it may be read as yes
            origin=_origin(context),
        )

    def doubts(arguments: Mapping[str, Any]) -> Sequence[str]:
        try:
            return foreseen(arguments).doubts
        except (TauError, Refused):  # the call itself says why it cannot be carried out
            return []

    def preview(use: Mapping[str, Any]) -> str:
        try:
            found = foreseen(use["input"])
        except TauError as error:
            raise Refused(error.line()) from error
        context.calls.show(use["toolUseId"], json.dumps(dict(found.known)))
        shown = difference(found.before, found.after or "", found.title).text
        if found.after is None:
            return f"{one_line(found.title)} is deleted.\n\n{shown}"
        return shown or f"{one_line(found.title)} holds that already."

    def remember(tool_context: Call, label: str, content: str, replace: bool = False) -> str:
        use_id = tool_context.tool_use["toolUseId"]
        _, shown = context.calls.held(use_id)
        try:
            return desk.remember(
                label,
                content,
                replace=replace,
                origin=_origin(context),
                agreed=json.loads(shown) if shown else None,
                given_up=context.calls.given_up(use_id),
            ).line
        except TauError as error:
            raise Refused(error.line()) from error

    return [
        declare(
            remember,
            name=NAME,
            tier=1,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            preview=preview,
            wary=True,
            doubts=doubts,
            own_words=True,
        )
    ]


def _origin(context: ToolContext) -> str:
    """Where content came from since the person's last message; empty when none has come."""
    return one_line(", ".join(context.heard.origins()), 300)
