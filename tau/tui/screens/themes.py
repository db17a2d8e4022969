"""The theme picker: what is under the cursor is shown at once, and taken with Enter."""

from __future__ import annotations

from collections.abc import Sequence

from textual.timer import Timer

from tau.input.fuzzy import Match, ranked
from tau.tui.looks import Looks
from tau.tui.screens.picker import FilterPicker
from tau.tui.theme import CHOICES
from tau.tui.widgets.row_list import Row

SHOW_AFTER = 0.06
"""Seconds the cursor rests before its theme is shown: a held key does not draw everything each time."""

MEANINGS = {
    "auto": "as the terminal is",
    "dark": "tau's dark one",
    "light": "tau's light one",
    "ansi": "the terminal's own",
}

Found = tuple[str, Match]


class ThemePicker(FilterPicker[Found, str]):
    """Chooses a theme; the result is its name, or None. Esc brings back what was there before.

    Args:
        looks: The themes.
    """

    heading = "Theme"
    keys = (("list-up list-down", "try"), ("choose", "keep"), ("back", "back"))
    widest = 58
    clear_prompt = True

    def __init__(self, looks: Looks) -> None:
        super().__init__()
        self._looks = looks
        self._names = looks.names()
        self._timer: Timer | None = None

    def found(self, typed: str) -> Sequence[Found | str]:
        """Tau's own themes, then Textual's."""
        found = ranked(typed, self._names, str, limit=len(self._names), others=_meaning)
        if typed:
            return found
        own = len(CHOICES)
        return ["tau", *found[:own], "Textual", *found[own:]]

    def first_cursor(self) -> int | None:
        """The theme in force."""
        names = ["", *self._names[: len(CHOICES)], "", *self._names[len(CHOICES) :]]
        return names.index(self._looks.setting)

    def row(self, entry: Found) -> Row:
        """A theme, what it is, and whether it is in force."""
        name, lies = entry
        note = MEANINGS.get(name) or ("dark" if self._looks.is_dark(name) else "light")
        right = "in force" if name == self._looks.setting else ""
        return Row(name, right=right, marks=lies.positions, note=note, note_at=20)

    def reached(self, entry: Found | None) -> None:
        """Show the theme under the cursor."""
        if self._timer is not None:
            self._timer.stop()
        if entry is not None:
            name = entry[0]
            self._timer = self.set_timer(SHOW_AFTER, lambda: self._looks.show(name))

    def choose(self, entry: Found) -> None:
        """Take it."""
        self._end()
        self.dismiss(entry[0])

    def action_back(self) -> None:
        """Back to what was."""
        self._end()
        self._looks.restore()
        self.dismiss(None)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.stop()


def _meaning(name: str) -> Sequence[str]:
    return [MEANINGS[name]] if name in MEANINGS else []
