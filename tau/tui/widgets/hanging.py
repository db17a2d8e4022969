"""Lines that go on, where the width does not hold them, under where their text began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection
from textual.widgets import Static

from tau.tui.finding import Row
from tau.tui.fit import folded
from tau.tui.widgets.block import Block

LEAST_ROOM = 10
"""Cells that a text has in any case, however deep it is indented."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: the mark or indentation it begins with, and the text that goes on under itself."""

    mark: Content
    text: Content


class Hanging(Block, Static):
    """Some lines."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._lines: Sequence[Line] = ()
        self._laid_out: tuple[int, list[tuple[Content, bool]]] = (-1, [])

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        self._lines = lines
        self._laid_out = (-1, [])
        self.lines_changed()
        self.clear_cached_dimensions()
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width; the chat's layout leaves the margin in it."""
        width -= self.styles.margin.width
        return len(self._rows(width)) if width > 0 else 0

    def render(self) -> Content:
        """The lines at the present width, with what is found in them."""
        rows = self._rows(self.content_size.width)
        return Content("\n").join([self.with_found(number, row) for number, (row, _) in enumerate(rows)])

    def lines_if(self, *, opened: bool) -> Sequence[Line]:
        """The lines as they are, or as they were if this was open."""
        return self._lines

    def rows(self, *, opened: bool) -> Sequence[Row]:
        """See `Block`."""
        width = self._laid_out[0] if self._laid_out[0] > 0 else self.content_size.width  # long out of sight
        return [
            Row(row.plain[line.mark.cell_length :], line.mark.cell_length, "") if goes_on else Row(row.plain)
            for line in self.lines_if(opened=opened)
            for row, goes_on in _rows_of(line, width)
        ]

    def redraw_found(self) -> None:
        """See `Block`."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What is selected, each line in one piece."""
        rows = self._rows(self.content_size.width)
        first = selection.start.y if selection.start is not None else 0
        whole = ""
        for number, part in enumerate(
            selection.extract("\n".join(row.plain for row, _ in rows)).split("\n"), first
        ):
            goes_on = number > first and number < len(rows) and rows[number][1]
            whole += part.lstrip(" ") if goes_on else f"\n{part}"
        return whole[1:], "\n"

    def _rows(self, width: int) -> list[tuple[Content, bool]]:
        """What stands on each row of the screen, and whether it goes on with the one before."""
        if self._laid_out[0] != width:
            self._laid_out = width, [row for line in self._lines for row in _rows_of(line, width)]
            self.lines_changed()
        return self._laid_out[1]


def _rows_of(line: Line, width: int) -> Iterator[tuple[Content, bool]]:
    indent = line.mark.cell_length
    place = 0
    for piece in folded(line.text.plain, max(width - indent, LEAST_ROOM)):
        begin = line.mark if not place else Content(" " * indent)
        yield Content.assemble(begin, line.text[place : place + len(piece)]), place > 0
        place += len(piece)
