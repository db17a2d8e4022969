"""The cursor over the blocks of the transcript: where it is, and what is done with the block under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.events import Paste
from textual.geometry import Region

from tau.conversation.state import Prompt
from tau.tui.going_to import load_earlier
from tau.tui.widgets.block import Block, Piece
from tau.tui.widgets.block_bar import BlockBar
from tau.tui.widgets.blocks import UserRow

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen


class Stop(NamedTuple):
    """Where the cursor is: on a block, or on a piece of it that has lines of its own."""

    block: Block
    piece: int | None = None


class BlockCursor:
    """The cursor of a screen. The draft waits in the prompt, as it is.

    Args:
        screen: Its screen.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._at: Stop | None = None
        self._bar: BlockBar | None = None
        self._next_piece = 0

    @property
    def is_on(self) -> bool:
        """Whether it is on a block."""
        return self._at is not None

    # Moving ------------------------------------------------------------------------------------

    def step(self, step: int) -> None:
        """Go a block up (-1), from the prompt to the lowest in sight, or down (1), and on to the prompt."""
        screen = self._screen
        if screen.questions.panel is None:
            screen.run_worker(self._step(step), group="blocks")

    async def _step(self, step: int) -> None:
        chat = self._screen.chat
        at = self._present()
        if at is None:
            if step < 0 and (first := self._first()) is not None:
                await self.go(first)
            return
        following = self._beside(at, step)
        if following is None and step < 0 and await load_earlier(self._screen):
            following = self._beside(at, step)
        if following is not None:
            await self.go(following)
        elif step > 0:
            self.leave()
            chat.to_end()

    async def go(self, stop: Stop, *, top: bool = False) -> None:
        """Go to a block.

        Args:
            stop: The block.
            top: Whether it is to stand at the top of the view; else the view moves no more than it must.
        """
        if self._bar is None:
            self._bar = BlockBar(self)
            self._bar.display = False
            await self._screen.mount(self._bar, before="#prompt-box")
        if self._at is not None and self._at.block is not stop.block:
            self._at.block.point_away()
        self._at = stop
        self._next_piece = 0
        stop.block.point(stop.piece)
        self._describe()
        self._screen.query_one("#prompt-box").add_class("-bar")
        self._bar.display = True
        self._bar.focus()
        self._screen.call_after_refresh(self._show, top=top)

    def leave(self) -> None:
        """Back to the prompt."""
        at, self._at = self._at, None
        if at is None or self._bar is None:
            return
        at.block.point_away()
        screen = self._screen
        screen.query_one("#prompt-box").remove_class("-bar")
        if screen.focused in (self._bar, None) and screen.questions.panel is None:
            screen.prompt.focus()
        self._bar.display = False
        screen.chat.follow_at_end()

    def clicked(self, block: Block, row: int) -> None:
        """A block was clicked: a cursor that is on goes there."""
        if self.is_on:
            inside = (
                place
                for place, piece in enumerate(block.pieces)
                if piece.first is not None and piece.first <= row < piece.first + piece.height
            )
            self._screen.run_worker(self.go(Stop(block, next(inside, None))), group="blocks")

    def _present(self) -> Stop | None:
        """Where the cursor is, or what has the focus like one."""
        focused = self._screen.focused
        if self._at is None and isinstance(focused, Block):
            return Stop(focused)
        if self._at is not None and self._at.block.parent is not self._screen.chat:  # it is gone
            self._at = None
        return self._at

    def _first(self) -> Stop | None:
        """The last stop that begins in sight."""
        chat = self._screen.chat
        block = chat.at(chat.scroll_y + chat.size.height - 1)
        if block is None:
            return None
        stops, place = _stops(block), chat.place_of(block)
        seen = [stop for stop in stops if place.y + _lines(stop)[0] < chat.scroll_y + chat.size.height]
        return seen[-1] if seen else stops[0]

    def _beside(self, at: Stop, step: int) -> Stop | None:
        stops = _stops(at.block)
        place = stops.index(at) + step if at in stops else -1
        if 0 <= place < len(stops):
            return stops[place]
        blocks = self._screen.chat.blocks
        number = blocks.index(at.block) + step
        if not 0 <= number < len(blocks):
            return None
        others = _stops(blocks[number])
        return others[0] if step > 0 else others[-1]

    def _show(self, *, top: bool = False) -> None:
        if self._at is None:
            return
        place = self._screen.chat.place_of(self._at.block)
        if place.height:
            first, height = _lines(self._at)
            self._screen.chat.show_place(Region(0, place.y + first, 1, height or place.height), top=top)

    # What is done ------------------------------------------------------------------------------

    @property
    def can(self) -> frozenset[str]:
        """The names of the actions that do something here."""
        if self._at is None:
            return frozenset()
        can = {"block-copy", "block-editor", "block-quote"}
        if self._at.piece is None and self._at.block.pieces:
            can.add("block-code")
        if self._prompt() is not None:
            can.add("block-resend")
        return frozenset(can)

    @property
    def opens(self) -> bool:
        """Whether what is under it can be opened and closed."""
        return self._at is not None and self._at.piece is None and self._at.block.opens

    def turn(self) -> None:
        """Open or close the block."""
        if self._at is not None and self.opens:
            self._at.block.turn()
            self._describe()
            self._screen.call_after_refresh(self._show)

    def do(self, action: str) -> None:
        """Do something with what is under it, by the name of the action."""
        match action:
            case "block-copy":
                self.copy()
            case "block-code":
                self._copy_piece()
            case "block-resend":
                self._edit()
            case "block-editor":
                self._open_in_editor()
            case "block-quote":
                self._quote()

    def copy(self) -> None:
        """Copy the source of what is under it."""
        self._copy(self._source())

    def _copy(self, text: str, what: str = "") -> None:
        if text:
            self._screen.app.copy_to_clipboard(text)
        else:
            self._screen.status.say(f"Nothing to copy: {what or 'it'} is empty")

    def _copy_piece(self) -> None:
        """Copy the code in a block; where there are several pieces, the next one each time."""
        if self._at is None or not (pieces := self._at.block.pieces):
            return
        number = self._next_piece % len(pieces)
        self._next_piece = number + 1
        self._copy(pieces[number].source, pieces[number].name)
        self._describe()

    def _edit(self) -> None:
        """Go on from before a message of the person's in a session of its own, the message in the prompt."""
        prompt = self._prompt()
        if prompt is not None:
            self.leave()
            self._screen.commands.rewind(prompt)

    def _open_in_editor(self) -> None:
        from tau.tui.editor import show_in_editor

        text = self._source()
        self._screen.run_worker(show_in_editor(self._screen, text), group="editor", exclusive=True)

    def _quote(self) -> None:
        """Put what is under it into the draft, as a quotation."""
        screen, at = self._screen, self._at
        if at is None or not screen.prompt.focusable:
            return
        text = self._source().strip("\n")
        if at.piece is not None:
            fence = "`" * max(3, 1 + _longest_run(text, "`"))
            text = f"{fence}\n{text}\n{fence}\n"
        else:
            text = "".join(f"> {line}".rstrip() + "\n" for line in text.split("\n"))
        self.leave()
        prompt = screen.prompt
        before = "\n" if prompt.cursor_location[1] else ""
        prompt.insert(before)
        screen.run_worker(prompt.take(Paste(text)), group="blocks")

    def _source(self) -> str:
        if self._at is None:
            return ""
        block, number = self._at
        if number is None:
            return block.source
        pieces = block.pieces
        return pieces[number].source if number < len(pieces) else ""

    def _prompt(self) -> Prompt | None:
        """The message of the person's under it, as the list of `/rewind` has it."""
        if self._at is None or not isinstance(self._at.block, UserRow):
            return None
        turn = self._screen.chat.turn_of(self._at.block)
        if turn is None or turn.first_index is None or turn.widgets[0] is not self._at.block:
            return None
        return Prompt(0, turn.first_index, "", "", turn.session_id)

    def _describe(self) -> None:
        if self._at is None or self._bar is None:
            return
        block, number = self._at
        pieces: list[Piece] = list(block.pieces)
        name, code = block.NAME, ""
        if number is not None:
            name = f"code {number + 1} of {len(pieces)}" if len(pieces) > 1 else "code"
        elif pieces:
            following = self._next_piece % len(pieces)
            count = f" {following + 1} of {len(pieces)}" if len(pieces) > 1 else ""
            code = f"{pieces[following].name}{count}"
        self._bar.describe(name, code, opens=self.opens, is_open=block.is_open, can=self.can)


def _stops(block: Block) -> list[Stop]:
    """A block, then the pieces in it that have lines of their own, from the top."""
    pieces = [Stop(block, place) for place, piece in enumerate(block.pieces) if piece.first is not None]
    return [Stop(block), *pieces]


def _lines(stop: Stop) -> tuple[int, int]:
    """The first line of a stop in its block and how many it has; 0 for all of them."""
    if stop.piece is None:
        return 0, 0
    piece = stop.block.pieces[stop.piece]
    return piece.first or 0, piece.height


def _longest_run(text: str, character: str) -> int:
    longest = run = 0
    for found in text:
        run = run + 1 if found == character else 0
        longest = max(longest, run)
    return longest
