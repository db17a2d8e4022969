"""Runs turns: one strands agent on one session, its stream turned into tau's events."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from strands import Agent
from strands.tools.executors import SequentialToolExecutor

from tau.agent import notices, tracing
from tau.agent.compaction import Compaction
from tau.agent.endings import CANCELLED, Ending, end_record, ending
from tau.agent.history import LOST_REQUEST, UNFINISHED_NOTICE, clean_text, cut_off, holds, tool_use_ids
from tau.agent.hooks import TurnHooks
from tau.agent.permission import Ask, Permission
from tau.agent.reading import ContextReading
from tau.agent.recorder import ReadBack, Recorder, read_back
from tau.agent.retry import Retry
from tau.agent.streaming import Streamed, read_scratch
from tau.agent.tool_calls import ToolCalls
from tau.agent.turn import CountUsage, Emit, Turn
from tau.agent.windows import window
from tau.config.settings import AgentSettings, CompactionSettings, ContextSettings
from tau.errors import StoreError
from tau.events import (
    AgentEvent,
    MessageEnd,
    Notice,
    NoticeRecord,
    TurnEnd,
    TurnEvent,
    TurnStarted,
    UsageReported,
    to_line,
)
from tau.gate.gate import Gate
from tau.masking import mask_all, mask_content, settled
from tau.models.failures import describe
from tau.models.usage import counted
from tau.sessions.attached import Attached, with_attached
from tau.sessions.records import AGENT_ID, StoredMessage
from tau.sessions.store import SessionWriter
from tau.tools.context import ToolContext

log = logging.getLogger(__name__)

CANCEL_GRACE = 1.0
"""Seconds a cancelled turn has to stop by itself before its task is cancelled, while a tool runs."""

SURELY_OVER = 1.1
"""The share of a declared window from which on an estimate says that a request does not fit."""

MODEL_GRACE = 0.25
"""The same while only the model is waited for: it looks at the cancel with each piece of its answer."""


async def _at_once() -> None:
    """There is nothing to wait for."""


class AgentRunner:
    """One agent on one session. Lives on the engine's loop; one turn at a time.

    Args:
        model: A prepared strands model.
        writer: The session, held for writing.
        settings: Window and limits.
        anchors_tokens: Room for the facts of messages that the window does not show.
        system_prompt: What the model is told first.
        tools: Strands tools.
        tool_context: Where results too long for the model are spilled; None leaves them whole.
        gate: Judges tool calls.
        ask: Puts a call that the gate does not let run by itself to a person; None refuses it at once.
        tools_ready: Awaited before each model call: tools that come late may still join in.
        make_room: Awaited before each model call: a conversation that gets too long may be compacted.
        side_model: The model that writes summaries; None takes `model`.
        context_tokens: What the recorded conversation was last measured to be, or None.
        count_usage: Brings the SDK's usage of a model call to tau's convention.
        on_unsaved: Told why what was said is not on disk, and with "" when it is again.

    Attributes:
        reading: How many tokens the next request would have.
        compaction: Carries the conversation forward as a summary.
        tool_calls: The tool calls of its turns.
        running: The running turn; None while none runs.
        tool_context: As given.

    Raises:
        StoreError: The session cannot be read.
    """

    def __init__(
        self,
        *,
        model: Any,
        writer: SessionWriter,
        settings: AgentSettings,
        anchors_tokens: int = CompactionSettings().anchors_tokens,
        system_prompt: str,
        tools: Sequence[Any] = (),
        tool_context: ToolContext | None = None,
        gate: Gate,
        ask: Ask | None = None,
        tools_ready: Callable[[], Awaitable[None]] = _at_once,
        make_room: Callable[[], Awaitable[None]] = _at_once,
        side_model: Any = None,
        context_tokens: int | None = None,
        count_usage: CountUsage = counted,
        on_unsaved: Callable[[str], None] = lambda reason: None,
    ) -> None:
        tracing.install()
        self._settings = settings
        self._writer = writer
        self.tool_context = tool_context
        self._tools_ready = tools_ready
        self._make_room = make_room
        self._context = tool_context.context if tool_context is not None else ContextSettings()
        self._count_usage = count_usage
        self._on_unsaved = on_unsaved
        self._recorder = Recorder(writer, on_unsaved=self._unsaved_changed)
        self.running: Turn | None = None
        self._task: asyncio.Task[str] | None = None
        self._last_notice = ""
        self._cut = read_scratch(writer.scratch())
        self._window = window(
            settings,
            self._context,
            anchors_tokens=anchors_tokens,
            count=self._count,
            tell=lambda text: self._emit(Notice(text)),
            count_usage=lambda raw: self._emit(UsageReported(count_usage(raw), side=True)),
        )
        self._agent = Agent(
            model=model,
            aux_model=side_model,
            agent_id=AGENT_ID,
            tools=list(tools),
            system_prompt=system_prompt,
            callback_handler=None,
            conversation_manager=self._window,
            session_manager=self._recorder,
            hooks=[TurnHooks(self)],
            retry_strategy=Retry(self._emit),
            # One call after the other: what a question shows is what the calls before it have left.
            tool_executor=SequentialToolExecutor(),
        )
        self.tool_calls = ToolCalls(
            self._agent, Permission(gate, ask, self._record), self._recorder, self._record, tool_context
        )
        self.reading = ContextReading(self._agent, coming=lambda: self._window.unread_chars)
        self.reading.restore(context_tokens, count_usage)
        self.compaction = Compaction(
            self._agent,
            self._window,
            self.reading,
            settings=settings,
            context=self._context,
            count_usage=count_usage,
        )

    @property
    def messages_in_memory(self) -> int:
        """Messages of the session that the model would be sent."""
        return len(self._agent.messages) - self._window.unrecorded

    @property
    def unsaved(self) -> str:
        """Why what was said is not on disk, or the empty string."""
        return self._recorder.unsaved

    def add_tools(self, tools: Sequence[Any]) -> None:
        """Give the agent more tools, from its next model call on. A name that is taken keeps its tool."""
        taken = set(self._agent.tool_names)
        for tool in tools:
            if tool.tool_name not in taken:
                self._agent.tool_registry.register_tool(tool)

    def instruct(self, system_prompt: str) -> None:
        """Tell the model something else first, from its next call on."""
        if self._agent.system_prompt != system_prompt:
            self._agent.system_prompt = system_prompt

    def take_recorded(self) -> list[StoredMessage]:
        """The messages recorded since the last call, for the index."""
        return self._recorder.take_recorded()

    async def run(self, text: str, emit: Emit, attached: Sequence[Attached] = ()) -> TurnEnd:
        """Run one turn and return how it ended; `emit` gets everything before that.

        Nothing is raised for what can go wrong in a turn: it ends with a stop reason and a notice. The
        caller flushes, so that what it adds to the session shares the one wait for the disk.

        Args:
            text: What the person said; blank only where images go along.
            emit: Gets the events.
            attached: What goes along with it.
        """
        started = time.monotonic()
        self.running = turn = Turn(emit, self._count_usage)
        masked = mask_content(text)
        try:
            if not self._recorder.write_waiting():
                notice = notices.refused_unsaved(self._recorder.unsaved)
                self._record(NoticeRecord(notice, "error"))
                return TurnEnd("error", notice, duration=time.monotonic() - started)
            if self.tool_context is not None:
                self.tool_context.heard.begin()
                for item in attached:
                    self.tool_context.heard.note(f"a shared {item.kind}")
            emit(TurnStarted(masked, tuple(item.text for item in attached if item.kind == "image")))
            if masked != text:
                emit(Notice(notices.MASKED, "warning"))
            prompt = self._prompt(masked, attached)
            # Only the agent's own stop tells what happened; a cancelled task is asked what it had.
            self._task = asyncio.create_task(self._drive(prompt, turn))
            await asyncio.wait({self._task})
            ended = await self._end(turn, self._task)
            return TurnEnd(ended.stop_reason, ended.notice, turn.usage, time.monotonic() - started)
        finally:
            self.running = self._task = None

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
        except Exception as error:  # noqa: BLE001  # whatever it is, the first turn meets it again
            log.warning("The model could not be prepared: %s", describe(error))

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self._task is not None

    async def cancel(self, refuse_questions: Callable[[], None] = lambda: None) -> None:
        """Stop the running turn: ask first, then, after a grace period, cancel its task.

        Returns when the agent has stopped. Does nothing when no turn runs.

        Args:
            refuse_questions: Answers every open question with no, once nothing can run any more.
        """
        task, turn = self._task, self.running
        if task is None or turn is None:
            return
        turn.cancelled = True
        self.tool_calls.give_up()
        self._agent.cancel()
        refuse_questions()
        done, _ = await asyncio.wait({task}, timeout=CANCEL_GRACE if turn.calls else MODEL_GRACE)
        if not done:
            task.cancel()
            await asyncio.wait({task})

    def flush(self) -> bool:
        """Make everything recorded survive a power cut. Returns whether it does."""
        return self._recorder.flush()

    def read_back(self, writer: SessionWriter) -> ReadBack:
        """Read a session, so that `move_to` cannot fail.

        Raises:
            StoreError: It cannot be read.
        """
        return read_back(writer)

    def move_to(self, session: ReadBack) -> None:
        """Go on in another session, also in the middle of a turn. Everything said is on record before."""
        self._window.restart()
        self._writer = session.writer
        self._recorder.move_to(session, self._agent)
        self.reading.forget()

    # ---------------------------------------------------------------------------------------------

    def _count(self) -> int:
        return self._recorder.count

    def _prompt(self, text: str, attached: Sequence[Attached]) -> list[dict[str, Any]]:
        """The person's message, behind a notice where the history would otherwise be left dangling."""
        said = [{"text": clean_text(text)}] if text.strip() or not attached else []
        message = with_attached({"role": "user", "content": said}, attached)
        last = dict(self._agent.messages[-1]) if self._agent.messages else None
        cut, self._cut = self._cut, Streamed()
        if last is not None and last["role"] == "assistant" and holds(last, cut.text):
            cut = Streamed()  # killed after the reply was recorded, and before what streamed was let go
        answered = last is None or (last["role"] == "assistant" and not tool_use_ids(last))
        if answered and not cut:
            return [message]
        notice = cut_off(cut.text.lstrip()) if cut else f"({self._last_notice or UNFINISHED_NOTICE})"
        self._recorder.thought_before(cut.reasoning)
        prompt = [{"role": "assistant", "content": [{"text": notice}]}, message]
        if answered:  # what the cut reply answers could not be written
            prompt.insert(0, {"role": "user", "content": [{"text": LOST_REQUEST}]})
        return prompt

    async def _drive(self, prompt: list[dict[str, Any]], turn: Turn) -> str:
        limits: dict[str, int] = {"turns": self._settings.max_turns}
        if self._settings.max_total_tokens is not None:
            limits["total_tokens"] = self._settings.max_total_tokens
        stream = self._agent.stream_async(prompt, limits=limits)  # type: ignore[arg-type]  # plain dicts
        stop_reason = "end_turn"
        try:
            async for event in stream:
                if streamed := turn.take(event):
                    self._keep_streamed(turn, streamed)
                if turn.counted is not None:
                    self.reading.counted(turn.counted)
                    turn.counted = None
                if "result" in event:
                    stop_reason = event["result"].stop_reason
        finally:
            # A generator that is merely dropped would leave the agent locked.
            await stream.aclose()  # type: ignore[attr-defined]  # an async generator, typed as an iterator
        return stop_reason

    def _keep_streamed(self, turn: Turn, text: str) -> None:
        """Keep what streams, without secrets: what may become one is held back until it is known."""
        turn.unsettled += text
        if end := settled(turn.unsettled):
            self._recorder.keep_scratch(mask_content(turn.unsettled[:end]))
            turn.unsettled = turn.unsettled[end:]

    async def _end(self, turn: Turn, task: asyncio.Task[str]) -> Ending:
        """Keep what the turn leaves behind. Returns how it ended."""
        ended = ending(task, self._settings, cancelled=turn.cancelled, session_id=self._writer.session_id)
        if ended.stop_reason == "interrupt":
            self._agent._interrupt_state.deactivate()
        if ended.error is not None:
            self._record(ended.error)
        if turn.cancelled:
            ended = CANCELLED
        self.tool_calls.end_open(turn)
        if turn.shown:
            await self._keep_shown(turn)
        self._last_notice = ended.notice
        if (record := end_record(ended, self._settings)) is not None:
            self._record(record)
        if ended.notice == notices.OVERFLOW:
            turn.emit(Notice(notices.COMPACT_FIRST))
        return ended

    async def _keep_shown(self, turn: Turn) -> None:
        """Put text that was shown, but whose message never came, into the history, marked.

        An invocation that a hook cancels appends the hook's text as the assistant's message and calls no
        model: the SDK's own path, so the message is recorded like any other. Where calls are still open
        the history cannot take it; the repair of the next turn answers them first.
        """
        history = self._agent.messages
        if history and tool_use_ids(dict(history[-1])):
            return
        turn.closing = self.cut_off(turn)
        turn.shown = Streamed()
        async for _ in self._agent.stream_async([]):
            pass
        turn.emit(MessageEnd(turn.closing))

    def cut_off(self, turn: Turn) -> str:
        """The text of the reply that was cut off, which is the next one to be recorded."""
        self._recorder.thought_before(turn.shown.reasoning)
        return cut_off(turn.shown.text)

    async def before_model_call(self) -> None:
        """What a model call waits for: tools that come late, and room in the window."""
        await self._tools_ready()
        if self.running is not None and not self.running.closing:
            await self._make_room()
            if window := self._agent.model.context_window_limit:
                self._window.fit(self._agent, lambda: self.reading.tokens > window * SURELY_OVER)

    def keep_result(self, result: dict[str, Any]) -> None:
        """A call has a result, which its turn may not live to record."""
        self._recorder.keep_result(result)

    def _record(self, event: AgentEvent) -> None:
        try:
            self._writer.append_event(mask_all(to_line(event)))
        except StoreError as error:
            log.warning("An event of session %s was not saved: %s", self._writer.session_id, error.line())

    def _emit(self, event: TurnEvent) -> None:
        if self.running is not None:
            self.running.emit(event)

    def _unsaved_changed(self, reason: str) -> None:
        if reason:
            self._emit(Notice(notices.not_saved(reason), "error"))
        self._on_unsaved(reason)
