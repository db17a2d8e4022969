"""The three looks of the app: dark, light, and one that uses the terminal's own sixteen colours."""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

DARK = Theme(
    name="tau-dark",
    primary="#6cb6a4",
    secondary="#6cb6a4",
    accent="#6cb6a4",
    warning="#d8a657",
    error="#e06c75",
    success="#6cb6a4",
    foreground="#d5d8de",
    background="#15171b",
    surface="#15171b",
    panel="#1d2026",
    boost="#1d2026",
    dark=True,
    variables={
        "border": "#454b57",
        "border-blurred": "#343943",
        "scrollbar": "#343943",
        "scrollbar-hover": "#454b57",
        "scrollbar-active": "#6cb6a4",
        "scrollbar-background": "#15171b",
        "scrollbar-background-hover": "#15171b",
        "scrollbar-background-active": "#15171b",
        "quiet": "#868d99",
        "faint": "#4d5461",
        "chosen": "#242a30",
    },
)

LIGHT = Theme(
    name="tau-light",
    primary="#0f766e",
    secondary="#0f766e",
    accent="#0f766e",
    warning="#8f5f00",
    error="#b3261e",
    success="#0f766e",
    foreground="#26292e",
    background="#fbfaf8",
    surface="#fbfaf8",
    panel="#f0eeea",
    boost="#f0eeea",
    dark=False,
    variables={
        "border": "#b9b6ae",
        "border-blurred": "#d3d0c8",
        "scrollbar": "#d3d0c8",
        "scrollbar-hover": "#b9b6ae",
        "scrollbar-active": "#0f766e",
        "scrollbar-background": "#fbfaf8",
        "scrollbar-background-hover": "#fbfaf8",
        "scrollbar-background-active": "#fbfaf8",
        "quiet": "#6b6e75",
        "faint": "#b0ada6",
        "chosen": "#e3efec",
    },
)


def _ansi(name: str, base: Theme, chosen: str) -> Theme:
    return Theme(
        name=name,
        ansi=True,
        dark=base.dark,
        primary="ansi_cyan",
        secondary="ansi_cyan",
        accent="ansi_cyan",
        warning="ansi_yellow",
        error="ansi_red",
        success="ansi_cyan",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables={
            **base.variables,
            "border": "ansi_bright_black",
            "border-blurred": "ansi_bright_black",
            "scrollbar": "ansi_bright_black",
            "quiet": "ansi_bright_black",
            "faint": "ansi_bright_black",
            "chosen": chosen,
        },
    )


ANSI_DARK = _ansi("tau-ansi-dark", BUILTIN_THEMES["ansi-dark"], "ansi_black")
ANSI_LIGHT = _ansi("tau-ansi-light", BUILTIN_THEMES["ansi-light"], "ansi_white")

THEMES = (DARK, LIGHT, ANSI_DARK, ANSI_LIGHT)

CHOICES = ("auto", "dark", "light", "ansi")
"""What ``[tui] theme`` may say."""


def background_is_light(environment: Mapping[str, str]) -> bool:
    """Whether ``COLORFGBG`` says that the terminal's background is light; False when it says nothing."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "9", "10", "11", "12", "13", "14", "15")


def theme_name(setting: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The name of the theme for a value of ``[tui] theme``; None when there is no such choice."""
    light = background_is_light(os.environ if environment is None else environment)
    match setting:
        case "auto":
            return LIGHT.name if light else DARK.name
        case "dark":
            return DARK.name
        case "light":
            return LIGHT.name
        case "ansi":
            return ANSI_LIGHT.name if light else ANSI_DARK.name
        case _:
            return None
