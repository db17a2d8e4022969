"""The find bar over the prompt: what is looked for, how often it was found, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from tau.tui.key_line import action_line
from tau.tui.keys import Keys, bound, rebind

if TYPE_CHECKING:
    from tau.tui.find import Find

WIDE = 100
"""Cells of the screen from which the keys are written out."""

FIELD_LEAST = 8
"""Cells in which words are typed at least; the keys give way, but for how to get away."""

BESIDE = 12
"""Cells of a line with the mark and what stands between its parts and around them."""


class FindField(Input):
    """What is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "back": "leave",
                "interrupt": "leave",
                "choose": "step(1)",
                "find": "step(1)",
                "list-down": "step(1)",
                "list-up": "step(-1)",
                "find-before": "step(-1)",
                "find-stay": "stay",
            }
        )
    ]

    def __init__(self, find: Find, keys: Keys) -> None:
        super().__init__(id="find-field", placeholder="Find in the conversation", select_on_focus=True)
        self._find = find
        rebind(self, keys)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for it."""
        event.stop()
        self._find.look()

    def on_blur(self) -> None:
        """Something else has the keys now, unless it is only the terminal that nobody looks at."""
        if self.app.app_focus:
            self._find.leave()

    def action_step(self, step: int) -> None:
        """The next match, or the one before."""
        self._find.step(step)

    def action_stay(self) -> None:
        """Go on from here with the cursor over the blocks."""
        self._find.stay()

    def action_leave(self) -> None:
        """Back to where one was."""
        self._find.leave(back=True)


class FindBar(Horizontal):
    """The bar.

    Args:
        find: What it is the bar of.
        keys: The keys in force.
    """

    def __init__(self, find: Find, keys: Keys) -> None:
        super().__init__(id="find-bar")
        self._find = find
        self._keys = keys
        self._said = "", ""

    def compose(self) -> ComposeResult:
        """The mark, the words, the count and the keys."""
        yield Static("⌕ ", id="find-mark", markup=False)
        yield FindField(self._find, self._keys)
        yield Static("", id="find-count", markup=False)
        yield Static("", id="find-keys", markup=False)

    @property
    def field(self) -> FindField:
        """The field with the words."""
        return self.query_one(FindField)

    def say(self, count: str, searched: str) -> None:
        """Say what was found, and in how much."""
        self._said = count, searched
        self._write()

    def on_mount(self) -> None:
        """Write the keys."""
        self._write()

    def on_resize(self) -> None:
        """Write what there is room for."""
        self._write()

    def _write(self) -> None:
        count, searched = self._said
        room = self.screen.size.width - BESIDE - FIELD_LEAST
        leave = action_line(self._keys, [("back", "back")])
        dot = " · " if count and searched else ""
        said = Content.assemble((count, "$foreground"), (dot, "$faint"), (searched, "$quiet"))
        said = said.truncate(max(0, room - leave.cell_length), ellipsis=True)
        steps = "previous, next" if self.screen.size.width >= WIDE else ""
        keys = [("list-up list-down", steps), ("find-stay", "stay"), ("back", "back")]
        self.query_one("#find-count", Static).update(said)
        self.query_one("#find-keys", Static).update(action_line(self._keys, keys, room - said.cell_length))
