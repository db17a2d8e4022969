"""The tool `request_file_grant`: asks the person to open a path outside the working directory."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.tools import paths
from tau.tools.call_arguments import text_argument
from tau.tools.context import ToolContext
from tau.tools.names import shown
from tau.tools.refusals import Refused, Watch
from tau.tools.spill import is_own_result
from tau.tools.subject import Subject
from tau.tools.tool_kit import declare

SECONDS = 20.0

_NO_FILES = tuple(Path(place) for place in ("/proc", "/sys", "/dev"))
_SECRET = frozenset(
    {
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        ".pgpass",
        ".git-credentials",
        "gcloud",
    }
)

Kind = Literal[
    "a file", "a directory with everything in it", "nothing yet", "a file in which tau kept a long result"
]

DESCRIPTION = (
    "Ask the person to open a file or a directory outside the working directory for this run. Use it when "
    "the task needs a path that was refused as outside; paths inside need no grant. Ask for the narrowest "
    "path that is enough. When the person agrees, give the path that the result names to the other tools."
)
ARGUMENTS: dict[str, Any] = {
    "path": {"type": "string", "description": "The file or directory, absolute or beginning with ~/."},
    "reason": {"type": "string", "description": "Why it is needed, in one sentence that the person reads."},
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""

    def preview(use: Mapping[str, Any]) -> str:
        real, kind = asked_for(context, use)
        context.calls.show(use["toolUseId"], _basis(real, kind))
        return f"{shown(str(real))} is {kind}.{_warning(real)}"

    def request_file_grant(tool_context: Call) -> str:
        Watch(tool_context.cancel_signal, SECONDS).check()
        use = tool_context.tool_use
        real, kind = asked_for(context, use)
        _, asked = context.calls.held(use["toolUseId"])
        if asked and asked != _basis(real, kind):
            raise Refused(
                "What is at this path changed after the person was asked, so it was not opened; ask again"
            )
        context.grants.add(real)
        return _opened(real, kind)

    return [
        declare(
            request_file_grant,
            name="request_file_grant",
            tier=0,
            description=DESCRIPTION,
            arguments=ARGUMENTS,
            subject=Subject("path", "path"),
            preview=preview,
            asks=True,
        )
    ]


def asked_for(context: ToolContext, use: Mapping[str, Any]) -> tuple[Path, Kind]:
    """The real path that a call asks for, and what is there. Does not open anything.

    Whether something is there is for the person to see: it makes no difference to what is refused.

    Args:
        context: What is open already, and what the call is held to.
        use: The call: ``toolUseId``, and ``input``, its arguments as the model gave them.

    Raises:
        Refused: It needs no grant, or none can be given.
    """
    arguments = use["input"]
    path = text_argument(arguments, "path")
    if not one_line(text_argument(arguments, "reason")):
        raise Refused("reason is empty; say in one sentence why the path is needed, for the person to read")
    real = paths.held(context, use["toolUseId"], paths.resolved(context, path))
    name = paths.brief(shown(str(real)))
    if real == context.directory or context.directory in real.parents:
        raise Refused(f"{paths.brief(path)} is in the working directory and needs no grant; use it")
    if context.grants.covers(real):
        raise Refused(f"{name} is open already; use it")
    if any(real == home or real in home.parents for home in _homes()):
        raise Refused(
            f"{name} is too much to open as a whole; ask for the file or directory in it that is needed"
        )
    if place := next((place for place in _NO_FILES if place in (real, *real.parents)), None):
        raise Refused(
            f"What is in {place} is not made of files but of this machine's state, and is not opened"
        )
    if is_own_result(context, real):
        return real, "a file in which tau kept a long result"
    if context.own_place(real):
        raise Refused("tau's own files are not opened; recall and the commands of tau show what is in them")
    if any(real in own.parents for own in context.own_places()):
        raise Refused(f"{name} has tau's own files in it; ask for the file or directory in it that is needed")
    return real, _kind(real)


def _basis(real: Path, kind: Kind) -> str:
    return f"{kind}: {real}"


def _homes() -> list[Path]:
    """The root, and the person's home directory if there is one."""
    try:
        return [Path("/"), Path.home().resolve()]
    except RuntimeError:  # nobody knows where it is
        return [Path("/")]


def _kind(real: Path) -> Kind:
    try:
        mode = real.lstat().st_mode
    except OSError:  # whatever the reason, there is nothing that can be read now
        return "nothing yet"
    return "a directory with everything in it" if stat.S_ISDIR(mode) else "a file"


def _warning(real: Path) -> str:
    secret = next((part for part in real.parts if part in _SECRET), "")
    return f" {secret} is where secrets are kept." if secret else ""


def _opened(real: Path, kind: Kind) -> str:
    name = shown(str(real))
    if kind == "a file in which tau kept a long result":
        return f"The person opened {name} for this run: read_file shows it. It cannot be changed."
    if kind == "a file":
        use = "read_file shows it"
    elif kind == "nothing yet":
        use = "there is nothing yet, and write_file can make a file there"
    else:
        use = "list_files, find_files, search_files and read_file work there"
    return f"The person opened {name} for this run: {use}. Every change there is asked about by itself."
