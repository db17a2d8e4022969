"""The recorder: keeps a strands agent and its session the same, and loses nothing when a write fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from strands import Agent
from strands.agent.state import AgentState as SdkState
from strands.interrupt import _InterruptState
from strands.session.session_manager import SessionManager
from strands.tools._tool_helpers import generate_missing_tool_result_content
from strands.types.session import decode_bytes_values, encode_bytes_values

from tau.agent.history import (
    History,
    begins_turn,
    clean,
    event_holds,
    interrupted_result,
    is_summary,
    kept_result,
    mend,
    recorded_result,
    tool_use_ids,
    without_secrets,
)
from tau.agent.streaming import with_cut_reasoning, without_cut_reasoning
from tau.errors import StoreError, TauError
from tau.sessions.attached import own_text
from tau.sessions.records import AgentState, Message, StoredMessage, title_of
from tau.sessions.store import SessionWriter

log = logging.getLogger(__name__)

_EVENTS_OF_A_TURN = 200
"""So many of the newest events are looked through for what calls of the turn before came to."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A session, read and ready for an agent to be restored from it, once.

    Attributes:
        writer: The session, held for writing.
        count: Messages on record.
        state: The agent's state as recorded, or None.
        internal: What the SDK keeps of the agent.
        window: The state of its window; empty when there is none.
        first: Index of the first message inside the window.
        messages: Those from there on, mended.
        sound: Whether `state` is what is on record, and no stand-in for something damaged.
    """

    writer: SessionWriter
    count: int
    state: AgentState | None
    internal: dict[str, Any]
    window: dict[str, Any]
    first: int
    messages: History
    sound: bool


def read_back(writer: SessionWriter) -> ReadBack:
    """Read all that an agent is restored from.

    Raises:
        StoreError: The session cannot be read.
    """
    count = writer.count()
    state = writer.agent_state()
    window = decode_bytes_values(state.conversation_manager_state) if state is not None else {}
    if window and not isinstance(window.get("removed_message_count"), int):
        window["removed_message_count"] = 0
    first = window.get("removed_message_count", 0)
    if not 0 <= first < max(count, 1):
        # The window's count is not below what is recorded, so it cannot be true: hide nothing.
        first = 0
    messages = [
        StoredMessage(
            item.index,
            without_cut_reasoning(decode_bytes_values(item.message)),
            item.created_at,
            item.redacted,
        )
        for item in writer.messages(offset=first)
    ]
    return ReadBack(
        writer=writer,
        count=count,
        state=state,
        internal=decode_bytes_values(state.internal_state) if state is not None else {},
        window=window,
        first=first,
        messages=mend(messages, first=first, count=count),
        sound=not any(item.part.endswith("agent.json") for item in writer.damage()),
    )


class Recorder(SessionManager[Agent]):
    """Writes each message as the agent appends it: written first, counted after.

    A message whose write fails waits here, in order, and is written before anything that comes after it;
    `unsaved` says why until then. The agent goes on, so that a full disk does not also lose the reply.

    Args:
        writer: The session, held for writing.
        on_unsaved: Called with the reason when a message could not be written, and with the empty string
            when everything is on disk again.
    """

    def __init__(self, writer: SessionWriter, *, on_unsaved: Callable[[str], None]) -> None:
        self.session_id = writer.session_id
        self.unsaved = ""
        self._writer = writer
        self._on_unsaved = on_unsaved
        self._next = writer.count()
        self._waiting: list[Message] = []
        self._unflushed = False
        self._scratched = bool(writer.scratch())
        self._results_kept = True  # by the process before, for all that is known
        self._asking = ""
        self._cut_reasoning = ""
        self._recorded: list[StoredMessage] = []
        self._synced: AgentState | None = None
        self._finished: dict[str, dict[str, Any]] = {}

    # What the SDK calls --------------------------------------------------------------------------

    def initialize(self, agent: Agent, **kwargs: Any) -> None:
        """Restore the agent from the session: state, window, and the messages inside the window."""
        self._restore(read_back(self._writer), agent)

    def append_message(self, message: Any, agent: Agent, **kwargs: Any) -> None:
        """Record a message the agent has just appended, after making it one every provider takes."""
        for block in message.get("content") or ():
            result = block.get("toolResult")
            if result and [block] == generate_missing_tool_result_content([result["toolUseId"]]):
                block["toolResult"] = self._finished_result(result["toolUseId"])
        if message["role"] == "user":
            self._finished.clear()
        else:
            self._asking = message.get("tracking_id", "")
        clean(message)
        kept = message
        if message["role"] == "assistant":
            kept = without_secrets(with_cut_reasoning(message, self._cut_reasoning))
            self._cut_reasoning = ""
        self._waiting.append(encode_bytes_values(kept))
        self.write_waiting()

    def sync_agent(self, agent: Agent, **kwargs: Any) -> None:
        """Record the agent's state and window where they changed."""
        state = self._state_of(agent)
        if state == self._synced:
            return
        try:
            self._writer.write_agent_state(state)
        except StoreError as error:
            # The window is derived again on the next restore, so its loss hides no message.
            log.warning("The window of session %s was not saved: %s", self.session_id, error.line())
        else:
            self._synced = state

    def redact_latest_message(self, redact_message: Any, agent: Agent, **kwargs: Any) -> None:
        """Record that a provider's guardrail replaced the newest message."""
        if self._waiting:
            self._waiting[-1] = encode_bytes_values(redact_message)
        else:
            self._writer.redact(self._next - 1, encode_bytes_values(redact_message))

    # What the turn calls -------------------------------------------------------------------------

    def write_waiting(self) -> bool:
        """Write what could not be written before. Returns whether everything is recorded now."""
        while self._waiting:
            try:
                stored = self._writer.append(self._next, self._waiting[0])
            except StoreError as error:
                self._tell(error.line())
                return False
            self._next += 1
            self._recorded.append(stored)
            written = self._waiting.pop(0)
            self._title(written)
            if not self._waiting:
                # Only now is it in a message; one that waited may be older than what streamed or ended since.
                if written["role"] == "assistant":
                    self._clear_scratch()
                if not tool_use_ids(written):
                    self._clear_results()
        if not self._unflushed:
            self._tell("")
        return True

    def keep_result(self, result: dict[str, Any]) -> None:
        """Keep the result of a call that has ended, in case its turn is cut off before it is recorded.

        One that its event, which comes next, does not hold whole is kept with the session as well.
        """
        self._finished[result["toolUseId"]] = result
        if event_holds(result):
            return
        try:
            self._writer.keep_result({"message": self._asking, "result": encode_bytes_values(result)})
            self._results_kept = True
        except (StoreError, ValueError) as error:
            log.info("A result of session %s is not kept until it is recorded: %s", self.session_id, error)

    def _finished_result(self, use_id: str) -> dict[str, Any]:
        """The result of a call of a turn that was cut off: the real one if it had ended, else an excuse."""
        finished = self._finished.get(use_id)
        if finished is not None:
            return finished
        try:
            (asking,) = self._writer.messages(offset=self._next - 1, limit=1)
            message = asking.message.get("tracking_id")
            if message:
                kept = self._kept_result(use_id, message)
                if kept is not None:
                    return kept
                for event in reversed(self._writer.events(limit=_EVENTS_OF_A_TURN)):
                    # Some providers count their calls anew in every turn, so the message has to be the same.
                    if (
                        event.get("kind") == "tool_call"
                        and event.get("tool_use_id") == use_id
                        and event.get("message") == message
                    ):
                        return recorded_result(event)
        except (StoreError, ValueError) as error:
            log.warning("What call %s came to is not known: %s", use_id, error)
        return dict(interrupted_result(use_id)["toolResult"])

    def _kept_result(self, use_id: str, message: str) -> dict[str, Any] | None:
        """The result of a call that was kept with the session, or None: then its event has what is left."""
        try:
            kept = kept_result(self._writer.kept_results(), use_id, message)
            return None if kept is None else decode_bytes_values(kept)
        except (TauError, ValueError) as error:
            log.info("A result that was kept in session %s cannot be read: %s", self.session_id, error)
            return None

    def thought_before(self, reasoning: str) -> None:
        """The assistant's next message is a reply that was cut off, and this was shown before it.

        It is recorded with the message; the model is not sent it again.
        """
        self._cut_reasoning = reasoning

    def keep_scratch(self, text: str) -> None:
        """Keep text of a reply that still streams, in case the process dies before it is recorded."""
        try:
            self._writer.append_scratch(text)
            self._scratched = True
        except StoreError as error:
            log.info("What streams in session %s is not kept: %s", self.session_id, error.line())

    def flush(self) -> bool:
        """Make everything recorded survive a power cut. Returns whether it now does."""
        if not self.write_waiting():
            return False
        try:
            self._writer.flush()
        except StoreError as error:
            self._unflushed = True
            self._tell(error.line())
            return False
        self._unflushed = False
        self._tell("")
        return True

    @property
    def count(self) -> int:
        """Messages on record."""
        return self._next

    def move_to(self, session: ReadBack, agent: Agent) -> None:
        """Go on in another session, from which the agent is restored. Everything is on record before.

        Nothing is read for it; what cannot be written is logged.
        """
        state = agent.state
        self.session_id = session.writer.session_id
        self._writer = session.writer
        self._next = session.count
        self._recorded = []
        self._scratched = self._results_kept = True  # they are let go of with the next message
        self._finished.clear()
        self._restore(session, agent)
        agent.state = state
        self.sync_agent(agent)

    def take_recorded(self) -> list[StoredMessage]:
        """The messages recorded since the last call, for the index."""
        recorded, self._recorded = self._recorded, []
        return recorded

    # ---------------------------------------------------------------------------------------------

    def _restore(self, session: ReadBack, agent: Agent) -> None:
        window = agent.conversation_manager
        prepended: list[Any] = []
        if session.state is not None:
            agent.state = SdkState(session.state.state)
            if "interrupt_state" in session.internal:
                agent._interrupt_state = _InterruptState.from_dict(session.internal["interrupt_state"])
            agent._model_state = session.internal.get("model_state", {})
            if session.window:
                prepended = window.restore_from_session(session.window) or []
                window.removed_message_count = session.first
        history = session.messages
        history[:0] = prepended
        agent.messages = history  # type: ignore[assignment]  # a History is a list of the SDK's own dicts
        window.apply_management(agent)
        self._synced = session.state if session.sound else None

    def _tell(self, reason: str) -> None:
        if reason != self.unsaved:
            self.unsaved = reason
            self._on_unsaved(reason)

    def _clear_scratch(self) -> None:
        if not self._scratched:
            return
        try:
            self._writer.clear_scratch()
            self._scratched = False
        except StoreError as error:
            log.info("The scratch of session %s was not emptied: %s", self.session_id, error.line())

    def _clear_results(self) -> None:
        if not self._results_kept:
            return
        try:
            self._writer.clear_kept_results()
            self._results_kept = False
        except StoreError as error:
            log.info("The results kept in session %s were not let go: %s", self.session_id, error.line())

    def _title(self, message: Message) -> None:
        if begins_turn(message) and not is_summary(message) and not self._writer.meta().get("title"):
            try:
                self._writer.patch_meta({"title": title_of(own_text(message))}, touch=False)
            except StoreError as error:
                log.warning("The title of session %s was not saved: %s", self.session_id, error.line())

    @staticmethod
    def _state_of(agent: Agent) -> AgentState:
        return AgentState(
            state=agent.state.get(),
            conversation_manager_state=encode_bytes_values(agent.conversation_manager.get_state()),
            internal_state=encode_bytes_values(
                {"interrupt_state": agent._interrupt_state.to_dict(), "model_state": agent._model_state}
            ),
        )
