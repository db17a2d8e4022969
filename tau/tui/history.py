"""Turns a stored history into what the chat shows: whole turns of plain blocks, free of widgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tau.agent.history import is_summary
from tau.events import AgentEvent, ToolCallRecord
from tau.sessions.attached import Attached, attached, own_blocks
from tau.sessions.records import Message, StoredMessage


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """Text of an assistant message, and the index of that."""

    text: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning of an assistant message, and the index of that."""

    text: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """The summary of the session that this one continues, its first message."""

    text: str
    index: int = 0


@dataclass(slots=True)
class CallPart:
    """A tool call.

    Attributes:
        result: What the history holds; None where it holds none.
        failed: Whether that is an error.
        record: What was stored about it.
        running: Whether another process may still be at it.
        index: The index of the message that makes it.
    """

    tool_use_id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    failed: bool = False
    record: ToolCallRecord | None = None
    running: bool = False
    index: int = 0


@dataclass(slots=True)
class Turn:
    """What the person said and what came of it.

    Attributes:
        first_index: The index of its first message.
        said: The person's text; empty for a turn that begins with something else.
        parts: What followed, in order.
        along: What went along with the person's text.
    """

    first_index: int
    said: str = ""
    parts: list[ReplyPart | ReasoningPart | SummaryPart | CallPart] = field(default_factory=list)
    along: Sequence[Attached] = ()


def turns_of(
    messages: Sequence[StoredMessage], events: Iterable[AgentEvent], *, held: bool = False
) -> list[Turn]:
    """The turns of a run of stored messages, oldest first, tool calls joined with their results.

    Args:
        messages: The stored messages.
        events: The session's stored events; those of calls in other messages are passed over.
        held: Whether another process writes the session, so that calls of its last message may still run.
    """
    turns: list[Turn] = []
    calls: dict[str, CallPart] = {}
    made: list[tuple[str, CallPart]] = []
    summarized = False
    for stored in messages:
        if stored.index == 0 and is_summary(stored.message):
            turns.append(Turn(0, "", [SummaryPart(_said(stored.message))]))
            summarized = True
            continue
        if stored.index == 1 and summarized:
            continue  # the model's word that it has read the summary
        said = _said(stored.message)
        along = attached(stored.message)
        begins = stored.message.get("role") == "user" and bool(said or along)
        if begins or not turns:
            turns.append(Turn(stored.index, said if begins else "", along=along))
        for block in _blocks(stored.message):
            part = _part(block, calls, stored.index)
            if part is None or (begins and isinstance(part, ReplyPart)):
                continue
            if isinstance(part, CallPart):
                made.append((str(stored.message.get("tracking_id", "")), part))
                part.running = held and stored is messages[-1]
                calls[part.tool_use_id] = part
            turns[-1].parts.append(part)
    _join(made, [event for event in events if isinstance(event, ToolCallRecord)])
    return turns


def _join(made: Sequence[tuple[str, CallPart]], records: Sequence[ToolCallRecord]) -> None:
    """Give each call its record. Ids of calls may repeat, so the message that made a call counts as well.

    Older records name no message: the newest of an id is that of its newest call that has a result.

    Args:
        made: The calls with the ids of their messages, oldest first.
        records: Oldest first.
    """
    known: defaultdict[tuple[str, str], list[ToolCallRecord]] = defaultdict(list)
    for record in records:
        known[record.message, record.tool_use_id].append(record)
    for message, call in reversed(made):
        if message and (of_message := known[message, call.tool_use_id]):
            call.record = of_message.pop()
        elif call.result is not None and (older := known["", call.tool_use_id]):
            call.record = older.pop() if older[-1].tool == call.name else None
        if call.record is not None or call.result is not None:
            call.running = False


def _blocks(message: Message) -> Iterable[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _said(message: Message) -> str:
    return "\n".join(str(block["text"]) for block in own_blocks(message) if block.get("text"))


def _part(
    block: Mapping[str, Any], calls: Mapping[str, CallPart], index: int
) -> ReplyPart | ReasoningPart | CallPart | None:
    if isinstance(text := block.get("text"), str) and text.strip():
        return ReplyPart(text, index)
    if isinstance(reasoning := block.get("reasoningContent"), dict):
        text = reasoning.get("reasoningText", {})
        words = text.get("text", "") if isinstance(text, dict) else ""
        return ReasoningPart(str(words), index) if words else None
    if isinstance(use := block.get("toolUse"), dict):
        given = use.get("input")
        arguments = given if isinstance(given, dict) else {"input": given}
        return CallPart(str(use.get("toolUseId", "")), str(use.get("name", "")), arguments, index=index)
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
