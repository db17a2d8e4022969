"""Puts the questions of a turn to the person at the terminal, on stderr, one after the other."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from tau.line.output import note

if TYPE_CHECKING:
    from tau.conversation import Conversation
    from tau.events import ApprovalAsked, Decision
    from tau.line.person import Terminal


class Questions:
    """The open questions of one turn.

    Args:
        conversation: Takes the answers.
        terminal: Where the person is.
    """

    def __init__(self, conversation: Conversation, terminal: Terminal) -> None:
        self._conversation = conversation
        self._terminal = terminal
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    def ask(self, asked: ApprovalAsked) -> None:
        """Put a question, after those that are open."""
        self._asking[asked.approval_id] = asyncio.create_task(self._ask(asked))

    def close(self, approval_id: str) -> None:
        """A question needs no answer any more."""
        if (task := self._asking.pop(approval_id, None)) is not None:
            task.cancel()

    def close_all(self) -> None:
        """No question needs an answer any more."""
        for approval_id in list(self._asking):
            self.close(approval_id)

    async def _ask(self, asked: ApprovalAsked) -> None:
        async with self._one_at_a_time:
            note(call_line(asked))
            try:
                decision: Decision = "yes" if await self._terminal.confirm("Run it? y/n ") else "no"
            except (EOFError, OSError):  # nobody can answer any more
                decision = "no"
        await self._conversation.answer(asked.approval_id, decision)


def call_line(asked: ApprovalAsked) -> str:
    """A call on one line, whole: the tool, and its arguments as JSON."""
    return f"{asked.tool} {json.dumps(dict(asked.arguments), ensure_ascii=False, default=str)}"
