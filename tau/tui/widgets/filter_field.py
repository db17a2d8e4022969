"""The line that a list is filtered by: the glass, then what is typed, above the texts of the list."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from tau.tui.keys import bound, in_use, rebind


class Field(Input):
    """A line of text that is handed over by the key that chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [*bound({"choose": "submit"})]

    def on_mount(self) -> None:
        """Take up the keys in force."""
        rebind(self, in_use(self))


class FilterField(Horizontal):
    """The line.

    Args:
        placeholder: What it says while nothing is typed.
        field_id: The id of its input.
    """

    def __init__(self, placeholder: str, field_id: str) -> None:
        super().__init__()
        self._placeholder = placeholder
        self._field_id = field_id

    def compose(self) -> ComposeResult:
        """The glass and the input."""
        yield Static("⌕ ", classes="glass", markup=False)
        yield Field(placeholder=self._placeholder, id=self._field_id, compact=True)
