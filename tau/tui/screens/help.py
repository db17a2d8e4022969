"""The help screen: the keys in force and the slash commands, found as one types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from textwrap import wrap
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input, Static

from tau.config.actions import ACTIONS, PLACES, Action
from tau.config.keys import listed
from tau.conversation.commands import COMMANDS
from tau.input.fuzzy import fold
from tau.tui.keys import Keys, bound, rebind
from tau.tui.screens.over import ScreenOver
from tau.tui.screens.picker import AROUND, CSS, PART
from tau.tui.widgets.filter_field import FilterField
from tau.tui.widgets.key_row import KeyRow

INDENT = 2
GAP = 2
FIRST, SECOND = list(PLACES).index("list"), list(PLACES).index("find")
"""Where the headings part: those beside the commands, and the others in two columns below."""

KEYS = (("list-up list-down", "scroll"), ("back", "back"))
MOST_NAMES, MOST_BESIDE = 1 / 3, 0.41
"""What share of the width the names take at most, below and beside each other; longer ones are wrapped."""

WIDEST = 160
"""Columns of the box."""

BESIDE_FROM_WIDTH = 110
"""Columns of the screen from which on keys and commands stand beside each other."""

ACTIONS_HERE: Mapping[str, str] = {
    "back": "back",
    "choose": "back",
    "help": "back",
    "list-up": "scroll(-1)",
    "list-down": "scroll(1)",
    "list-page-up": "page(-1)",
    "list-page-down": "page(1)",
}

NOTE = (
    "Every key can be changed under [keys] in tau.toml; what a text field does is the field's. Drag selects "
    "text; with Shift held, most terminals select by themselves."
)

TOLD_BY_FEW = {"newline": ("shift+enter", "Shift+Enter where the terminal tells")}
"""Actions, by their names, of which one key comes from some terminals only, and what the help says of it."""

Group = tuple[str, Sequence[tuple[str, str]]]
"""A heading, and names with what they mean."""


class HelpScreen(ScreenOver[None]):
    """The keys in force and the commands, below or beside each other as there is room.

    Args:
        keys: The keys in force.
    """

    AUTO_FOCUS = "#help-filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = [*CSS, "help.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(ACTIONS_HERE, priority=ACTIONS_HERE),
        *bound({"interrupt": "app.interrupt"}),
    ]

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        rebind(self, keys)
        self._in_force = keys

    def compose(self) -> ComposeResult:
        """The filter, the two lists and the keys."""
        box = Vertical(classes="picker-box")
        box.styles.width = WIDEST
        with box:
            yield FilterField("Type to find a key or a command", "help-filter")
            with VerticalScroll(id="help-lists", can_focus=False):
                groups = key_groups(self._in_force)
                commands = [("Commands", [(spec.usage, spec.help) for spec in COMMANDS])]
                with Horizontal(classes="help-columns"):
                    yield Listed(groups[:FIRST], groups, classes="help-left")
                    yield Listed(commands, commands)
                with Horizontal(classes="help-columns"):
                    yield Listed(groups[FIRST:SECOND], groups, classes="help-left")
                    yield Listed(groups[SECOND:], groups)
                yield Static(Content.styled(NOTE, "$quiet"), id="help-note", markup=False)
            yield KeyRow(self._in_force, KEYS)

    def on_resize(self, event: Resize) -> None:
        """Put the lists beside each other where there is room."""
        self.query_one("#help-lists").styles.max_height = max(3, event.size.height - AROUND - 2 * PART)
        beside = event.size.width >= BESIDE_FROM_WIDTH
        self.query(".help-columns").set_class(beside, "-beside")
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


def key_groups(keys: Keys) -> list[Group]:
    """What keys do, by where they do it, with the keys in force."""
    return [
        (PLACES[place], [(listed(keys[action.name]) or "no key", _does(action, keys)) for action in actions])
        for place, actions in groupby(ACTIONS, key=lambda action: action.places[0])
    ]


def _does(action: Action, keys: Keys) -> str:
    key, told = TOLD_BY_FEW.get(action.name, ("", ""))
    return f"{action.does}; {told}" if key in keys[action.name] else action.does


def usage_lines(usage: str, width: int) -> list[str]:
    """A usage in lines that end at a blank or behind a bar; only a word that is longer than a line is cut."""
    lines = [""]
    for piece in re.findall(r"[^\s|]+\|?\s*|\|\s*", usage):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [part for line in lines for part in wrap(line, width)]


class Listed(Widget):
    """Names and what they mean, in two columns; the first is as wide as the longest name, or a third.

    Args:
        groups: What is listed.
        among: All with whose names these line up.
        classes: As Textual has it.
    """

    def __init__(self, groups: Sequence[Group], among: Sequence[Group], *, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._groups = groups
        self._longest = max(Content(name).cell_length for _, entries in among for name, _ in entries)
        self._words: Sequence[str] = ()
        self.share = MOST_NAMES

    def filter(self, typed: str) -> None:
        """Show only what has every word of what was typed."""
        self._words = fold(typed).split()
        self.display = any(self._shown(entries) for _, entries in self._groups)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the entries take at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines at the present width."""
        return Content("\n").join(self._lines(self.size.width))

    def _shown(self, entries: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        return [
            (name, meaning)
            for name, meaning in entries
            if all(word in fold(f"{name} {meaning}") for word in self._words)
        ]

    def _lines(self, width: int) -> list[Content]:
        names = max(8, min(self._longest, int(width * self.share) - INDENT))
        lines: list[Content] = []
        for heading, entries in self._groups:
            if shown := self._shown(entries):
                lines.append(Content.styled(heading, "bold $quiet"))
                for name, meaning in shown:
                    lines += self._entry(name, meaning, names, width)
                lines.append(Content(""))
        return lines

    def _entry(self, name: str, meaning: str, names: int, width: int) -> Iterator[Content]:
        left = usage_lines(name, names) or [""]
        right = wrap(meaning, max(20, width - INDENT - names - GAP)) or [""]
        for number in range(max(len(left), len(right))):
            first = left[number] if number < len(left) else ""
            second = right[number] if number < len(right) else ""
            yield Content.assemble(
                " " * INDENT,
                self._marked(f"{first:<{names + GAP}}", "$accent", "bold underline"),
                self._marked(second, "$quiet", "bold $accent"),
            )

    def _marked(self, text: str, style: str, found: str) -> Content:
        content = Content.styled(text, style)
        folded = fold(text)
        for word in self._words:
            at = folded.find(word)
            if at >= 0:
                content = content.stylize(found, at, at + len(word))
        return content
