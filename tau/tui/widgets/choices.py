"""A short list over the prompt: what could be completed there, or was sent before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from tau.tui.fit import shorten_end
from tau.tui.key_line import keys_line

ROWS = 7
"""Rows that are shown at once at most, beside the line below them."""

NO_CHOICE = -1
"""The cursor where nothing is chosen: Enter is not the list's then."""

_HELP_SHARE = 0.45
_GAP = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """A row.

    Attributes:
        text: What is chosen; one line, safe for a terminal.
        positions: Characters of it that were typed, rising.
        help: What it does; it stands in a column of its own.
        right: A short piece at the end of the line.
        is_path: Whether it is shortened in the middle, where a path has least to say, and not at its end.
    """

    text: str
    positions: Sequence[int] = ()
    help: str = ""
    right: str = ""
    is_path: bool = False


class Choices(Widget):
    """Lies over what is above the prompt, so that nothing moves when it comes and goes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self.display = False
        self.cursor = NO_CHOICE
        self._choices: Sequence[Choice] = ()
        self._keys: Sequence[tuple[str, str]] = ()
        self._note = ""
        self._top = 0
        self._rows = ROWS

    def on_mount(self) -> None:
        """Stay as tall as there is room when the screen changes, or what stands below grows."""
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())

    def __len__(self) -> int:
        return len(self._choices)

    def __bool__(self) -> bool:
        return True

    def show(
        self, choices: Sequence[Choice], cursor: int, keys: Sequence[tuple[str, str]], note: str = ""
    ) -> None:
        """Show these.

        Args:
            choices: The best first.
            cursor: The row that is chosen, or `NO_CHOICE`.
            keys: Keys and what they do, for the line below.
            note: What stands there where there is no row.
        """
        self._choices, self._keys, self._note = choices, keys, note
        self.cursor = cursor
        self._top = 0
        self.display = True
        self._fit()
        self._keep_in_sight()

    def _fit(self) -> None:
        """Take as many rows as there are, and as the screen has above the prompt."""
        if not self.display or not isinstance(self.parent, Widget):
            return
        after = self.parent.children[self.parent.children.index(self) + 1 :]
        below = next(widget for widget in after if widget.display)
        above = below.region.y - below.styles.margin.top
        rows = max(1, min(len(self._choices), ROWS, above - 1))
        if rows != self._rows or self.styles.height is None or self.styles.height.value != rows + 1:
            self._rows = rows
            self.styles.height = rows + 1
            self.styles.offset = (0, -rows - 1)
            self._keep_in_sight()

    def hide(self) -> None:
        """Show nothing."""
        self._choices = ()
        self.cursor = NO_CHOICE
        self.display = False

    def move(self, step: int) -> None:
        """Choose the next row, or that before; the last one is followed by the first."""
        if self._choices:
            start = self.cursor if self.cursor != NO_CHOICE or step > 0 else 0
            self.cursor = (start + step) % len(self._choices)
            self._keep_in_sight()

    def _keep_in_sight(self) -> None:
        self._top = min(max(self._top, self.cursor - self._rows + 1), max(self.cursor, 0))
        self.refresh()

    def render(self) -> Content:
        """The rows in sight, and the keys."""
        width = self.size.width
        shown = self._choices[self._top : self._top + self._rows]
        room = self._room(shown, width)
        lines = [
            self._row(choice, room, width, chosen=self._top + place == self.cursor)
            for place, choice in enumerate(shown)
        ]
        if not shown:
            lines = [Content.assemble(("  " + shorten_end(self._note, width - 3), "$quiet"))]
        return Content("\n").join([*lines, self._foot(width)])

    def _room(self, shown: Sequence[Choice], width: int) -> int:
        """Cells of the column of what is chosen."""
        widest = max((Content(choice.text).cell_length for choice in shown), default=0)
        right = max((Content(choice.right).cell_length for choice in shown), default=0)
        if any(choice.help for choice in shown):
            return min(widest, int(width * _HELP_SHARE))
        return max(4, width - 3 - (right + _GAP if right else 0))

    def _row(self, choice: Choice, room: int, width: int, *, chosen: bool) -> Content:
        text, positions = (_middle if choice.is_path else _around)(choice.text, choice.positions, room)
        plain = "$accent" if chosen else "$foreground"
        parts: list[tuple[str, str]] = [("▌ " if chosen else "  ", "$accent")]
        marked = set(positions)
        for place, character in enumerate(text):
            parts.append((character, "bold $accent" if place in marked else plain))
        used = 2 + Content(text).cell_length
        if choice.help:
            gap = max(0, room + 2 - used) + _GAP
            help_room = max(0, width - used - gap - 1)
            parts += [(" " * gap, ""), (shorten_end(choice.help, help_room), "$quiet")]
            used += gap + min(help_room, Content(choice.help).cell_length)
        if choice.right:
            gap = max(1, width - used - Content(choice.right).cell_length - 1)
            parts += [(" " * gap, ""), (choice.right, "$quiet")]
            used += gap + Content(choice.right).cell_length
        parts.append((" " * max(0, width - used), ""))
        line = Content.assemble(*parts)
        return line.stylize("on $chosen") if chosen else line

    def _foot(self, width: int) -> Content:
        count = len(self._choices)
        right = f"{max(self.cursor, 0) + 1} of {count}" if count > self._rows else ""
        keys = keys_line(self._keys, width - 3)
        gap = width - keys.cell_length - len(right) - 3
        return Content.assemble("  ", keys, " " * gap, (right if gap > 0 else "", "$quiet"))


def _middle(text: str, positions: Sequence[int], room: int) -> tuple[str, Sequence[int]]:
    """The text in so many cells without some of its middle, and where its characters are then."""
    if Content(text).cell_length <= room:
        return text, positions
    head = _fitting(text, max(1, (room - 1) // 3))
    tail = len(text) - _fitting(text[::-1], max(1, room - 1 - (room - 1) // 3))
    moved = [place if place < head else place - tail + head + 1 for place in positions]
    kept = [at for at, place in zip(moved, positions, strict=True) if place < head or place >= tail]
    return f"{text[:head]}…{text[tail:]}", kept


def _around(text: str, positions: Sequence[int], room: int) -> tuple[str, Sequence[int]]:
    """The part of the text, in so many cells, that has what was found; the beginning if that is there."""
    start = 0
    if positions and Content(text[: positions[-1] + 1]).cell_length > room - 1:
        start = max(0, min(positions[0], positions[-1] - room // 2) - room // 6)
        if text.isascii():
            start = min(start, max(0, len(text) - room + 1))
    head = "…" if start else ""
    rest = text[start:]
    if Content(rest).cell_length > room - len(head):
        rest = rest[: _fitting(rest, room - len(head) - 1)] + "…"
    last = start + len(rest)
    return head + rest, [place - start + len(head) for place in positions if start <= place < last]


def _fitting(text: str, room: int) -> int:
    """How many characters from the beginning fit into so many cells."""
    cells = 0
    for count, character in enumerate(text):
        cells += Content(character).cell_length
        if cells > room:
            return count
    return len(text)
