"""The chat pane: the newest turns live, older ones folded into one line and paged in from the top."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
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

from tau.tui.keys import hint, in_use, key_of
from tau.tui.messages import BlockClicked, TopReached
from tau.tui.widgets.block import Block
from tau.tui.widgets.live_turn import BATCH_TURNS, LIVE_TURNS, PAGE_TURNS, LiveTurn, begin_of, lay_out
from tau.tui.widgets.turn_blocks import blocks_of, read_ahead
from tau.tui.widgets.turns_between import TurnsBetween

if TYPE_CHECKING:
    from tau.conversation.state import HistoryPage
    from tau.tui.history import Turn
    from tau.tui.widgets.command_card import CommandCard


class EarlierRow(Static):
    """The folded line above the turns that are shown."""

    def describe(self, turns: int | None, *, loading: bool = False, before: bool = False) -> None:
        """Say how many turns are folded; None when they were not counted, or are of the session `before`."""
        if loading:
            text = "▴ reading earlier turns…"
        elif before:
            text = f"▴ the conversation before the summary{hint(self, 'page-up', 'shows it')}"
        elif turns is None:
            text = f"▴ earlier turns{hint(self, 'page-up', f'shows {PAGE_TURNS} more')}"
        else:
            noun = "turn" if turns == 1 else "turns"
            text = f"▴ {turns:,} earlier {noun}{hint(self, 'page-up', f'shows {PAGE_TURNS} more')}"
        self.update(Content.assemble((text, "$quiet")))


class NewBelow(Static):
    """Says that something new stands below what is shown; a click goes there."""

    def on_mount(self) -> None:
        """Write the line."""
        key = key_of(in_use(self), "newest")
        self.update(Content.assemble((f" ↓ new below{f' · {key}' if key else ''} ", "$accent")))


class Chat(VerticalScroll, can_focus=False):
    """The turns. It stays where the person scrolled to, and follows only from the bottom.

    Attributes:
        newest: The turns on the screen without a gap down to the last one, oldest first.
        between: What is folded above those, and what is shown above that.
        news: Whether something came that is below what is in sight.
    """

    news = reactive(False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self.newest: list[LiveTurn] = []
        self.between = TurnsBetween(self)
        self._earlier = EarlierRow("", markup=False)
        self._folded: int | None = 0
        self._more = False
        self._session = ""
        self._previous: tuple[str, int] | None = None
        self._told: set[str] = set()
        self._reading = False
        self._standing: CommandCard | None = None

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
        return begin_of(self.turns)

    @property
    def newest_begin(self) -> tuple[str, int] | None:
        """Where the newest turns begin, as `earlier` says it of all that are shown."""
        return begin_of(self.newest) if self.between.folded else self.earlier

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the marker away when the bottom is reached."""
        super().watch_scroll_y(old_value, new_value)
        if self.news and self.following:
            self.news = False

    # Filling -----------------------------------------------------------------------------------

    async def clear(self) -> None:
        """Show nothing."""
        self._standing = None
        self.newest.clear()
        self.between.forget()
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
                await lay_out(self, self.turns[: len(batch)])

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
        for candidate in (*self.between.above, *self.between.turns, *self.newest):
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
        return [*self.between.above, *self.newest]

    def turn_of(self, block: Widget) -> LiveTurn | None:
        """The turn that a block belongs to."""
        return next((turn for turn in reversed(self.turns) if block in turn.widgets), None)

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
            await self.between.leave()
        self.newest.append(LiveTurn(self._session, first_index, []))
        if len(self.newest) > LIVE_TURNS and self.following:
            surplus = self.newest[:-LIVE_TURNS]
            del self.newest[:-LIVE_TURNS]
            await self.remove_children([widget for turn in surplus for widget in turn.widgets])
            self._fold(None if self._folded is None else self._folded + len(surplus), more=True)

    async def add(self, *widgets: Widget) -> None:
        """Show blocks at the end of the present turn."""
        if not self.newest:
            self.newest.append(LiveTurn(self._session, None, []))
        self.newest[-1].widgets.extend(widgets)
        self.let_stand(None)
        following = self.following
        await self.mount_all(widgets)
        self.mark_news(following)

    def let_stand(self, card: CommandCard | None) -> None:
        """Leave the output of a command open until another block comes."""
        if self._standing is not None:
            self._standing.stand(False)
        self._standing = card
        if card is not None:
            card.stand(True)

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
        elif self.between.in_sight:
            self.between.ask()
        else:
            self.scroll_page_down(animate=False)

    def to_end(self) -> None:
        """Go to the newest line and follow from there."""
        self.news = False
        if self.between.folded:
            self.run_worker(self.between.leave(), group="between", exclusive=True)
        if self.is_anchored:
            self.anchor()

    # Details -----------------------------------------------------------------------------------

    def fold_earlier(self) -> None:
        """Say that there is more above the first turn shown, however many they are."""
        self._fold(None, more=True)

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
        await read_ahead(turns, self)
        live = [LiveTurn(session_id, turn.first_index, blocks_of(turn, fresh=fresh), turn) for turn in turns]
        (self.between.above if self.between.folded else self.newest)[:0] = live
        await self.mount_all([widget for turn in live for widget in turn.widgets], after=self._earlier)

    @on(Click, "EarlierRow")
    def _earlier_clicked(self) -> None:
        self._ask_for_earlier()

    @on(Click, "BetweenRow")
    def _between_clicked(self) -> None:
        self.between.ask()

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
