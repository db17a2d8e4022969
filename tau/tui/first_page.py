"""Puts the start page into the chat of a session without turns, and takes it away with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import TauError

if TYPE_CHECKING:
    from tau.conversation.state import ConversationState
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.start_page import StartPage


class FirstPage:
    """The start page on a screen, if it is there."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._page: StartPage | None = None

    @property
    def shown(self) -> bool:
        """Whether it is there."""
        return self._page is not None

    def show_state(self, state: ConversationState) -> None:
        """Show the session and the model on it."""
        if self._page is not None:
            self._page.show_state(state)

    async def begin(self, state: ConversationState) -> None:
        """Show it, with the sessions that can be gone on with."""
        from tau.sessions.records import ListQuery
        from tau.tui.widgets.start_page import SHOWN_SESSIONS, StartPage

        screen = self._screen
        self._page = page = StartPage(screen.keys, id="start-page")
        page.show_state(state)
        await screen.chat.mount(page)
        query = ListQuery(
            directory=screen.scope_directory(),
            limit=SHOWN_SESSIONS,
            exclude=state.session_id,
            fold_chains=True,
        )
        try:
            page.show_sessions(await screen.conversation.sessions(query))
        except TauError as error:
            await screen.notice(error.line(), "warning")

    async def end(self) -> None:
        """Take it away."""
        if self._page is not None:
            page, self._page = self._page, None
            await page.remove()
