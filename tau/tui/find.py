"""Finds words in the conversation, on the screen and above it, and goes from match to match."""

from __future__ import annotations

import asyncio
import re
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from textual.geometry import Region

from tau.tui.earlier_text import EarlierText
from tau.tui.finding import pattern_for
from tau.tui.going_to import reach
from tau.tui.layout import laid_out
from tau.tui.widgets.block import Block
from tau.tui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tau.tui.earlier_text import EarlierTurn
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.live_turn import LiveTurn

STRETCH = 0.008
"""Seconds of searching after which whatever else waits gets its turn."""

TYPING_SECONDS = 0.06
"""What is typed is looked for after such a pause."""


class Match(NamedTuple):
    """The match that was reached: the block, and which of those in it."""

    block: Block
    number: int


def _blocks(turn: LiveTurn) -> list[Block]:
    return [block for block in turn.widgets if isinstance(block, Block)]


class Find:
    """The search of a screen. The draft waits in the prompt, as it is.

    Args:
        screen: Its screen.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._bar: FindBar | None = None
        self._is_open = False
        self._pattern: re.Pattern[str] | None = None
        self._counts: list[tuple[Block, int]] = []
        self._here: Match | None = None
        self._opened: Block | None = None
        self._began: tuple[bool, Block | None, float] = (True, None, 0)
        self._above: EarlierText | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has the keys."""
        return self._is_open

    async def open(self) -> None:
        """Begin a search, with the words of the one before."""
        screen = self._screen
        if self._is_open or screen.questions.panel is not None:
            return
        self._is_open = True
        chat = screen.chat
        top = chat.at(chat.scroll_y)
        offset = chat.scroll_y - chat.place_of(top).y if top is not None else 0
        self._began = chat.following, top, offset
        self._above = EarlierText(screen.conversation, chat.newest_begin)
        if self._bar is None:
            self._bar = FindBar(self, screen.keys)
            await screen.mount(self._bar, before="#prompt-box")
        self._bar.display = True
        screen.query_one("#prompt-box").add_class("-bar")
        self._bar.field.focus()
        self._bar.say("", "")
        self.look()

    def leave(self, *, back: bool = False) -> None:
        """To the prompt; `back` to where one was, with what was opened for a match closed again."""
        if not self._is_open or self._bar is None:
            return
        self._is_open = False
        screen, chat = self._screen, self._screen.chat
        screen.workers.cancel_group(screen, "find")
        for block, _ in self._counts:
            block.show_found(None)
        if back:
            self._close_opened()
        self._opened = self._here = self._above = None
        self._counts = []
        screen.query_one("#prompt-box").remove_class("-bar")
        if screen.focused in (self._bar.field, None) and screen.questions.panel is None:
            screen.prompt.focus()
        self._bar.display = False
        if back:
            screen.call_after_refresh(self._go_back)
        else:
            chat.follow_at_end()

    def stay(self) -> None:
        """Leave, with the cursor over the blocks on the one that was reached."""
        from tau.tui.block_cursor import Stop

        here = self._here
        self.leave()
        if here is not None and here.block.is_attached:
            self._screen.run_worker(self._screen.moving.blocks.go(Stop(here.block)), group="blocks")

    def _go_back(self) -> None:
        following, top, offset = self._began
        chat = self._screen.chat
        if following or top is None or top.parent is not chat:
            chat.to_end()
        else:
            chat.release_anchor()
            chat.scroll_to(y=chat.place_of(top).y + offset, animate=False, immediate=True, force=True)
            chat.follow_at_end()

    # Looking -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Find what stands in the field."""
        if self._is_open:
            self._screen.run_worker(self._look(), group="find", exclusive=True)

    async def _look(self) -> None:
        assert self._bar is not None
        await asyncio.sleep(TYPING_SECONDS)
        self._pattern = pattern_for(self._bar.field.value)
        self._here = None
        await self._count()
        self._say()
        if self._pattern is not None:
            await self._show(self._nearest())
        await self._look_above()

    async def _count(self) -> None:
        """Count the matches on the screen, and mark them."""
        pattern, counts, began = self._pattern, [], perf_counter()
        for block in reversed(self._screen.chat.blocks):
            count = block.count(pattern) if pattern is not None else 0
            counts.append((block, count))
            here = self._here.number if self._here is not None and self._here.block is block else -1
            block.show_found(pattern if count else None, here)
            if perf_counter() - began > STRETCH:
                await asyncio.sleep(0)
                began = perf_counter()
        self._counts = counts[::-1]

    async def _look_above(self) -> None:
        """Count the matches in the turns that are not on the screen, a page at a time."""
        above = self._above
        if above is None or self._pattern is None:
            return
        await above.count(self._pattern)
        self._say()
        while not above.complete:
            await above.read_on(self._pattern)
            self._say()

    def _nearest(self) -> Match | None:
        """The last match above the end of the view as it was, else the first one below that."""
        chat = self._screen.chat
        end = chat.scroll_y + chat.size.height
        places = dict(chat.places)
        below: Match | None = None
        for block, count in reversed(self._counts):
            if not count:
                continue
            place = places.get(block, Region())
            if place.y >= end:
                below = Match(block, 0)
                continue
            if place.bottom <= end or not block.is_open:
                return Match(block, count - 1)
            seen = [n for n in range(count) if place.y + (block.row_of(n) or 0) < end]
            if seen:
                return Match(block, seen[-1])
            below = Match(block, 0)
        return below

    # Going -------------------------------------------------------------------------------------

    def step(self, step: int) -> None:
        """Go to the next match (1), or the one before (-1); from the last one to the first."""
        if self._is_open and self._pattern is not None:
            self._screen.run_worker(self._step(step), group="find", exclusive=True)

    async def _step(self, step: int) -> None:
        assert self._bar is not None
        if self._pattern != pattern_for(self._bar.field.value):  # Enter came before the pause was over
            await self._look()
            return
        await self._count()
        match = self._beside(step)
        if match is not None and not isinstance(match, Match):
            match = await self._reach(match, step if self._here is not None else -1)
        if match is not None:
            await self._show(match)
        await self._look_above()

    def _in_order(self) -> Iterator[tuple[EarlierTurn | None, Block | None, int]]:
        """From the top, the turns that are not on the screen and the blocks that are, with their matches."""
        shown = {turn.place: turn for turn in self._screen.chat.turns}
        counts = dict(self._counts)
        for turn in reversed(self._above.turns if self._above is not None else ()):
            live = shown.pop(turn.place, None)
            if live is None:
                yield turn, None, sum(turn.counts)
            else:
                yield from ((None, block, counts.get(block, 0)) for block in _blocks(live))
        for live in shown.values():
            yield from ((None, block, counts.get(block, 0)) for block in _blocks(live))

    def _beside(self, step: int) -> Match | tuple[str, int] | None:
        """The match before or after the present one; for one that is not on the screen, its message."""
        here = self._here
        units = [unit for unit in self._in_order() if unit[2] or (here is not None and unit[1] is here.block)]
        if not units:
            return None
        at = next((n for n, unit in enumerate(units) if here is not None and unit[1] is here.block), None)
        if here is not None and at is not None and 0 <= here.number + step < units[at][2]:
            return Match(here.block, here.number + step)
        place = len(units) - 1 if at is None else (at + step) % len(units)
        turn, block, count = units[place]
        if turn is not None:
            return turn.places()[-1 if step < 0 or at is None else 0]
        assert block is not None
        return Match(block, count - 1 if step < 0 or at is None else 0)

    async def _reach(self, message: tuple[str, int], step: int) -> Match | None:
        """A match in a message that is not on the screen, after it was shown."""
        assert self._bar is not None
        self._bar.say("", "showing earlier turns…")
        if await reach(self._screen, *message) is None:
            return None
        await laid_out(self._screen)
        await self._count()
        shown = [turn for turn in self._screen.chat.turns if turn.session_id == message[0]]
        counts = dict(self._counts)
        for turn in reversed(shown):
            if turn.first_index is not None and turn.first_index <= message[1]:
                found = [block for block in _blocks(turn) if counts.get(block)]
                if found:
                    block = found[-1 if step < 0 else 0]
                    return Match(block, counts[block] - 1 if step < 0 else 0)
                break
        return None

    async def _show(self, match: Match | None) -> None:
        """Bring a match into sight, in a block that is open."""
        before, self._here = self._here, match
        if before is not None and (match is None or before.block is not match.block):
            before.block.show_found(self._pattern)
        if self._opened is not None and (match is None or self._opened is not match.block):
            self._close_opened()
        if match is None:
            self._say()
            return
        block, number = match
        if not block.is_open:
            block.turn()
            self._opened = block
        block.show_found(self._pattern, number)
        self._say()
        await laid_out(self._screen)
        chat = self._screen.chat
        row = block.row_of(number) or 0
        place = chat.place_of(block)
        line = Region(0, place.y + row, 1, 1)
        in_sight = chat.scroll_y <= line.y < chat.scroll_y + chat.size.height
        if not in_sight:
            chat.show_place(line, center=True)
        else:
            chat.release_anchor()

    def _close_opened(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None and opened.is_attached and opened.is_open:
            opened.turn()

    def _say(self) -> None:
        """Say which match this is, of how many, and what was searched."""
        if self._bar is None or self._above is None:
            return
        above = self._above
        if self._pattern is None:
            self._bar.say("", "")
            return
        total = turns = 0
        number: int | None = None
        for turn, block, count in self._in_order():
            if self._here is not None and block is self._here.block:
                number = total + self._here.number + 1
            total += count
            turns += turn is not None
        if not total:
            count_text = "not found"
        elif number is None:
            count_text = f"{total:,} found"
        else:
            count_text = f"{number:,} of {total:,}"
        turns += len(self._screen.chat.turns)
        amount = f"{turns:,} turn{'' if turns == 1 else 's'}"
        if above.problem:
            searched = f"{amount}; before that: {above.problem}"
        elif not above.complete:
            searched = f"{amount}…"
        elif above.bounded:
            searched = f"the newest {amount}"
        else:
            searched = f"all {amount}"
        self._bar.say(count_text, searched)
