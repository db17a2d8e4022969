"""Runs turns: one strands agent on one session, its stream turned into tau's events."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.agent.conversation_manager.conversation_manager import ConversationManager
from strands.hooks import (
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)
from strands.types.exceptions import (
    ContextWindowOverflowException,
    EventLoopException,
    MaxTokensReachedException,
)

from tau.agent import notices, tracing
from tau.agent.history import UNFINISHED_NOTICE, clean_text, text_of, tool_use_ids
from tau.agent.recorder import Recorder
from tau.agent.retry import Retry
from tau.config.settings import AgentSettings
from tau.errors import StoreWriteFailed, TauError
from tau.events import (
    AgentEvent,
    ErrorRecord,
    MessageEnd,
    Notice,
    NoticeRecord,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallRecord,
    ToolOutputDelta,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnd,
    TurnEvent,
    TurnLimitRecord,
    TurnStarted,
    Usage,
    UsageReported,
    to_line,
)
from tau.models.failures import describe, is_overflow
from tau.sessions.records import AGENT_ID, StoredMessage
from tau.sessions.store import SessionWriter
from tau.tools.context import ToolContext
from tau.tools.spill import spill_result

log = logging.getLogger(__name__)

CANCEL_GRACE = 1.0
"""Seconds a cancelled turn has to stop by itself before its task is cancelled."""

CUT_MARK = "[interrupted]"
"""Ends a reply that was cut off while the person could already read it."""

RESULT_SUMMARY = 2_000
"""Characters of a tool result that its event record keeps; the message keeps all of it."""

Emit = Callable[[TurnEvent], None]


class AgentRunner:
    """One agent on one session. Lives on the engine's loop; one turn at a time.

    Args:
        model: A prepared strands model.
        writer: The session, held for writing.
        settings: Window and limits.
        system_prompt: What the model is told first.
        tools: Strands tools.
        tool_context: Where results too long for the model are spilled; None leaves them whole.
        on_unsaved: Told why what was said is not on disk, and with "" when it is again.

    Raises:
        StoreError: The session cannot be read.
    """

    def __init__(
        self,
        *,
        model: Any,
        writer: SessionWriter,
        settings: AgentSettings,
        system_prompt: str,
        tools: Sequence[Any] = (),
        tool_context: ToolContext | None = None,
        on_unsaved: Callable[[str], None] = lambda reason: None,
    ) -> None:
        tracing.install()
        self._settings = settings
        self._writer = writer
        self._tool_context = tool_context
        self._on_unsaved = on_unsaved
        self._recorder = Recorder(writer, on_unsaved=self._unsaved_changed)
        self._turn: _Turn | None = None
        self._task: asyncio.Task[str] | None = None
        self._last_notice = ""
        self._agent = Agent(
            model=model,
            agent_id=AGENT_ID,
            tools=list(tools),
            system_prompt=system_prompt,
            callback_handler=None,
            conversation_manager=_manager(settings),
            session_manager=self._recorder,
            hooks=[_TurnHooks(self)],
            retry_strategy=Retry(self._emit),
        )

    @property
    def messages_in_memory(self) -> int:
        """Messages the model would be sent."""
        return len(self._agent.messages)

    @property
    def unsaved(self) -> str:
        """Why what was said is not on disk, or the empty string."""
        return self._recorder.unsaved

    def take_recorded(self) -> list[StoredMessage]:
        """The messages recorded since the last call, for the index."""
        return self._recorder.take_recorded()

    async def run(self, text: str, emit: Emit) -> TurnEnd:
        """Run one turn and return how it ended; `emit` gets everything before that.

        Nothing is raised for what can go wrong in a turn: it ends with a stop reason and a notice. The
        caller flushes, so that what it adds to the session shares the one wait for the disk.
        """
        started = time.monotonic()
        self._turn = turn = _Turn(emit)
        try:
            if not self._recorder.write_waiting():
                notice = notices.refused_unsaved(self._recorder.unsaved)
                self._record(ErrorRecord(where="store", message=notice))
                return TurnEnd("error", notice, duration=time.monotonic() - started)
            emit(TurnStarted(text))
            prompt = self._prompt(text)
            # Only the agent's own stop tells what happened; a cancelled task is asked what it had.
            self._task = asyncio.create_task(self._drive(prompt, turn))
            await asyncio.wait({self._task})
            stop_reason, notice = self._outcome(self._task, turn)
            if turn.cancelled:
                stop_reason, notice = "cancelled", notices.CANCELLED
            if turn.shown.strip():
                await self._keep_shown(turn)
            self._last_notice = notice
            self._record_end(stop_reason, notice)
            return TurnEnd(stop_reason, notice, turn.usage, time.monotonic() - started)
        finally:
            self._turn = self._task = None

    async def warm_up(self) -> None:
        """Have a model that reads its prompt slowly read what every request begins with, ahead of the first.

        Models that have nothing to prepare are left alone. A failure is logged: the first turn meets it
        again and says so.
        """
        prepare = getattr(self._agent.model, "prepare", None)
        if prepare is None:
            return
        try:
            await prepare(self._agent.tool_registry.get_all_tool_specs(), self._agent.system_prompt)
        except TauError as error:
            log.warning("The model could not be prepared: %s", error.line())

    async def cancel(self) -> None:
        """Stop the running turn: ask first, then, after a grace period, cancel its task.

        Returns when the turn is over. Does nothing when none runs.
        """
        task, turn = self._task, self._turn
        if task is None or turn is None:
            return
        turn.cancelled = True
        self._agent.cancel()
        done, _ = await asyncio.wait({task}, timeout=CANCEL_GRACE)
        if not done:
            task.cancel()
            await asyncio.wait({task})

    def flush(self) -> bool:
        """Make everything recorded survive a power cut. Returns whether it does."""
        return self._recorder.flush()

    # ---------------------------------------------------------------------------------------------

    def _prompt(self, text: str) -> list[dict[str, Any]]:
        """The person's message, behind a notice where the history would otherwise be left dangling."""
        message = {"role": "user", "content": [{"text": clean_text(text)}]}
        history = self._agent.messages
        if not history or (history[-1]["role"] == "assistant" and not tool_use_ids(dict(history[-1]))):
            return [message]
        notice = {"role": "assistant", "content": [{"text": f"({self._last_notice or UNFINISHED_NOTICE})"}]}
        return [notice, message]

    async def _drive(self, prompt: list[dict[str, Any]], turn: _Turn) -> str:
        limits: dict[str, int] = {"turns": self._settings.max_turns}
        if self._settings.max_total_tokens is not None:
            limits["total_tokens"] = self._settings.max_total_tokens
        stream = self._agent.stream_async(prompt, limits=limits)  # type: ignore[arg-type]  # plain dicts
        stop_reason = "end_turn"
        try:
            async for event in stream:
                turn.take(event)
                if "result" in event:
                    stop_reason = event["result"].stop_reason
        finally:
            # A generator that is merely dropped would leave the agent locked.
            await stream.aclose()  # type: ignore[attr-defined]  # an async generator, typed as an iterator
        return stop_reason

    def _outcome(self, task: asyncio.Task[str], turn: _Turn) -> tuple[StopReason, str]:
        if task.cancelled():
            return "cancelled", notices.CANCELLED
        error = task.exception()
        if isinstance(error, EventLoopException):
            error = error.original_exception
        if isinstance(error, MaxTokensReachedException):
            return "max_tokens", notices.MAX_TOKENS
        if isinstance(error, ContextWindowOverflowException) or (error is not None and is_overflow(error)):
            self._record(ErrorRecord(where="context", message=notices.OVERFLOW))
            return "error", notices.OVERFLOW
        if error is not None:
            if turn.cancelled:
                return "cancelled", notices.CANCELLED
            log.error("The turn failed in session %s", self._writer.session_id, exc_info=error)
            notice = notices.failed(describe(error))
            self._record(ErrorRecord(where="model", message=notice))
            return "error", notice
        return self._stopped(task.result())

    def _stopped(self, stop_reason: str) -> tuple[StopReason, str]:
        match stop_reason:
            case "cancelled":
                return "cancelled", notices.CANCELLED
            case "limit_turns":
                return "limit_turns", notices.turn_limit(self._settings.max_turns)
            case "limit_total_tokens":
                return "limit_total_tokens", notices.token_limit()
            case "interrupt":
                self._agent._interrupt_state.deactivate()
                self._record(ErrorRecord(where="interrupt", message=notices.INTERRUPT))
                return "interrupt", notices.INTERRUPT
            case _:
                return "end_turn", ""

    async def _keep_shown(self, turn: _Turn) -> None:
        """Put text that was shown, but whose message never came, into the history, marked.

        An invocation that a hook cancels appends the hook's text as the assistant's message and calls no
        model: the SDK's own path, so the message is recorded like any other. Where calls are still open
        the history cannot take it; the repair of the next turn answers them first.
        """
        history = self._agent.messages
        if history and tool_use_ids(dict(history[-1])):
            return
        turn.closing = f"{turn.shown.rstrip()}\n\n{CUT_MARK}"
        turn.shown = ""
        async for _ in self._agent.stream_async([]):
            pass
        turn.emit(MessageEnd(turn.closing))

    def _record_end(self, stop_reason: StopReason, notice: str) -> None:
        if stop_reason == "limit_turns":
            self._record(TurnLimitRecord(stop_reason, self._settings.max_turns))
        elif stop_reason == "limit_total_tokens":
            self._record(TurnLimitRecord(stop_reason, self._settings.max_total_tokens or 0))
        elif notice and stop_reason != "error":
            self._record(NoticeRecord(notice))

    def _record(self, event: AgentEvent) -> None:
        try:
            self._writer.append_event(to_line(event))
        except StoreWriteFailed as error:
            log.warning("An event of session %s was not saved: %s", self._writer.session_id, error.line())

    def _emit(self, event: TurnEvent) -> None:
        if self._turn is not None:
            self._turn.emit(event)

    def _unsaved_changed(self, reason: str) -> None:
        if reason:
            self._emit(Notice(notices.not_saved(reason), "error"))
        self._on_unsaved(reason)


