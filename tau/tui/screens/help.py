"""The help screen: the keys and the slash commands."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from tau.config.keys import ACTIONS, listed
from tau.conversation.commands import COMMANDS
from tau.tui.keys import Keys, bound, rebind

NAME_WIDTH = 34

FIXED = (
    ("Up, Down", "at the edges: what was sent before; Up takes a waiting message back"),
    ("Tab", "move to reasoning and tool cards; Enter opens one"),
)
"""Keys that are not the app's to give."""


class HelpScreen(ModalScreen[None]):
    """The keys in force at the top, commands below.

    Args:
        keys: The keys in force.
    """

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "back", "Back", priority=True),
        *bound({"help": "back"}, priority=["help"]),
    ]

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        rebind(self, keys)
        self._keys = [(listed(keys[action.name]) or "no key", action.does) for action in ACTIONS]

    def compose(self) -> ComposeResult:
        """The two lists."""
        with VerticalScroll(id="help"):
            yield Listed("Keys", [*self._keys, *FIXED])
            yield Listed("Commands", [(spec.usage, spec.help) for spec in COMMANDS])
            note = (
                "Every key can be changed under [keys] in tau.toml. Drag selects text; with Shift held, most "
                "terminals select by themselves."
            )
            yield Static(Content.assemble((note, "$quiet")), markup=False)

    def action_back(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)


class Listed(Widget):
    """Names and what they mean, in two columns."""

    def __init__(self, title: str, entries: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._heading = title
        self._entries = entries

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the meanings take at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines at the present width."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        lines = [Content.assemble((self._heading, "bold"))]
        for name, meaning in self._entries:
            first, *rest = wrap(meaning, max(20, width - NAME_WIDTH)) or [""]
            lines.append(Content.assemble((f"  {name:<{NAME_WIDTH - 2}}", "$accent"), (first, "$quiet")))
            lines += [Content.assemble((" " * NAME_WIDTH + more, "$quiet")) for more in rest]
        return [*lines, Content("")]
