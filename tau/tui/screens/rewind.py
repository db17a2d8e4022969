"""The rewind picker: what the person said in this conversation, the newest under the cursor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import PurePath
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tau.conversation.state import Prompt, PromptListing
from tau.tui.keys import bound, in_use, rebind
from tau.tui.messages import RowChosen
from tau.tui.screens.over import ScreenOver
from tau.tui.screens.picker import CSS, room_for_lines
from tau.tui.widgets.key_row import KeyRow
from tau.tui.widgets.row_list import Row, RowList, Rows
from tau.tui.widgets.start_page import when

KEYS = (("choose", "go on from before it in a new session"), ("back", "back"))
WIDEST = 100
"""Columns of the box."""

ReadOn = Callable[[PromptListing], Awaitable[PromptListing]]


class RewindPicker(ScreenOver[Prompt | None]):
    """Chooses one of the person's messages; the result is that, or None.

    Args:
        listing: What is known of them so far.
        read_on: Adds what was said before that; called until there is nothing more to read.
    """

    AUTO_FOCUS = "#rewind-list"
    CSS_PATH: ClassVar[list[str | PurePath]] = CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound({"back": "back", "interrupt": "app.interrupt"}, priority=["back"])
    ]

    def __init__(self, listing: PromptListing, read_on: ReadOn) -> None:
        super().__init__()
        rebind(self, in_use(self))
        self._listing = listing
        self._read_on = read_on
        self._entries = _with_headings(listing)

    def compose(self) -> ComposeResult:
        """The list with its title and keys."""
        box = Vertical(classes="picker-box")
        box.styles.width = WIDEST
        with box:
            yield Static("", classes="picker-heading", markup=False)
            yield RowList(id="rewind-list")
            yield KeyRow(in_use(self), KEYS)

    def on_mount(self) -> None:
        """Fill the list; the cursor is on the newest message."""
        rows = self.query_one(RowList)
        rows.show(Rows(self._row, self._entries), cursor=len(self._entries) - 1)
        self._describe()
        if self._listing.earlier is not None:
            self._read_earlier()

    def on_resize(self) -> None:
        """Leave some of the conversation in sight, and keep the cursor there."""
        self._fit()
        self.call_after_refresh(self.query_one(RowList).show_cursor)

    def _fit(self) -> None:
        height = max(1, min(len(self._entries), room_for_lines(self.size.height, 2)))
        self.query_one(RowList).styles.height = height

    @work
    async def _read_earlier(self) -> None:
        while self._listing.earlier is not None:
            self._listing = await self._read_on(self._listing)
            self._entries = _with_headings(self._listing)
            self._fit()
            self.query_one(RowList).show_above(Rows(self._row, self._entries))
            self._describe()

    def _describe(self) -> None:
        count = len(self._listing.prompts)
        said = f"  {count:,} message{'' if count == 1 else 's'} of yours"
        more = " · reading earlier ones…" if self._listing.earlier is not None else ""
        title = Content.assemble(("Go back before", "bold"), (said + more, "$quiet"))
        self.query_one(".picker-heading", Static).update(title)

    @on(RowChosen)
    def _chosen(self, message: RowChosen) -> None:
        entry = self._entries[message.index]
        if isinstance(entry, Prompt):
            self.dismiss(entry)

    def action_back(self) -> None:
        """Back without a change."""
        self.dismiss(None)

    def _row(self, entry: Prompt | str) -> Row:
        if isinstance(entry, str):
            return Row(entry, heading=True)
        digits = len(str(len(self._listing.prompts)))
        number = entry.number or ""  # not known before all were read
        earlier = entry.session_id != self._listing.session_id
        return Row(entry.text, left=f"{number:>{digits}}  ", right=when(entry.at), quiet=earlier)


def _with_headings(listing: PromptListing) -> list[Prompt | str]:
    """The prompts; where some are of sessions before the summary, under headings that say of which."""
    entries: list[Prompt | str] = [f"Not to be read: {listing.unread}"] if listing.unread else []
    here = listing.session_id
    for prompt in listing.prompts:
        if prompt.session_id != here:
            here = prompt.session_id
            own = here == listing.session_id
            entries.append("This session" if own else f"Before the summary · {here}")
        entries.append(prompt)
    return entries
