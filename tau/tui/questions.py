"""Puts the questions of a turn to the person, one after the other, in place of the prompt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tau.errors import TauError

if TYPE_CHECKING:
    from tau.events import ApprovalAsked
    from tau.tui.messages import Answered
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.question import Question


class Questions:
    """The questions that are open on a screen. The draft stays in the prompt and comes back with it."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._open: list[ApprovalAsked] = []
        self._showing = asyncio.Lock()
        self.panel: Question | None = None

    async def ask(self, asked: ApprovalAsked) -> None:
        """Put a question, after those that are open."""
        self._open.append(asked)
        await self._show()

    async def close(self, approval_id: str) -> None:
        """A question needs no answer any more."""
        self._open = [asked for asked in self._open if asked.approval_id != approval_id]
        await self._show()

    async def close_all(self) -> None:
        """No question needs an answer any more."""
        self._open.clear()
        await self._show()

    async def answer(self, message: Answered) -> None:
        """Hand an answer over and go on to the next question."""
        self._screen.run_worker(self._hand_over(message), group="answer")
        await self.close(message.approval_id)

    async def _hand_over(self, message: Answered) -> None:
        try:
            await self._screen.conversation.answer(message.approval_id, message.decision, message.reason)
        except TauError as error:
            await self._screen.notice(error.line(), "error")

    async def _show(self) -> None:
        async with self._showing:
            first = self._open[0] if self._open else None
            panel = self.panel
            if panel is not None and panel.asked is not first:
                self.panel = None
                self._screen.set_focus(None)  # or else Textual gives it to a card, and scrolls to that
                await panel.remove()
            if first is not None and self.panel is None:
                from tau.tui.widgets.question import Question

                self.panel = Question(first, self._screen.keys)
                self._screen.query_one("#prompt-box").display = False
                await self._screen.mount(self.panel, before="#prompt-box")
                self._screen.attention.asks()
            elif first is None and panel is not None:
                self._screen.query_one("#prompt-box").display = True
                self._screen.prompt.focus()
                self._screen.show_activity()
