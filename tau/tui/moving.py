"""Moves about in the conversation on a screen: by pages, over blocks, to words, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import TauError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.conversation.state import HistoryPage
    from tau.tui.block_cursor import BlockCursor
    from tau.tui.find import Find
    from tau.tui.history import Turn
    from tau.tui.messages import BlockClicked
    from tau.tui.screens.chat import ChatScreen


class Moving:
    """Where in its conversation a screen is; what it takes for the rarer ways is loaded when one is taken."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._blocks: BlockCursor | None = None
        self._find: Find | None = None

    @property
    def blocks(self) -> BlockCursor:
        """The cursor over the blocks of the chat."""
        from tau.tui.block_cursor import BlockCursor

        if self._blocks is None:
            self._blocks = BlockCursor(self._screen)
        return self._blocks

    @property
    def has_the_keys(self) -> bool:
        """Whether the cursor or the search is on, and the key back leaves it."""
        return (self._blocks is not None and self._blocks.is_on) or (
            self._find is not None and self._find.is_open
        )

    def clicked(self, message: BlockClicked) -> None:
        """A block was clicked: the cursor goes there if it is on."""
        if self._blocks is not None:
            self._blocks.clicked(message.block, message.row)

    async def find(self) -> None:
        """Find words in the conversation."""
        from tau.tui.find import Find

        self._find = self._find or Find(self._screen)
        await self._find.open()

    def leave(self) -> None:
        """What the cursor and the search are on goes away."""
        if self._blocks is not None:
            self._blocks.leave()
        if self._find is not None:
            self._find.leave()

    def page(self, pages: int) -> None:
        """Scroll the chat by pages; behind the last line of a part of the history, read on."""
        screen = self._screen
        if pages > 0 and screen.part.away and screen.chat.scroll_y >= screen.chat.max_scroll_y:
            screen.run_worker(self._read_on(), group="later")
        else:
            screen.chat.pages(pages)

    def show_earlier(self) -> None:
        """Show the turns above the first one shown."""
        self._screen.run_worker(self._show_earlier(), group="earlier")

    async def show_history(self, turns: Sequence[Turn], page: HistoryPage, *, fresh: bool = False) -> None:
        """Show other turns in place of everything in the chat (see `Chat.show_history`)."""
        screen = self._screen
        screen.workers.cancel_group(screen, "earlier")
        await self._empty()
        await screen.chat.show_history(turns, page, fresh=fresh)

    async def clear(self) -> None:
        """Empty the chat; the session is untouched."""
        await self._empty()
        await self._screen.chat.clear()

    async def come_back(self) -> None:
        """From a part of the history to the newest turns."""
        try:
            await self._screen.part.come_back()
        except TauError as error:
            await self._screen.notice(error.line(), "warning")

    async def to_end(self) -> None:
        """Go to the newest line."""
        await self.come_back()
        self._screen.chat.to_end()

    async def _read_on(self) -> None:
        try:
            await self._screen.part.read_on()
        except TauError as error:
            await self._screen.notice(error.line(), "warning")

    async def _show_earlier(self) -> None:
        from tau.tui.going_to import load_earlier

        if not self._screen.chat.reading:
            await load_earlier(self._screen)

    async def _empty(self) -> None:
        self.leave()
        await self._screen.first_page.end()
