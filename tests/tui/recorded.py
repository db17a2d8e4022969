"""Sessions written through the store, for tests that resume, list and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tau.events import AgentEvent, to_line
from tau.sessions.records import Message, MetaValue
from tau.sessions.store import SessionStore


def said(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def answered(text: str, *blocks: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": [{"text": text}, *blocks] if text else list(blocks)}


def called(tool_use_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": tool_use_id, "name": name, "input": arguments}}


def result(tool_use_id: str, text: str, status: str = "success") -> Message:
    block = {"toolUseId": tool_use_id, "status": status, "content": [{"text": text}]}
    return {"role": "user", "content": [{"toolResult": block}]}


def numbered(name: str, message: Message) -> Message:
    """The message under an id of its own, as a turn records it."""
    return {**message, "tracking_id": name}


def record(
    store: SessionStore,
    session_id: str,
    messages: Sequence[Message],
    *,
    directory: str,
    events: Sequence[AgentEvent] = (),
    **meta: MetaValue,
) -> None:
    """Write a session and let go of it."""
    title = next((m["content"][0]["text"] for m in messages if m["role"] == "user"), "")
    known: dict[str, MetaValue] = {
        "channel": "tui", "directory": directory, "title": str(title)[:60], "role": "default"
    }  # fmt: skip
    with store.create(session_id, meta={**known, **meta}) as writer:
        assert hasattr(writer, "append")
        for index, message in enumerate(messages):
            writer.append(index, message)
        for event in events:
            writer.append_event(to_line(event))
        writer.flush()


def exchanges(count: int) -> list[Message]:
    """So many turns of two messages."""
    return [m for n in range(count) for m in (said(f"question {n}"), answered(f"answer {n}"))]
