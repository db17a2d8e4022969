"""What every picker has in common: a line to filter by, a list, and the keys below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tau.tui.messages import RowChosen, RowReached
from tau.tui.widgets.row_list import Row, RowList, Rows

Result = TypeVar("Result")
Entry = TypeVar("Entry")

LIST_BINDINGS: Sequence[BindingType] = (
    Binding("up", "list('move', -1)", "Up", priority=True, show=False),
    Binding("down", "list('move', 1)", "Down", priority=True, show=False),
    Binding("pageup", "list('page', -1)", "Page up", priority=True, show=False),
    Binding("pagedown", "list('page', 1)", "Page down", priority=True, show=False),
)
"""Keys that move the cursor of the list while the filter has the focus."""

AROUND = 10
"""Rows of the screen that are not the list, beside the heading."""


def keys_line(keys: Sequence[tuple[str, str]]) -> Content:
    """Keys and what they do, on one line."""
    parts: list[str | tuple[str, str]] = []
    for key, does in keys:
        parts += [(key, "$accent"), (f" {does}   ", "$quiet")]
    return Content.assemble(*parts)


class FilterPicker(ModalScreen[Result | None], Generic[Entry, Result]):
    """A list that is narrowed by typing; it lies over the conversation.

    A subclass says what is in it (`found`), how a row looks (`row`) and what comes of a choice (`choose`).
    Entries that are texts are headings.
    """

    AUTO_FOCUS = "#picker-filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["picker.tcss", "../widgets/row_list.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", priority=True),
        Binding("enter", "choose", "Choose", priority=True),
        *LIST_BINDINGS,
    ]

    heading: ClassVar[str] = ""
    placeholder: ClassVar[str] = "Type to filter"
    keys: ClassVar[Sequence[tuple[str, str]]] = (("Enter", "choose"), ("Esc", "back"))
    widest: ClassVar[int] = 96
    fixed_height: ClassVar[bool] = False
    """Whether the list keeps the height of the screen however much is found."""
    more_lines: ClassVar[int] = 0
    """Lines below the list that are kept for what is said of the entry under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Rows[Entry | str] = Rows(self._row, [])

    def compose(self) -> ComposeResult:
        """The filter, the list and the keys."""
        box = Vertical(id="picker-box")
        box.styles.width = self.widest
        with box:
            yield Static("", id="picker-heading", markup=False)
            yield Input(placeholder=self.placeholder, id="picker-filter", compact=True)
            yield RowList(id="picker-list")
            yield Static("", id="picker-more", markup=False)
            yield Static(keys_line(self.keys), id="picker-foot", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#picker-heading").display = bool(self.heading)
        more = self.query_one("#picker-more")
        more.display = self.more_lines > 0
        if self.more_lines:
            more.styles.height = self.more_lines
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
        self._rows = Rows(self._row, entries or ["Nothing fits"])
        if self.heading:
            said = self.describe()
            head = Content.assemble((self.heading, "bold"), (f"  {said}" if said else "", "$quiet"))
            self.query_one("#picker-heading", Static).update(head)
        self._fit()
        self.rows.show(self._rows, cursor=cursor)

    def more(self, text: Content | str) -> None:
        """Say something below the list; nothing takes no room."""
        line = self.query_one("#picker-more", Static)
        line.update(text)
        line.display = bool(text) or self.more_lines > 0

    def _row(self, entry: Entry | str) -> Row:
        return Row(entry, heading=True) if isinstance(entry, str) else self.row(entry)

    def _fit(self) -> None:
        others = (2 if self.heading else 0) + (self.more_lines + 1 if self.more_lines else 0)
        most = max(3, self.size.height - AROUND - others)
        self.rows.styles.height = most if self.fixed_height else max(1, min(len(self._rows), most))

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
