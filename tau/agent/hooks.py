"""Where the SDK's loop asks before it acts, and tells what it did."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

from strands.hooks import (
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)

from tau.agent import notices
from tau.agent.history import clean_text
from tau.events import ToolStatus
from tau.masking import mask_all, mask_content
from tau.tools.spill import spill_result

if TYPE_CHECKING:
    from strands.types.tools import ToolResult, ToolResultContent

    from tau.agent.runner import AgentRunner


MISFIT = "Validation failed for input parameters"
"""How the SDK begins its error for arguments that do not fit a tool, which is caused by pydantic's."""

INLINE_CHARS = 64_000
"""Results up to this size are looked through for secrets at once, longer ones on a thread."""


class TurnHooks(HookProvider):
    """Where the SDK's loop asks before it acts."""

    def __init__(self, runner: AgentRunner) -> None:
        self._runner = runner

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """What the SDK calls to learn of the callbacks."""
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(BeforeToolCallEvent, self._before_tool)
        registry.add_callback(AfterToolCallEvent, self._after_tool)

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        turn = self._runner.running
        if turn is not None and turn.closing:
            event.cancel = turn.closing

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        await self._runner.before_model_call()

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        turn = self._runner.running
        response = event.stop_response
        if turn is not None and response is not None and response.stop_reason == "cancelled":
            # The SDK drops what was streamed; the person has read it, so the history keeps it.
            response.message["content"] = [{"text": self._runner.cut_off(turn)}]

    async def _before_tool(self, event: BeforeToolCallEvent) -> None:
        tier = _tier(event.selected_tool)
        use: dict[str, Any] = dict(event.tool_use)
        # A tool that does not exist does nothing; the SDK answers the call.
        turn, calls = self._runner.running, self._runner.tool_calls
        refusal = await calls.refusal(turn, event.selected_tool, use) if event.selected_tool else ""
        calls.begin(turn, use, tier)
        if refusal:
            event.cancel_tool = refusal

    async def _after_tool(self, event: AfterToolCallEvent) -> None:
        use = event.tool_use
        if misfit := _misfit(use["name"], event.exception):
            event.result = {**event.result, "content": [{"text": misfit}]}
        if _size(event.result) > INLINE_CHARS:
            event.result = await asyncio.to_thread(self._kept, event.result, use["name"])
        else:
            event.result = self._kept(event.result, use["name"])
        self._runner.keep_result(dict(event.result))
        if self._runner.tool_context is not None:
            self._runner.tool_context.calls.end(use["toolUseId"])
        turn, calls = self._runner.running, self._runner.tool_calls
        status: ToolStatus = "success" if event.result.get("status") == "success" else "error"
        if status == "error" and turn is not None and turn.cancelled:
            status = "cancelled"
        result = "\n".join(map(_as_text, event.result["content"]))
        if event.selected_tool is not None and event.cancel_message is None:
            calls.heard(event.selected_tool, use)
        calls.end(turn, use["toolUseId"], status, result, event.duration or 0.0)

    def _kept(self, result: ToolResult, tool: str) -> ToolResult:
        """A result as it may be kept, sent and shown: without secrets, and not too long."""
        masked = _masked(result)
        context = self._runner.tool_context
        return masked if context is None else spill_result(masked, tool=tool, context=context)


def _misfit(tool: str, error: Exception | None) -> str:
    """What the model reads of arguments that do not fit the tool's schema, in one line; else empty."""
    cause = error.__cause__ if isinstance(error, ValueError) else None
    if cause is None or not str(error).startswith(MISFIT):
        return ""
    from pydantic import ValidationError

    if not isinstance(cause, ValidationError):
        return ""
    faults = []
    for each in cause.errors(include_url=False, include_context=False):
        given = None if each["type"] == "missing" else each["input"]
        faults.append((".".join(map(str, each["loc"])), each["msg"], given))
    return notices.misfit(tool, faults)


def _masked(result: ToolResult) -> ToolResult:
    content: list[ToolResultContent] = []
    for block in result["content"]:
        masked = {**block}
        if "text" in block:
            masked["text"] = mask_content(block["text"])
        if "json" in block:
            masked["json"] = mask_all(block["json"])
        content.append(cast("ToolResultContent", masked))
    return {**result, "content": content}


def _size(result: ToolResult) -> int:
    return sum(len(block["text"]) if "text" in block else 0 for block in result["content"])


def _as_text(block: ToolResultContent) -> str:
    """A block of a result as its event keeps it."""
    if "text" in block:
        return clean_text(block["text"])
    if "json" in block:
        return clean_text(json.dumps(block["json"], ensure_ascii=False, default=str))
    return f"[{next(iter(block), 'nothing')}, kept with the message only]"


def _tier(tool: Any) -> int:
    """The tier a tool declares: without one it is held to change things; an unknown tool does not run."""
    return 0 if tool is None else int(getattr(tool, "tier", 2))
