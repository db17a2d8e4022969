"""The strands model of the provider ``scripted``: plays the steps of a script, records its requests."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from strands.models import Model
from strands.types.content import Messages
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolSpec

from tau.models.script import Reply, Step, pieces, resolve

T = TypeVar("T", bound=BaseModel)


class ScriptedRefusal(Exception):
    """The provider refused the request, as a server does with status 400."""

    status_code = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Cursor:
    """The place in a script. Each call takes the next step; the last one repeats.

    Args:
        steps: At least one step.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._calls = 0

    def take(self) -> Step:
        """The step of this call."""
        step = self._steps[min(self._calls, len(self._steps) - 1)]
        self._calls += 1
        return step


class ScriptedModel(Model):
    """A model whose answers are the steps of a script.

    Args:
        cursor: Where the steps come from; models that share one share the script.
        model_id: The name it goes by.
        context_window: Tokens it claims to hold, or None.
        record: The file each request is appended to, one JSON object a line, or None.
        side: Whether its requests are recorded as side calls.
    """

    def __init__(
        self,
        cursor: Cursor,
        *,
        model_id: str = "scripted",
        context_window: int | None = None,
        record: Path | None = None,
        side: bool = False,
    ) -> None:
        self.config: dict[str, Any] = {"model_id": model_id}
        if context_window is not None:
            self.config["context_window_limit"] = context_window
        self._cursor = cursor
        self._record = record
        self._side = side

    def update_config(self, **model_config: Any) -> None:
        """Change ``model_id`` or ``context_window_limit``."""
        self.config.update(model_config)

    def get_config(self) -> dict[str, Any]:
        """``model_id``, and ``context_window_limit`` when one was given."""
        return self.config

    async def stream(
        self,
        messages: Messages,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Play the next step.

        Raises:
            ModelThrottledException: The step says ``"error": "throttled"``.
            ContextWindowOverflowException: It says ``"overflow"``.
            ScriptedRefusal: It says ``"refused"``.
            OSError: The request cannot be recorded.
        """
        started = time.perf_counter()
        request = {
            "system": system_prompt,
            "messages": messages,
            "tools": [spec["name"] for spec in tool_specs or ()],
            "side": self._side,
        }
        if self._record is not None:
            append_line(self._record, request)
        reply = resolve(self._cursor.take(), request)
        if reply.error is not None and reply.error != "max_tokens" and reply.text is None:
            await asyncio.sleep(reply.silent)
            raise _failure(reply)
        yield {"messageStart": {"role": "assistant"}}
        await asyncio.sleep(reply.silent)
        for text, reasoning in ((reply.reasoning, True), (reply.text, False)):
            if text is not None:
                async for event in _block(text, reply, reasoning=reasoning):
                    yield event
        for call in reply.tools:
            tool_use_id = call.tool_use_id or f"call-{secrets.token_hex(6)}"
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": tool_use_id}}}}
            arguments = json.dumps(call.arguments)
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
            yield {"contentBlockStop": {}}
        if reply.error is not None and reply.error != "max_tokens":
            raise _failure(reply)
        if reply.error == "max_tokens":
            yield {"messageStop": {"stopReason": "max_tokens"}}
        else:
            yield {"messageStop": {"stopReason": "tool_use" if reply.tools else "end_turn"}}
        counts = {"inputTokens": 0, "outputTokens": 0, **reply.usage}
        counts.setdefault("totalTokens", counts["inputTokens"] + counts["outputTokens"])
        latency = int((time.perf_counter() - started) * 1000)
        yield {"metadata": {"usage": counts, "metrics": {"latencyMs": latency}}}  # type: ignore[typeddict-item]  # a script may count more

    async def structured_output(
        self, output_model: type[T], prompt: Messages, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        """The next step's text, read as the JSON of `output_model`.

        Raises:
            ScriptedRefusal: The text is not that.
        """
        text = ""
        async for event in self.stream(prompt, system_prompt=system_prompt):
            yield {"chunk": event}
            if "contentBlockDelta" in event:
                text += event["contentBlockDelta"]["delta"].get("text", "")
        try:
            yield {"output": output_model.model_validate_json(text)}
        except ValidationError as error:
            raise ScriptedRefusal(f"the step's text is not the JSON asked for: {error}") from error


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON object as a line, in a single write that other writers cannot split.

    Bytes are written as ``{"__bytes_encoded__": true, "data": BASE64}``.
    """
    line = json.dumps(record, default=_encode) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, line.encode("ascii"))
    finally:
        os.close(descriptor)


async def _block(text: str, reply: Reply, *, reasoning: bool) -> AsyncGenerator[StreamEvent, None]:
    yield {"contentBlockStart": {"start": {}}}
    for piece in pieces(text, reply.chunks):
        await asyncio.sleep(reply.delay)
        if reasoning:
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": piece}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": piece}}}
    yield {"contentBlockStop": {}}


def _failure(reply: Reply) -> Exception:
    if reply.error == "throttled":
        return ModelThrottledException(reply.message or "Too many requests")
    if reply.error == "overflow":
        return ContextWindowOverflowException(reply.message or "The input exceeds the context window")
    return ScriptedRefusal(reply.message or "The request was refused")


def _encode(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"__bytes_encoded__": True, "data": base64.b64encode(value).decode("ascii")}
    raise TypeError(f"{type(value).__name__} cannot be recorded")
