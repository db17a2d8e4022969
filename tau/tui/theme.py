"""The three looks of the app: dark, light, and one that uses the terminal's own sixteen colours."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
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
        "quiet": "#8f96a2",
        "faint": "#4d5461",
        "chosen": "#242a30",
        "added": "#7fb77e",
        "added-text": "#d5d8de",
        "added-fill": "#1b2a22",
        "added-word": "#2c4d38",
        "removed": "#e06c75",
        "removed-text": "#d5d8de",
        "removed-fill": "#2e1e22",
        "removed-word": "#5a2e35",
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
        "quiet": "#5f6269",
        "faint": "#b0ada6",
        "chosen": "#e3efec",
        "added": "#17722f",
        "added-text": "#26292e",
        "added-fill": "#e6f4e8",
        "added-word": "#bfe5c5",
        "removed": "#b3261e",
        "removed-text": "#26292e",
        "removed-fill": "#fbe9e7",
        "removed-word": "#f5c5bf",
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
            "scrollbar-hover": "ansi_bright_black",
            "scrollbar-active": "ansi_cyan",
            "scrollbar-background": "ansi_default",
            "scrollbar-background-hover": "ansi_default",
            "scrollbar-background-active": "ansi_default",
            "quiet": "ansi_bright_black",
            "faint": "ansi_bright_black",
            "chosen": chosen,
            "added": "ansi_green",
            "added-text": "ansi_green",
            "added-fill": "ansi_default",
            "added-word": "ansi_default",
            "removed": "ansi_red",
            "removed-text": "ansi_red",
            "removed-fill": "ansi_default",
            "removed-word": "ansi_default",
        },
    )


ANSI_DARK = _ansi("tau-ansi-dark", BUILTIN_THEMES["ansi-dark"], "ansi_black")
ANSI_LIGHT = _ansi("tau-ansi-light", BUILTIN_THEMES["ansi-light"], "ansi_white")

THEMES = (DARK, LIGHT, ANSI_DARK, ANSI_LIGHT)

CHOICES = ("auto", "dark", "light", "ansi")
"""What ``[tui] theme`` may say."""


def unknown(setting: str) -> str:
    """What is said of a value of ``[tui] theme`` that names no theme; empty for one that does."""
    if setting in CHOICES or setting in BUILTIN_THEMES or setting in {theme.name for theme in THEMES}:
        return ""
    return f"[tui] theme '{setting}' is not known; using auto ({', '.join(CHOICES)})"


def variables_for(theme: Theme) -> dict[str, str]:
    """The colours that tau's own themes define, for one that does not know them: mixed from those it has."""
    if theme.ansi:
        return dict((ANSI_DARK if theme.dark else ANSI_LIGHT).variables)
    colours = theme.to_color_system().generate()
    ground, text = Color.parse(colours["background"]), Color.parse(colours["foreground"])
    added, removed = Color.parse(colours["success"]), Color.parse(colours["error"])
    return {
        "quiet": ground.blend(text, 0.6).hex,
        "faint": ground.blend(text, 0.3).hex,
        "chosen": ground.blend(Color.parse(colours["primary"]), 0.15).hex,
        "added": added.hex,
        "added-text": text.hex,
        "added-fill": ground.blend(added, 0.12).hex,
        "added-word": ground.blend(added, 0.3).hex,
        "removed": removed.hex,
        "removed-text": text.hex,
        "removed-fill": ground.blend(removed, 0.12).hex,
        "removed-word": ground.blend(removed, 0.3).hex,
    }


def background_is_light(environment: Mapping[str, str]) -> bool:
    """Whether ``COLORFGBG`` says that the terminal's background is light; False when it says nothing."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "9", "10", "11", "12", "13", "14", "15")


def theme_name(setting: str, environment: Mapping[str, str], light: bool | None = None) -> str | None:
    """The name of the theme for a value of ``[tui] theme``; None when there is no such choice.

    Args:
        setting: The value.
        environment: Of the process.
        light: Whether the terminal says that its background is light; None when it says nothing.
    """
    light = background_is_light(environment) if light is None else light
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
