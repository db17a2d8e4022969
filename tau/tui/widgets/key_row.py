"""The row of keys under a list: as many as there is room for, and always how to get away."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tau.display import one_line
from tau.tui.key_line import action_line
from tau.tui.keys import Keys


class KeyRow(Static):
    """The row.

    Args:
        keys: The keys in force.
        actions: The actions whose keys are named, and what they do there; the last is how to get away.
        id: As Textual has it.
    """

    def __init__(
        self,
        keys: Keys,
        actions: Sequence[tuple[str, str]] = (),
        *,
        id: str | None = None,  # noqa: A002  (textual's own name)
    ) -> None:
        super().__init__("", id=id, classes="picker-keys", markup=False)
        self._in_force = keys
        self._actions = actions
        self._said = ""

    def name_keys(self, actions: Sequence[tuple[str, str]]) -> None:
        """Name the keys of other actions."""
        self._actions, self._said = actions, ""
        self.refresh()

    def say(self, text: str) -> None:
        """Say something in place of the keys, until others are named."""
        self._said = one_line(text)
        self.refresh()

    def render(self) -> Content:
        """The row at the present width."""
        if self._said:
            return Content(self._said)
        return action_line(self._in_force, self._actions, self.content_size.width)
