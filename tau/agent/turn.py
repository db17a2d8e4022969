"""What is known of a running turn, and the SDK's stream turned into tau's events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tau.agent.history import clean_text, text_of
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
        shown: Text of the reply that streams, until its message is recorded.
        usage: Tokens of the turn's model calls so far.
        cancelled: Whether the person stopped it.
        closing: Text to append as the assistant's message without a model call, or empty.
        calls: The tool calls that run, by id.
        approvals: How calls came to run or not, by id; absent for those that needed nobody's yes.
        rules: The patterns by which calls were allowed, by id.
        denied: Calls that a person denied, by tool and arguments.
    """

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.shown = ""
        self.usage = Usage()
        self.cancelled = False
        self.closing = ""
        self.calls: dict[str, Call] = {}
        self.approvals: dict[str, Approval] = {}
        self.rules: dict[str, str] = {}
        self.denied: set[str] = set()

    def take(self, event: dict[str, Any]) -> str:
        """Turn one event of the SDK's stream into tau's. Returns the text that it added to the reply."""
        if isinstance(event.get("data"), str):
            text = clean_text(event["data"])
            if not self.cancelled:
                self.shown += text
                if text:
                    self.emit(TextDelta(text))
                return text
        elif isinstance(event.get("reasoningText"), str):
            if not self.cancelled:
                self.emit(ReasoningDelta(clean_text(event["reasoningText"])))
        elif event.get("type") == "tool_stream":
            stream = event["tool_stream_event"]
            if isinstance(stream["data"], str):
                self.emit(ToolOutputDelta(stream["tool_use"]["toolUseId"], clean_text(stream["data"])))
        elif "message" in event and event["message"]["role"] == "assistant":
            self._message(event["message"])
        return ""

    def _message(self, message: dict[str, Any]) -> None:
        self.shown = ""
        self.emit(MessageEnd(text_of(message)))
        counted = message.get("metadata", {}).get("usage")
        if counted:
            usage = Usage(
                input_tokens=counted.get("inputTokens", 0),
                output_tokens=counted.get("outputTokens", 0),
                cached_tokens=counted.get("cacheReadInputTokens", 0) or 0,
            )
            self.usage = Usage(
                self.usage.input_tokens + usage.input_tokens,
                self.usage.output_tokens + usage.output_tokens,
                self.usage.cached_tokens + usage.cached_tokens,
            )
            self.emit(UsageReported(usage))