class _Turn:
    """What is known of the running turn.

    Attributes:
        shown: Text of the reply that streams, until its message is recorded.
        usage: Tokens of the turn's model calls so far.
        cancelled: Whether the person stopped it.
        closing: Text to append as the assistant's message without a model call, or empty.
    """

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.shown = ""
        self.usage = Usage()
        self.cancelled = False
        self.closing = ""

    def take(self, event: dict[str, Any]) -> None:
        """Turn one event of the SDK's stream into tau's."""
        if isinstance(event.get("data"), str):
            text = clean_text(event["data"])
            self.shown += text
            if text and not self.cancelled:
                self.emit(TextDelta(text))
        elif isinstance(event.get("reasoningText"), str):
            if not self.cancelled:
                self.emit(ReasoningDelta(clean_text(event["reasoningText"])))
        elif event.get("type") == "tool_stream":
            stream = event["tool_stream_event"]
            if isinstance(stream["data"], str):
                self.emit(ToolOutputDelta(stream["tool_use"]["toolUseId"], clean_text(stream["data"])))
        elif "message" in event and event["message"]["role"] == "assistant":
            self._message(event["message"])

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


class _TurnHooks(HookProvider):
    """Where the SDK's loop asks before it acts."""

    def __init__(self, runner: AgentRunner) -> None:
        self._runner = runner

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(BeforeToolCallEvent, self._before_tool)
        registry.add_callback(AfterToolCallEvent, self._after_tool)

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        turn = self._runner._turn
        if turn is not None and turn.closing:
            event.cancel = turn.closing

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        turn = self._runner._turn
        response = event.stop_response
        if turn is not None and response is not None and response.stop_reason == "cancelled":
            # The SDK drops what was streamed; the person has read it, so the history keeps it.
            shown = turn.shown.rstrip()
            response.message["content"] = [{"text": f"{shown}\n\n{CUT_MARK}" if shown else CUT_MARK}]

    def _before_tool(self, event: BeforeToolCallEvent) -> None:
        tier = _tier(event.selected_tool)
        use = event.tool_use
        if tier >= 2 and not self._runner.flush():
            event.cancel_tool = (
                f"The call was not run: it could not be recorded first. {self._runner.unsaved}"
            )
            return
        self._runner._emit(ToolUseStarted(use["toolUseId"], use["name"], dict(use["input"] or {}), tier))

    def _after_tool(self, event: AfterToolCallEvent) -> None:
        use = event.tool_use
        if self._runner._tool_context is not None:
            event.result = spill_result(event.result, tool=use["name"], context=self._runner._tool_context)
        result = "\n".join(
            clean_text(item["text"]) for item in event.result.get("content", []) if "text" in item
        )
        status = "success" if event.result.get("status") == "success" else "error"
        duration = event.duration or 0.0
        self._runner._emit(
            ToolUseEnded(use["toolUseId"], use["name"], status, result, duration)  # type: ignore[arg-type]
        )
        self._runner._record(
            ToolCallRecord(
                tool=use["name"],
                tier=_tier(event.selected_tool),
                arguments=dict(use["input"] or {}),
                status=status,  # type: ignore[arg-type]
                result=result[:RESULT_SUMMARY],
                approval="not_needed",
                duration=round(duration, 4),
                tool_use_id=use["toolUseId"],
            )
        )


def _tier(tool: Any) -> int:
    """The tier a tool declares: without one it is held to change things; an unknown tool does not run."""
    return 0 if tool is None else int(getattr(tool, "tier", 2))


def _manager(settings: AgentSettings) -> ConversationManager:
    if settings.context == "summarize":
        return SummarizingConversationManager(preserve_recent_messages=settings.window_size)
    return SlidingWindowConversationManager(window_size=settings.window_size)
