"""The two kinds of window: the last messages of a session, and a summary with the newest ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from strands import Agent
from strands.hooks import BeforeModelCallEvent
from strands.models import Model

from tau.agent.history import begins_turn
from tau.agent.steps import aside
from tau.agent.summarizer import Summarizer, SummaryFailed
from tau.agent.window_base import FEWEST_CHARS, Count, CountUsage, Tell, Window, messages_of
from tau.agent.window_cuts import cut_by_count, newest_turn, size
from tau.agent.window_lead import Lead, facts_room
from tau.agent.window_told import not_summarized, summarizing
from tau.config.settings import AgentSettings, ContextSettings
from tau.masking import mask_content

log = logging.getLogger(__name__)

KEPT_SHARES = (0.75, 0.5, 0.0)
"""What may stay when a request did not fit, the first time, the second and the third in a row."""

SUMMARY_SHARES = (0.5, 0.0)
"""The same beside a summary."""

TRANSCRIPT_SHARE = 0.6
"""What a transcript to be summarized may take of the window; where none is declared, of what did not fit."""

LEAST_TRANSCRIPT = 20_000
"""Characters that a transcript may always have where no window is declared."""


class SlidingWindowConversationManager(Window):
    """The last messages of a session. The name is the SDK's, by which a session remembers its window."""

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Leave out what is older than the last `window_size` messages."""
        super().apply_management(agent)
        if self._moved:  # to another session, perhaps in the middle of a turn, which stays whole
            self._moved = False
            return
        lead, messages = self.lead, messages_of(agent)
        if len(messages) - lead > self.window_size:
            first, rest = cut_by_count(messages[lead:], self.window_size)
            self._let_go(agent, lead + first, lead + rest)

    def _make_room(self, agent: Agent) -> None:
        self._give_up(agent, self._share_cut(agent, KEPT_SHARES))


class SummarizingConversationManager(Window):
    """A summary of the older messages, and the newest ones. The name is the SDK's, as above.

    The SDK reduces a window in a plain call, during which its loop stands still. So the call only notes that
    a summary is due, and the hook before the next model call, which is awaited, makes it.
    """

    _due = False
    _failed = False

    def summary_failed(self) -> None:
        """Know that no summary can be made at present: messages leave without one."""
        self._failed = True

    def _make_room(self, agent: Agent) -> None:
        self._due = True

    def _settle(self) -> None:
        super()._settle()
        self._due = self._failed = False

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        await super()._before_model_call(event)
        if not self._due:
            return
        self._due = False  # whatever comes of it: a cancelled turn leaves nothing behind
        agent, messages = event.agent, messages_of(event.agent)
        cut = self._share_cut(agent, SUMMARY_SHARES)
        newest, fewest = newest_turn(messages), len(messages) - self.window_size
        cut = next(at for at in range(min(max(cut, fewest), newest), newest + 1) if begins_turn(messages[at]))
        if not self._failed:
            self._tell(summarizing(cut - self.lead))
            try:
                lead = await self._summary(agent, cut)
            except SummaryFailed as error:
                log.info("The older messages were not summarized: %s", error)
                self._failed = True
                cut = newest if error.overflow else cut
                self._tell(not_summarized(error.message))
            else:
                self._leave_out(agent, cut, cut + 1, lead)
                return
        self._give_up(agent, cut)
        await self.read_unread(agent)

    async def _summary(self, agent: Agent, cut: int) -> Lead:
        """What stands for the messages before a position.

        Raises:
            SummaryFailed: There is no summary, or it is no shorter.
        """
        older, room = messages_of(agent)[:cut], transcript_room(agent.model)
        whole = max(int(size(messages_of(agent)) * TRANSCRIPT_SHARE), LEAST_TRANSCRIPT)
        summarizer = Summarizer(agent.aux_model, limit=self.prune_chars, count_usage=self._count_usage)
        text = await summarizer.summarize(older, room=whole if room is None else room, most_parts=1)
        if len(text) >= size(older):
            raise SummaryFailed("it would be no shorter than what it sums up")
        tokens = facts_room(self.anchors_tokens, agent.model)
        return await aside(Lead.summarizing(mask_content(text), older, tokens=tokens))


def ignored(usage: Mapping[str, Any]) -> None:
    """Nobody counts what a call took."""


def window(
    settings: AgentSettings,
    context: ContextSettings,
    *,
    anchors_tokens: int,
    count: Count,
    tell: Tell,
    count_usage: CountUsage = ignored,
) -> Window:
    """The manager of the window that the configuration asks for.

    Args:
        settings: Kind and size of the window.
        context: From which size on a tool result is cut.
        anchors_tokens: Room for the facts of messages that the window does not show.
        count: How many messages the session has on record.
        tell: Called with a sentence for the person when messages leave the window because they do not fit.
        count_usage: Told what the call for a summary took.
    """
    kinds: dict[str, type[Window]] = {
        "sliding": SlidingWindowConversationManager,
        "summarize": SummarizingConversationManager,
    }
    return kinds[settings.context](
        window_size=settings.window_size,
        prune_chars=context.prune_result_chars,
        anchors_tokens=anchors_tokens,
        count=count,
        tell=tell,
        count_usage=count_usage,
    )


def transcript_room(model: Model) -> int | None:
    """Characters that a model may be sent to summarize, or None when its window is not declared."""
    tokens = model.context_window_limit
    return int(tokens * FEWEST_CHARS * TRANSCRIPT_SHARE) if tokens else None
