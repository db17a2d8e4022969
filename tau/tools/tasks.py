"""The tools of task memory: what an investigation has looked at, and what is worth looking at next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.errors import TauError
from tau.tasks.records import STATUSES
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.task_answers import completed, created, described, marked, noted
from tau.tools.tool_kit import declare

CREATE = (
    "Begin a task: an investigation that takes more than a few files, such as how something works or where a "
    "bug comes from. It is kept for later turns and conversations of this directory, with the files you mark "
    "in it, so that nobody explores them twice. Give it a short name."
)
MARK = (
    "Mark a file in a task once you have looked at it: explored with notes of what you found in it, skipped "
    "when it does not matter to the task, flagged when somebody should come back to it. Marking it again "
    "replaces the status, and the notes where you give any."
)
CONTEXT = (
    "Tell where a task stands: its state, the files marked in it with their notes, and the frontier: what "
    "explored files import of the project and nobody explored or skipped yet, the most imported first. "
    "Use it before you go on with a task, and to choose what to read next. Long notes are shown in part; "
    "path reads all that was noted of one file, and offset goes on where an answer ends."
)
COMPLETE = (
    "Complete a task: the investigation is finished. Its files and notes can be read for some weeks more."
)

_OWN = frozenset({"read_file", "list_files", "find_files", "search_files", "recall", "get_task_context"})
"""Tools that only read what the person has here: tasks are named after that all the time."""

_TASK = {"type": "string", "description": "The task, by its name or id, or the first 8 characters of that."}


def create_task(context: ToolContext) -> Sequence[AgentTool]:
    """The factory of `create_task`: no tool where there is no task memory, as for the others."""
    desk = context.tasks
    if desk is None or desk.bare:
        return []

    def create(tool_context: Call, name: str) -> str:
        with _refusing():
            return created(desk.create(name, origin=_origin(context)))

    arguments = {"name": {"type": "string", "description": "What is looked into, in a few words."}}
    return [
        declare(create, name="create_task", tier=1, description=CREATE, arguments=arguments, own_words=True)
    ]


def mark_explored(context: ToolContext) -> Sequence[AgentTool]:
    """The factory of `mark_explored`."""
    desk = context.tasks
    if desk is None or desk.bare:
        return []

    def mark(tool_context: Call, task: str, path: str, status: str = "explored", notes: str = "") -> str:
        with _refusing():
            return marked(desk.mark(task, path, status, notes or None))

    arguments: dict[str, Any] = {
        "task": _TASK,
        "path": {"type": "string", "description": "The file, relative to the working directory."},
        "status": {
            "type": "string",
            "enum": list(STATUSES),
            "description": "What became of it.",
            "default": "explored",
        },
        "notes": {
            "type": "string",
            "description": "What you found in it that matters to the task; empty keeps earlier notes.",
            "default": "",
        },
    }
    return [
        declare(mark, name="mark_explored", tier=1, description=MARK, arguments=arguments, own_words=True)
    ]


def get_task_context(context: ToolContext) -> Sequence[AgentTool]:
    """The factory of `get_task_context`."""
    desk = context.tasks
    if desk is None or desk.bare:
        return []

    def look(tool_context: Call, task: str, path: str = "", offset: int = 0) -> str:
        with _refusing():
            if path:
                return noted(*desk.file(task, path), room=context.room, offset=max(0, offset))
            view = desk.view(task, closed=context.closed)
        return described(view, room=context.room, offset=max(0, offset))

    arguments: dict[str, Any] = {
        "task": _TASK,
        "path": {"type": "string", "description": "Only the notes of this file, whole.", "default": ""},
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Where to go on, as an earlier answer says.",
            "default": 0,
        },
    }
    return [declare(look, name="get_task_context", tier=0, description=CONTEXT, arguments=arguments)]


def complete_task(context: ToolContext) -> Sequence[AgentTool]:
    """The factory of `complete_task`."""
    desk = context.tasks
    if desk is None or desk.bare:
        return []

    def complete(tool_context: Call, task: str) -> str:
        with _refusing():
            return completed(*desk.complete(task))

    return [
        declare(
            complete,
            name="complete_task",
            tier=1,
            description=COMPLETE,
            arguments={"task": _TASK},
            own_words=True,
        )
    ]


def _origin(context: ToolContext) -> str:
    """Where content came from since the person's last message, but for files and records of theirs."""
    came = [where for where in context.heard.origins() if where.partition(" ")[0] not in _OWN]
    return one_line(", ".join(came), 300)


@contextmanager
def _refusing() -> Iterator[None]:
    """What task memory refuses becomes the answer to the call."""
    try:
        yield
    except TauError as error:
        raise Refused(error.line()) from error
