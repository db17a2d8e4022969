"""Where the SDK's loop asks before it acts, and tells what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from strands.hooks import (
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)

from tau.agent.history import clean_text, cut_off
from tau.events import ToolStatus
from tau.masking import mask_all, mask_content
from tau.tools.spill import spill_result

if TYPE_CHECKING:
    from strands.types.tools import ToolResult, ToolResultContent

    from tau.agent.runner import AgentRunner


class TurnHooks(HookProvider):
    """Where the SDK's loop asks before it acts."""

    def __init__(self, runner: AgentRunner) -> None:
        self._runner = runner

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """What the SDK calls to learn of the callbacks."""
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(BeforeToolCallEvent, self._before_tool)
        registry.add_callback(AfterToolCallEvent, self._after_tool)

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        turn = self._runner.running
        if turn is not None and turn.closing:
            event.cancel = turn.closing

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        turn = self._runner.running
        response = event.stop_response
        if turn is not None and response is not None and response.stop_reason == "cancelled":
            # The SDK drops what was streamed; the person has read it, so the history keeps it.
            response.message["content"] = [{"text": cut_off(turn.shown)}]

    async def _before_tool(self, event: BeforeToolCallEvent) -> None:
        tier = _tier(event.selected_tool)
        use: dict[str, Any] = dict(event.tool_use)
        # A tool that does not exist does nothing; the SDK answers the call.
        refusal = await self._runner.refusal(event.selected_tool, use) if event.selected_tool else ""
        self._runner.begin_call(use, tier)
        if refusal:
            event.cancel_tool = refusal

    def _after_tool(self, event: AfterToolCallEvent) -> None:
        use = event.tool_use
        event.result = _masked(event.result)
        if self._runner.tool_context is not None:
            event.result = spill_result(event.result, tool=use["name"], context=self._runner.tool_context)
        self._runner.keep_result(dict(event.result))
        result = "\n".join(
            clean_text(item["text"]) for item in event.result.get("content", []) if "text" in item
        )
        status: ToolStatus = "success" if event.result.get("status") == "success" else "error"
        if status == "error" and self._runner.running is not None and self._runner.running.cancelled:
            status = "cancelled"
        self._runner.end_call(use["toolUseId"], status, result, event.duration or 0.0)


def _masked(result: ToolResult) -> ToolResult:
    """A result without the secrets in its text, before it is kept, sent or shown."""
    content: list[ToolResultContent] = []
    for block in result["content"]:
        masked = {**block}
        if "text" in block:
            masked["text"] = mask_content(block["text"])
        if "json" in block:
            masked["json"] = mask_all(block["json"])
        content.append(cast("ToolResultContent", masked))
    return {**result, "content": content}


def _tier(tool: Any) -> int:
    """The tier a tool declares: without one it is held to change things; an unknown tool does not run."""
    return 0 if tool is None else int(getattr(tool, "tier", 2))
