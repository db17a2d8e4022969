"""Sends the messages that wait, one turn at a time, and gives back what was not answered."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from tau.events import ApprovalAsked, ApprovalClosed, Notice, TurnStarted
from tau.tui.taking_back import with_key

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.turn_view import TurnView

BROKEN_OFF = ("cancelled", "error", "busy")
"""How a turn ends when what waits behind it is not to be sent by itself."""


class Turns:
    """The turns of the conversation on a screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._turn: TurnView | None = None
        self._text = ""
        self._cancelling = False

    @property
    def cancelling(self) -> bool:
        """Whether the running turn is being cancelled, so that the key that cancels does nothing more."""
        return self.busy and self._cancelling

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def activity(self) -> str:
        """What the running turn is doing."""
        if self._turn is None:
            return ""
        if self._cancelling:
            return "Cancelling…"
        return "Summarizing…" if self._screen.conversation.state.summarizing else self._turn.activity

    @property
    def not_accepted(self) -> str:
        """The message that was handed over and is not part of the history yet, or empty."""
        return "" if self._turn is None or self._turn.started else self._text

    def submit(self, text: str) -> None:
        """Send a message as soon as it can be."""
        if self._free and not len(self._screen.outbox):
            self._send(text)
        else:
            self._screen.outbox.add(text)
            self.send_next()

    def send_next(self) -> None:
        """Send the message that waits longest, if there is one and nothing is in the way."""
        if self._free and (text := self._screen.outbox.next()) is not None:
            self._send(text)

    @property
    def _free(self) -> bool:
        return not self.busy and self._screen.sending.may_send

    def _send(self, text: str) -> None:
        from tau.tui.turn_view import TurnView

        screen = self._screen
        first_index = screen.conversation.state.message_count
        self._turn = TurnView(screen.chat, screen.events_pane, first_index)
        self._text = text
        self._cancelling = False
        screen.show_activity()
        screen.run_worker(self._run(self._turn, text), group="turn")

    def cancel(self) -> None:
        """Cancel the running turn, compaction or copy; with none, take back what waits."""
        screen = self._screen
        if not self.busy and (screen.busy or screen.commands.copying):
            screen.run_worker(self._screen.conversation.cancel(), group="cancel")
        elif not self.busy:
            self.return_waiting()
        elif not self._cancelling:
            self._cancelling = True
            self._screen.show_activity()
            self._screen.run_worker(self._screen.conversation.cancel(), group="cancel")

    def return_waiting(self) -> None:
        """Put the messages that wait back into the prompt."""
        if len(self._screen.outbox):
            self._screen.prompt.put(self._screen.outbox.take_all())
            self._screen.status.say("The waiting messages are back in the prompt")

    async def _run(self, view: TurnView, text: str) -> None:
        from tau.input.mentioned import mentioned_images

        screen = self._screen
        try:
            turn = screen.conversation.send(text, mentioned=mentioned_images)
            async with aclosing(turn) as events:  # type: ignore[type-var]  # a generator
                async for event in events:
                    if isinstance(event, TurnStarted):
                        await screen.turn_begins()
                    if isinstance(event, Notice):
                        event = Notice(with_key(event.text, screen.keys), event.level)  # noqa: PLW2901  # the same, for here
                    await view.show(event)
                    if isinstance(event, TurnStarted):
                        screen.kept.keep()  # the message is in the session now
                    if isinstance(event, ApprovalAsked):
                        await screen.questions.ask(event)
                    elif isinstance(event, ApprovalClosed):
                        await screen.questions.close(event.approval_id)
                    if view.end is None and screen.status.activity != self.activity:
                        screen.show_activity()
        finally:
            self._turn = None
        await screen.questions.close_all()
        if view.end is not None and view.end.stop_reason != "cancelled":
            screen.attention.over(
                "the turn failed" if view.end.stop_reason == "error" else "the turn is over"
            )
        screen.show_activity()
        screen.turn_over()
        if not view.started or (view.end and view.end.stop_reason == "error" and not view.anything):
            screen.prompt.put(text)
        if view.end is None or view.end.stop_reason in BROKEN_OFF:
            self.return_waiting()
        self.send_next()
