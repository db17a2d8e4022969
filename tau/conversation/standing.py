"""What stands in every prompt of the directory a conversation works in, and what the person is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tau.conversation import tooling
from tau.conversation.state import CommandResult
from tau.memory import goals
from tau.memory.desk import Desk, Standing

if TYPE_CHECKING:
    from tau.conversation.in_hand import InHand


class InForce:
    """Reads what stands in prompts, and keeps what was read last. Lives on the engine's loop.

    Args:
        hand: The session in hand.

    Attributes:
        desk: The memory and the goal of the directory.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand
        self._standing = Standing()
        self.desk = Desk(hand.settings, bare=hand.request.bare)
        self.desk.said = self._said
        self.desk.about = lambda: tooling.about(hand.state)

    def tell(self, line: str) -> None:
        """Tell the person something that they did not wait for."""
        self._hand.show(tool_problems=(*self._hand.state.tool_problems, line))

    def read(self) -> Standing:
        """What stands in every prompt, as it is on the disk now. Blocks; may be called from any thread."""
        return self.desk.standing()

    def take(self, standing: Standing) -> None:
        """What stands was read: tell what is new of it, and show the goal."""
        known = self._standing.notices
        self._standing = standing
        for line in standing.notices:
            if line not in known:
                self.tell(line)
        self._show_goal(standing.goal)

    async def reread(self) -> None:
        """Read again what stands, on a thread."""
        self.take(await asyncio.to_thread(self.read))

    async def after_turn(self) -> None:
        """A turn is over, in which the model may have proposed that the goal is reached."""
        if self._standing.goal is not None:
            self._show_goal((await asyncio.to_thread(self.desk.standing)).goal)

    async def at_desk(self, ask: Callable[[Desk, str], CommandResult], text: str) -> CommandResult:
        """Read or change the memory or the goal on a thread, and show what stands then.

        Raises:
            TauError: It cannot be done; nothing was changed.
        """
        result = await asyncio.to_thread(ask, self.desk, text)
        await self.reread()
        return result

    def _said(self) -> tuple[str, int]:
        """The session in hand, and how many messages it has by now, also in the middle of a turn."""
        state, session = self._hand.state, self._hand.session
        return state.name or state.session_id, session.reader.count() if session else state.message_count

    def _show_goal(self, goal: goals.Goal | None) -> None:
        self._hand.show(goal=goals.line(goal) if goal else "")
