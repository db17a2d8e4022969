"""What a conversation is busy with, one at a time: a turn, a command, a reading aside, the way elsewhere.

What changes the session, the model or the agent holds one lock: a turn, a switch, a change of the model and
the first preparation come one after the other, and none of them starts while a turn runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.conversation.compacting import SUMMARIZING
from tau.conversation.in_hand import InHand
from tau.conversation.own_commands import RUNS, OwnCommands
from tau.errors import UsageError

if TYPE_CHECKING:
    from tau.conversation.running_turn import RunningTurn

ASIDE = "Summarizing"
"""What the person is told of a reading aside, unless it is another one."""


class Busy:
    """Keeps apart what must not come together. Lives on the engine's loop.

    Args:
        hand: The session in hand.
        commands: The person's commands, none of which runs beside anything else.

    Attributes:
        lock: Held by what changes the session, the model or the agent.
        turn: The turn that runs, if one does.
        leaves: Whether the conversation is going to another session.
    """

    def __init__(self, hand: InHand, commands: OwnCommands) -> None:
        self._hand = hand
        self._commands = commands
        self._reads = ""
        self.lock = asyncio.Lock()
        self.turn: RunningTurn | None = None
        self.leaves = False

    def check_free(self) -> None:
        """See that nothing runs.

        Raises:
            UsageError: Something does; says what.
        """
        if self.turn is not None:
            raise UsageError(notices.BUSY)
        if self._reads:
            raise UsageError(self._reads)
        if self._commands.running:
            raise UsageError(RUNS)

    @contextmanager
    def answering(self, turn: RunningTurn) -> Iterator[None]:
        """Be busy with a turn, and show it. Whoever calls this has seen that nothing else runs."""
        self.turn = turn
        self._hand.show(busy=True)
        try:
            yield
        finally:
            self.turn = None
            self._hand.show(busy=False)

    @asynccontextmanager
    async def aside(self, what: str = ASIDE, why: str = SUMMARIZING) -> AsyncIterator[None]:
        """Be busy with the session in hand: no turn begins, and no other session is taken.

        Args:
            what: What the person is told of it meanwhile.
            why: Why something else does not begin meanwhile.

        Raises:
            UsageError: Something runs.
        """
        self.check_free()
        self._reads = why
        self._hand.show(busy=True, summarizing=True, aside=what)
        try:
            yield
        finally:
            self._reads = ""
            self._hand.show(busy=False, summarizing=False, aside=ASIDE)

    @asynccontextmanager
    async def leaving(self) -> AsyncIterator[None]:
        """Nothing runs, and nothing that was said in the session in hand waits to be saved.

        Raises:
            TauError: Something runs, or something is not saved yet.
        """
        self.check_free()
        async with self.lock:
            self.check_free()
            self.leaves = True
            try:
                self._hand.nothing_waits()
                yield
            finally:
                self.leaves = False
