"""The tools that are offered to other agents: names, arguments, and what a call of one answers."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from tau.display import one_line, visible
from tau.errors import TauError
from tau.masking import mask_content
from tau.mcp_server.past import MOST_HITS, Past
from tau.mcp_server.served_tasks import ServedTasks
from tau.tools.refusals import Refused

ROOM = 20_000
"""Characters of content in an answer; clients cut, or refuse, what is much longer."""

_LONGEST_REFUSAL = 600
_PLACE = re.compile(r"(.*) - at `\$\.(\w+)`", re.DOTALL)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls a tool.

    Attributes:
        session_id: The id of its MCP session.
        stopped: Set when it does not wait for the answer any more.
    """

    session_id: str
    stopped: threading.Event


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gives: text that is masked and safe to show, and whether it says why nothing was done."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool.

    Attributes:
        name: What clients call it by.
        title: What a person reads.
        description: What it does; models read it.
        arguments: The class of its arguments, from which their schema is made.
        work: Does it. Blocks, and is called on threads.
        writes: Whether it changes task memory.
        purges: Whether it may delete old tasks on the way.
    """

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    work: Callable[[Any, Caller], str]
    writes: bool = False
    purges: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments: an object."""
        _, components = msgspec.json.schema_components([self.arguments])
        made = components[self.arguments.__name__]
        return {key: value for key, value in made.items() if key not in ("title", "description")}


def answer(offer: Offer, arguments: Mapping[str, Any], caller: Caller) -> Answer:
    """Carry out a call. Nothing is raised: what goes wrong is an answer, of one line."""
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        made = msgspec.convert(given, offer.arguments)
        return Answer(_safe(offer.work(made, caller)))
    except msgspec.ValidationError as error:
        takes = ", ".join(field.name for field in msgspec.structs.fields(offer.arguments)) or "no arguments"
        reason = f"{offer.name} was called with other arguments than it takes: {_named(error)} ({takes})"
    except TauError as error:
        reason = error.line()
    except Refused as error:
        reason = str(error)
    except Exception:  # noqa: BLE001  # a defect ends one call, not the server, and is logged
        # At the end of the server things are closed under a call that nobody waits for any more.
        level = logging.INFO if caller.stopped.is_set() else logging.ERROR
        _log.log(level, "The tool %s failed", offer.name, exc_info=True)
        reason = f"{offer.name} failed because of a defect in tau (the person finds it in tau.log)"
    return Answer(one_line(_safe(reason), _LONGEST_REFUSAL), failed=True)


def _named(error: msgspec.ValidationError) -> str:
    """What is wrong with which argument: the library says where it stands as a path, as in ``$.limit``."""
    return _PLACE.sub(r"argument \2: \1", str(error))


def _safe(text: str) -> str:
    return visible(mask_content(text))


# Arguments ---------------------------------------------------------------------------------------

_TaskName = Annotated[
    str, msgspec.Meta(description="The task, by its name or id, or the first 8 characters of that.")
]


_Offset = Annotated[
    int, msgspec.Meta(ge=0, le=1_000_000, description="Where to go on, as an earlier answer says.")
]


class CreateTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `create_task`."""

    name: Annotated[str, msgspec.Meta(description="What is looked into, in a few words.")]


class MarkExplored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `mark_explored`."""

    task: _TaskName
    path: Annotated[str, msgspec.Meta(description="The file, relative to the directory of the server.")]
    status: Annotated[
        Literal["explored", "skipped", "flagged"],
        msgspec.Meta(
            description="explored: looked at. skipped: does not matter here. flagged: to be looked at again."
        ),
    ] = "explored"
    notes: Annotated[
        str,
        msgspec.Meta(
            description="What was found in it that matters to the task; empty keeps what was noted before."
        ),
    ] = ""


class OneTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of what is about one task."""

    task: _TaskName


class GetTaskContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `get_task_context`."""

    task: _TaskName
    path: Annotated[str, msgspec.Meta(description="Only the notes of this file, whole.")] = ""
    offset: _Offset = 0


