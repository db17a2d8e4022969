"""Renders one running turn: every `TurnEvent` becomes a block of the chat or an entry of the events pane."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.timer import Timer

from tau.calls import main_argument
from tau.display import one_line
from tau.events import (
    ApprovalAsked,
    ApprovalClosed,
    Compacted,
    Level,
    MessageEnd,
    ModelRetrying,
    Notice,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolOutputDelta,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnd,
    TurnEvent,
    TurnStarted,
    UsageReported,
)
from tau.sessions.records import SUMMARY_OPENING
from tau.tui.fit import duration
from tau.tui.widgets.blocks import NoticeRow, ReasoningBlock, SummaryBlock, UserRow
from tau.tui.widgets.chat import Chat
from tau.tui.widgets.events_pane import (
    Entry,
    EventsPane,
    allowed_by,
    approval_entry,
    outcome_of,
)
from tau.tui.widgets.images_row import ImagesRow
from tau.tui.widgets.tool_card import ToolCard

if TYPE_CHECKING:
    from tau.tui.widgets.reply import Reply

FLUSH_SECONDS = 0.05
"""Text that streams in is shown this often."""

END_LEVELS: dict[StopReason, Level] = {"error": "error", "cancelled": "info"}
"""How a turn's last sentence is shown; where nothing is said here, as a warning."""


class TurnView:
    """The turn on the screen.

    Attributes:
        started: Whether the person's message was accepted.
        anything: Whether the model said or did anything.
        end: How it ended; None while it runs.
    """

    def __init__(self, chat: Chat, events: EventsPane, first_index: int | None) -> None:
        self.started = False
        self.anything = False
        self._activity = "Working…"
        self.end: TurnEnd | None = None
        self._chat = chat
        self._events = events
        self._first_index = first_index
        self._reply: Reply | None = None
        self._reasoning: ReasoningBlock | None = None
        self._cards: dict[str, tuple[ToolCard, ToolUseStarted]] = {}
        self._asked: dict[str, ApprovalAsked] = {}
        self._pending: list[str] = []
        self._flusher: Timer | None = None

    @property
    def activity(self) -> str:
        """What the status row says; a question comes before what else goes on."""
        return "Waiting for your answer" if self._asked else self._activity

    async def show(self, event: TurnEvent) -> None:
        """Show one event."""
        match event:
            case TurnStarted(text, images):
                self.started = True
                await self._chat.begin_turn(self._first_index)
                await self._chat.add(*([UserRow(text)] if text.strip() or not images else []))
                if images:
                    await self._chat.add(ImagesRow("\n".join(images)))
                self._chat.to_end()
            case TextDelta(text):
                await self._text(text)
            case ReasoningDelta(text):
                await self._think(text)
            case MessageEnd(text):
                await self._message_end(text)
            case ToolUseStarted():
                await self._tool_started(event)
            case ToolOutputDelta(tool_use_id, text):
                if tool_use_id in self._cards:
                    self._cards[tool_use_id][0].add_output(text)
            case ToolUseEnded():
                self._tool_ended(event)
            case ModelRetrying(attempt, delay, reason):
                await self.notice(
                    f"{reason}; trying again in {duration(delay)} (attempt {attempt}).", "warning"
                )
            case Notice(text, level):
                await self.notice(text, level)
            case TurnEnd():
                await self._turn_end(event)
            case ApprovalAsked(approval_id):
                self._asked[approval_id] = event
            case ApprovalClosed():
                self._answered(event)
            case Compacted(line=line, summary=summary, previous=previous, session_id=session_id):
                self._chat.go_on_in(session_id)
                await self.notice(line)
                await self._chat.add(SummaryBlock(f"{SUMMARY_OPENING}{previous}):\n{summary}"))
            case UsageReported():
                pass  # the status row shows the totals of the state

    async def notice(self, text: str, level: Level = "info") -> None:
        """Show a sentence in the chat and in the events pane."""
        await self._chat.add(NoticeRow(text, level))
        self._events.add(Entry(now(), "notice", text, trouble=level == "error", whole=True))

    async def _text(self, text: str) -> None:
        self._end_reasoning()
        self._activity = "Working…"
        self._pending.append(text)
        if self._reply is None:
            if not "".join(self._pending).strip():
                return
            from tau.tui.widgets.reply import Reply

            self.anything = True
            self._reply = Reply()
            await self._chat.add(self._reply)
        if self._flusher is None:
            self._flusher = self._chat.set_timer(FLUSH_SECONDS, self._flush)

    async def _flush(self) -> None:
        self._flusher = None
        if self._pending and self._reply is not None:
            piece = "".join(self._pending)
            self._pending.clear()
            following = self._chat.following
            self._reply.write(piece)
            self._chat.mark_news(following)

    async def _message_end(self, text: str) -> None:
        self._end_reasoning()
        if self._flusher is not None:
            self._flusher.stop()
            self._flusher = None
        if self._reply is None and text.strip():
            from tau.tui.widgets.reply import Reply

            self.anything = True
            self._reply = Reply()
            await self._chat.add(self._reply)
        if self._reply is not None:
            self._reply.finish(text)
        self._reply = None
        self._pending.clear()

    async def _think(self, text: str) -> None:
        if self._reasoning is None:
            self._reasoning = ReasoningBlock(live=True)
            self.anything = True
            self._activity = "Thinking…"
            await self._chat.add(self._reasoning)
        self._reasoning.add(text)

    def _end_reasoning(self) -> None:
        if self._reasoning is not None:
            self._reasoning.finish()
            self._reasoning = None

    async def _tool_started(self, event: ToolUseStarted) -> None:
        self._end_reasoning()
        self.anything = True
        self._activity = f"Running {one_line(event.name, 30)}…"
        card = ToolCard(event.name, event.arguments)
        self._cards[event.tool_use_id] = (card, event)
        await self._chat.add(card)

    def _tool_ended(self, event: ToolUseEnded) -> None:
        self._activity = "Working…"
        card, started = self._cards.pop(event.tool_use_id, (None, None))
        if card is not None:
            card.finish(event.status, event.result, event.duration, event.approval)
        about = main_argument(started.arguments) if started else ""
        failed = event.status == "error" and event.approval != "denied"
        outcome = outcome_of(event.name, event.status, event.duration, event.approval, event.result)
        self._events.add(Entry(now(), event.name, about, outcome, failed, allowed_by(event.rule)))

    def _answered(self, closed: ApprovalClosed) -> None:
        asked = self._asked.pop(closed.approval_id, None)
        if asked is None:
            return
        patterns = asked.offers if closed.decision == "always" else ()
        self._events.add(
            approval_entry(
                now(),
                asked.tool,
                asked.arguments,
                closed.decision,
                reason=closed.reason,
                patterns=patterns,
            )
        )

    async def _turn_end(self, event: TurnEnd) -> None:
        self.end = event
        if self._reply is not None:
            await self._flush()
            written = self._reply.source
            await self._message_end(written)
        self._end_reasoning()
        for card, _ in self._cards.values():
            card.finish("cancelled", "", event.duration, "")
        self._cards.clear()
        if event.notice:
            await self.notice(event.notice, END_LEVELS.get(event.stop_reason, "warning"))


def now() -> str:
    """The time of day as the events pane shows it."""
    return datetime.now().astimezone().strftime("%H:%M:%S")
