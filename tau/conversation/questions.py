"""The questions of a turn: put to the channel, answered by a person, refused when the turn is cancelled."""

from __future__ import annotations

import asyncio

from tau.agent.turn import Emit
from tau.events import ApprovalAsked, ApprovalClosed, Decision, TurnEvent


def _to_nobody(event: TurnEvent) -> None:
    """Before the first turn there is no channel to tell."""


class Questions:
    """Open questions by id.

    Attributes:
        emit: Where the events of the running turn go.
    """

    def __init__(self) -> None:
        self.emit: Emit = _to_nobody
        self._open: dict[str, asyncio.Future[tuple[Decision, str]]] = {}

    async def ask(self, asked: ApprovalAsked) -> tuple[Decision, str]:
        """Put a question and wait for its answer: the decision, and for a no the person's reason or ""."""
        answer: asyncio.Future[tuple[Decision, str]] = asyncio.get_running_loop().create_future()
        self._open[asked.approval_id] = answer
        decision: Decision = "no"
        reason = ""
        emit = self.emit
        emit(asked)
        try:
            decision, reason = await answer
            return decision, reason
        finally:
            del self._open[asked.approval_id]
            emit(ApprovalClosed(asked.approval_id, decision, reason))

    def answer(self, approval_id: str, decision: Decision, reason: str) -> None:
        """Answer a question; one that is closed already is left alone."""
        question = self._open.get(approval_id)
        if question is not None and not question.done():
            question.set_result((decision, reason))

    def refuse_all(self) -> None:
        """Answer every open question with no."""
        for approval_id in list(self._open):
            self.answer(approval_id, "no", "")
