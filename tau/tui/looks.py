"""The theme in force, those that can be chosen, and which of a file, a choice and the terminal decides."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

from textual.app import App

from tau.errors import UsageError
from tau.tui.remembered import Remembered
from tau.tui.theme import CHOICES, THEMES, theme_name, unknown


class Looks:
    """The theme of an app: ``[tui] theme`` unless that is ``auto``, then what ``/theme`` was given last.

    Args:
        app: Tau's own themes are registered with it.
        setting: ``[tui] theme``.
        remembered: Keeps what is chosen.
        light: Whether the terminal says that its background is light; None when it says nothing.

    Attributes:
        setting: What was chosen, such as ``auto``.
        problem: Why what was set cannot be used, or empty.
    """

    def __init__(self, app: App[None], setting: str, remembered: Remembered, light: bool | None) -> None:
        self._app = app
        self._remembered = remembered
        self._light = light
        self._configured = setting
        for theme in THEMES:
            app.register_theme(theme)
        self.problem = unknown(setting)
        self.setting = "auto" if self.problem else setting
        if setting == "auto" and self._theme(remembered.theme) is not None:
            self.setting = remembered.theme
        self.show(self.setting)

    def names(self) -> Sequence[str]:
        """What can be chosen, tau's own first."""
        own = {theme.name for theme in THEMES}
        return [*CHOICES, *sorted(name for name in self._app.available_themes if name not in own)]

    def is_dark(self, name: str) -> bool:
        """Whether a theme is dark."""
        return self._app.available_themes[self._theme(name) or THEMES[0].name].dark

    def show(self, name: str) -> None:
        """Show a theme, without choosing it."""
        theme = self._theme(name)
        if theme is not None and theme != self._app.theme:
            self._app.theme = theme

    def restore(self) -> None:
        """Show the chosen theme again."""
        self.show(self.setting)

    def choose(self, name: str) -> str:
        """Take a theme, now and at the next start. Returns what is said about it.

        Raises:
            UsageError: There is no such theme.
        """
        if self._theme(name) is None:
            near = get_close_matches(name, self.names(), n=1)
            hint = f"did you mean {near[0]}?" if near else "/theme lists them"
            raise UsageError(f"There is no theme {name}", hint)
        self.setting = name
        self.show(name)
        self._remembered.choose_theme(name)
        if self._configured not in ("auto", name):
            return (
                f"Theme {name}; at the next start [tui] theme = {self._configured!r} of tau.toml holds again"
            )
        return f"Theme {name}"

    def _theme(self, name: str) -> str | None:
        """The name of Textual's theme for a choice; None when there is none."""
        if name in CHOICES:
            return theme_name(name, os.environ, self._light)
        return name if name in self._app.available_themes else None
