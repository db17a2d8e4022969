"""Opens the session that a screen begins with, and shows what stands in a session that was opened."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.tui.messages import EndApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.conversation.state import Opening
    from tau.tui.screens.chat import ChatScreen


class Opened:
    """The session that is open on a screen.

    Args:
        screen: Its screen.
        warnings: What there is to say before anything else.

    Attributes:
        shown: Set once a session is on the screen.
    """

    def __init__(self, screen: ChatScreen, warnings: Sequence[str]) -> None:
        self.shown = asyncio.Event()
        self._screen = screen
        self._warnings = warnings
        self._session_id: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether a session is on the screen."""
        return self._session_id is not None

    def begin(self) -> None:
        """Show the session as it opens, and have its model made ready."""
        self._screen.run_worker(self._open(), group="opening")

    async def _open(self) -> None:
        screen = self._screen
        try:
            opening = await screen.conversation.ready()
        except TauError as error:
            screen.post_message(EndApp(error.exit_code, error.line()))
            return
        await self.show(opening, self._warnings)
        screen.run_worker(self._prepare_model(), group="model")

    async def _prepare_model(self) -> None:
        screen = self._screen
        try:
            await screen.conversation.model_ready()
        except TauError as error:
            await screen.offered.no_model(error)
            screen.call_after_refresh(screen.garbage.settle)
        else:
            screen.garbage.settle()  # before a message that waits is sent: in its turn it would be felt
            screen.turns.send_next()

    async def show(
        self, opening: Opening, notices: Sequence[str] = (), line: str = "", *, summarized: bool = False
    ) -> None:
        """Show a session that was just opened: its newest turns, its events, what there is to say.

        Args:
            opening: The session.
            notices: Warnings.
            line: A sentence.
            summarized: Whether it begins with a summary that was just written.
        """
        from tau.tui.history import turns_of

        screen, state = self._screen, opening.state
        screen.state_view.show(state)
        screen.status.rest("Opening…")
        turns = turns_of(opening.history.messages, opening.history.events, held=bool(state.held_by))
        screen.events_pane.show(opening.events)
        screen.side.arrange()
        await screen.moving.show_history(turns, opening.history, fresh=summarized)
        await screen.own_command.show_waiting(state.shared)
        if not turns and not state.shared:
            await screen.first_page.begin(state)
        for notice in (*notices, *opening.notices):
            await screen.notice(notice, "warning")
        if line:
            await screen.notice(line)
        if self.is_open and state.session_id != self._session_id:
            screen.call_after_refresh(screen.garbage.settle)
        self._session_id = state.session_id
        screen.state_view.show(screen.conversation.state)
        screen.place.read()
        screen.turns.send_next()
        self.shown.set()
