"""The model picker: the roles of the configuration and what each stands for."""

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

from tau.conversation.state import ModelChoice
from tau.display import one_line
from tau.tui.messages import RowChosen
from tau.tui.widgets.row_list import Row, RowList


class ModelPicker(ModalScreen[str | None]):
    """Chooses a model role; the result is its name, or None."""

    AUTO_FOCUS = "#model-list"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["models.tcss", "../widgets/row_list.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back", priority=True)]

    def __init__(self, choices: Sequence[ModelChoice]) -> None:
        super().__init__()
        self._choices = choices

    def compose(self) -> ComposeResult:
        """The list with its title and keys."""
        with Vertical(id="model-picker"):
            yield Static("Model roles", id="model-title", markup=False)
            yield RowList(id="model-list")
            keys = Content.assemble(
                ("Enter", "$accent"), (" switch   ", "$quiet"), ("Esc", "$accent"), (" back", "$quiet")
            )
            yield Static(keys, id="model-keys", markup=False)

    def on_mount(self) -> None:
        """Fill the list; the cursor is on the role in force."""
        rows = self.query_one(RowList)
        rows.styles.height = min(len(self._choices), 12)
        current = next((place for place, choice in enumerate(self._choices) if choice.current), 0)
        rows.show([_row(choice) for choice in self._choices], cursor=current)

    @on(RowChosen)
    def _chosen(self, message: RowChosen) -> None:
        self.dismiss(self._choices[message.index].role)

    def action_back(self) -> None:
        """Back without a change."""
        self.dismiss(None)


def _row(choice: ModelChoice) -> Row:
    model = one_line(choice.model_id or "its default model")
    in_force = " · in force" if choice.current else ""
    return Row(one_line(choice.role), right=f"{model} · {one_line(choice.provider)}{in_force}")
