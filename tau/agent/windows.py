"""The context window: which messages a model is sent."""

from __future__ import annotations

from typing import Any

from strands import Agent
from strands.agent import conversation_manager as sdk
from strands.agent.conversation_manager.conversation_manager import ConversationManager
from strands.types.exceptions import ContextWindowOverflowException

from tau.config.settings import AgentSettings

MOST_SUMMARIES = 2
"""Summaries made for one model call that does not fit; more of them would only summarize each other."""


class SummarizingConversationManager(sdk.SummarizingConversationManager):
    """The SDK's, with an end: on an overflow that stays, it would summarize its own summary for ever.

    The name is the SDK's too, because a session remembers its window by that name.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._in_a_row = 0

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Summarize the older messages.

        Raises:
            ContextWindowOverflowException: It was done `MOST_SUMMARIES` times and still does not fit.
        """
        if e is not None and self._in_a_row >= MOST_SUMMARIES:
            self._in_a_row = 0
            raise ContextWindowOverflowException(str(e)) from e
        self._in_a_row += e is not None
        super().reduce_context(agent, e=e, **kwargs)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """The turn is over; what comes next may overflow anew."""
        self._in_a_row = 0
        super().apply_management(agent, **kwargs)


def window(settings: AgentSettings) -> ConversationManager:
    """The manager of the window that the configuration asks for."""
    if settings.context == "summarize":
        return SummarizingConversationManager(preserve_recent_messages=settings.window_size)
    return sdk.SlidingWindowConversationManager(window_size=settings.window_size)
