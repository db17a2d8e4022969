"""Follows a session that another window holds, and takes it over when that one lets go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from tau.display import one_line

if TYPE_CHECKING:
    from textual.timer import Timer

    from tau.tui.screens.chat import ChatScreen

FOLLOW_SECONDS = 1.0


class Held:
    """Whether the session on a screen is held elsewhere: then a line stands in place of the prompt."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None

    def show(self, holder: str) -> None:
        """Show who holds the session; nobody when `holder` is empty."""
        screen = self._screen
        line = screen.query_one("#held", Static)
        if bool(holder) == line.display:
            return
        line.display = bool(holder)
        screen.query_one("#prompt-box").display = not holder
        if holder:
            line.update(
                f"Read-only: this session is open in {one_line(holder)}. F2 other sessions · F3 new session"
            )
            self._timer = screen.set_interval(FOLLOW_SECONDS, self._tick)
        else:
            screen.prompt.focus()
            if self._timer is not None:
                self._timer.stop()

    def _tick(self) -> None:
        self._screen.run_worker(self._follow(), group="follow", exclusive=True)

    async def _follow(self) -> None:
        """Read along with the window that holds this session; take it over when that is gone."""
        screen = self._screen
        if not screen.chat.following:
            return  # whoever reads further up is not moved
        opening = await screen.conversation.follow()
        if opening is None:
            return
        freed = not opening.state.held_by
        await screen.show_opening(
            opening, line="The other window has let go of this session." if freed else ""
        )
