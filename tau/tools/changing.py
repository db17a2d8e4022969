"""What the tools that change a file have in common: plan a change, show it, and carry out what was shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau import masking
from tau.tools import paths, replacing, text_form
from tau.tools.context import DIGEST, ToolContext
from tau.tools.refusals import Refused, Watch
from tau.tools.subject import Subject
from tau.tools.tool_kit import declare
from tau.tools.unified_diff import Difference

SECONDS = 30.0

_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file, worked out but not made.

    Attributes:
        real: The file.
        name: The file, as results name it.
        before: What is there now.
        after: The bytes that are to be there.
        difference: What tells the two apart.
        summary: What the result says first when it is done.
    """

    real: Path
    name: str
    before: replacing.Current
    after: bytes
    difference: Difference
    summary: str


class Changer:
    """Previews and carries out the calls of one tool.

    Args:
        context: What the model knows of files, and what calls are held to.
        plan: Works out the change that a call (``toolUseId`` and ``input``) asks for, or raises `Refused`.
    """

    def __init__(self, context: ToolContext, plan: Callable[[Mapping[str, Any]], Change]) -> None:
        self._context = context
        self._plan = plan

    def preview(self, use: Mapping[str, Any]) -> str:
        """The unified difference a call would make; the call is held to it.

        Raises:
            Refused: It cannot be carried out.
        """
        change = self._plan(use)
        self._context.calls.show(use["toolUseId"], _basis(change))
        return text_form.showable(change.difference.text)

    def run(self, use: Mapping[str, Any], cancelled: threading.Event | None) -> str:
        """Carry out a call; its summary and, where there was something before, the unified difference.

        Raises:
            Refused: It cannot be carried out, or would not do what was shown. Nothing has changed.
            Cancelled: The person stopped the turn before the change.
        """
        watch = Watch(cancelled, SECONDS)
        with _one_at_a_time:
            watch.check()
            change = self._plan(use)
            _, shown = self._context.calls.held(use["toolUseId"])
            if shown and shown != _basis(change):
                raise Refused(
                    f"{change.name} changed after the person was shown this call, so it was not carried out;"
                    " look at the file with read_file and call again"
                )
            before = change.before.data
            replacing.replace(self._context, change.real, before, change.after, check=watch.check)
            if not before or self._context.seen.digest(change.real) == digest(before):
                self._context.seen.note(change.real, digest(change.after))
        if before is None:
            return text_form.showable(change.summary)  # the model has just written all of it
        return text_form.showable(f"{change.summary}\n{change.difference.text}")


def declared(
    context: ToolContext,
    plan: Callable[[ToolContext, Mapping[str, Any]], Change],
    *,
    name: str,
    description: str,
    arguments: dict[str, Any],
) -> AgentTool:
    """A tool that carries out the change of a file that its calls ask for.

    Args:
        context: What the tools of a run share.
        plan: Works out the change of a call, given the context and the whole call.
        name: What models call it by.
        description: For models.
        arguments: The JSON schemas of the arguments.
    """
    changer = Changer(context, lambda use: plan(context, use))

    def change(tool_context: Call) -> str:
        return changer.run(tool_context.tool_use, tool_context.cancel_signal)

    return declare(
        change,
        name=name,
        tier=2,
        description=description,
        arguments=arguments,
        subject=Subject("path", "path"),
        preview=changer.preview,
    )


def _basis(change: Change) -> str:
    """What a preview is made of, beside the call itself: the file, and what is in it."""
    before = change.before.data
    return f"{'no file' if before is None else digest(before)} {change.real}"


def digest(data: bytes) -> str:
    """What the content of a file is remembered by."""
    return DIGEST(data).hexdigest()


def check_known(context: ToolContext, real: Path, name: str, data: bytes, *, whole: bool) -> None:
    """Refuse to change a file that is not as the model knows it.

    Args:
        context: What the model knows.
        real: The file.
        name: As results name it.
        data: What is there now.
        whole: Whether all of it is replaced, so that the model must have read it; there is nothing to read in
            an empty one.

    Raises:
        Refused: It changed since the model read or wrote it, or was never read.
    """
    known = context.seen.digest(real)
    if known and known != digest(data):
        raise Refused(
            f"{name} changed since you last read or wrote it; nothing was written."
            " Read it again with read_file"
        )
    if whole and data and not known:
        raise Refused(
            f"{name} exists and you have not read it in this session; nothing was written. Read it first with"
            " read_file, then change it with edit_file, or replace it with write_file"
        )


def check_masked(before: str, after: str) -> None:
    """Refuse text that would put the mask of a secret in the secret's place.

    Raises:
        Refused: A line of the new text is one of the old text as it looks with its secrets masked.
    """
    if number := masking.masked_over(before, after):
        raise Refused(
            f"Line {number:,} of the new text has {masking.MASK} where the file has a secret, which you"
            " were not shown and which would be lost; nothing was written."
            " Use edit_file, on other lines only"
        )


def notes(context: ToolContext, real: Path, before: replacing.Current) -> str:
    """What else a change does, for the end of a summary; empty, or begins with a space.

    Args:
        context: How paths are named.
        real: The file.
        before: What is there before the change.
    """
    if before.no_directory:
        return f" The directory {paths.display(context, real.parent)} was made for it."
    if before.links > 1:
        names = "another name, which keeps" if before.links == 2 else "other names, which keep"
        return f" The file had {names} the old content (hard links)."
    return ""
