"""A list of one-line rows that draws only the lines on the screen, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, overload

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tau.tui.fit import shorten_end
from tau.tui.messages import RowChosen, RowReached

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the list.

    Attributes:
        text: What leads the line; it is shortened when there is no room.
        left: A short piece before the text.
        right: A short piece at the end of the line.
        heading: Whether it is a heading, which cannot be chosen.
    """

    text: str
    left: str = ""
    right: str = ""
    heading: bool = False


class Rows(Sequence[Row], Generic[Entry]):
    """The rows of a list, made when they are drawn.

    Args:
        make: Makes the row of an entry.
        entries: What the list is of.
    """

    def __init__(self, make: Callable[[Entry], Row], entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._make = make

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return [self._make(entry) for entry in self.entries[place]]
        return self._make(self.entries[place])


class RowList(ScrollView):
    """The list; the cursor moves over rows that are no headings."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-list--heading",
        "row-list--chosen",
        "row-list--quiet",
        "row-list--text",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    cursor = reactive(-1)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()

    def show(self, rows: Sequence[Row], *, cursor: int | None = None) -> None:
        """Show these rows; the cursor goes to the first that can be chosen unless it is given."""
        self.rows = rows
        self.virtual_size = Size(self.size.width, len(rows))
        first = next((place for place, row in enumerate(rows) if not row.heading), -1)
        wanted = first if cursor is None or not 0 <= cursor < len(rows) else cursor
        self.set_reactive(RowList.cursor, wanted)
        if cursor is None:
            self.scroll_to(y=0, animate=False)
        self.refresh()
        self.post_message(RowReached(wanted))

    def watch_cursor(self, cursor: int) -> None:
        """Keep the cursor in sight."""
        self.scroll_to_region(Region(0, cursor, 1, 1), animate=False, spacing=None, force=True, x_axis=False)
        self.refresh()
        self.post_message(RowReached(cursor))

    def action_move(self, step: int) -> None:
        """Move the cursor over headings to the next row."""
        place = self.cursor + step
        while 0 <= place < len(self.rows) and self.rows[place].heading:
            place += step
        if 0 <= place < len(self.rows):
            self.cursor = place
        elif step < 0:
            self.scroll_to(y=0, animate=False)

    def action_page(self, pages: int) -> None:
        """Move the cursor by a page."""
        step = 1 if pages > 0 else -1
        wanted = min(max(self.cursor + pages * max(1, self.size.height - 1), 0), len(self.rows) - 1)
        while 0 <= wanted < len(self.rows) and self.rows[wanted].heading:
            wanted += step
        if 0 <= wanted < len(self.rows):
            self.cursor = wanted

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if 0 <= self.cursor < len(self.rows):
            self.post_message(RowChosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Choose the row that was clicked."""
        place = event.y + round(self.scroll_y)
        if 0 <= place < len(self.rows) and not self.rows[place].heading:
            self.cursor = place
            self.post_message(RowChosen(place))

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        width = self.size.width
        place = y + round(self.scroll_y)
        base = self.rich_style
        if not 0 <= place < len(self.rows) or width < 4:
            return Strip.blank(width, base)
        row = self.rows[place]
        if row.heading:
            line = Text(f" {shorten_end(row.text, width - 2)}", self._style("heading"))
        else:
            quiet = self._style("quiet")
            right = Content(row.right).cell_length
            room = width - Content(row.left).cell_length - right - 5
            text = shorten_end(row.text, max(4, room))
            line = Text("   ")
            line.append(row.left, quiet)
            line.append(text, self._style("text"))
            line.append(" " * max(1, width - line.cell_len - right - 1))
            line.append(row.right, quiet)
            if place == self.cursor:
                line.stylize_before(self._style("chosen"))
                line.stylize(base.__class__(bgcolor=self._style("chosen").bgcolor))
                line = Text.assemble((" ▌ ", self._style("chosen")), line[3:])
        strip = Strip(line.render(self.app.console), line.cell_len)
        fill = self._style("chosen") if place == self.cursor and not row.heading else base
        return strip.adjust_cell_length(width, fill).apply_style(base)

    def _style(self, part: str):  # type: ignore[no-untyped-def]
        return self.get_component_rich_style(f"row-list--{part}", partial=True)
