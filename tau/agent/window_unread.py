"""Messages that have left a window and whose facts are still to be read, which takes too long for a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tau.agent.steps import aside
from tau.agent.window_cuts import size
from tau.agent.window_lead import Lead
from tau.sessions.records import Message

AT_ONCE = 16_000
"""A `size` of messages whose facts are read at once, within some 20 ms."""

LISTED_SHARE = 0.2
"""About what part of messages their facts are in a list, where it has room for all of them."""

LISTED_CHARS = 3
"""Characters of a token in such a list."""


@dataclass(frozen=True, slots=True)
class _Left:
    """Messages that left together, and what `Lead.grown` takes beside them."""

    messages: Sequence[Message]
    tokens: int
    growth: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """Messages that have left, in the order in which they did.

    Attributes:
        lead: The window's lead before they left.
        state: The window's state then. It is the one to record as long as their facts are not read: restored
            from it, a window lets go of the same messages again.
        chars: About how many characters their facts will add to the lead.
    """

    lead: Lead
    state: dict[str, Any]
    chars: int = 0
    _left: tuple[_Left, ...] = ()

    def with_more(self, messages: Sequence[Message], *, tokens: int, growth: int | None) -> Unread:
        """These messages and some that leave after them; see `Lead.grown`."""
        chars = self.chars + int(size(messages) * LISTED_SHARE)
        if growth is not None:
            chars = min(chars, self.chars + growth)
        chars = max(min(chars, tokens * LISTED_CHARS - len(self.lead.facts)), 0)
        return replace(self, chars=chars, _left=(*self._left, _Left(messages, tokens, growth)))

    async def read(self) -> Lead:
        """The lead with their facts, the same as if these had been read at once. The loop stays free."""
        lead = self.lead
        for each in self._left:
            lead = await aside(lead.grown(each.messages, tokens=each.tokens, growth=each.growth))
        return lead
