"""The running totals of a session, flat in its metadata."""

from __future__ import annotations

from tau.events import Usage
from tau.sessions.records import Meta


class Totals:
    """Tokens and turns of a session so far; read from its metadata and written back after each turn."""

    def __init__(self, meta: Meta | None = None) -> None:
        stored = meta or {}

        def number(key: str) -> int:
            value = stored.get(key)
            return int(value) if isinstance(value, int | float) else 0

        self.usage = Usage(number("tokens_in"), number("tokens_out"), number("tokens_cached"))
        self.turns = number("turns")
        self.context = number("context_tokens") or None

    def count(self, usage: Usage) -> None:
        """Add one model call."""
        self.usage = Usage(
            self.usage.input_tokens + usage.input_tokens,
            self.usage.output_tokens + usage.output_tokens,
            self.usage.cached_tokens + usage.cached_tokens,
        )
        self.context = usage.input_tokens + usage.cached_tokens + usage.output_tokens or None

    def meta(self) -> Meta:
        """The totals as metadata keys."""
        return {
            "tokens_in": self.usage.input_tokens,
            "tokens_out": self.usage.output_tokens,
            "tokens_cached": self.usage.cached_tokens,
            "turns": self.turns,
            "context_tokens": self.context,
        }