class ListTasks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `list_tasks`."""

    offset: _Offset = 0


class SearchSessions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `search_sessions`."""

    query: Annotated[
        str,
        msgspec.Meta(
            description="Words that all stand in the message; quotes make a phrase, the last word may be "
            "the beginning of one."
        ),
    ]
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_HITS, description="At most so many messages.")] = 10
    offset: Annotated[int, msgspec.Meta(ge=0, le=1_000_000, description="Skip so many, to see more.")] = 0


class Recall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `recall`."""

    session: Annotated[
        str, msgspec.Meta(description="The session, by the id that search_sessions names, or its name.")
    ]
    query: Annotated[
        str,
        msgspec.Meta(description="What to look for in it: a few words that were probably said."),
    ] = ""
    range: Annotated[
        str | int,
        msgspec.Meta(description='Instead of query: the messages to read whole, "12" or "12-20".'),
    ] = ""


# Tools -------------------------------------------------------------------------------------------


def offers(past: Past, tasks: ServedTasks) -> Sequence[Offer]:
    """The tools, in the order in which they are listed."""
    return [
        Offer(
            "create_task",
            "Begin a task",
            "Begin a task: an investigation that takes more than a few files, such as how something works or "
            "where a bug comes from. Everybody who works in this directory shares it, later sessions and "
            "other agents too, with the files that are marked in it, so that nobody explores them twice. "
            "Look with list_tasks first whether there is one.",
            CreateTask,
            lambda given, caller: tasks.create(given.name, session_id=caller.session_id),
            writes=True,
            purges=True,
        ),
        Offer(
            "get_task_context",
            "Where a task stands",
            "Tell where a task stands: its state, the files marked in it with their notes, and the frontier: "
            "what explored files import of the project and nobody explored or skipped yet, the most imported "
            "first. Use it before you go on with a task, and to choose what to read next. Long notes are "
            "shown in part; path reads all that was noted of one file, offset goes on where an answer ends.",
            GetTaskContext,
            lambda given, caller: tasks.context(given.task, given.path, offset=given.offset, room=ROOM),
        ),
        Offer(
            "mark_explored",
            "Mark a file",
            "Mark a file in a task once you have looked at it, with notes of what you found in it. The first "
            "one makes the task active. Marking it again replaces the status, and the notes where any are "
            "given.",
            MarkExplored,
            lambda given, caller: tasks.mark(given.task, given.path, given.status, given.notes),
            writes=True,
        ),
        Offer(
            "complete_task",
            "Complete a task",
            "Complete a task: the investigation is finished. Its files and notes can be read for some weeks "
            "more.",
            OneTask,
            lambda given, caller: tasks.complete(given.task),
            writes=True,
        ),
        Offer(
            "list_tasks",
            "List the tasks",
            "List the tasks of this directory, the one that changed last first: state, how many files were "
            "explored, skipped and flagged, and how many are ahead. Old ones are put away on the way.",
            ListTasks,
            lambda given, caller: tasks.listed(offset=given.offset),
            writes=True,
            purges=True,
        ),
        Offer(
            "search_sessions",
            "Search earlier conversations",
            "Search the recorded conversations that people had with tau here, for what was said, decided or "
            "done: messages that hold all the words, the best first, each with its session and message "
            "number. recall reads more of them.",
            SearchSessions,
            lambda given, caller: past.search(given.query, limit=given.limit, offset=given.offset),
        ),
        Offer(
            "recall",
            "Read an earlier conversation",
            "Read a recorded conversation word for word. With query: passages of the session, and of those "
            "it continues, also where only some of the words fit. With range: its messages whole, by number.",
            Recall,
            lambda given, caller: past.recall(
                given.session, given.query, str(given.range), room=ROOM, stopped=caller.stopped
            ),
        ),
    ]
