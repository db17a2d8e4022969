"""Decides what becomes of a text that is sent from the prompt, and of one that is wanted back there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen


class Sending:
    """What is sent from a screen: a message, a slash command, or a command of the person's own."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    @property
    def may_send(self) -> bool:
        """Whether a message would be answered now: the session is open, ours, and its model is settled."""
        screen = self._screen
        if not screen.opened.is_open or screen.commands.under_way or screen.own_command.running:
            return False
        state = screen.conversation.state
        preparing = state.model is None and not state.model_problem
        return not (state.held_by or preparing or state.summarizing or screen.offered.pending)

    async def send(self, text: str) -> None:
        """Send a text that was taken from the prompt; one that cannot be sent goes back there."""
        from tau.conversation.commands import is_command
        from tau.conversation.own_commands import own_command

        screen = self._screen
        await screen.moving.come_back()
        typed = own_command(text)
        if typed is None and not is_command(text) and await screen.held.refuses():
            screen.prompt.put(text)
        elif typed is not None:
            screen.own_command.run(typed, text)
        elif is_command(text):
            screen.commands.run(text.strip(), typed=True)
        else:
            screen.kept.withdraw()
            screen.turns.submit(text)

    def take_back(self) -> None:
        """Put what was sent last into the prompt: what waits, else what was left, else what is remembered."""
        screen = self._screen
        text = screen.outbox.take_back()
        if text is not None:
            screen.prompt.put(text)
        elif screen.kept.offers:
            screen.kept.take_up()
        else:
            screen.prompt.earlier()
