"""Shows a part of the history alone in the chat: what is too far up to be read in down to the newest turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from tau.tui.keys import hint
from tau.tui.widgets.live_turn import LIVE_TURNS
from tau.tui.widgets.turn_blocks import blocks_of, read_ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.conversation.state import HistoryPage
    from tau.tui.history import Turn
    from tau.tui.screens.chat import ChatScreen

AROUND = 40
"""Messages that are read before and after the one that is looked for, and at a time from there on."""

END = 2**31
"""An index beyond every message of a session."""


class LaterRow(Static):
    """The line under turns after which others come that are not shown; a click shows the newest."""

    class Left(Message):
        """The person wants to see the newest turns again."""

    def __init__(self) -> None:
        more = hint(self, "page-down", "shows more")
        text = f"▾ later turns{more} · a click here, or a message, the newest"
        super().__init__(Content.styled(text, "$quiet"), markup=False)

    def on_click(self, event: Click) -> None:
        """Back to the newest."""
        event.stop()
        self.post_message(self.Left())


class Part:
    """The part of the history that stands alone on a screen, if one does; the next message leads back."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._row: LaterRow | None = None
        self._session = ""
        self._end = END
        self._reading = False

    @property
    def away(self) -> bool:
        """Whether the newest turns are not in the chat."""
        return self._row is not None and self._row.is_attached

    def lacks(self, session_id: str, index: int) -> bool:
        """Whether a message comes after the part, or is of another session."""
        return self.away and (session_id != self._session or index >= self._end)

    async def show(self, session_id: str, index: int) -> None:
        """Show a message with those around it, in place of everything.

        Raises:
            TauError: They cannot be read.
        """
        self._session = session_id
        page = await self._read(index + AROUND)
        begins = [turn.first_index for turn in _turns(page)]
        first = max((at for at in begins if at <= index - AROUND), default=page.first_index)
        page = _from(page, first)
        await self._screen.moving.show_history(self._whole(page, index), page)
        await self._say_more()

    async def read_on(self) -> None:
        """Show the turns after those in the chat.

        Raises:
            TauError: They cannot be read.
        """
        row, start = self._row, self._end
        if row is None or not self.away or self._reading:
            return
        self._reading = True
        try:
            chat = self._screen.chat
            page = _from(await self._read(start + AROUND), start)
            turns = list(self._whole(page, start))
            await read_ahead(turns, chat)
            if row.parent is None:  # another session was opened meanwhile
                return
            if not page.messages:
                await self.come_back()
                return
            below = max(0, row.virtual_region.y - 2)
            await row.remove()
            chat.release_anchor()
            for turn in turns:
                await chat.begin_turn(turn.first_index)
                await chat.add(*blocks_of(turn))
            chat.news = False
            await self._say_more()
            chat.call_after_refresh(lambda: chat.scroll_to(y=below, animate=False, immediate=True))
        finally:
            self._reading = False

    async def come_back(self) -> None:
        """Show the newest turns again.

        Raises:
            TauError: They cannot be read.
        """
        if self.away:
            page = await self._screen.conversation.earlier(END, LIVE_TURNS)
            await self._screen.moving.show_history(_turns(page), page)

    async def _read(self, before: int) -> HistoryPage:
        """What was said before an index, `_end` being where it ends."""
        page = await self._screen.conversation.earlier(before, 2 * AROUND, self._session)
        self._end = page.messages[-1].index + 1 if page.messages else before
        return page

    def _whole(self, page: HistoryPage, index: int) -> Sequence[Turn]:
        """The turns of a page without one that begins after `index` and goes on behind what was read."""
        turns = _turns(page)
        if self._end >= index + AROUND and len(turns) > 1 and turns[-1].first_index > index:
            self._end = turns.pop().first_index
        return turns

    async def _say_more(self) -> None:
        """Say that more comes after what is shown, if it does."""
        state = self._screen.conversation.state
        self._row = None
        if self._session != state.session_id or self._end < state.message_count:
            self._row = LaterRow()
            await self._screen.chat.mount(self._row)


def _from(page: HistoryPage, first: int) -> HistoryPage:
    """A page without what comes before an index."""
    kept = [stored for stored in page.messages if stored.index >= first]
    more = page.more or first > page.first_index
    return replace(
        page, messages=kept, first_index=first, more=more, previous=None if more else page.previous
    )


def _turns(page: HistoryPage) -> list[Turn]:
    from tau.tui.history import turns_of

    return turns_of(page.messages, page.events)
