"""Has the model write a title after the first turn, and counts that for the session whose title it is."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tau.conversation.beside import Beside
from tau.conversation.in_hand import InHand
from tau.errors import TauError
from tau.sessions.records import TITLE_BY, Meta

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)


class Titling:
    """Titles by the model, where they are wished; nobody waits for them. Lives on the engine's loop.

    Args:
        hand: The session in hand.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand
        self._begun: set[str] = set()
        self._running: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Begin the title of the session in hand, if it is due: after its first turn, once."""
        hand = self._hand
        runner, writer = hand.answerer.runner, hand.writer
        wished = hand.settings.sessions.titles == "model" and not hand.request.one_shot
        if not wished or runner is None or writer is None or writer.session_id in self._begun:
            return
        if hand.totals.turns == 1 and not writer.meta().get("forked_from"):
            self._begun.add(writer.session_id)
            task = asyncio.create_task(self._write(runner, Beside(hand)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Stop what is still written."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _write(self, runner: AgentRunner, calls: Beside) -> None:
        title = ""
        try:
            title = await runner.compaction.write_title(calls.note)
        except TauError as error:
            log.info("Session %s has no title of the model: %s", calls.session_id, error.line())
        try:
            if title or calls.taken:
                titled: Meta = {"title": title, TITLE_BY: "model"} if title else {}
                calls.keep(titled)
        except TauError as error:
            log.info("The title of session %s is not saved: %s", calls.session_id, error.line())
