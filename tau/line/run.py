"""`tau run`: one prompt, answered as text or as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.conversation.state import OpenRequest
from tau.errors import UsageError
from tau.line.events import JsonLines
from tau.line.input import attached_text, read_all
from tau.line.output import ReplyWriter, note
from tau.line.person import asking_terminal
from tau.line.process import Signals, run
from tau.line.session import introduce, opened
from tau.line.turn import TurnRunner

if TYPE_CHECKING:
    from tau.config.settings import Settings

_PATIENCE = 3.0


def whole_prompt(prompt: str | None) -> str:
    """The prompt: as given, from stdin (``-`` or nothing), or as given with what was piped in below it.

    Raises:
        UsageError: There is no prompt.
    """
    if prompt in (None, "-"):
        if sys.stdin.isatty():
            raise UsageError("tau run needs a prompt", 'tau run "…", or pipe it in')
        text = read_all().strip("\r\n")
    else:
        assert prompt is not None
        attached = attached_text(_PATIENCE)
        if attached is None:
            note("Nothing came on stdin; going on without it.")
        text = f"{prompt}\n\n{attached}" if attached and attached.strip() else prompt
    if not text.strip():
        raise UsageError("The prompt is empty", 'tau run "…", or pipe it in')
    return text


def run_once(
    settings: Settings,
    request: OpenRequest,
    prompt: str,
    *,
    lines: JsonLines | None = None,
    notices: Sequence[str] = (),
    images: Sequence[Path] = (),
) -> int:
    """Answer one prompt, after `notices` are shown.

    Args:
        settings: The configuration.
        request: The session.
        prompt: The message.
        lines: Where every event goes as JSON; without it the reply goes to stdout as text.
        notices: Shown on stderr.
        images: Files of images that go along.

    Returns:
        The exit code: 0 when the turn ended by itself, 1 when it did not, 130 and 143 after signals.
    """
    code = run(
        lambda signals: _run(signals, settings, request, prompt, lines=lines, notices=notices, images=images)
    )
    if lines is not None and code > 128:
        lines.stopped(code)
    return code


async def _run(
    signals: Signals,
    settings: Settings,
    request: OpenRequest,
    prompt: str,
    *,
    lines: JsonLines | None,
    notices: Sequence[str],
    images: Sequence[Path],
) -> int:
    terminal = asking_terminal() if lines is None else None
    async with opened(settings, replace(request, can_ask=terminal is not None), notices) as (conversation, _):
        introduce(await conversation.model_ready(), advise=False)
        if lines is not None:
            lines.session(conversation.state)
        turn = TurnRunner(conversation, signals, terminal)
        show = ReplyWriter(live=False).show if lines is None else lines.event
        with nullcontext() if lines is None else signals.ending_calls(turn.interrupt):
            return await turn.run(prompt, show, images)
