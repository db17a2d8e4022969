"""Widgets that know their text as numbered lines and draw only those in sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, TypeAlias

from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import RenderOptions
from textual.widget import Widget

from tau.tui.finding import Row
from tau.tui.keys import SCROLLING, bound, in_use, rebind
from tau.tui.messages import LinesMoved


class Lines(Protocol):
    """Lines laid out for a width; each is made when it is asked for."""

    def __len__(self) -> int:
        """How many lines there are."""

    def line(self, number: int) -> Content:
        """A line, at most as wide as was asked for."""

    def row(self, number: int) -> Row:
        """A line as text that can be searched."""


INDENT = "  "

LayOut: TypeAlias = Callable[[int], Lines]
"""Lays lines out for a width in cells."""


class Listed:
    """Lines that are there already.

    Args:
        lines: The lines.
        rows: What can be found in them; all that stands there where that is not given.
    """

    def __init__(self, lines: Sequence[Content], rows: Sequence[Row] = ()) -> None:
        self._lines = lines
        self._rows = rows

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> Content:
        """See `Lines`."""
        return self._lines[number]

    def row(self, number: int) -> Row:
        """See `Lines`."""
        return self._rows[number] if self._rows else Row(self._lines[number].plain.rstrip())


class Stacked:
    """Lines of several kinds, one below the other."""

    def __init__(self, parts: Sequence[Lines]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def line(self, number: int) -> Content:
        """See `Lines`."""
        for part in self._parts:
            if number < len(part):
                return part.line(number)
            number -= len(part)
        raise IndexError(number)

    def row(self, number: int) -> Row:
        """See `Lines`."""
        for part in self._parts:
            if number < len(part):
                return part.row(number)
            number -= len(part)
        raise IndexError(number)


class Indented:
    """Lines moved to the right by `INDENT`."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> Content:
        """See `Lines`."""
        return Content.assemble(INDENT, self._lines.line(number))

    def row(self, number: int) -> Row:
        """See `Lines`."""
        row = self._lines.row(number)
        return row._replace(start=row.start + len(INDENT))


class Head:
    """The first lines, and how many more there are.

    Args:
        lines: All of them.
        limit: How many are shown; a single one more is shown rather than counted.
        rest: How to see the others, behind a dot.
    """

    def __init__(self, lines: Lines, limit: int, rest: str) -> None:
        self._lines = lines
        self._rest = rest
        self._shown = len(lines) if len(lines) <= limit + 1 else limit

    def __len__(self) -> int:
        return self._shown + (self._shown < len(self._lines))

    def line(self, number: int) -> Content:
        """See `Lines`."""
        if number < self._shown:
            return self._lines.line(number)
        return Content.assemble((f"… {len(self._lines) - self._shown:,} more lines{self._rest}", "$quiet"))

    def row(self, number: int) -> Row:
        """See `Lines`."""
        return self._lines.row(number) if number < self._shown else Row("")


def drawn(widget: Widget, line: Content, width: int) -> Strip:
    """A line as a strip of exactly `width` cells, in the widget's colours."""
    options = RenderOptions(widget._get_style, {"text_wrap": "nowrap"}, None, None)
    strips = line.render_strips(width, 1, widget.visual_style, options) or [Strip([])]
    return strips[0].adjust_cell_length(width, widget.visual_style.rich_style)


class LinesView(ScrollView, can_focus=True):
    """Lines that scroll when there is no room for all. Posts `LinesMoved`.

    Args:
        lay_out: The lines to show.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bound(SCROLLING)]

    def __init__(self, lay_out: LayOut) -> None:
        super().__init__()
        self._lay_out_lines = lay_out
        self._width = 0
        self._shown: Lines = Listed(())

    def on_mount(self) -> None:
        """Take up the keys in force."""
        rebind(self, in_use(self))

    @property
    def line_count(self) -> int:
        """How many lines there are at the present width."""
        return len(self._shown)

    @property
    def overflows(self) -> bool:
        """Whether not all lines are in sight."""
        return self.line_count > self.size.height

    @property
    def in_sight(self) -> tuple[int, int]:
        """The numbers of the first and the last line in sight, counted from 1."""
        first = round(self.scroll_y)
        return first + 1, min(first + self.size.height, self.line_count)

    def show(self, lay_out: LayOut) -> None:
        """Show other lines, from their beginning."""
        self._lay_out_lines = lay_out
        self._width = 0
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width."""
        self._lay_out(width)
        return self.line_count

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self._lay_out(self.scrollable_content_region.width)
        self.post_message(LinesMoved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell that other lines are in sight."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(LinesMoved())

    def _lay_out(self, width: int) -> None:
        if width != self._width and width > 0:
            self._width = width
            self._shown = self._lay_out_lines(width)
            self.virtual_size = Size(width, self.line_count)
            self.refresh()
            self.post_message(LinesMoved())

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        number = y + round(self.scroll_y)
        if not 0 <= number < self.line_count:
            return Strip.blank(self.size.width, self.rich_style)
        return drawn(self, self._shown.line(number), self.size.width)
