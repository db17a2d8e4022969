"""Follows a session that another window holds, and takes it over when that one lets go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tau.display import one_line
from tau.tui.key_line import BETWEEN, action_line

if TYPE_CHECKING:
    from textual.timer import Timer

    from tau.errors import SessionHeld
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.blocks import NoticeRow

FOLLOW_SECONDS = 1.0


class Held:
    """Whether the session on a screen can only be read: then a line over the prompt says why.

    Commands are run all the same. A message is refused and stays in the prompt: what would wait until the
    session is free might be sent when nobody looks, to a conversation that went on meanwhile.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._held: SessionHeld | None = None
        self._refusal: NoticeRow | None = None
        self._timer: Timer | None = None

    def show(self, held: SessionHeld | None) -> None:
        """Show why the session can only be read; nothing where it is held here."""
        screen = self._screen
        if held is self._held:
            return
        self._held = held
        line = screen.query_one("#held", Static)
        line.display = held is not None
        if self._timer is not None:
            self._timer.stop()
        if held is not None:
            keys = action_line(screen.keys, [("sessions", "other sessions"), ("new", "new session")])
            line.update(Content.assemble(f"Read-only: {one_line(held.why)}.", BETWEEN, keys))
            screen.turns.return_waiting()
            self._timer = screen.set_interval(FOLLOW_SECONDS, self._tick)

    async def refuses(self) -> bool:
        """Refuse a message where the session can only be read, in one line; whether it did."""
        if self._held is None:
            return False
        from tau.tui.widgets.blocks import NoticeRow

        chat = self._screen.chat
        if self._refusal is None or self._refusal not in chat.children[-1:]:  # else it stands there already
            said = f"Read-only: {one_line(self._held.why)}; your text stays here; {self._held.way_on}"
            self._refusal = NoticeRow(said, "warning")
            await chat.add(self._refusal)
        chat.to_end()
        return True

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
        await screen.opened.show(
            opening, line="The other window has let go of this session." if freed else ""
        )
