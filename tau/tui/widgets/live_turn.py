"""A turn on the screen: its blocks, and how many come and go without the person feeling it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.containers import VerticalScroll
    from textual.widget import Widget

    from tau.tui.history import Turn

LIVE_TURNS = 40
"""The newest turns, which are on the screen while the person is at its end."""

PAGE_TURNS = 20
"""Turns that are read in at once for a person who goes back."""

BATCH_TURNS = 4
"""Turns that are mounted or taken away at once."""

STRETCH = 0.008
"""Seconds of work after which whatever else waits gets its turn."""


class LiveTurn:
    """The widgets of one turn on the screen, and where it is recorded.

    Attributes:
        session_id: The session that it begins in.
        first_index: Where in that; None when it is not recorded.
        widgets: Its blocks.
        stored: What it is made of, where it was read from the history.
    """

    def __init__(
        self, session_id: str, first_index: int | None, widgets: list[Widget], stored: Turn | None = None
    ) -> None:
        self.session_id = session_id
        self.first_index = first_index
        self.widgets = widgets
        self.stored = stored

    @property
    def place(self) -> tuple[str, int | None]:
        """Where it is recorded."""
        return self.session_id, self.first_index


def begin_of(turns: Sequence[LiveTurn]) -> tuple[str, int] | None:
    """Where the first of some turns that is recorded begins: its session, and the index in that."""
    recorded = ((turn.session_id, turn.first_index) for turn in turns)
    return next(((session, first) for session, first in recorded if first is not None), None)


async def lay_out(chat: VerticalScroll, turns: Sequence[LiveTurn]) -> None:
    """Have new blocks laid out one after the other: all at once they would be felt."""
    size = chat.scrollable_content_region.size
    began = perf_counter()
    await asyncio.sleep(0)
    for turn in turns:
        for block in turn.widgets:
            block.get_content_height(size, chat.app.viewport_size, size.width - block.styles.gutter.width)
            if perf_counter() - began > STRETCH:
                await asyncio.sleep(0)
                began = perf_counter()


async def take_away(chat: VerticalScroll, turns: Sequence[LiveTurn]) -> None:
    """Take the blocks of turns off the screen."""
    for number in range(0, len(turns), BATCH_TURNS):
        batch = turns[number : number + BATCH_TURNS]
        await chat.remove_children([widget for turn in batch for widget in turn.widgets])
        for turn in batch:
            turn.widgets = []
        await asyncio.sleep(0)
