"""Lines that go on, where the width does not hold them, under where their text began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection
from textual.widgets import Static

from tau.tui.fit import folded

LEAST_ROOM = 10
"""Cells that a text has in any case, however deep it is indented."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: the mark or indentation it begins with, and the text that goes on under itself."""

    mark: Content
    text: Content


class Hanging(Static):
    """Some lines."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._lines: Sequence[Line] = ()
        self._laid_out: tuple[int, list[tuple[Content, bool]]] = (-1, [])

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        self._lines = lines
        self._laid_out = (-1, [])
        self.clear_cached_dimensions()
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width."""
        return len(self._rows(width)) if width > 0 else 0

    def render(self) -> Content:
        """The lines at the present width."""
        return Content("\n").join([row for row, _ in self._rows(self.content_size.width)])

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
        return self._laid_out[1]


def _rows_of(line: Line, width: int) -> Iterator[tuple[Content, bool]]:
    indent = line.mark.cell_length
    place = 0
    for piece in folded(line.text.plain, max(width - indent, LEAST_ROOM)):
        begin = line.mark if not place else Content(" " * indent)
        yield Content.assemble(begin, line.text[place : place + len(piece)]), place > 0
        place += len(piece)
