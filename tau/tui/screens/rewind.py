"""The rewind picker: the messages of the person's in this session, the newest under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tau.conversation.state import Prompt
from tau.tui.messages import RowChosen
from tau.tui.widgets.row_list import Row, RowList, Rows
from tau.tui.widgets.start_page import when

AROUND = 14
"""Rows of the screen that are not the list."""


class RewindPicker(ModalScreen[int | None]):
    """Chooses one of the person's messages; the result is its number, or None.

    Args:
        prompts: Oldest first; at least one.
    """

    AUTO_FOCUS = "#rewind-list"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["rewind.tcss", "../widgets/row_list.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back", priority=True)]

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        super().__init__()
        self._prompts = prompts

    def compose(self) -> ComposeResult:
        """The list with its title and keys."""
        with Vertical(id="rewind-picker"):
            count = len(self._prompts)
            title = Content.assemble(
                ("Go back before", "bold"),
                (f"  {count:,} message{'' if count == 1 else 's'} of yours", "$quiet"),
            )
            yield Static(title, id="rewind-title", markup=False)
            yield RowList(id="rewind-list")
            keys = Content.assemble(
                ("Enter", "$accent"),
                (" goes on from before it in a new session   ", "$quiet"),
                ("Esc", "$accent"),
                (" back", "$quiet"),
            )
            yield Static(keys, id="rewind-keys", markup=False)

    def on_mount(self) -> None:
        """Fill the list; the cursor is on the newest message."""
        self.query_one(RowList).show(Rows(self._row, self._prompts), cursor=len(self._prompts) - 1)

    def on_resize(self) -> None:
        """Leave some of the conversation in sight, and keep the cursor there."""
        rows = self.query_one(RowList)
        rows.styles.height = max(1, min(len(self._prompts), self.size.height - AROUND))
        self.call_after_refresh(rows.watch_cursor, rows.cursor)

    @on(RowChosen)
    def _chosen(self, message: RowChosen) -> None:
        self.dismiss(self._prompts[message.index].number)

    def action_back(self) -> None:
        """Back without a change."""
        self.dismiss(None)

    def _row(self, prompt: Prompt) -> Row:
        digits = len(str(len(self._prompts)))
        return Row(prompt.text, left=f"{prompt.number:>{digits}}  ", right=when(prompt.at))
