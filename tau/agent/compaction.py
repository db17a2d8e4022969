"""Carries a conversation forward as a summary: where it is cut, and what the summary holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from strands import Agent

from tau.agent import wrapper
from tau.agent.history import begins_turn, is_summary
from tau.agent.reading import ContextReading
from tau.agent.recorder import Recorder
from tau.agent.refiner import Proposal, origins, propose
from tau.agent.sorter import sort_out
from tau.agent.steps import Steps, aside
from tau.agent.summarizer import Summarizer, SummaryFailed
from tau.agent.titles import write_title
from tau.agent.turn import CountUsage, Emit
from tau.agent.window_base import Window
from tau.agent.window_cuts import cut_text, size
from tau.agent.window_lead import facts_of, facts_room
from tau.agent.window_summary import ACKNOWLEDGED
from tau.agent.windows import LEAST_TRANSCRIPT, transcript_room, window
from tau.config.settings import AgentSettings, ContextSettings
from tau.errors import StoreError
from tau.events import UsageReported
from tau.journal.wrapping import WrapAsk
from tau.masking import mask_content
from tau.memory.documents import Document
from tau.sessions.attached import own_text
from tau.sessions.records import AGENT_ID, SUMMARY_OPENING, Message
from tau.sessions.store import SessionReader, SessionWriter
from tau.tools.spill import HEAD, TAIL

NEWEST_REQUEST = "The person's newest message, word for word:"
"""Stands before it in a summary that no turn follows word for word."""

MENDED = 50
"""So many messages more than are in memory are looked through for one that is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a history is cut for a compaction.

    Attributes:
        at: Position of the first message that is kept word for word; the length of the history when none is.
        turns: How many turns those are.
    """

    at: int
    turns: int


def find_cut(
    messages: Sequence[Message], *, lead: int, keep_turns: int, most: int | None = None
) -> Cut | None:
    """Where the last `keep_turns` turns begin; fewer are kept where there would be nothing to summarize.

    Calls and results are within one turn, so that no cut parts them.

    Args:
        messages: The messages in memory.
        lead: Messages at the beginning that are a summary already.
        keep_turns: Turns that are wanted word for word.
        most: Messages that the window keeps: what it would leave out is better summarized. One turn is kept
            in any case where one is wanted. None for any number.

    Returns:
        None when there is nothing to summarize but an earlier summary.
    """
    starts = [
        at
        for at in range(lead, len(messages))
        if begins_turn(messages[at]) and not (at == 0 and is_summary(messages[at]))
    ]
    if not starts:
        return None
    turns = min(keep_turns, len(starts) - 1)
    while turns > 1 and most is not None and len(messages) - starts[-turns] > most:
        turns -= 1
    return Cut(starts[-turns] if turns else len(messages), turns)


def summary_text(notes: str, summarized: Sequence[Message], *, cut: Cut, anchors_tokens: int) -> Steps[str]:
    """What the summary of a session says: the model's notes, and what code adds so that nothing is lost.

    Args:
        notes: What the model wrote.
        summarized: The messages that the summary stands for.
        cut: Where they end. Without a turn that is kept, the person's newest message is quoted.
        anchors_tokens: Room for the facts that the notes lack.
    """
    parts = [mask_content(notes)]
    newest = next((own_text(m) for m in reversed(summarized) if begins_turn(m) and not is_summary(m)), "")
    if not cut.turns and newest and newest not in notes:
        parts.append(f"{NEWEST_REQUEST}\n\n{cut_text(newest, HEAD + TAIL)}")
    facts = yield from facts_of(summarized)
    if listed := facts.lacking("\n\n".join(parts), tokens=anchors_tokens):
        parts.append(listed)
    return "\n\n".join(parts)


def seed(session_id: str, text: str) -> list[Message]:
    """The two messages with which the session begins that goes on from the summary of another one."""
    return [
        {"role": "user", "content": [{"text": f"{SUMMARY_OPENING}{session_id}):\n\n{text}"}]},
        {"role": "assistant", "content": [{"text": ACKNOWLEDGED}]},
    ]


class Compaction:
    """The compaction of an agent's conversation. Lives on the engine's loop.

    Args:
        agent: Whose conversation it is.
        window: Its window.
        reading: Its size.
        settings: Kind and size of the window.
        context: From which size on a tool result is cut.
        count_usage: Brings the SDK's usage of a model call to tau's convention.
    """

    def __init__(
        self,
        agent: Agent,
        window: Window,
        reading: ContextReading,
        *,
        settings: AgentSettings,
        context: ContextSettings,
        count_usage: CountUsage,
    ) -> None:
        self._agent = agent
        self._window = window
        self._reading = reading
        self._settings = settings
        self._context = context
        self._count_usage = count_usage

    @property
    def _messages(self) -> list[Message]:
        """The messages in memory, as the plain dicts they are."""
        return cast("list[Message]", self._agent.messages)

    async def prepare(self) -> None:
        """Have in memory all that the model would be sent, before anything is cut there."""
        await self._window.read_unread(self._agent)

    def find_cut(self, keep_turns: int) -> Cut | None:
        """Where the last `keep_turns` turns begin in memory; None when there is nothing to summarize."""
        most = self._settings.window_size if self._settings.context == "sliding" else None
        return find_cut(self._messages, lead=self._window.lead, keep_turns=keep_turns, most=most)

    def count_before(self, cut: Cut) -> int:
        """How many messages in memory come before a cut; none of them is one that only the window holds."""
        return cut.at - self._window.unrecorded

    def kept_tokens(self, cut: Cut) -> int:
        """About how many tokens the messages have that a cut keeps word for word."""
        return self._reading.part(self._messages[cut.at :])

    def first_kept(self, cut: Cut, record: SessionReader) -> int:
        """The index in the record of the first message that a cut keeps word for word.

        Raises:
            StoreError: The record cannot be read.
        """
        count, kept = record.count(), self._messages[cut.at :]
        if not kept:
            return count
        wanted = kept[0].get("tracking_id")
        # A history that was mended has messages that are not on record, so its length says little.
        for stored in reversed(record.messages(offset=max(0, count - len(kept) - MENDED))):
            if wanted and stored.message.get("tracking_id") == wanted:
                return stored.index
        return max(0, count - len(kept))

    @property
    def window_state(self) -> dict[str, Any]:
        """The state of the window as it is now, which may not be on record yet."""
        return self._window.get_state()

    def prune(self, cut: Cut | None) -> bool:
        """Show long tool results cut: those before a cut, or all that the model has seen.

        Returns:
            Whether that freed anything.
        """
        return self._window.prune_before(self._agent, len(self._messages) - 1 if cut is None else cut.at)

    def summary_failed(self) -> None:
        """Spare the window another try at a summary, should the running turn's request not fit."""
        self._window.summary_failed()

    async def summarize(self, cut: Cut, *, focus: str, anchors_tokens: int, emit: Emit) -> str:
        """The summary of what comes before a cut. The agent and its session stay as they are.

        Args:
            cut: As `find_cut` found it.
            focus: What the person wants the summary to look at, or empty.
            anchors_tokens: Room for the facts that the model's notes lack.
            emit: Gets what the calls took, and waits for a throttled provider.

        Raises:
            SummaryFailed: There is no summary to use.
        """
        older = self._messages[: cut.at]
        summarizer = self._summarizer(emit)
        room = transcript_room(self._agent.aux_model)
        try:
            notes = await summarizer.summarize(older, room=room, focus=focus)
        except SummaryFailed as error:
            half = size(older) // 2
            if not error.overflow or room is not None or half < LEAST_TRANSCRIPT:
                raise
            notes = await summarizer.summarize(older, room=half, focus=focus)  # the window is not declared
        tokens = facts_room(anchors_tokens, self._agent.model)
        return await aside(summary_text(notes, older, cut=cut, anchors_tokens=tokens))

    async def write_title(self, emit: Emit) -> str:
        """A title for the conversation, by the model; empty when nothing was said yet.

        Raises:
            SummaryFailed: There is no title to use.
        """
        return await write_title(self._summarizer(emit), self._messages[self._window.lead :])

    async def propose(
        self,
        messages: Sequence[Message],
        documents: Sequence[Document],
        *,
        focus: str,
        small: bool,
        emit: Emit,
    ) -> Proposal:
        """What memory files should hold after a conversation, as the model says it. Nothing is changed.

        Args:
            messages: The conversation, from its record; at least one message.
            documents: The memory files.
            focus: What the person wants it to look at, or empty.
            small: Whether the model is too small to be shown memory and to write it: it only sorts then what
                the person said.
            emit: Gets what the calls took, and waits for a throttled provider.

        Raises:
            SummaryFailed: There is no answer to use.
        """
        if small:
            answer, shown = await sort_out(self._summarizer(emit), messages, documents, focus=focus)
            return Proposal(answer, shown, origins(messages, self._says_own_words))
        room, limit = transcript_room(self._agent.aux_model), self._context.prune_result_chars
        ask = partial(propose, self._summarizer(emit), messages, documents, limit=limit, focus=focus)
        try:
            answer, shown = await ask(room=room)
        except SummaryFailed as error:
            half = size(messages) // 2
            if not error.overflow or room is not None or half < LEAST_TRANSCRIPT:
                raise
            answer, shown = await ask(room=half)  # the window is not declared
        return Proposal(answer, shown, origins(messages, self._says_own_words))

    async def wrap(
        self, messages: Sequence[Message], asks: Sequence[WrapAsk], *, emit: Emit
    ) -> tuple[str, str]:
        """What a model answers of a session at its close, and what came into it from outside. Writes nothing.

        Args:
            messages: The conversation, from its record; at least one message.
            asks: What to ask, at least one.
            emit: Gets what the calls took, and waits for a throttled provider.

        Raises:
            SummaryFailed: There is no answer to use.
        """
        room, limit = transcript_room(self._agent.aux_model), self._context.prune_result_chars
        ask = partial(wrapper.ask, self._summarizer(emit), messages, asks, limit=limit)
        try:
            answer = await ask(room=room)
        except SummaryFailed as error:
            half = size(messages) // 2
            if not error.overflow or room is not None or half < LEAST_TRANSCRIPT:
                raise
            answer = await ask(room=half)  # the window is not declared
        return answer, origins(messages, self._says_own_words)

    def _says_own_words(self, name: str) -> bool:
        return bool(getattr(self._agent.tool_registry.registry.get(name), "own_words", False))

    def _summarizer(self, emit: Emit) -> Summarizer:
        return Summarizer(
            self._agent.aux_model,
            limit=self._context.prune_result_chars,
            count_usage=lambda raw: emit(UsageReported(self._count_usage(raw), side=True)),
            announce=emit,
        )

    async def begin_session(self, writer: SessionWriter, source: str, text: str) -> None:
        """Write a summary into an empty session, by the way of every other message: the SDK's own.

        Args:
            writer: The session that goes on.
            source: The id of the session that was summarized.
            text: The summary.

        Raises:
            StoreError: It could not be written.
        """
        recorder = Recorder(writer, on_unsaved=lambda reason: None)
        agent = Agent(
            model=self._agent.model,
            agent_id=AGENT_ID,
            callback_handler=None,
            conversation_manager=window(
                self._settings,
                self._context,
                anchors_tokens=0,  # nothing leaves it: it has two messages
                count=writer.count,
                tell=lambda text: None,
            ),
            session_manager=recorder,
        )
        appended: list[Any] = [*seed(source, text)]
        await agent._append_messages(*appended)
        if recorder.unsaved:
            raise StoreError(recorder.unsaved)
