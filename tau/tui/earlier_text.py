"""What was said in the turns that are not on the screen, to be searched; read page by page, on a thread."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING

from tau.calls import main_argument, without_colour, without_ending
from tau.display import visible
from tau.errors import TauError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tau.conversation import Conversation
    from tau.conversation.state import HistoryPage
    from tau.tui.history import CallPart, Turn

PAGE = 50
"""Turns that are read at once."""

MOST_TURNS = 5_000
MOST_CHARACTERS = 30_000_000
"""No more than this is read."""

WIDTH = 100
"""Cells of a line of a table, as it is searched."""


class EarlierTurn:
    """A turn that is not on the screen.

    Attributes:
        session_id: The session that it is in.
        first_index: Where it begins in that.
        texts: What its blocks say, each with the index of its message.
        counts: How often the words are in each of them.
    """

    def __init__(self, session_id: str, first_index: int, texts: Sequence[tuple[int, str]]) -> None:
        self.session_id = session_id
        self.first_index = first_index
        self.texts = texts
        self.counts = [0] * len(texts)

    def count(self, pattern: re.Pattern[str]) -> None:
        """Count how often the words are in it."""
        self.counts = [sum(1 for _ in pattern.finditer(text)) for _, text in self.texts]

    @property
    def place(self) -> tuple[str, int | None]:
        """Where it is recorded."""
        return self.session_id, self.first_index

    def places(self) -> list[tuple[str, int]]:
        """The messages with the words, as a session and an index, in their order."""
        counted = zip(self.texts, self.counts, strict=True)
        return [(self.session_id, index) for (index, _), count in counted if count]


class EarlierText:
    """The turns above the newest ones on the screen.

    Args:
        conversation: The conversation.
        earlier: Where those begin (see `Chat.newest_begin`).

    Attributes:
        bounded: Whether no more is read because there is too much.
        problem: Why no more could be read, or empty.
    """

    def __init__(self, conversation: Conversation, earlier: tuple[str, int] | None) -> None:
        self.bounded = False
        self.problem = ""
        self._conversation = conversation
        self._next = earlier
        self._newest_first: list[EarlierTurn] = []
        self._characters = 0

    @property
    def turns(self) -> Sequence[EarlierTurn]:
        """Those that were read, newest first, also where they are on the screen meanwhile."""
        return self._newest_first

    @property
    def complete(self) -> bool:
        """Whether nothing more is going to be read."""
        return self._next is None or self.bounded or bool(self.problem)

    async def count(self, pattern: re.Pattern[str]) -> None:
        """Count how often the words are in what was read."""
        await asyncio.to_thread(_count, list(self._newest_first), pattern)

    async def read_on(self, pattern: re.Pattern[str]) -> None:
        """Read the page before, and count how often the words are in it."""
        if self._next is None:
            return
        session_id, before = self._next
        try:
            page = await self._conversation.earlier(before, PAGE, session_id)
        except TauError as error:
            self.problem = error.line()
            return
        turns = await asyncio.to_thread(_turns, page, pattern)
        self._newest_first += reversed(turns)
        self._characters += sum(len(text) for turn in turns for _, text in turn.texts)
        self.bounded = len(self._newest_first) >= MOST_TURNS or self._characters >= MOST_CHARACTERS
        self._next = (page.session_id, page.first_index) if page.more else page.previous


def _count(turns: Sequence[EarlierTurn], pattern: re.Pattern[str]) -> None:
    for turn in turns:
        turn.count(pattern)


def _turns(page: HistoryPage, pattern: re.Pattern[str]) -> list[EarlierTurn]:
    from tau.tui.history import turns_of

    turns = [
        EarlierTurn(page.session_id, turn.first_index, list(_texts(turn)))
        for turn in turns_of(page.messages, page.events)
    ]
    _count(turns, pattern)
    return turns


def _texts(turn: Turn) -> Iterator[tuple[int, str]]:
    """What the blocks of a turn say once they are on the screen and open."""
    from tau.tui.finding import joined
    from tau.tui.history import CallPart, ReplyPart
    from tau.tui.markdown import lay_out, parse
    from tau.tui.widgets.blocks import capped
    from tau.tui.widgets.reply import rows_of

    if turn.said:
        yield turn.first_index, capped(turn.said.rstrip())
    for part in turn.parts:
        if isinstance(part, CallPart):
            yield part.index, _call(part)
        elif isinstance(part, ReplyPart):
            blocks = parse(visible(part.text), colour=False).blocks
            yield part.index, joined(rows_of(lay_out(blocks, WIDTH, begins=True)))
        else:
            yield part.index, capped(part.text.strip())


def _call(call: CallPart) -> str:
    """The tool, what the call is about, its other arguments and its result."""
    main = main_argument(call.arguments, 400)
    others = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for value in call.arguments.values()
    ]
    arguments = [f"{name}: {text}" for name, text in zip(call.arguments, others, strict=True) if text != main]
    result = call.result if call.result is not None or call.record is None else call.record.result
    told = without_colour(without_ending(call.name, result or "")).rstrip()
    return visible("\n".join([f"{call.name}  {main}", *arguments, told]))
