"""Keeps a long way back short: folds the turns between those read further up and the newest into a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tau.tui.keys import hint
from tau.tui.layout import laid_out
from tau.tui.widgets.live_turn import BATCH_TURNS, LIVE_TURNS, PAGE_TURNS, lay_out, take_away
from tau.tui.widgets.turn_blocks import blocks_of, read_ahead

if TYPE_CHECKING:
    from tau.tui.widgets.chat import Chat
    from tau.tui.widgets.live_turn import LiveTurn

MOST_ABOVE = 60
"""Turns above the newest ones that are on the screen at most; each of them costs at every layout."""


class BetweenRow(Static):
    """The line in place of the turns between those that were read further up and the newest."""

    def describe(self, turns: int) -> None:
        """Say how many they are."""
        more = hint(self, "page-down", f"shows {PAGE_TURNS} more")
        text = f"▾ {turns:,} {'turn' if turns == 1 else 'turns'} between{more}"
        self.update(Content.assemble((text, "$quiet")))


class TurnsBetween:
    """The turns of a chat that are folded between those above, which were read in, and the newest.

    While none are folded, those that were read in count as the newest ones of the chat.

    Attributes:
        above: The turns on the screen above the line, oldest first; empty while none are folded.
        turns: Those that are folded, oldest first.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._row = BetweenRow("", markup=False)
        self.above: list[LiveTurn] = []
        self.turns: list[LiveTurn] = []

    @property
    def folded(self) -> bool:
        """Whether the line is there."""
        return bool(self.turns or self.above)

    @property
    def in_sight(self) -> bool:
        """Whether the line is, and stands for some turns."""
        if not self.turns:
            return False
        chat = self._chat
        return chat.scroll_y <= chat.place_of(self._row).y < chat.scroll_y + chat.size.height

    def forget(self) -> None:
        """Everything in the chat goes away."""
        self.above, self.turns = [], []
        self._row = BetweenRow("", markup=False)

    async def fold(self) -> None:
        """Put a line in place of the turns in the middle, if there are too many; the first ones stay."""
        newest = self._chat.newest
        above = self.above if self.folded else newest[:-LIVE_TURNS]
        if len(above) <= MOST_ABOVE:
            return
        stay = MOST_ABOVE - PAGE_TURNS
        surplus = above[stay:]
        if any(turn.stored is None for turn in surplus):  # of this run
            return
        if not self.folded:
            if behind := newest[len(above)].widgets:
                await self._chat.mount(self._row, before=behind[0])
            del newest[: len(above)]
        self.above = above[:stay]
        self.turns[:0] = surplus
        self._row.describe(len(self.turns))
        await take_away(self._chat, surplus)

    def ask(self) -> None:
        """Show the next turns in the place of the line, unless others are being read."""
        if not self._chat.reading:
            self._chat.run_worker(self._show(), group="between", exclusive=True)

    async def _show(self) -> None:
        """Show the next turns; what is above them goes where it takes too much."""
        chat = self._chat
        turns, self.turns = self.turns[:PAGE_TURNS], self.turns[PAGE_TURNS:]
        await self._mount(turns)
        held = self.above or chat.newest
        count = len(self.above) or len(chat.newest) - LIVE_TURNS
        surplus = held[: max(0, count - MOST_ABOVE)]
        if surplus:
            top = chat.at(chat.scroll_y)
            offset = chat.scroll_y - chat.place_of(top).y if top is not None else 0
            del held[: len(surplus)]
            chat.fold_earlier()
            await take_away(chat, surplus)
            if top is not None and top.parent is chat:
                await laid_out(chat)
                chat.scroll_to(y=chat.place_of(top).y + offset, animate=False, immediate=True, force=True)

    async def reach(self, session_id: str, index: int) -> None:
        """Show the turn with a message, if it is folded, in place of those that are shown above."""
        place = -1
        for number, turn in enumerate(self.turns):
            if turn.session_id == session_id and turn.first_index is not None and turn.first_index <= index:
                place = number
        if place < 0 or self._chat.block_at(session_id, index) is not None:
            return
        start = max(0, place - PAGE_TURNS // 2)
        turns = self.turns[start : start + PAGE_TURNS]
        del self.turns[: start + PAGE_TURNS]
        above, self.above = self.above, []
        self._chat.fold_earlier()
        await self._mount(turns)
        await take_away(self._chat, above)

    async def leave(self) -> None:
        """Only the newest turns, with all others folded above them."""
        if self.folded:
            above, self.above, self.turns = self.above, [], []
            self._chat.fold_earlier()
            await self._remove_row()
            await take_away(self._chat, above)

    async def _mount(self, turns: Sequence[LiveTurn]) -> None:
        """Show turns that were folded above the line, which goes away when none are left."""
        chat = self._chat
        stored = [turn.stored for turn in turns if turn.stored is not None]
        await read_ahead(stored, chat)
        chat.release_anchor()
        with chat.app.batch_update():
            for number in range(0, len(turns), BATCH_TURNS):
                batch = turns[number : number + BATCH_TURNS]
                for turn in batch:
                    assert turn.stored is not None
                    turn.widgets = blocks_of(turn.stored)
                self.above += batch
                widgets = [widget for turn in batch for widget in turn.widgets]
                await chat.mount_all(widgets, before=self._row)
                await lay_out(chat, batch)
        if self.turns:
            self._row.describe(len(self.turns))
        else:
            chat.newest[:0] = self.above
            self.above = []
            await self._remove_row()

    async def _remove_row(self) -> None:
        await self._row.remove()
        self._row = BetweenRow("", markup=False)
