"""`tau chat`: one line, one message; replies alone on stdout, everything else on stderr."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.conversation.commands import is_command
from tau.conversation.own_commands import own_command
from tau.conversation.state import (
    CommandResult,
    ConversationState,
    OpenRequest,
    PromptListing,
    Quit,
    Refused,
    Said,
    Switched,
)
from tau.errors import TauError
from tau.events import TurnEvent
from tau.line.input import piped_lines
from tau.line.output import ReplyWriter, draws_markdown, note
from tau.line.own_command import CommandWriter, waiting_lines
from tau.line.person import asking_terminal, terminal
from tau.line.process import Signals, run
from tau.line.session import introduce, last_exchange, opened, opened_line, show_draft, show_result
from tau.line.turn import Outcome, TurnRunner

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.line.person import Terminal


_PATIENCE = 1.0
"""Seconds a prompt waits for the model, so that what is missing is said before anything is typed."""

_EDITED = 20_000
"""Characters of a draft that can be edited at the prompt without delay."""


def run_chat(
    settings: Settings, request: OpenRequest, prompt: str | None, *, notices: Sequence[str] = ()
) -> int:
    """Talk until the input ends.

    On a terminal that is: until Ctrl-D, `/quit`, or Ctrl-C at the prompt. Elsewhere every line of stdin is a
    message; a `prompt` is then the only one, and stdin is not read. `notices` are shown once the session is
    open.

    Returns:
        The exit code: 0 when every turn ended by itself (a terminal saw the others fail: 0 there too),
        1 when one did not or a command could not be done, 130 after Ctrl-C, 143 after SIGTERM.
    """
    return run(lambda signals: _chat(signals, settings, request, prompt, notices))


async def _chat(
    signals: Signals, settings: Settings, request: OpenRequest, prompt: str | None, notices: Sequence[str]
) -> int:
    asking = asking_terminal()
    request = replace(request, can_ask=asking is not None)
    on_terminal = sys.stdin.isatty() and (prompt is None or sys.stdout.isatty())
    async with opened(settings, request, notices) as (conversation, opening):
        if on_terminal:
            note(f"{opened_line(opening)} · /help lists commands, Ctrl-D ends")
            for line in [*last_exchange(opening), *waiting_lines(opening)]:
                note(line)
            with closing(terminal(settings, conversation)) as person:
                return await _Chat(signals, conversation, person).talk(prompt)
        chat = _Chat(signals, conversation, asking)
        try:
            return await chat.answer(piped_lines() if prompt is None else _only(prompt))
        finally:
            chat.tell_lost()


async def _only(prompt: str) -> AsyncIterator[str]:
    yield prompt


class _Chat:
    """The loop over messages.

    Args:
        signals: Of this run.
        conversation: An opened conversation.
        terminal: Where a person types, or None.
    """

    def __init__(self, signals: Signals, conversation: Conversation, terminal: Terminal | None) -> None:
        self._conversation = conversation
        self._terminal = terminal
        self._turns = TurnRunner(conversation, signals, terminal)
        self._introduce_later = False
        self._draft = ""
        self._told_aside = ""
        conversation.watch(self._tell_wrapping)

    def _tell_wrapping(self, state: ConversationState) -> None:
        """Say that `/wrap` reads the session, once it does: what is refused at once waits for nothing."""
        from tau.conversation.wrapping import WRAPPING

        aside = state.aside if state.summarizing else ""
        if aside == WRAPPING != self._told_aside:
            note(f"✻ {WRAPPING}… Ctrl-C cancels")
        self._told_aside = aside

    def tell_lost(self) -> None:
        """Say what waits for the person's yes and is gone now."""
        for line in self._conversation.lost():
            note(line)

    async def answer(self, lines: AsyncIterator[str]) -> int:
        """Take each line as a message or command.

        Raises:
            TauError: The model is not ready.
        """
        code = 0
        prepared = False
        async for line in lines:
            if not line.strip():
                continue
            if is_command(line):
                result = await self._command(line)
                if isinstance(result, Quit):
                    break
                if isinstance(result, Refused) or (isinstance(result, Said) and result.refused):
                    code = max(code, Outcome.FAILED)
                continue
            if not prepared:
                introduce(await self._conversation.model_ready(), advise=False)
                prepared = True
            outcome = await self._turn(line)
            if outcome is Outcome.INTERRUPTED:
                return outcome
            code = max(code, outcome)
        return code

    async def talk(self, first: str | None) -> int:
        """Ask for messages at a prompt until the person ends it."""
        assert self._terminal is not None
        await self._meet_model()
        line, typed = first, False
        while True:
            if line is None:
                try:
                    draft, self._draft = self._draft, ""
                    line, typed = await self._terminal.ask(draft), True
                except EOFError:
                    return self._farewell(0)
                except KeyboardInterrupt:
                    return self._farewell(130)
            # What was given with the command line may come from a script: only what is typed here runs.
            if typed and (command := own_command(line)) is not None:
                await self._turns.own_command(command, CommandWriter(shared=command.shared).show)
            elif is_command(line):
                if isinstance(await self._command(line), Quit):
                    return self._farewell(0)
            elif line.strip():
                await self._turn(line)
            line = None

    async def _meet_model(self) -> None:
        """Introduce the model or say what it lacks; one that takes its time is introduced when it answers."""
        waiting = asyncio.ensure_future(self._conversation.model_ready())
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        done, _ = await asyncio.wait({waiting}, timeout=_PATIENCE)
        if not done:
            self._introduce_later = True
        elif isinstance(error := waiting.exception(), TauError):
            note(error.line())
        else:
            introduce(waiting.result(), advise=True)

    async def _command(self, line: str) -> CommandResult:
        """Run a slash command and show what it gave."""
        if line.split(maxsplit=1)[0].lower() == "/compact":
            note("✻ Summarizing… Ctrl-C cancels")
        result = await self._turns.command(line)
        while isinstance(result, PromptListing) and result.earlier is not None:
            result = await self._conversation.earlier_prompts(result)
        show_result(result)
        if isinstance(result, Switched) and result.draft:
            if self._terminal is not None and self._terminal.edits and len(result.draft) <= _EDITED:
                self._draft = result.draft
            else:
                show_draft(result.draft)
        return result

    async def _turn(self, line: str) -> Outcome:
        writer = ReplyWriter(live=sys.stdout.isatty(), drawn=draws_markdown())

        def show(event: TurnEvent) -> None:
            model = self._conversation.state.model
            if self._introduce_later and model is not None:
                self._introduce_later = False
                introduce(model, advise=True)
            writer.show(event)

        return await self._turns.run(line, show)

    def _farewell(self, code: int) -> int:
        self.tell_lost()
        state = self._conversation.state
        if state.persistent and state.message_count:
            note(f"Continue with: tau chat {self._conversation.way_back()}")
        return code
