"""Shows the events pane beside the chat, or folds it, as the person wants it or as wide as the screen is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen

EVENTS_FROM_WIDTH = 100


class Side:
    """Whether the events pane is on a screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._wanted: bool | None = None

    def turn(self) -> None:
        """Show the pane, or fold it, whatever the width."""
        self._wanted = not self._screen.events_pane.display
        self.arrange()

    def arrange(self) -> None:
        """Show or fold it as it is wanted, else by the width; the status row says what is folded."""
        screen, pane = self._screen, self._screen.events_pane
        wide = screen.size.width >= EVENTS_FROM_WIDTH
        pane.display = self._wanted if self._wanted is not None else wide
        screen.status.folded_events = 0 if pane.display else len(pane.entries)
