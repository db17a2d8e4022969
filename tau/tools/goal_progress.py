"""The tool `goal_progress`: notes what brought the standing goal nearer, or that it seems reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.errors import TauError
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.tool_kit import declare

DESCRIPTION = (
    "Note what has just brought the person's standing goal nearer, at the moment it happens: one line that "
    "says what was done. With met you propose that the goal is reached; only the person decides that, and it "
    "stands until they do. Use it only when a goal stands in your instructions."
)
ARGUMENTS: dict[str, Any] = {
    "note": {"type": "string", "description": "What was done, in one line."},
    "met": {
        "type": "boolean",
        "description": "Whether you propose that the goal is reached.",
        "default": False,
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point: no tool where there is no memory."""
    desk = context.desk
    if desk is None or desk.bare:
        return []

    def goal_progress(tool_context: Call, note: str, met: bool = False) -> str:
        try:
            goal = desk.note(
                note,
                met=met,
                origin=one_line(", ".join(context.heard.origins()), 300),
                given_up=context.calls.given_up(tool_context.tool_use["toolUseId"]),
            )
        except TauError as error:
            raise Refused(error.line()) from error
        return "Noted. The person decides whether it is reached." if goal.met else "Noted."

    return [
        declare(
            goal_progress,
            name="goal_progress",
            tier=1,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            own_words=True,
        )
    ]
