"""How many tokens the next request takes: the provider's last count, and an estimate of what came since."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from strands import Agent

from tau.agent.turn import CountUsage
from tau.agent.window_cuts import size
from tau.events import Usage
from tau.sessions.records import Message, origin_of

CHARS_A_TOKEN = 3.5
"""Characters of a token while no count of the provider says otherwise: between code and prose."""

FEWEST, MOST = 2.0, 6.0
"""Characters of a token are never taken to be fewer or more, whatever a provider has counted."""

LEAST_COUNTED = 2_000
"""Characters of a request from which on its count says how long a token is."""


class ContextReading:
    """The size of a conversation as the model would be sent it, in tokens.

    Args:
        agent: Whose conversation it is.
        coming: About how many characters come before the messages until the request is made.
    """

    def __init__(self, agent: Agent, *, coming: Callable[[], int]) -> None:
        self._agent = agent
        self._coming = coming
        self._learnt: float | None = None
        self._counted: tuple[int, int] | None = None
        self._provider_counts = False
        self._overhead: tuple[int, int] = (0, 0)

    @property
    def tokens(self) -> int:
        """About how many tokens the next request has, as the conversation stands."""
        chars = self._chars_of(self._messages)
        whole = (chars + self._overhead_chars()) / self._ratio
        if self._counted is None:
            return round(whole)
        tokens, counted_chars = self._counted
        # What has left since the count is estimated, so the estimate of the whole bounds it from below.
        return round(max(tokens + (chars - counted_chars) / self._ratio, whole / 2))

    @property
    def chars_a_token(self) -> float | None:
        """Characters of a token as a provider's counts have shown, or None while none has."""
        return self._learnt

    @property
    def is_counted(self) -> bool:
        """Whether the size is a provider's count, or as good as it gets where the provider counts nothing."""
        return self._counted is not None or not self._provider_counts

    def part(self, messages: Sequence[Message]) -> int:
        """About how many tokens some of the messages have."""
        return round(size(messages) / self._ratio)

    def counted(self, usage: Usage) -> None:
        """Take the provider's count of the call whose reply is the newest message.

        One that counted nothing changes nothing.
        """
        self._take(usage, self._messages)

    def restore(self, tokens: int | None, count_usage: CountUsage) -> None:
        """Begin with what is on record.

        Args:
            tokens: What the conversation was measured to be as it stands, or None when that is not known.
            count_usage: Reads the usage that a reply has on record.
        """
        self._counted = None
        messages = self._messages
        if tokens is not None:
            self._counted = tokens, self._chars_of(messages)
            return
        for at in reversed(range(len(messages))):
            usage = messages[at].get("metadata", {}).get("usage")
            if usage and origin_of(messages[at]) is None:  # a copy was counted in another session's request
                self._take(count_usage(usage), messages[: at + 1])
                return

    def known(self, chars_a_token: float) -> None:
        """Take the characters of a token as they were known before, unless a count has shown them since."""
        if self._learnt is None:
            self._learnt = _bounded(chars_a_token)

    def forget(self) -> None:
        """The messages are others now; how long a token is stays known."""
        self._counted = None

    @property
    def _ratio(self) -> float:
        return self._learnt or CHARS_A_TOKEN

    @property
    def _messages(self) -> list[Message]:
        """The messages in memory, as the plain dicts they are."""
        return cast("list[Message]", self._agent.messages)

    def _take(self, usage: Usage, messages: Sequence[Message]) -> None:
        if not usage.request_tokens:
            return
        tokens, chars = usage.request_tokens + usage.output_tokens, self._chars_of(messages)
        whole = chars + self._overhead_chars()
        if whole >= LEAST_COUNTED:
            self._learnt = _bounded(whole / tokens)
        self._provider_counts = True
        self._counted = tokens, chars

    def _chars_of(self, messages: Sequence[Message]) -> int:
        """The characters of the first messages in memory, with what still comes before them."""
        return size(messages) + self._coming()

    def _overhead_chars(self) -> int:
        """Characters of the system prompt and of the tools, which every request has."""
        # `Agent.tool_names` would bring every schema into its normal form first.
        registry = self._agent.tool_registry
        tools = len(registry.registry) + len(registry.dynamic_tools)
        if self._overhead[0] != tools:
            specs = registry.get_all_tool_specs()
            self._overhead = tools, len(json.dumps(specs, default=str))
        return self._overhead[1] + len(self._agent.system_prompt or "")


def _bounded(chars_a_token: float) -> float:
    return min(max(chars_a_token, FEWEST), MOST)
