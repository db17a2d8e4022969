"""Writes markdown to a terminal as it comes, drawn, and only ever onwards: nothing that stands is redrawn.

A word is written when it is complete and no later text can change how it looks, a line of code with its
end, a table once it is whole. So a resize, a narrow terminal or a multiplexer has nothing to disturb.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from itertools import accumulate

from rich.cells import cell_len, chop_cells, split_graphemes
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tau.line.code_colours import coloured
from tau.line.markdown_blocks import Block, blocks, decided
from tau.line.markdown_inline import BOLD, DIM, settled, styled

_TITLE = Style(bold=True, underline=True)
_NARROWEST = 10
_KEPT_LINES = 100
"""Lines of code before the newest that are kept to colour it by."""

_CLEAR = "\r\x1b[K"
_PADDING = re.compile(r" +((?:\x1b\[0m)?)\Z")


class MarkdownStream:
    """The text of one message of the model.

    Args:
        write: Takes text for the terminal.
        width: Gives the terminal's columns as they are now.
    """

    def __init__(self, write: Callable[[str], None], width: Callable[[], int]) -> None:
        self._write = write
        self._width = width
        self._console = Console(file=StringIO(), color_system="standard", force_terminal=True)
        self._source = ""
        self._ends_line = True
        self._any = self._in_block = False
        self._first = ""
        self._finished_blocks = 0
        self._said = 0
        self._at_line_start = True
        self._column = 0
        self._gap: Text | None = None
        self._hint = ""

    def add(self, text: str) -> None:
        """Take more of the text, safe to show, and write what is settled by it."""
        self._source += text
        self._update(decided(self._source), final=False)

    def finish(self) -> None:
        """Write the rest; what comes next is another text."""
        self._update(self._source, final=True)
        self._source = ""
        self._finished_blocks, self._said = 0, 0

    def break_line(self) -> None:
        """Let something else begin on a line of its own; the text goes on below it."""
        self._end_hint()
        if self._column:
            self._new_line()

    def _update(self, source: str, *, final: bool) -> None:
        self._ends_line = source.endswith("\n")
        found = blocks(source)
        last = len(found) - 1
        for place in range(self._finished_blocks, len(found)):
            block = found[place]
            whole = final or place < last or block.closed
            self._show(block, whole=whole)
            if not whole:
                break
            self._finished_blocks, self._said, self._in_block = place + 1, 0, False
        if found and not final:
            self._let_go(found)

    def _let_go(self, found: Sequence[Block]) -> None:
        """Shorten the source by what is over: whole blocks, and all but the end of code that goes on."""
        last = found[-1]
        lines = self._source.split("\n")
        if last.outer:
            self._finished_blocks -= sum(block.outer < last.outer for block in found)
            lines = lines[last.outer :]
        if last.fences and last.begins and not last.rest and not last.closed and self._said > 2 * _KEPT_LINES:
            over = self._said - _KEPT_LINES
            lines[1 : over + 1] = []
            self._said -= over
        self._source = "\n".join(lines)

    # Blocks -------------------------------------------------------------------------------------

    def _show(self, block: Block, *, whole: bool) -> None:
        match block.kind:
            case "text":
                self._show_text(block, whole=whole)
            case "code":
                self._show_code(block, whole=whole)
            case _ if not whole:
                if block.kind == "table":
                    self._say_hint(f"… table, {len(block.rows) - 1} rows")
            case "heading":
                style = _TITLE if block.level == 1 else BOLD
                text = styled(block.source)
                text.stylize_before(style)
                self._begin(block)
                self._flow(text, block, whole=True)
                self._end(block)
            case "table":
                self._begin(block)
                for row in self._table(block):
                    self._line(row, block)
            case "rule":
                self._begin(block)
                self._line(_dim("─" * self._room(block)), block)

    def _show_text(self, block: Block, *, whole: bool) -> None:
        ready = whole
        if whole:
            text = styled(block.source)
        elif any(line.startswith("|") for line in block.source.split("\n")[-2:]):
            return  # it may become the head of a table
        else:
            part = settled(block.source)
            text = styled(part)
            ready = block.source[len(part) : len(part) + 1].isspace()
        if not whole and not text.plain:
            return
        self._begin(block)
        self._flow(text, block, whole=ready)
        if whole:
            self._end(block)

    def _show_code(self, block: Block, *, whole: bool) -> None:
        lines = block.source.split("\n") if block.source or block.fences is None else []
        if not whole and lines and not self._ends_line:
            lines.pop()
        if self._begin(block) and block.fences:
            self._line(_dim(block.fences[0]), block)
        name = block.fences[0].strip("`~ ").split(" ")[0] if block.fences else ""
        margin = "" if block.fences else "    "
        for line in coloured(lines, self._said, name):
            self._line(margin + self._drawn(line), block)
        self._said = max(self._said, len(lines))
        if whole and block.fences:
            self._line(_dim(block.fences[1]), block)

    def _table(self, block: Block) -> list[str]:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        head, *rows = block.rows
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style=BOLD, border_style=DIM)
        for cell, side in zip(head, block.aligned, strict=True):
            table.add_column(styled(cell), overflow="fold", justify=side)
        for row in rows:
            table.add_row(*map(styled, row))
        console = Console(
            file=StringIO(),
            width=self._room(block),
            color_system="standard",
            force_terminal=True,
            legacy_windows=False,
        )
        with console.capture() as captured:
            console.print(table)
        return [_PADDING.sub(r"\1", row) for row in captured.get().rstrip("\n").split("\n")]

    # Lines --------------------------------------------------------------------------------------

    def _room(self, block: Block) -> int:
        return max(_NARROWEST, self._width() - 1 - cell_len(self._lead(block.rest)))

    def _lead(self, lead: str) -> str:
        """What leads a line, cut where it would leave no room."""
        return lead[: max(0, self._width() - 1 - _NARROWEST)]

    def _begin(self, block: Block) -> bool:
        """Begin a block that was not begun; whether it was not."""
        if self._in_block:
            return False
        self._end_hint()
        if self._any and block.apart:
            self._write(("" if block.begins else _dim(self._lead(block.rest).rstrip())) + "\n")
        self._any = self._in_block = True
        self._first = block.first
        return True

    def _start_line(self, block: Block) -> None:
        lead, self._first = self._lead(self._first or block.rest), ""
        if lead:
            self._write(_dim(lead))
        self._column = cell_len(lead)
        self._at_line_start = True

    def _new_line(self) -> None:
        self._write("\n")
        self._column, self._gap, self._at_line_start = 0, None, True

    def _line(self, drawn: str, block: Block) -> None:
        self._start_line(block)
        self._write(drawn)
        self._new_line()

    def _end(self, block: Block) -> None:
        if self._column == 0 and self._first:
            self._start_line(block)
        if self._column:
            self._new_line()

    def _flow(self, text: Text, block: Block, *, whole: bool) -> None:
        """Write the words behind those that were written, broken where the terminal ends.

        The last one may still grow unless the text is `whole`.
        """
        plain = text.plain
        spans = list(_words(plain, self._said))
        words = text.divide([self._said, *(end for _, end in spans)])[1:]  # at once: each would copy the text
        for (start, end), word in zip(spans, words, strict=False):  # nothing is behind the last one
            if end == len(plain) and not whole:
                return
            if plain[start] == "\n":
                self._end(block)
            elif plain[start] == " ":
                self._gap = word
            else:
                self._word(word, block)
            self._said = end

    def _word(self, word: Text, block: Block) -> None:
        cells, limit = cell_len(word.plain), self._width() - 1
        gap = cell_len(self._gap.plain) if self._gap and not self._at_line_start else 0
        if self._column and not self._at_line_start and self._column + gap + cells > limit:
            self._new_line()
            gap = 0
        if self._column == 0:
            self._start_line(block)
        if gap and self._gap:
            self._write(self._drawn(self._gap))
        room = max(1, limit - self._column - gap)
        if cells > room:
            pieces = word.divide(accumulate(map(len, chop_cells(word.plain, room))))
            for number, piece in enumerate(filter(None, pieces)):
                if number:
                    self._new_line()
                    self._start_line(block)
                self._write(self._drawn(piece))
                self._column += cell_len(piece.plain)
        else:
            self._write(self._drawn(word))
            self._column += gap + cells
        self._gap, self._at_line_start = None, False

    def _drawn(self, text: Text) -> str:
        return "".join(
            segment.style.render(segment.text, color_system=ColorSystem.STANDARD)
            if segment.style
            else segment.text
            for segment in text.render(self._console)
        )

    def _say_hint(self, hint: str) -> None:
        """Say on a line that goes again what is coming; too short for any terminal to wrap."""
        if self._column == 0 and hint != self._hint:
            self._write(_CLEAR + _dim(hint))
            self._hint = hint

    def _end_hint(self) -> None:
        if self._hint:
            self._write(_CLEAR)
            self._hint = ""


def _dim(text: str) -> str:
    return DIM.render(text, color_system=ColorSystem.STANDARD)


def _words(plain: str, start: int) -> Iterator[tuple[int, int]]:
    """Words, runs of spaces and newlines, from a place on; a wide character is a word of its own."""
    spans, _ = split_graphemes(plain[start:])
    begun: int | None = None
    for left, right, cells in spans:
        character = plain[start + left]
        alone = cells > 1 or character == "\n"
        joins = begun is not None and (plain[start + begun] == " ") == (character == " ")
        if begun is not None and (alone or not joins):
            yield start + begun, start + left
            begun = None
        if alone:
            yield start + left, start + right
        elif begun is None:
            begun = left
    if begun is not None:
        yield start + begun, len(plain)
