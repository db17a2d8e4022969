"""What holds of every look: text can be read on every ground, and keys are named as they are in force."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from textual.color import Color
from textual.theme import Theme

from tau.config.settings import Settings
from tau.tui.theme import DARK, LIGHT
from tests.tui.conftest import Start

LEAST = 4.5
"""The contrast of text with its ground that readers with moderately low vision need (WCAG 2, AA)."""


def luminance(colour: Color) -> float:
    """How light a colour is, from 0 to 1."""
    channels = [value / 255 for value in colour.rgb]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text: str, ground: str) -> float:
    """The ratio of two colours, from 1 to 21."""
    dark, light = sorted((luminance(Color.parse(text)), luminance(Color.parse(ground))))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_text_can_be_read_on_every_ground(theme: Theme) -> None:
    colours = theme.variables
    given = {name: str(getattr(theme, name)) for name in ("foreground", "accent", "warning", "error")}
    texts = {**given, **{name: colours[name] for name in ("quiet", "added", "removed")}}
    grounds = {"background": str(theme.background), "panel": str(theme.panel), "chosen": colours["chosen"]}
    poor = {
        (text, ground): round(ratio, 2)
        for text, its in texts.items()
        for ground, that in grounds.items()
        if (ratio := contrast(its, that)) < LEAST
    }
    for kind in ("added", "removed"):
        for fill in ("fill", "word"):
            ratio = contrast(colours[f"{kind}-text"], colours[f"{kind}-{fill}"])
            assert ratio >= LEAST, (kind, fill)
    assert poor == {}


async def test_the_keys_that_are_shown_are_those_in_force(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    given = {"help": "f11", "sessions": "", "events": "alt+e"}
    settings = msgspec.structs.replace(settings_for(), keys=given)
    async with start(settings=settings, size=(80, 24)) as tau:
        await tau.shows("F11 help   Ctrl+Q leave")
        tau.screen.status.folded_events = 3
        await tau.shows("3 events Alt+E")
