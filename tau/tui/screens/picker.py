"""What every picker has in common: a box over the conversation, a line to filter by, a list, and the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input, Static

from tau.display import one_line
from tau.tui.fit import folded, shorten_end
from tau.tui.keys import bound, in_use, rebind
from tau.tui.messages import RowChosen, RowReached
from tau.tui.screens.over import ScreenOver
from tau.tui.widgets.filter_field import FilterField
from tau.tui.widgets.key_row import KeyRow
from tau.tui.widgets.row_list import Row, RowList, Rows

Result = TypeVar("Result")
Entry = TypeVar("Entry")

LIST_ACTIONS: Mapping[str, str] = {
    "list-up": "list('move', -1)",
    "list-down": "list('move', 1)",
    "list-page-up": "list('page', -1)",
    "list-page-down": "list('page', 1)",
}
"""What moves the cursor of the list while the filter has the focus."""

CSS: list[str | PurePath] = ["picker.tcss", "../widgets/row_list.tcss", "../widgets/filter_field.tcss"]

AROUND = 5
"""Rows of the screen above and below a box, and its padding: the status row stays in sight."""

PROMPT = 4
"""Rows of the prompt and the empty one over it."""

TALL_FROM = 30
"""Rows of the screen from which on a box ends above the prompt; below, it covers it."""

PART = 2
"""Rows of a heading, a filter or the keys, with the empty one beside it."""

MOST_ROWS = 28
"""Rows of a list that keeps its height: more of them are further from the filter than one looks."""

LEAST_ROWS = 3
"""Rows of a list for which a heading, and what is said below, give way on a low screen."""

NOTHING = "Nothing found"
"""Stands in a list for what was typed in vain."""


def room_for_lines(height: int, parts: int, *, clear_prompt: bool = False) -> int:
    """Rows that a box has for its list.

    Args:
        height: Rows of the screen.
        parts: How many of heading, filter and keys it has.
        clear_prompt: Whether the prompt stays in sight on a small screen too.
    """
    prompt = PROMPT if clear_prompt or height >= TALL_FROM else 0
    return max(1, height - AROUND - PART * parts - prompt)


class FilterPicker(ScreenOver[Result | None], Generic[Entry, Result]):
    """A list that is narrowed by typing; it lies over the conversation.

    A subclass says what is in it (`found`), how a row looks (`row`) and what comes of a choice (`choose`).
    Entries that are texts are headings.
    """

    AUTO_FOCUS = "#picker-filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {"back": "back", "choose": "choose", **LIST_ACTIONS},
            priority=["back", "choose", *LIST_ACTIONS],
        ),
        *bound({"interrupt": "app.interrupt"}),
    ]

    heading: ClassVar[str] = ""
    placeholder: ClassVar[str] = "Type to filter"
    keys: ClassVar[Sequence[tuple[str, str]]] = (("choose", "choose"), ("back", "back"))
    """Actions whose keys are named below the list, and what they do there."""
    widest: ClassVar[int] = 96
    fixed_height: ClassVar[bool] = False
    """Whether the list keeps the height of the screen however much is found."""
    clear_prompt: ClassVar[bool] = False
    """Whether the prompt stays in sight on a small screen too."""
    more_lines: ClassVar[int] = 0
    """Lines below the list that are kept for what is said of the entry under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        rebind(self, in_use(self))
        self._rows: Rows[Entry | str] = Rows(self._row, [])

    def compose(self) -> ComposeResult:
        """The filter, the list and the keys."""
        box = Vertical(classes="picker-box")
        box.styles.width = self.widest
        with box:
            yield Static("", classes="picker-heading", markup=False)
            yield FilterField(self.placeholder, "picker-filter")
            yield RowList(id="picker-list")
            yield Said(self.more_lines)
            yield KeyRow(in_use(self), self.keys)

    def on_mount(self) -> None:
        """Fill the list."""
        self.show_entries(cursor=self.first_cursor())

    def on_resize(self) -> None:
        """Leave some of the conversation in sight, and keep the cursor there."""
        self._fit()
        self.call_after_refresh(self.rows.show_cursor)

    # What a picker is of -----------------------------------------------------------------------

    def found(self, typed: str) -> Sequence[Entry | str]:
        """What is listed for what was typed, with headings between."""
        raise NotImplementedError

    def row(self, entry: Entry) -> Row:
        """How an entry is shown."""
        raise NotImplementedError

    def choose(self, entry: Entry) -> None:
        """An entry was chosen."""
        raise NotImplementedError

    def reached(self, entry: Entry | None) -> None:
        """The cursor is on an entry, or on nothing."""

    def first_cursor(self) -> int | None:
        """Where the cursor begins; None for the first entry."""
        return None

    def describe(self) -> str:
        """What is said behind the heading."""
        return ""

    # What they use -----------------------------------------------------------------------------

    @property
    def rows(self) -> RowList:
        """The list."""
        return self.query_one("#picker-list", RowList)

    @property
    def typed(self) -> str:
        """What is typed."""
        return self.query_one("#picker-filter", Input).value.strip()

    @property
    def entries(self) -> Sequence[Entry | str]:
        """What is listed."""
        return self._rows.entries

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor."""
        place = self.rows.cursor
        entries = self.entries
        found = entries[place] if 0 <= place < len(entries) else None
        return None if isinstance(found, str) else found

    def show_entries(self, *, cursor: int | None = None) -> None:
        """List what is found now; the cursor goes to the first unless it is given."""
        entries = self.found(self.typed)
        self._rows = Rows(self._row, entries or [NOTHING])
        if self.heading:
            said = self.describe()
            head = Content.assemble((self.heading, "bold"), (f"  {said}" if said else "", "$quiet"))
            self.query_one(".picker-heading", Static).update(head)
        self._fit()
        self.rows.show(self._rows, cursor=cursor)

    def more(self, text: str) -> None:
        """Say something below the list."""
        self.query_one(Said).say(text)

    def _row(self, entry: Entry | str) -> Row:
        return Row(entry, heading=True) if isinstance(entry, str) else self.row(entry)

    def _fit(self) -> None:
        """Give the list its rows; on a low screen the heading, and what is said below, give way to them."""
        height, clear = self.size.height, self.clear_prompt
        said = self.more_lines + 1 if self.more_lines else 0
        headed = bool(self.heading) and room_for_lines(height, 3, clear_prompt=clear) >= LEAST_ROWS
        self.query_one(".picker-heading").display = headed
        most = room_for_lines(height, 3 if headed else 2, clear_prompt=clear)
        if said:
            fits = most - said >= LEAST_ROWS
            self.query_one(Said).make_room(fits=fits)
            most -= said if fits else 0
        fixed = min(most, MOST_ROWS)
        self.rows.styles.height = fixed if self.fixed_height else max(1, min(len(self._rows), most))

    @on(Input.Changed, "#picker-filter")
    def _filter_changed(self) -> None:
        self.show_entries()

    @on(RowReached)
    def _row_reached(self) -> None:
        self.reached(self.entry)

    @on(RowChosen)
    def _row_chosen(self) -> None:
        self.action_choose()

    # Keys --------------------------------------------------------------------------------------

    def action_list(self, what: str, step: int) -> None:
        """Move the cursor of the list while the filter keeps the keys."""
        if what == "move":
            self.rows.action_move(step)
        else:
            self.rows.action_page(step)

    def action_choose(self) -> None:
        """Choose the entry under the cursor."""
        if (entry := self.entry) is not None:
            self.choose(entry)

    def action_back(self) -> None:
        """Back without a change."""
        self.dismiss(None)


class Said(Widget):
    """What is said below a list of the entry under the cursor.

    Args:
        lines: How many are kept for it; what is longer ends in ``…``. 0: as many as it takes.
    """

    def __init__(self, lines: int) -> None:
        super().__init__(id="picker-more")
        self._kept = lines
        self._text = ""
        self._fits = True
        self.display = lines > 0

    def say(self, text: str) -> None:
        """Say this."""
        self._text = one_line(text)
        self._show()

    def make_room(self, *, fits: bool) -> None:
        """Stand there only where there is room."""
        self._fits = fits
        self._show()

    def _show(self) -> None:
        self.display = self._fits and (bool(self._text) or self._kept > 0)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as are kept, or taken."""
        return self._kept or len(self._lines(width))

    def render(self) -> Content:
        """The lines at the present width."""
        return Content("\n").join([Content(line) for line in self._lines(self.size.width)])

    def _lines(self, width: int) -> list[str]:
        lines = [line.rstrip() for line in folded(self._text, max(8, width))]
        if self._kept and len(lines) > self._kept:
            lines[self._kept - 1 :] = [shorten_end(f"{lines[self._kept - 1]} …", width)]
        return lines
