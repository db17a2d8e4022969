"""The chat pane: the newest turns live, older ones folded into one line and paged in from the top."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.geometry import Region
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tau.tui.messages import BlockClicked, TopReached
from tau.tui.widgets.block import Block

if TYPE_CHECKING:
    from tau.conversation.state import HistoryPage
    from tau.sessions.attached import Attached
    from tau.tui.history import CallPart, Turn
    from tau.tui.widgets.command_card import CommandCard
    from tau.tui.widgets.tool_card import ToolCard

LIVE_TURNS = 40
PAGE_TURNS = 20
BATCH_TURNS = 4
STRETCH = 0.008
"""Seconds of work after which whatever else waits gets its turn."""

MOST_ABOVE = 60
"""Turns above the newest ones that are on the screen at most; each of them costs at every layout."""


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
        stored: What it is made of, where it was read from the history.
    """

    def __init__(
        self, session_id: str, first_index: int | None, widgets: list[Widget], stored: Turn | None = None
    ) -> None:
        self.session_id = session_id
        self.first_index = first_index
        self.widgets = widgets
        self.stored = stored

    @property
    def place(self) -> tuple[str, int | None]:
        """Where it is recorded."""
        return self.session_id, self.first_index


class BetweenRow(Static):
    """The line in place of the turns between those that were read further up and the newest."""

    def describe(self, turns: int) -> None:
        """Say how many they are."""
        text = f"▾ {turns:,} {'turn' if turns == 1 else 'turns'} between · PageDown shows {PAGE_TURNS} more"
        self.update(Content.assemble((text, "$quiet")))


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
        self._told: set[str] = set()
        self._reading = False
        self._above = 0  # turns that are shown above those between
        self._between: list[LiveTurn] = []
        self._between_row = BetweenRow("", markup=False)

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

    def is_news(self, line: str) -> bool:
        """Whether this was not yet told of what is shown, such as why nothing above it can be read."""
        told = line in self._told
        self._told.add(line)
        return not told

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
        self._above, self._between = 0, []
        self._between_row = BetweenRow("", markup=False)
        await self.query_children().exclude("EarlierRow").remove()
        self._previous = None
        self._told.clear()
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
        settled = asyncio.Event()
        self.release_anchor()
        with self.app.batch_update():
            self._fold(None if more else 0, more=more)
            rest = list(turns)
            while rest:
                batch, rest = rest[-BATCH_TURNS:], rest[:-BATCH_TURNS]
                await self._prepend(page.session_id, batch)
                await self._lay_out_turns(self._turns[: len(batch)])

        def stay() -> None:
            self.scroll_to(y=place + self.virtual_size.height - before, animate=False, immediate=True)
            settled.set()

        self.call_after_refresh(stay)
        await settled.wait()

    def block_at(self, session_id: str, index: int) -> Widget | None:
        """The block that shows message `index` of a session; None when it is not on the screen.

        Where a message has several, it is the first; where it has none of its own, the one before.
        """
        turn = None
        shown = self._turns[: self._above] + self._between + self._turns[self._above :]
        for candidate in shown:
            if candidate.session_id == session_id and candidate.first_index is not None:
                if candidate.first_index > index:
                    break
                turn = candidate
        if turn is None or not turn.widgets:
            return None
        found, at = turn.widgets[0], turn.first_index or 0
        for block in turn.widgets:
            own = block.message_index if isinstance(block, Block) else None
            if own is not None and at < own <= index:
                found, at = block, own
        return found

    @property
    def blocks(self) -> list[Block]:
        """The blocks on the screen, from the top."""
        return [block for block in self.children if isinstance(block, Block)]

    @property
    def turns(self) -> Sequence[LiveTurn]:
        """The turns on the screen, oldest first."""
        return self._turns

    def turn_of(self, block: Widget) -> LiveTurn | None:
        """The turn that a block belongs to."""
        return next((turn for turn in reversed(self._turns) if block in turn.widgets), None)

    def place_of(self, block: Widget) -> Region:
        """Where a block is, from the top of everything that can be scrolled to; empty when it is nowhere."""
        return next((region for widget, region in self.places if widget is block), Region())

    @property
    def places(self) -> Iterator[tuple[Widget, Region]]:
        """What is where, from the top."""
        # Of the size with which it is laid out: another one would make textual forget all heights.
        for place in self.arrange(self.scrollable_content_region.size).placements:
            yield place.widget, place.region

    def at(self, y: float) -> Block | None:
        """The block at a height, from the top of everything that can be scrolled to, or the one above."""
        found = None
        for widget, region in self.places:
            if region.y > y:
                break
            found = widget if isinstance(widget, Block) else found
        return found

    def follow_at_end(self) -> None:
        """Follow what is new again, if the view is at the end."""
        self._check_anchor()

    def show_place(self, place: Region, *, top: bool = False, center: bool = False) -> None:
        """Scroll no further than it takes to have a region in sight, its beginning where it is too high."""
        self.release_anchor()
        top = top or place.height >= self.scrollable_content_region.height
        self.scroll_to_region(
            place, animate=False, immediate=True, force=True, top=top, center=center, x_axis=False
        )

    def reading_earlier(self, reading: bool) -> None:
        """Say that earlier turns are being read; nobody asks for more meanwhile."""
        self._reading = reading
        self._describe_earlier()

    def go_on_in(self, session_id: str) -> None:
        """The next turn is recorded in another session, which continues the one so far."""
        self._session = session_id

    async def begin_turn(self, first_index: int | None) -> None:
        """The next blocks belong to a new turn; the oldest live one folds when there are too many."""
        if self.following:
            await self._leave_above()
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
        elif self._between and self._row_in_sight():
            self._ask_for_between()
        else:
            self.scroll_page_down(animate=False)

    def to_end(self) -> None:
        """Go to the newest line and follow from there."""
        self.news = False
        if self._between:
            self.run_worker(self._leave_above(), group="between", exclusive=True)
        if self.is_anchored:
            self.anchor()

    # Far from the newest turns -----------------------------------------------------------------

    @property
    def newest_begin(self) -> tuple[str, int] | None:
        """Where the newest turns begin, as `earlier` says it of all that are shown."""
        if not self._between:
            return self.earlier
        recorded = ((turn.session_id, turn.first_index) for turn in self._turns[self._above :])
        return next(((session, first) for session, first in recorded if first is not None), None)

    async def fold_between(self) -> None:
        """Put a line in place of the turns in the middle, if there are too many; the first ones stay."""
        above = self._turns[: self._above] if self._between else self._turns[:-LIVE_TURNS]
        if len(above) <= MOST_ABOVE:
            return
        folded = above[MOST_ABOVE - PAGE_TURNS :]
        if any(turn.stored is None for turn in folded):  # of this run
            return
        behind = self._turns[len(above)].widgets
        if not self._between and behind:
            await self.mount(self._between_row, before=behind[0])
        del self._turns[MOST_ABOVE - PAGE_TURNS : len(above)]
        self._above = MOST_ABOVE - PAGE_TURNS
        self._between[:0] = folded
        self._between_row.describe(len(self._between))
        await self._unmount(folded)

    async def show_between(self) -> None:
        """Show the next turns in the place of the line; what is above them goes where it takes too much."""
        turns, self._between = self._between[:PAGE_TURNS], self._between[PAGE_TURNS:]
        await self._mount_between(turns)
        above = self._above or len(self._turns) - LIVE_TURNS
        surplus = self._turns[: max(0, above - MOST_ABOVE)]
        if surplus:
            top = self.at(self.scroll_y)
            offset = self.scroll_y - self.place_of(top).y if top is not None else 0
            del self._turns[: len(surplus)]
            self._above = max(0, self._above - len(surplus))
            self._fold(None, more=True)
            await self._unmount(surplus)
            if top is not None and top.parent is self:
                await self._laid_out()
                self.scroll_to(y=self.place_of(top).y + offset, animate=False, immediate=True, force=True)

    async def reach_between(self, session_id: str, index: int) -> bool:
        """Show the turn with a message, if it is between, in place of those that are shown above.

        Returns:
            Whether it was.
        """
        place = -1
        for number, turn in enumerate(self._between):
            if turn.session_id == session_id and turn.first_index is not None and turn.first_index <= index:
                place = number
        if place < 0 or self.block_at(session_id, index) is not None:
            return False
        above = self._turns[: self._above]
        start = max(0, place - PAGE_TURNS // 2)
        turns = self._between[start : start + PAGE_TURNS]
        del self._turns[: self._above], self._between[: start + PAGE_TURNS]
        self._above = 0
        self._fold(None, more=True)
        await self._mount_between(turns)
        await self._unmount(above)
        return True

    async def _mount_between(self, turns: Sequence[LiveTurn]) -> None:
        self.release_anchor()
        with self.app.batch_update():
            for number in range(0, len(turns), BATCH_TURNS):
                batch = turns[number : number + BATCH_TURNS]
                for turn in batch:
                    assert turn.stored is not None
                    turn.widgets = blocks_of(turn.stored)
                self._turns[self._above : self._above] = batch
                self._above += len(batch)
                widgets = [widget for turn in batch for widget in turn.widgets]
                await self.mount_all(widgets, before=self._between_row)
                await self._lay_out_turns(batch)
        if self._between:
            self._between_row.describe(len(self._between))
        else:
            self._above = 0
            await self._between_row.remove()
            self._between_row = BetweenRow("", markup=False)

    async def _leave_above(self) -> None:
        """Only the newest turns, with all others folded above them."""
        if self._between:
            above, self._turns = self._turns[: self._above], self._turns[self._above :]
            self._above, self._between = 0, []
            self._fold(None, more=True)
            await self._between_row.remove()
            self._between_row = BetweenRow("", markup=False)
            await self._unmount(above)

    async def _lay_out_turns(self, turns: Sequence[LiveTurn]) -> None:
        """Have new blocks laid out one after the other: all at once they would be felt."""
        size = self.scrollable_content_region.size
        began = perf_counter()
        await asyncio.sleep(0)
        for turn in turns:
            for block in turn.widgets:
                block.get_content_height(size, self.app.viewport_size, size.width - block.styles.gutter.width)
                if perf_counter() - began > STRETCH:
                    await asyncio.sleep(0)
                    began = perf_counter()

    async def _unmount(self, turns: Sequence[LiveTurn]) -> None:
        for number in range(0, len(turns), BATCH_TURNS):
            batch = turns[number : number + BATCH_TURNS]
            await self.remove_children([widget for turn in batch for widget in turn.widgets])
            for turn in batch:
                turn.widgets = []
            await asyncio.sleep(0)

    async def _laid_out(self) -> None:
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()

    def _row_in_sight(self) -> bool:
        place = self.place_of(self._between_row)
        return self.scroll_y <= place.y < self.scroll_y + self.size.height

    def _ask_for_between(self) -> None:
        if not self._reading:
            self.run_worker(self.show_between(), group="between", exclusive=True)

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
        live = [LiveTurn(session_id, turn.first_index, blocks_of(turn, fresh=fresh), turn) for turn in turns]
        self._turns[:0] = live
        self._above += len(live) if self._between else 0
        await self.mount_all([widget for turn in live for widget in turn.widgets], after=self._earlier)

    @on(Click, "EarlierRow")
    def _earlier_clicked(self) -> None:
        self._ask_for_earlier()

    @on(Click, "BetweenRow")
    def _between_clicked(self) -> None:
        self._ask_for_between()

    @on(Click)
    def _clicked(self, event: Click) -> None:
        if isinstance(event.widget, Block) and not self.screen.get_selected_text():
            self.post_message(BlockClicked(event.widget, event.y))


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
    from tau.tui.widgets.images_row import ImagesRow
    from tau.tui.widgets.reply import Reply

    widgets: list[Widget] = [
        _at(command_card(item), turn.first_index) for item in turn.along if item.kind == "command"
    ]
    if turn.said:
        widgets.append(_at(UserRow(turn.said), turn.first_index))
    if images := [item.text for item in turn.along if item.kind == "image"]:
        widgets.append(_at(ImagesRow("\n".join(images)), turn.first_index))
    for part in turn.parts:
        if isinstance(part, ReplyPart):
            block: Block = Reply(part.text)
        elif isinstance(part, ReasoningPart):
            block = ReasoningBlock(part.text)
        elif isinstance(part, SummaryPart):
            block = SummaryBlock(part.text, fresh=fresh)
        else:
            block = card_of(part)
        widgets.append(_at(block, part.index))
    return widgets


def command_card(item: Attached) -> CommandCard:
    """The card of a command of the person's that went along with a message."""
    from tau.tui.widgets.command_card import CommandCard

    return CommandCard(item.command, status=item.status, result=item.text, seconds=item.seconds)


def _at(block: Block, index: int) -> Block:
    block.message_index = index
    return block


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
