"""One turn in line mode: its events shown, and an interrupt that cancels it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tau.events import ApprovalAsked, ApprovalClosed, CommandEvent, ToolUseEnded, TurnEnd, TurnEvent
from tau.line.process import Signals
from tau.line.questions import Questions

if TYPE_CHECKING:
    from tau.conversation import Conversation
    from tau.conversation.own_commands import OwnCommand
    from tau.conversation.state import CommandResult
    from tau.line.person import Terminal


class Outcome(IntEnum):
    """How a turn went, as far as an exit code is concerned."""

    DONE = 0
    FAILED = 1
    INTERRUPTED = 130


class TurnRunner:
    """Runs the turns of a conversation, one after the other.

    Args:
        conversation: Opened, its model prepared.
        signals: Of this run; SIGINT cancels a turn, and given once more ends the run.
        terminal: Where Esc and Ctrl-C are pressed and questions are answered, or None.
    """

    def __init__(
        self, conversation: Conversation, signals: Signals, terminal: Terminal | None = None
    ) -> None:
        self._conversation = conversation
        self._signals = signals
        self._terminal = terminal
        self._questions = Questions(conversation, terminal) if terminal else None
        self._cancelling: asyncio.Future[None] | None = None

    async def run(self, text: str, show: Callable[[TurnEvent], None], images: Sequence[Path] = ()) -> Outcome:
        """Send a message and hand every event of its turn to `show`.

        Where nobody can be asked, a turn in which a call was refused has failed: a script learns it that way.

        Args:
            text: The message.
            show: Gets the events.
            images: Files of images that go along, beside those that the message mentions.
        """
        from tau.input.mentioned import mentioned_images

        outcome = Outcome.DONE
        keys = self._terminal.keys(self.interrupt) if self._terminal else nullcontext()
        with self._signals.interrupt_calls(self.interrupt), keys:
            async for event in self._conversation.send(text, images, mentioned=mentioned_images):
                show(event)
                self._put_questions(event)
                if self._has_failed(event):
                    outcome = Outcome.FAILED
        if self._cancelling is not None:
            await self._cancelling
            self._cancelling = None
            return Outcome.INTERRUPTED
        return outcome

    async def own_command(self, typed: OwnCommand, show: Callable[[CommandEvent], None]) -> None:
        """Run a command of the person's and hand its events to `show`; an interrupt stops it."""
        keys = self._terminal.keys(self.interrupt) if self._terminal else nullcontext()
        with self._signals.interrupt_calls(self.interrupt), keys:
            async for event in self._conversation.run(typed):
                show(event)
        if self._cancelling is not None:
            await self._cancelling
            self._cancelling = None

    async def command(self, line: str) -> CommandResult:
        """Run a slash command; an interrupt cancels what it began."""
        keys = self._terminal.keys(self.interrupt) if self._terminal else nullcontext()
        with self._signals.interrupt_calls(self.interrupt), keys:
            result = await self._conversation.command(line)
        if self._cancelling is not None:
            await self._cancelling
            self._cancelling = None
        return result

    def _has_failed(self, event: TurnEvent) -> bool:
        match event:
            case TurnEnd(stop_reason=stop_reason):
                return stop_reason != "end_turn"
            case ToolUseEnded(approval="denied"):
                return self._terminal is None
            case _:
                return False

    def _put_questions(self, event: TurnEvent) -> None:
        if self._questions is None:
            return
        match event:
            case ApprovalAsked():
                self._questions.ask(event)
            case ApprovalClosed(approval_id):
                self._questions.close(approval_id)
            case TurnEnd():
                self._questions.close_all()

    def interrupt(self) -> None:
        """Cancel the turn; called once more, end the run."""
        if self._cancelling is None:
            self._cancelling = asyncio.ensure_future(self._conversation.cancel())
        else:
            self._signals.stop(signal.SIGINT)
