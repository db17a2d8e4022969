"""The help screen: the keys in force and the slash commands, found as one types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from textwrap import wrap
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from tau.config.keys import ACTIONS, listed
from tau.conversation.commands import COMMANDS
from tau.input.fuzzy import fold
from tau.tui.key_line import keys_line
from tau.tui.keys import Keys, bound, rebind
from tau.tui.screens.picker import AROUND, CSS, PART
from tau.tui.widgets.filter_field import FilterField

INDENT = 2
GAP = 2
MOST_NAMES, MOST_BESIDE = 1 / 3, 0.41
"""What share of the width the names take at most, below and beside each other; longer ones are wrapped."""

WIDEST = 160
"""Columns of the box."""

BESIDE_FROM_WIDTH = 110
"""Columns of the screen from which on keys and commands stand beside each other."""

FIXED = (
    ("Up, Down", "at the edges: what was sent before; Up takes a waiting message back"),
    ("Tab", "move to reasoning and tool cards; Enter opens one"),
)
"""Keys that are not the app's to give."""

NOTE = (
    "Every key can be changed under [keys] in tau.toml. Drag selects text; with Shift held, most terminals "
    "select by themselves."
)


class HelpScreen(ModalScreen[None]):
    """The keys in force and the commands, below or beside each other as there is room.

    Args:
        keys: The keys in force.
    """

    AUTO_FOCUS = "#help-filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = [*CSS, "help.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "back", "Back", priority=True),
        Binding("up", "scroll(-1)", "Up", priority=True, show=False),
        Binding("down", "scroll(1)", "Down", priority=True, show=False),
        Binding("pageup", "page(-1)", "Page up", priority=True, show=False),
        Binding("pagedown", "page(1)", "Page down", priority=True, show=False),
        *bound({"help": "back"}, priority=["help"]),
    ]

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        rebind(self, keys)
        self._keys = [(listed(keys[action.name]) or "no key", action.does) for action in ACTIONS]

    def compose(self) -> ComposeResult:
        """The filter, the two lists and the keys."""
        box = Vertical(classes="picker-box")
        box.styles.width = WIDEST
        with box:
            yield FilterField("Type to find a key or a command", "help-filter")
            with VerticalScroll(id="help-lists", can_focus=False):
                with Horizontal(id="help-columns"):
                    yield Listed("Keys", [*self._keys, *FIXED], classes="help-keys")
                    yield Listed("Commands", [(spec.usage, spec.help) for spec in COMMANDS])
                yield Static(Content.styled(NOTE, "$quiet"), id="help-note", markup=False)
            yield Static(keys_line([("↑↓", "scroll"), ("Esc", "back")]), classes="picker-keys", markup=False)

    def on_resize(self, event: Resize) -> None:
        """Put the lists beside each other where there is room."""
        self.query_one("#help-lists").styles.max_height = max(3, event.size.height - AROUND - 2 * PART)
        beside = event.size.width >= BESIDE_FROM_WIDTH
        self.query_one("#help-columns").set_class(beside, "-beside")
        for columns in self.query(Listed):
            columns.share = MOST_BESIDE if beside else MOST_NAMES

    @on(Input.Changed, "#help-filter")
    def _filter_changed(self, message: Input.Changed) -> None:
        for columns in self.query(Listed):
            columns.filter(message.value)
        self.query_one("#help-note").display = not message.value
        self.query_one("#help-lists", VerticalScroll).scroll_home(animate=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll while the filter keeps the keys."""
        self.query_one("#help-lists", VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by a page."""
        lists = self.query_one("#help-lists", VerticalScroll)
        lists.scroll_relative(y=pages * max(1, lists.size.height - 1), animate=False)

    def action_back(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)


def usage_lines(usage: str, width: int) -> list[str]:
    """A usage in lines that end at a blank or behind a bar; only a word that is longer than a line is cut."""
    lines = [""]
    for piece in re.findall(r"[^\s|]+\|?\s*|\|\s*", usage):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [part for line in lines for part in wrap(line, width)]


class Listed(Widget):
    """Names and what they mean, in two columns; the first is as wide as its longest entry, or a third."""

    def __init__(self, title: str, entries: Sequence[tuple[str, str]], *, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._heading = title
        self._entries = entries
        self._words: Sequence[str] = ()
        self.share = MOST_NAMES

    def filter(self, typed: str) -> None:
        """Show only what has every word of what was typed."""
        self._words = fold(typed).split()
        self.display = bool(self._shown())
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the entries take at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines at the present width."""
        return Content("\n").join(self._lines(self.size.width))

    def _shown(self) -> Sequence[tuple[str, str]]:
        return [
            (name, meaning)
            for name, meaning in self._entries
            if all(word in fold(f"{name} {meaning}") for word in self._words)
        ]

    def _lines(self, width: int) -> list[Content]:
        longest = max(Content(name).cell_length for name, _ in self._entries)
        names = max(8, min(longest, int(width * self.share) - INDENT))
        lines = [Content.styled(self._heading, "bold $quiet")]
        for name, meaning in self._shown():
            left = usage_lines(name, names) or [""]
            right = wrap(meaning, max(20, width - INDENT - names - GAP)) or [""]
            for number in range(max(len(left), len(right))):
                first = left[number] if number < len(left) else ""
                second = right[number] if number < len(right) else ""
                lines.append(
                    Content.assemble(
                        " " * INDENT,
                        self._marked(f"{first:<{names + GAP}}", "$accent", "bold underline"),
                        self._marked(second, "$quiet", "bold $accent"),
                    )
                )
        return [*lines, Content("")]

    def _marked(self, text: str, style: str, found: str) -> Content:
        content = Content.styled(text, style)
        folded = fold(text)
        for word in self._words:
            at = folded.find(word)
            if at >= 0:
                content = content.stylize(found, at, at + len(word))
        return content
