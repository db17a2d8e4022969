"""Calling a prepared model in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

from tau.config.settings import Settings
from tau.models.registry import PreparedModel, prepare

MakeSettings = Callable[..., Settings]

HELLO: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "hello"}]}]
TOOLS = [
    {
        "name": "read_file",
        "description": "Read a file",
        "inputSchema": {"json": {"type": "object", "properties": {"path": {"type": "string"}}}},
    }
]


async def ready(settings: Settings, environ: Mapping[str, str] | None = None) -> PreparedModel:
    return await prepare(settings, "default", environ=environ or {})


async def heard(model: Any, messages: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
    """The events of one call."""
    async with aclosing(cast("Any", model.stream(messages or HELLO, **kwargs))) as events:
        async for event in events:
            yield event


async def events_of(model: Any, messages: Any = None, **kwargs: Any) -> list[Any]:
    return [event async for event in heard(model, messages, **kwargs)]


def text_in(events: list[Any]) -> str:
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return "".join(delta.get("text", "") for delta in deltas)


def stop_reason(events: list[Any]) -> str:
    return str(next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event))


def tool_uses(events: list[Any]) -> list[dict[str, Any]]:
    """The tool calls of a reply as name, id and the input's text."""
    calls: list[dict[str, Any]] = []
    for event in events:
        start = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
        if start:
            calls.append({"name": start["name"], "id": start["toolUseId"], "input": ""})
        delta = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
        if delta:
            calls[-1]["input"] += delta["input"]
    return calls
