"""Puts the model of a role in force: prepares it, builds the agent on the session in hand, and shows both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.conversation.in_hand import InHand
from tau.errors import TauError
from tau.models.info import ModelInfo

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner


class ModelInForce:
    """The model that a conversation is on. Whoever calls it sees to it that nothing else runs.

    Args:
        hand: The session in hand.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand

    async def prepare(self) -> ModelInfo:
        """Prepare the model of the role in force and build the agent on the session.

        Raises:
            TauError: The model cannot be used; the state's `model_problem` says why.
        """
        hand, answerer = self._hand, self._hand.answerer
        try:
            prepared = await answerer.prepare(hand.state.role)
            runner = answerer.build(hand.session, prepared)
        except TauError as error:
            hand.use(None)
            await answerer.adopt(None)
            hand.show(model=None, model_problem=error.line())
            raise
        await answerer.adopt(prepared)
        hand.show(model=prepared.info, model_problem="")
        hand.use(runner)
        return prepared.info

    async def change(self, role: str) -> ModelInfo:
        """Put the model of another role in force; the old one stays when the new one cannot be used.

        Raises:
            TauError: The role is unknown or its model cannot be used.
        """
        hand, answerer = self._hand, self._hand.answerer
        prepared = await answerer.prepare(role)
        if hand.writer is not None:
            hand.writer.patch_meta({"role": role})
        runner = answerer.build(hand.session, prepared)
        await answerer.adopt(prepared)
        hand.show(role=role, model=prepared.info, model_problem="")
        hand.use(runner)
        return prepared.info

    async def ready(self) -> AgentRunner:
        """The agent on the session in hand, prepared where it is not there yet.

        Raises:
            TauError: The session is open for reading only, or there is no model.
        """
        hand = self._hand
        if hand.state.held is not None:
            raise hand.state.held
        if hand.answerer.runner is None:
            await self.prepare()
        assert hand.answerer.runner is not None
        return hand.answerer.runner
