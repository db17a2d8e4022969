"""What is known of a running turn, and the SDK's stream turned into tau's events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tau.agent.history import clean_text, text_of
from tau.agent.streaming import Kind, Streamed, scratched
from tau.events import (
    Approval,
    MessageEnd,
    ReasoningDelta,
    TextDelta,
    ToolOutputDelta,
    TurnEvent,
    Usage,
    UsageReported,
)

Emit = Callable[[TurnEvent], None]

CountUsage = Callable[[Mapping[str, Any]], Usage]
"""The SDK's usage of a model call as tau counts, by the convention of the provider."""


@dataclass(frozen=True, slots=True)
class Call:
    """A running tool call; `began` is the monotonic clock's time."""

    name: str
    arguments: dict[str, Any]
    tier: int
    began: float


class Turn:
    """What is known of the running turn.

    Attributes:
        shown: What was shown of the reply that streams, until its message is recorded.
        unsettled: The end of what streamed that may be the beginning of a secret.
        usage: Tokens of the turn's model calls so far.
        counted: Tokens of the call that has just ended, until somebody takes them.
        cancelled: Whether the person stopped it.
        closing: Text to append as the assistant's message without a model call, or empty.
        calls: The tool calls that run, by id.
        approvals: How calls came to run or not, by id; absent for those that needed nobody's yes.
        rules: The patterns by which calls were allowed, by id.
        denied: Calls that a person denied, by tool and arguments.
    """

    def __init__(self, emit: Emit, count_usage: CountUsage) -> None:
        self.emit = emit
        self._count_usage = count_usage
        self.shown = Streamed()
        self.unsettled = ""
        self.usage = Usage()
        self.counted: Usage | None = None
        self.cancelled = False
        self.closing = ""
        self.calls: dict[str, Call] = {}
        self.approvals: dict[str, Approval] = {}
        self.rules: dict[str, str] = {}
        self.denied: set[str] = set()

    def take(self, event: dict[str, Any]) -> str:
        """Turn one event of the SDK's stream into tau's. Returns what the scratch keeps of it."""
        if isinstance(event.get("data"), str):
            return self._streamed("text", clean_text(event["data"]))
        if isinstance(event.get("reasoningText"), str):
            return self._streamed("reasoning", clean_text(event["reasoningText"]))
        if event.get("type") == "tool_stream":
            stream = event["tool_stream_event"]
            if isinstance(stream["data"], str):
                self.emit(ToolOutputDelta(stream["tool_use"]["toolUseId"], clean_text(stream["data"])))
        elif "message" in event and event["message"]["role"] == "assistant":
            self._message(event["message"])
        return ""

    def _streamed(self, kind: Kind, piece: str) -> str:
        if self.cancelled or not piece:
            return ""
        self.emit(TextDelta(piece) if kind == "text" else ReasoningDelta(piece))
        kept = scratched(piece, kind, self.shown.kind)
        self.shown.add(kind, piece)
        return kept

    def _message(self, message: dict[str, Any]) -> None:
        self.shown = Streamed()
        self.unsettled = ""
        self.emit(MessageEnd(text_of(message)))
        counted = message.get("metadata", {}).get("usage")
        if counted:
            self.counted = usage = self._count_usage(counted)
            self.usage += usage
            self.emit(UsageReported(usage))
