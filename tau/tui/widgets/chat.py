"""The chat pane: the newest turns live, older ones folded into one line and paged in from the top."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tau.tui.messages import TopReached

if TYPE_CHECKING:
    from tau.conversation.state import HistoryPage
    from tau.tui.history import CallPart, Turn
    from tau.tui.widgets.tool_card import ToolCard

LIVE_TURNS = 40
PAGE_TURNS = 20
BATCH_TURNS = 4


class EarlierRow(Static):
    """The folded line above the turns that are shown."""

    def describe(self, turns: int | None, *, loading: bool = False, before: bool = False) -> None:
        """Say how many turns are folded; None when they were not counted, or are of the session `before`."""
        if loading:
            text = "▴ reading earlier turns…"
        elif before:
            text = "▴ the conversation before the summary · PageUp shows it"
        elif turns is None:
            text = "▴ earlier turns · PageUp shows 20 more"
        else:
            text = f"▴ {turns:,} earlier {'turn' if turns == 1 else 'turns'} · PageUp shows 20 more"
        self.update(Content.assemble((text, "$quiet")))


class LiveTurn:
    """The widgets of one turn on the screen, and where it is recorded.

    Attributes:
        session_id: The session that it begins in.
        first_index: Where in that; None when it is not recorded.
        widgets: Its blocks.
    """

    def __init__(self, session_id: str, first_index: int | None, widgets: list[Widget]) -> None:
        self.session_id = session_id
        self.first_index = first_index
        self.widgets = widgets


class NewBelow(Static):
    """Says that something new stands below what is shown; a click goes there."""

    def on_mount(self) -> None:
        """Write the line."""
        self.update(Content.assemble((" ↓ new below · End ", "$accent")))


class Chat(VerticalScroll, can_focus=False):
    """The turns. It stays where the person scrolled to, and follows only from the bottom."""

    news = reactive(False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self._turns: list[LiveTurn] = []
        self._earlier = EarlierRow("", markup=False)
        self._folded: int | None = 0
        self._more = False
        self._session = ""
        self._previous: tuple[str, int] | None = None
        self._reading = False

    def compose(self) -> ComposeResult:
        """The folded line; turns are mounted after it."""
        self._earlier.display = False
        yield self._earlier

    def watch_virtual_size(self) -> None:
        """Follow the bottom only when there is more than fits: textual would push less down to it."""
        overflows = self.virtual_size.height > self.outer_size.height
        if overflows and not self.is_anchored:
            self.anchor()
        elif self.is_anchored and not overflows:
            self.anchor(False)
            self.set_scroll(None, 0)

    def on_resize(self) -> None:
        """What fitted may overflow now, and the other way round."""
        self.watch_virtual_size()

    @property
    def following(self) -> bool:
        """Whether the view is at the bottom and follows what is new."""
        return not (self.is_anchored and self._anchor_released)

    @property
    def reading(self) -> bool:
        """Whether earlier turns are being read."""
        return self._reading

    @property
    def earlier(self) -> tuple[str, int] | None:
        """The session of the first turn shown and where that begins in it: what comes before is not shown.

        Where that session has nothing more, it is the one it continues, and where that is not shown.
        """
        if not self._more:
            return self._previous
        recorded = ((turn.session_id, turn.first_index) for turn in self._turns)
        return next(((session, first) for session, first in recorded if first is not None), None)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the marker away when the bottom is reached."""
        super().watch_scroll_y(old_value, new_value)
        if self.news and self.following:
            self.news = False

    # Filling -----------------------------------------------------------------------------------

    async def clear(self) -> None:
        """Show nothing."""
        self._turns.clear()
        await self.query_children().exclude("EarlierRow").remove()
        self._previous = None
        self._fold(0, more=False)
        self.news = False

    async def show_history(self, turns: Sequence[Turn], page: HistoryPage, *, fresh: bool = False) -> None:
        """Show stored turns in place of everything, the newest first on the screen, then those above.

        Args:
            turns: The turns of the page.
            page: The newest turns of the history.
            fresh: Whether the summary that the history begins with was just written.
        """
        await self.clear()
        more = page.more
        rest = list(turns[-LIVE_TURNS:])
        surplus = len(turns) - len(rest)
        self._session, self._previous = page.session_id, page.previous
        self._fold(None if more else surplus, more=more or surplus > 0)
        while rest:
            batch, rest = rest[-BATCH_TURNS:], rest[:-BATCH_TURNS]
            await self._prepend(page.session_id, batch, fresh=fresh)
            await asyncio.sleep(0)
        self.to_end()

    async def show_earlier(self, turns: Sequence[Turn], page: HistoryPage) -> None:
        """Show the turns of a page above those shown, leaving what is in sight where it is."""
        more = page.more
        self._previous = page.previous
        before = self.virtual_size.height
        place = self.scroll_y
        self.release_anchor()
        with self.app.batch_update():
            self._fold(None if more else 0, more=more)
            rest = list(turns)
            while rest:
                batch, rest = rest[-BATCH_TURNS:], rest[:-BATCH_TURNS]
                await self._prepend(page.session_id, batch)
                await asyncio.sleep(0)

        def stay() -> None:
            self.scroll_to(y=place + self.virtual_size.height - before, animate=False, immediate=True)

        self.call_after_refresh(stay)

    def reading_earlier(self, reading: bool) -> None:
        """Say that earlier turns are being read; nobody asks for more meanwhile."""
        self._reading = reading
        self._describe_earlier()

    def go_on_in(self, session_id: str) -> None:
        """The next turn is recorded in another session, which continues the one so far."""
        self._session = session_id

    async def begin_turn(self, first_index: int | None) -> None:
        """The next blocks belong to a new turn; the oldest live one folds when there are too many."""
        self._turns.append(LiveTurn(self._session, first_index, []))
        if len(self._turns) > LIVE_TURNS and self.following:
            surplus = self._turns[:-LIVE_TURNS]
            del self._turns[:-LIVE_TURNS]
            await self.remove_children([widget for turn in surplus for widget in turn.widgets])
            self._fold(None if self._folded is None else self._folded + len(surplus), more=True)

    async def add(self, *widgets: Widget) -> None:
        """Show blocks at the end of the present turn."""
        if not self._turns:
            self._turns.append(LiveTurn(self._session, None, []))
        self._turns[-1].widgets.extend(widgets)
        following = self.following
        await self.mount_all(widgets)
        self.mark_news(following)

    def mark_news(self, following: bool) -> None:
        """Remember that something came, for a person who has scrolled up."""
        if not following:
            self.news = True

    # Moving ------------------------------------------------------------------------------------

    def pages(self, count: int) -> None:
        """Scroll by pages; above the first line, ask for earlier turns."""
        if count < 0 and self.scroll_y <= 0:
            self._ask_for_earlier()
        elif count < 0:
            self.scroll_page_up(animate=False)
        else:
            self.scroll_page_down(animate=False)

    def to_end(self) -> None:
        """Go to the newest line and follow from there."""
        self.news = False
        if self.is_anchored:
            self.anchor()

    # Details -----------------------------------------------------------------------------------

    def _fold(self, turns: int | None, *, more: bool) -> None:
        self._folded, self._more = turns, more
        self._describe_earlier()

    def _describe_earlier(self) -> None:
        self._earlier.display = self._more or self._previous is not None
        if self._earlier.display:
            self._earlier.describe(self._folded, loading=self._reading, before=not self._more)

    def _ask_for_earlier(self) -> None:
        if (self._more or self._previous is not None) and not self._reading:
            self.post_message(TopReached())

    async def _prepend(self, session_id: str, turns: Sequence[Turn], *, fresh: bool = False) -> None:
        live = [LiveTurn(session_id, turn.first_index, blocks_of(turn, fresh=fresh)) for turn in turns]
        self._turns[:0] = live
        await self.mount_all([widget for turn in live for widget in turn.widgets], after=self._earlier)

    @on(Click, "EarlierRow")
    def _earlier_clicked(self) -> None:
        self._ask_for_earlier()


