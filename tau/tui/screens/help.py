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

from tau.conversation.commands import COMMANDS

NAME_WIDTH = 25

KEYS = (
    ("Enter", "send"),
    ("Ctrl+J, Alt+Enter", "new line; also Shift+Enter where the terminal sends it"),
    ("Up, Down", "at the edges: what was sent before; Up takes a waiting message back"),
    ("Esc", "cancel the running turn; waiting messages return to the prompt"),
    ("PageUp, PageDown, End", "scroll; PageUp at the top shows 20 earlier turns"),
    ("Tab", "move to reasoning and tool cards; Enter opens one"),
    ("F1", "this help"),
    ("F2", "sessions: resume, filter, search, preview"),
    ("F3", "new session"),
    ("F4", "events pane"),
    ("F5, F8, F9", "while a model is offered: download it, the smaller one, or not now"),
    ("Ctrl+C", "copy what is selected; else put the draft away; else cancel; twice: leave"),
    ("Ctrl+Q", "leave; nothing is lost"),
)


class HelpScreen(ModalScreen[None]):
    """Keys at the top, commands below."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter", "back", "Back", priority=True)]

    def compose(self) -> ComposeResult:
        """The two lists."""
        with VerticalScroll(id="help"):
            yield Listed("Keys", KEYS)
            yield Listed("Commands", [(spec.usage, spec.help) for spec in COMMANDS])
            note = (
                "Drag selects text, Ctrl+C copies it. With Shift held, most terminals select by themselves."
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
