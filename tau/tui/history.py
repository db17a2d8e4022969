"""Turns a stored history into what the chat shows: whole turns of plain blocks, free of widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tau.events import AgentEvent, ToolCallRecord
from tau.sessions.records import Message, StoredMessage


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """Text of an assistant message."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning of an assistant message."""

    text: str


@dataclass(slots=True)
class CallPart:
    """A tool call; `record` is what was stored about it, `result` what the history holds."""

    tool_use_id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    failed: bool = False
    record: ToolCallRecord | None = None


@dataclass(slots=True)
class Turn:
    """What the person said and what came of it.

    Attributes:
        first_index: The index of its first message.
        said: The person's text; empty for a turn that begins with something else.
        parts: What followed, in order.
    """

    first_index: int
    said: str = ""
    parts: list[ReplyPart | ReasoningPart | CallPart] = field(default_factory=list)


def turns_of(messages: Sequence[StoredMessage], events: Iterable[AgentEvent]) -> list[Turn]:
    """The turns of a run of stored messages, oldest first, tool calls joined with their results."""
    records = {event.tool_use_id: event for event in events if isinstance(event, ToolCallRecord)}
    turns: list[Turn] = []
    calls: dict[str, CallPart] = {}
    for stored in messages:
        said = _said(stored.message)
        begins = stored.message.get("role") == "user" and bool(said)
        if begins or not turns:
            turns.append(Turn(stored.index, said if begins else ""))
        for block in _blocks(stored.message):
            part = _part(block, calls)
            if part is None or (begins and isinstance(part, ReplyPart)):
                continue
            if isinstance(part, CallPart):
                part.record = records.get(part.tool_use_id)
                calls[part.tool_use_id] = part
            turns[-1].parts.append(part)
    return turns


def _blocks(message: Message) -> Iterable[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _said(message: Message) -> str:
    return "\n".join(str(block["text"]) for block in _blocks(message) if block.get("text"))


def _part(
    block: Mapping[str, Any], calls: Mapping[str, CallPart]
) -> ReplyPart | ReasoningPart | CallPart | None:
    if isinstance(text := block.get("text"), str) and text.strip():
        return ReplyPart(text)
    if isinstance(reasoning := block.get("reasoningContent"), dict):
        text = reasoning.get("reasoningText", {})
        words = text.get("text", "") if isinstance(text, dict) else ""
        return ReasoningPart(str(words)) if words else None
    if isinstance(use := block.get("toolUse"), dict):
        given = use.get("input")
        arguments = given if isinstance(given, dict) else {"input": given}
        return CallPart(str(use.get("toolUseId", "")), str(use.get("name", "")), arguments)
    if isinstance(result := block.get("toolResult"), dict):
        call = calls.get(str(result.get("toolUseId", "")))
        if call is not None:
            call.result = result_text(result.get("content"))
            call.failed = result.get("status") == "error"
    return None


def result_text(content: object) -> str:
    """The words of a tool result's content blocks."""
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(item["text"]) if "text" in item else str(item.get("json", "(not text)"))
        for item in content
        if isinstance(item, dict)
    )
