"""A provider's count of tokens, brought to one convention, and what the tokens cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tau.events import Usage

PER = 1_000_000
"""Prices are those of so many tokens."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a model's tokens cost, in US dollars a million.

    Attributes:
        input: Tokens sent.
        output: Tokens answered.
        cached: Tokens read from the provider's cache; None where they cost what other input does.
        written: Tokens written to it; None likewise.
        long: The price of every token of a request that is longer than `long_from`, or None.
        long_from: Tokens sent, whatever the cache had of them.
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    long: Price | None = None
    long_from: int = 0

    def cost(self, usage: Usage) -> float:
        """The dollars of one model call."""
        if self.long is not None and usage.request_tokens > self.long_from:
            return self.long.cost(usage)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cached_tokens * cached
            + usage.written_tokens * written
        ) / PER


def counted(raw: Mapping[str, Any], *, cached_in_input: bool = False) -> Usage:
    """The SDK's usage of a model call as tau counts.

    Args:
        raw: With ``inputTokens``, ``outputTokens``, ``cacheReadInputTokens`` and ``cacheWriteInputTokens``,
            each of which may be missing or null.
        cached_in_input: Whether this provider's ``inputTokens`` are the whole request, what the cache had or
            took included. Where those parts are larger than the whole, the count is read the other way.
    """
    sent, cached, written = (
        _count(raw.get(key)) for key in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    )
    if cached_in_input and cached + written <= sent:
        sent -= cached + written
    return Usage(sent, _count(raw.get("outputTokens")), cached, written)


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0
