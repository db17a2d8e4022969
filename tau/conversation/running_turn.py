"""One turn of a conversation: what the person said is answered by the agent, and both are put on record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.agent.turn import Emit
from tau.conversation import context_commands
from tau.conversation.in_hand import InHand
from tau.conversation.model_in_force import ModelInForce
from tau.conversation.own_commands import OwnCommands, carried
from tau.conversation.questions import Questions
from tau.conversation.said import Said
from tau.conversation.standing import InForce
from tau.errors import TauError, UsageError
from tau.events import Notice, TurnEnd, TurnEvent, TurnStarted
from tau.sessions.attached import Attached

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)


class RunningTurn:
    """A turn, from what the person said to how it ended. Run once, on the engine's loop.

    Args:
        said: What the person said.
        emit: Gets the events of the turn but the `TurnEnd`, which `run` returns.
        lock: Held while the turn is answered: nothing else changes the session, the model or the agent.
        hand: The session in hand.
        model: Has the agent ready.
        in_force: What stands in every prompt.
        commands: The person's commands, whose output goes along.
        questions: Asked in the turn, and refused when it is cancelled.

    Attributes:
        emit: As given.
    """

    def __init__(
        self,
        said: Said,
        emit: Emit,
        *,
        lock: asyncio.Lock,
        hand: InHand,
        model: ModelInForce,
        in_force: InForce,
        commands: OwnCommands,
        questions: Questions,
    ) -> None:
        self.emit = emit
        self._said = said
        self._lock = lock
        self._hand = hand
        self._model = model
        self._in_force = in_force
        self._commands = commands
        self._questions = questions
        self._only_named: Sequence[str] = ()
        self._offer = ""
        self._accepted = False
        self._task: asyncio.Task[TurnEnd] | None = None

    async def run(self) -> TurnEnd:
        """Run the turn and return how it ended. Nothing that goes wrong in it is raised."""
        self._questions.emit = self.emit
        self._task = asyncio.create_task(self._run())
        await asyncio.wait({self._task})
        return self._ending(self._task)

    async def cancel(self) -> None:
        """Stop the turn, whatever it waits for; returns when it is over."""
        if self._task is None:
            return
        runner = self._hand.answerer.runner
        if runner is not None and runner.is_running:
            self._in_force.notes.stopping()
            await runner.cancel(self._questions.refuse_all)
        else:
            self._task.cancel()
        await asyncio.wait({self._task})

    def _ending(self, task: asyncio.Task[TurnEnd]) -> TurnEnd:
        if task.cancelled():
            return TurnEnd("cancelled", notices.CANCELLED)
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, TauError):
            return TurnEnd("error", error.line())
        hand = self._hand
        log.error("A turn failed in session %s", hand.state.session_id, exc_info=error)
        return TurnEnd("error", f"The turn failed inside tau; see {hand.settings.places.logs / 'tau.log'}")

    async def _run(self) -> TurnEnd:
        async with self._lock:
            if self._hand.state.held is not None:
                raise self._hand.state.held
            if not self._said.text.strip() and not self._said.images:
                raise UsageError("The message is empty; nothing was sent")
            runner = await self._model.ready()
            along = await self._begin()
            unsaved = runner.unsaved
            end = await self._answer(runner, along)
            await self._in_force.after_turn()
            self._record(runner, end, unsaved)
            return end

    async def _begin(self) -> list[Attached]:
        """Bring the prompt up to date. Returns what goes along with the message.

        Raises:
            TauError: An image that was given cannot go along; nothing is sent.
        """
        self._offer = await asyncio.to_thread(context_commands.offer, self._in_force, self._said.text)
        await self._hand.answerer.instruct()
        images, self._only_named = await self._said.read(self._hand.state)
        return [*carried(self._hand.state.shared), *images]

    async def _answer(self, runner: AgentRunner, along: Sequence[Attached]) -> TurnEnd:
        try:
            return await runner.run(self._said.text, self._watch, along)
        finally:
            self._commands.told(accepted=self._accepted)

    def _watch(self, event: TurnEvent) -> None:
        """An event of the agent's. Once it has the message, the person is told what belongs below it."""
        self.emit(event)
        if isinstance(event, TurnStarted):
            self._accepted = True
            if self._offer:
                self.emit(Notice(self._offer))
            for line in self._only_named:
                self.emit(Notice(line, "warning"))

    def _record(self, runner: AgentRunner, end: TurnEnd, unsaved: str) -> None:
        """Put what the turn came to on record, and show the session as it is now.

        Args:
            runner: The agent.
            end: How the turn ended.
            unsaved: Why something was not on record before it began, or the empty string.
        """
        hand, totals = self._hand, self._hand.totals
        assert hand.writer is not None
        totals.measured(runner.reading.tokens, hand.reader.count(), runner.reading.chars_a_token)
        if end.stop_reason != "error":
            totals.turns += 1
        try:
            hand.writer.patch_meta(totals.meta(), touch=False)
        except TauError as error:
            self.emit(Notice(f"The totals of this session are not saved: {error.line()}", "warning"))
        told = runner.unsaved
        if not runner.flush() and (runner.unsaved == unsaved or runner.unsaved != told):
            # The turn itself has told of nothing, or of something else.
            self.emit(Notice(notices.not_saved(runner.unsaved), "error"))
        hand.refresh()
