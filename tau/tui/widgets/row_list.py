"""A list of one-line rows that draws only the lines on the screen, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, overload

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tau.tui.fit import around, shorten_end
from tau.tui.keys import SCROLLING, bound, in_use, rebind
from tau.tui.messages import RowChosen, RowReached

Entry = TypeVar("Entry")

GAP = 2
CURSOR = "▌ "
"""Stands before the row under the cursor; the others are as far in."""
LEAST_NOTE = 8
"""Cells under which a note is left out."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the list.

    Attributes:
        text: What leads the line; it is shortened when there is no room.
        left: A short piece before the text.
        right: A short piece at the end of the line.
        heading: Whether it is a heading, which cannot be chosen.
        quiet: Whether the text steps back behind that of other rows.
        marks: Places in the text of what was typed or searched for, rising.
        note: What stands behind the text, quieter.
        note_at: Cells of the text's column where there is a note; 0: as wide as the text.
        left_marks: As `marks`, in `left`.
    """

    text: str
    left: str = ""
    right: str = ""
    heading: bool = False
    quiet: bool = False
    marks: Sequence[int] = ()
    note: str = ""
    note_at: int = 0
    left_marks: Sequence[int] = ()


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
        "row-list--mark",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                **SCROLLING,
                "list-up": "move(-1)",
                "list-down": "move(1)",
                "list-page-up": "page(-1)",
                "list-page-down": "page(1)",
                "choose": "choose",
            }
        )
    ]

    cursor = reactive(-1)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()

    def on_mount(self) -> None:
        """Take up the keys in force."""
        rebind(self, in_use(self))

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

    def show_above(self, rows: Sequence[Row]) -> None:
        """Show rows that end with those shown so far; what is in sight and under the cursor stays there."""
        added = len(rows) - len(self.rows)
        place = round(self.scroll_y) + added
        self.show(rows, cursor=self.cursor + added if self.cursor >= 0 else None)
        self.scroll_to(y=place, animate=False, immediate=True, force=True)
        self.call_after_refresh(self.show_cursor)

    def show_cursor(self) -> None:
        """Bring the cursor into sight."""
        place = Region(0, self.cursor, 1, 1)
        self.scroll_to_region(place, animate=False, spacing=None, force=True, x_axis=False)

    def watch_cursor(self, cursor: int) -> None:
        """Keep the cursor in sight."""
        self.show_cursor()
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
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_y)
        base = self.rich_style
        if not 0 <= place < len(self.rows) or width < 4:
            return Strip.blank(width, base)
        row = self.rows[place]
        if row.heading:
            line = Text.assemble((shorten_end(row.text, width - 1), self._style("heading")))
        else:
            line = self._line(row, width)
            if place == self.cursor:
                line.stylize_before(self._style("chosen"))
                line.stylize(base.__class__(bgcolor=self._style("chosen").bgcolor))
                line = Text.assemble((CURSOR, self._style("chosen")), line[len(CURSOR) :])
        strip = Strip(line.render(self.app.console), line.cell_len)
        fill = self._style("chosen") if place == self.cursor and not row.heading else base
        return strip.adjust_cell_length(width, fill).apply_style(base)

    def _line(self, row: Row, width: int) -> Text:
        quiet = self._style("quiet")
        right = Content(row.right).cell_length
        after = right + GAP if right else 1
        room = max(4, width - len(CURSOR) - Content(row.left).cell_length - after)
        column = min(row.note_at, room) if row.note and row.note_at else room
        text, marks = around(row.text, row.marks, column)
        line = Text(" " * len(CURSOR))
        self._append(line, row.left, quiet, row.left_marks)
        self._append(line, text, quiet if row.quiet else self._style("text"), marks)
        if row.note:
            gap = max(0, column - Content(text).cell_length) + GAP if row.note_at else GAP
            left = room - Content(text).cell_length - gap
            if left >= LEAST_NOTE:
                line.append(" " * gap)
                line.append(shorten_end(row.note, left), quiet)
        line.append(" " * max(1, width - line.cell_len - right - 1))
        line.append(row.right, quiet)
        return line

    def _append(self, line: Text, text: str, style: Style, marks: Sequence[int]) -> None:
        start = len(line)
        line.append(text, style)
        for place in marks:
            line.stylize(self._style("mark"), start + place, start + place + 1)

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"row-list--{part}", partial=True)
