"""The tool `agent_info`: what tau knows of itself in a conversation: where it works, what it has read."""

from __future__ import annotations

from collections.abc import Sequence

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.errors import TauError
from tau.memory import goals
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.tool_kit import declare

DESCRIPTION = (
    "Tell what tau knows of itself in this conversation: the directory, the session, the model and its "
    "window, the project's folder and whether this run made it, which memory files are loaded and which are "
    "not, and the goal. Use it when the person asks about any of that, or before you rely on a memory file."
)


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point: no tool where there is no memory."""
    desk = context.desk
    if desk is None:
        return []

    def agent_info(tool_context: Call) -> str:
        try:
            where = desk.where()
        except TauError as error:
            raise Refused(error.line()) from error
        standing = desk.standing()
        session, messages = desk.said()
        made = "made by this run" if desk.created else "there" if where.project.is_dir() else "not made yet"
        lines = [
            f"Directory: {one_line(str(context.directory))}",
            f"Session: {one_line(session)}, {messages} messages",
            *desk.about(),
            f"Project folder: {one_line(str(where.project))} ({made})",
            "Memory: "
            + ("not loaded, tau runs with --bare" if desk.bare else f"{len(standing.parts)} files loaded"),
            *(
                f"- {one_line(part.title)}: {part.lines} line{'' if part.lines == 1 else 's'}"
                + (f", not loaded: {part.missing}" if part.missing else "")
                for part in standing.parts
            ),
            goals.line(standing.goal) if standing.goal else "No goal is set.",
        ]
        return "\n".join(lines)

    return [
        declare(agent_info, name="agent_info", tier=0, description=DESCRIPTION, arguments={}, own_words=True)
    ]
