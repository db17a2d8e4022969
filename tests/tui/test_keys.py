"""Every key can be given another meaning, and the help shows the ones in force."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tau.config.settings import Settings
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.sessions import SessionPicker
from tests.tui.conftest import Running, Start


async def shown(tau: Running, kind: type) -> None:
    await tau.until(lambda: isinstance(tau.app.screen, kind), kind.__name__)


async def test_a_key_of_the_editor_can_be_given_to_the_app(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"sessions": "ctrl+a", "help": ["f2", "alt+h"]})
    async with start(settings=settings) as tau:
        await tau.pilot.press(*"draft", "ctrl+a")
        await shown(tau, SessionPicker)
        await tau.pilot.press("escape", "f2")
        await shown(tau, HelpScreen)
        await tau.shows("Ctrl+A")
        await tau.shows("F2, Alt+H")
        await tau.pilot.press("alt+h")
        await tau.until(lambda: not isinstance(tau.app.screen, HelpScreen), "back")
        await tau.pilot.press("f1")
        await tau.pilot.pause()
        assert not isinstance(tau.app.screen, HelpScreen)
        assert tau.screen.prompt.text == "draft"


async def test_enter_can_break_lines_and_another_key_send(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"send": "ctrl+enter", "newline": "enter"})
    async with start(settings=settings) as tau:
        await tau.pilot.press("a", "enter", "b", "ctrl+j")
        assert tau.screen.prompt.text == "a\nb"
        await tau.pilot.press("ctrl+enter")
        await tau.until(lambda: tau.screen.conversation.state.message_count == 2, "an answer")


async def test_keys_of_the_editor_stay_where_the_app_has_none(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press(*"one two", "ctrl+a", "alt+d")
        assert tau.screen.prompt.text == " two"
        await tau.pilot.press("ctrl+k")
        assert tau.screen.prompt.text == ""


async def test_no_key_at_all_is_said(start: Start, settings_for: Callable[..., Settings]) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"events": ""})
    async with start(settings=settings) as tau:
        await tau.pilot.press("f4")
        await tau.pilot.press("f1")
        await shown(tau, HelpScreen)
        await tau.shows("no key")
