"""`tau run`: one prompt, answered as text or as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tau.conversation.state import OpenRequest
from tau.errors import UsageError
from tau.events import TurnEvent
from tau.line.events import event_line, session_line
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
    settings: Settings, request: OpenRequest, prompt: str, *, as_json: bool, notices: Sequence[str] = ()
) -> int:
    """Answer one prompt, after `notices` are shown.

    Returns:
        The exit code: 0 when the turn ended by itself, 1 when it did not, 130 and 143 after signals.
    """
    return run(lambda signals: _run(signals, settings, request, prompt, notices, as_json=as_json))


async def _run(
    signals: Signals,
    settings: Settings,
    request: OpenRequest,
    prompt: str,
    notices: Sequence[str],
    *,
    as_json: bool,
) -> int:
    terminal = None if as_json else asking_terminal()
    async with opened(settings, replace(request, can_ask=terminal is not None), notices) as (conversation, _):
        introduce(await conversation.model_ready(), advise=False)
        if as_json:
            _print(session_line(conversation.state))
        writer = ReplyWriter(live=False)

        def show(event: TurnEvent) -> None:
            if as_json:
                _print(event_line(event))
            else:
                writer.show(event)

        return await TurnRunner(conversation, signals, terminal).run(prompt, show)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
