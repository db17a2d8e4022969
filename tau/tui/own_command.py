"""Runs the commands that the person types with ``!``, and shows them while they run."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from tau.events import CommandEnded, CommandEvent, CommandOutput, CommandStarted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.conversation.own_commands import OwnCommand as Typed
    from tau.events import SharedCommandRecord
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.command_card import CommandCard


class OwnCommand:
    """The person's command on a screen, one at a time."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._running = False
        self._stopping = False
        self._typed: Typed | None = None
        self._card: CommandCard | None = None

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._running

    @property
    def stopping(self) -> bool:
        """Whether it is being stopped."""
        return self._running and self._stopping

    @property
    def activity(self) -> str:
        """What the status row says."""
        return "Stopping…" if self._stopping else "Running your command…"

    def run(self, typed: Typed, text: str) -> None:
        """Run a command; one that cannot be run now goes back into the prompt.

        Args:
            typed: The command.
            text: As it was typed.
        """
        self._screen.run_worker(self._run(typed, text), group="own-command")

    def stop(self) -> None:
        """Stop the command that runs, and all it started."""
        if not self._stopping:
            self._stopping = True
            self._screen.show_activity()
            self._screen.run_worker(self._screen.conversation.cancel(), group="cancel")

    async def show_waiting(self, records: Sequence[SharedCommandRecord]) -> None:
        """Show the commands whose output goes along with the next message."""
        from tau.tui.widgets.command_card import CommandCard

        for record in records:
            await self._screen.chat.add(
                CommandCard(
                    record.command, status=record.status, result=record.output, seconds=record.duration
                )
            )
        if records:
            self._screen.chat.to_end()

    async def _run(self, typed: Typed, text: str) -> None:
        from tau.conversation.own_commands import RUNS

        screen = self._screen
        if self._running:
            await screen.refuse(RUNS)
            screen.prompt.give_back(text)
            return
        self._running, self._stopping, self._typed = True, False, typed
        ran = False
        try:
            async with aclosing(screen.conversation.run(typed)) as events:  # type: ignore[type-var]  # a generator
                async for event in events:
                    ran = ran or isinstance(event, CommandStarted)
                    await self._show(event)
        finally:
            self._running, self._card = False, None
            screen.show_activity()
        if not ran:
            screen.prompt.give_back(text)
        screen.turns.send_next()

    async def _show(self, event: CommandEvent) -> None:
        from tau.tui.widgets.command_card import CommandCard

        screen = self._screen
        match event:
            case CommandStarted(command, shared):
                screen.show_activity()
                await screen.first_page.end()
                self._card = CommandCard(command, shared=shared)
                await screen.chat.add(self._card)
                screen.chat.to_end()
            case CommandOutput(text):
                if self._card is not None:
                    self._card.add_output(text)
            case CommandEnded(output, status, duration, notice):
                if notice and self._card is None:
                    await screen.refuse(notice)
                elif notice:
                    await screen.notice(notice, "warning")
                if self._card is not None:
                    screen.chat.let_stand(self._card)
                    self._card.finish(status, output, duration, "")
                    self._note(event)

    def _note(self, end: CommandEnded) -> None:
        from tau.tui.turn_view import now
        from tau.tui.widgets.command_card import OWN, SHARED
        from tau.tui.widgets.events_pane import command_entry

        assert self._typed is not None
        mark = SHARED if self._typed.shared else OWN
        self._screen.events_pane.add(command_entry(now(), mark, self._typed.command, end))
