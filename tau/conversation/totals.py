"""The running totals of a session, flat in its metadata."""

from __future__ import annotations

from math import isfinite

from msgspec.structs import replace

from tau.events import Usage
from tau.models.usage import Price
from tau.sessions.records import Meta

DIGITS = 9
"""Of a dollar: sums of floats stay free of noise, and a single token of the cheapest model still counts."""


class Totals:
    """Tokens, turns and cost of a session so far; read from its metadata and written back after each turn.

    Attributes:
        usage: All model calls. What was written to a cache is among `input_tokens`, as in the metadata.
        turns: Turns that were answered.
        context: Tokens of the conversation as it was last measured, or None when unknown.
        context_at: Messages that were on record then; None in sessions that do not say so.
        chars_a_token: Characters of a token as the provider's counts have shown; None while none has.
        cost: US dollars of the calls whose price was known, or None while there was none.
    """

    def __init__(self, meta: Meta | None = None) -> None:
        stored = meta or {}
        self.usage = Usage(
            int(_number(stored, "tokens_in") or 0),
            int(_number(stored, "tokens_out") or 0),
            int(_number(stored, "tokens_cached") or 0),
        )
        self.turns = int(_number(stored, "turns") or 0)
        self.context = int(_number(stored, "context_tokens") or 0) or None
        at = _number(stored, "context_at")
        self.context_at = int(at) if at is not None else None
        self.chars_a_token = _number(stored, "chars_a_token")
        self.cost = _number(stored, "cost")

    def count(self, usage: Usage, price: Price | None = None) -> None:
        """Add a model call of a turn. One that the provider did not count leaves the context unknown."""
        self.count_side(usage, price)
        self.context = usage.request_tokens + usage.output_tokens or None

    def count_side(self, usage: Usage, price: Price | None = None) -> None:
        """Add a call beside the conversation, such as one for a summary: it says nothing of the context."""
        folded = replace(usage, input_tokens=usage.input_tokens + usage.written_tokens, written_tokens=0)
        self.usage += folded
        if price is not None and folded != Usage():
            self.cost = round((self.cost or 0.0) + price.cost(usage), DIGITS)

    def measured(self, tokens: int, count: int, chars_a_token: float | None) -> None:
        """Take the size of the conversation with so many messages on record, as the agent measured it."""
        self.context = tokens or None
        self.context_at = count
        self.chars_a_token = chars_a_token

    def meta(self) -> Meta:
        """The totals as metadata keys; what is not known yet of cost and characters has none."""
        totals: Meta = {
            "tokens_in": self.usage.input_tokens,
            "tokens_out": self.usage.output_tokens,
            "tokens_cached": self.usage.cached_tokens,
            "turns": self.turns,
            "context_tokens": self.context,
            "context_at": self.context_at,
        }
        if self.chars_a_token is not None:
            totals["chars_a_token"] = self.chars_a_token
        if self.cost is not None:
            totals["cost"] = self.cost
        return totals


def _number(stored: Meta, key: str) -> float | None:
    """A stored figure; None where there is none that can be one."""
    value = stored.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        return None
    return value
