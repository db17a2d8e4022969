"""Has the model write a title after the first turn, and counts that for the session whose title it is."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tau.conversation.in_hand import InHand
from tau.conversation.totals import Totals
from tau.errors import TauError
from tau.events import TurnEvent, Usage, UsageReported
from tau.models.usage import Price
from tau.sessions.records import TITLE_BY, Meta
from tau.sessions.store import SessionWriter

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
            price = hand.state.model.price if hand.state.model else None
            task = asyncio.create_task(self._write(runner, writer.session_id, hand.totals, price))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Stop what is still written."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _write(self, runner: AgentRunner, session_id: str, totals: Totals, price: Price | None) -> None:
        taken: list[Usage] = []

        def keep(event: TurnEvent) -> None:
            if isinstance(event, UsageReported):
                taken.append(event.usage)

        title = ""
        try:
            title = await runner.compaction.write_title(keep)
        except TauError as error:
            log.info("Session %s has no title of the model: %s", session_id, error.line())
        try:
            if title or taken:
                self._save(session_id, totals, title, taken, price)
        except TauError as error:
            log.info("The title of session %s is not saved: %s", session_id, error.line())

    def _save(
        self, session_id: str, totals: Totals, title: str, taken: list[Usage], price: Price | None
    ) -> None:
        """Keep a title and what it took with the session, wherever the conversation is now.

        Raises:
            TauError: The session is held elsewhere, or could not be written.
        """
        hand, writer = self._hand, self._hand.writer
        here = hand.totals is totals  # they go along when it is compacted
        newest = session_id if here else hand.opener.way_on(session_id).session_id
        if writer is not None and (here or writer.session_id == newest):
            self._keep(writer, hand.totals, title, taken, price)
            hand.refresh()
            return
        with hand.hold(newest) as other:
            self._keep(other, Totals(other.meta()), title, taken, price)

    def _keep(
        self, writer: SessionWriter, totals: Totals, title: str, taken: list[Usage], price: Price | None
    ) -> None:
        for usage in taken:
            totals.count_side(usage, price)
        titled: Meta = {"title": title, TITLE_BY: "model"} if title else {}
        writer.patch_meta({**titled, **totals.meta()}, touch=False)
        self._hand.index(lambda catalog: catalog.record(writer, []))