class ChatPane(Container):
    """The chat with the marker over its last line."""

    def compose(self) -> ComposeResult:
        """The chat and the marker."""
        yield Chat(id="chat")
        marker = NewBelow(id="new-below", markup=False)
        marker.display = False
        yield marker

    def on_mount(self) -> None:
        """Show the marker while there are news."""
        chat = self.query_one(Chat)
        self.watch(chat, "news", self._news, init=False)

    def _news(self, news: bool) -> None:
        self.query_one(NewBelow).display = news

    @on(Click, "NewBelow")
    def _go(self) -> None:
        self.query_one(Chat).to_end()


def blocks_of(turn: Turn, *, fresh: bool = False) -> list[Widget]:
    """The widgets that show a stored turn; `fresh` opens a summary that was just written."""
    from tau.tui.history import ReasoningPart, ReplyPart, SummaryPart
    from tau.tui.widgets.blocks import ReasoningBlock, SummaryBlock, UserRow
    from tau.tui.widgets.reply import Reply

    widgets: list[Widget] = [UserRow(turn.said)] if turn.said else []
    for part in turn.parts:
        if isinstance(part, ReplyPart):
            widgets.append(Reply(part.text))
        elif isinstance(part, ReasoningPart):
            widgets.append(ReasoningBlock(part.text))
        elif isinstance(part, SummaryPart):
            widgets.append(SummaryBlock(part.text, fresh=fresh))
        else:
            widgets.append(card_of(part))
    return widgets


def card_of(call: CallPart) -> ToolCard:
    """A tool card with the recorded duration, approval and result; a call without a result says so."""
    from tau.tui.widgets.tool_card import ToolCard

    record = call.record
    if record is not None:
        return ToolCard(
            call.name,
            call.arguments,
            status=record.status,
            result=call.result if call.result is not None else record.result,
            seconds=record.duration,
            approval=record.approval,
        )
    if call.result is None:
        return ToolCard(call.name, call.arguments, status="running" if call.running else "unknown")
    return ToolCard(
        call.name, call.arguments, status="error" if call.failed else "success", result=call.result
    )
