"""The tool `record_lesson`: writes what was learned here, one line, into the project's long-term memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.errors import TauError
from tau.journal.work_place import SECTIONS, SHOWN
from tau.tools.call_arguments import text_argument
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.tool_kit import declare
from tau.tools.unified_diff import difference

if TYPE_CHECKING:
    from tau.journal.lessons import Learned

NAME = "record_lesson"

DESCRIPTION = (
    f"Write one lesson about this project into {SHOWN}, which every conversation here reads. Call it at once "
    "when the person states a preference or a rule (signal strong: I prefer, always, never), or changes or "
    "turns back what was done (signal medium: the rule behind it). What you only notice is weak and "
    "is refused: wait until the person confirms it. Write insight, not what happened. Say of a medium "
    "lesson whether it is about code: if it is, and for any Code Observation, it is written only with files "
    "that you read in this session and that back it. It is one line; most need no tag. Read its section in "
    "your instructions: what is there is not written twice; what contradicts an entry with the same tag, or "
    "none, names it in replaces; with another tag both stay."
)
ARGUMENTS: dict[str, Any] = {
    "section": {
        "type": "string",
        "description": f"One of {', '.join(SECTIONS)}; or another section that the file has.",
    },
    "text": {"type": "string", "description": "What holds from now on, in one line, without a tag."},
    "signal": {"type": "string", "enum": ["strong", "medium", "weak"], "description": "How it was learned."},
    "tag": {
        "type": "string",
        "description": "A short label that limits it to a domain, such as auth or UI; empty for most.",
        "default": "",
    },
    "about_code": {
        "type": "boolean",
        "description": (
            "Whether it says how the code is, behaves or must behave, by whatever words; true needs files. "
            "A medium lesson without it is refused."
        ),
    },
    "files": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The files that back it, which you read in this session.",
        "default": [],
    },
    "replaces": {
        "type": "string",
        "description": "The whole entry of the section that it contradicts, as it stands there; else empty.",
        "default": "",
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point: no tool where the project has no work log in use."""
    work = context.work
    if work is None or not work.on:
        return []

    def preview(use: Mapping[str, Any]) -> str:
        try:
            before, after = work.foreseen(_learned(use["input"]))
        except TauError as error:
            raise Refused(error.line()) from error
        context.calls.show(use["toolUseId"], f"{SHOWN}\n{before}")
        return difference(before, after, SHOWN).text or f"{SHOWN} holds that already."

    def record_lesson(tool_context: Call) -> str:
        learned = _learned(tool_context.tool_use["input"])
        _, shown = context.calls.held(tool_context.tool_use["toolUseId"])
        try:
            if shown and shown != f"{SHOWN}\n{work.foreseen(learned)[0]}":
                raise Refused(f"{SHOWN} changed after the person was asked, so it was left; ask again")
            return work.record(learned)
        except TauError as error:
            raise Refused(error.line()) from error

    return [
        declare(
            record_lesson,
            name=NAME,
            tier=1,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            preview=preview,
            wary=True,
            own_words=True,
        )
    ]


def _learned(arguments: Mapping[str, Any]) -> Learned:
    files = arguments.get("files") or []
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise Refused("The argument files must be a list of paths")
    from tau.journal.lessons import Learned

    return Learned(
        section=text_argument(arguments, "section"),
        text=text_argument(arguments, "text"),
        signal=text_argument(arguments, "signal"),
        tag=text_argument({"tag": "", **arguments}, "tag"),
        about_code=about_code if isinstance(about_code := arguments.get("about_code"), bool) else None,
        files=files,
        replaces=text_argument({"replaces": "", **arguments}, "replaces"),
    )
