"""Keys in sight: the way out of every list on a small screen, what cancels, and only what does something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tau.config.settings import Settings
from tau.sessions.store import SessionStore
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.memory import MemoryScreen
from tau.tui.screens.palette import PaletteScreen
from tau.tui.screens.sessions import SessionPicker
from tau.tui.screens.tools import ToolsScreen
from tau.tui.widgets.choices import Choices
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record
from tests.tui.test_keys_in_places import PICKERS, given, on, quiet
from tests.tui.test_questions import asked, put

__all__ = ["given"]  # a fixture

Make = Callable[..., Settings]


@pytest.fixture
def recorded(store: SessionStore, work: Path) -> str:
    for number in range(3):
        record(store, f"s{number}", exchanges(12), directory=str(work), title=f"Session {number}")
    return "s0"


async def test_the_way_out_is_named_on_a_narrow_screen(start: Start, given: Make, recorded: str) -> None:
    async with start(settings=given({}), size=(40, 12), resume=recorded) as tau:
        for kind, opens in PICKERS.items():
            await (tau.send(opens) if opens.startswith("/") else tau.pilot.press(opens))
            await on(tau, kind)
            await tau.shows("Esc back")
            await tau.pilot.press("escape")
            await tau.until(lambda: tau.app.screen is tau.screen, "the conversation")
        await tau.pilot.press("ctrl+f")
        await tau.shows("Esc back")
        await tau.pilot.press(*"question")
        await tau.shows("12 of 12")
        await tau.shows("Esc back")


@pytest.mark.parametrize("size", [(40, 12), (80, 10), (80, 7)])
async def test_the_chosen_completion_is_in_sight_on_a_low_screen(
    start: Start, given: Make, size: tuple[int, int]
) -> None:
    async with start(settings=given({}), size=size) as tau:
        await tau.pilot.press("/")
        await tau.until(lambda: tau.screen.completion.is_open, "commands")
        choices = tau.screen.query_one(Choices)
        for _ in range(len(choices)):
            await tau.until(lambda: choices.region.y >= 0 and "▌" in tau.text(), "the chosen row")
            await tau.pilot.press("down")
        await tau.pilot.resize_terminal(80, 24)
        await tau.until(lambda: choices.region.height == 8, "more rows where there is more room")
        await tau.pilot.resize_terminal(*size)
        await tau.until(lambda: choices.region.y >= 0 and "▌" in tau.text(), "the chosen row")


async def test_the_list_of_sessions_names_only_keys_that_do_something(
    start: Start, given: Make, store: SessionStore, work: Path
) -> None:
    async with start(settings=given({}), size=(80, 24)) as tau:
        await tau.pilot.press("f2")
        await on(tau, SessionPicker)
        await tau.shows("No sessions yet")
        await tau.shows("Tab all directories   Esc back")
        assert "Enter" not in tau.text()
        assert "Ctrl+R" not in tau.text()
        await tau.pilot.press("escape")
        await tau.until(lambda: tau.app.screen is tau.screen, "the conversation")
        record(store, "old", exchanges(1), directory=str(work), title="The one")
        await tau.pilot.press("f2")
        await on(tau, SessionPicker)
        await tau.shows("Enter resume   Tab all directories   Ctrl+R rename   Esc back")
        await tau.pilot.press(*"zzz")
        await tau.shows("Nothing found")
        await tau.until(lambda: "Enter" not in tau.text() and "Ctrl+R" not in tau.text(), "the keys")
        await tau.pilot.press("backspace", "backspace", "backspace")
        await tau.shows("Enter resume")


OPENED: dict[type[Any], str] = {
    PaletteScreen: "ctrl+p",
    SessionPicker: "f2",
    MemoryScreen: "alt+m",
    HelpScreen: "f1",
    ToolsScreen: "/tools",
}


@pytest.mark.parametrize("key", ["ctrl+c", "f7"])
async def test_the_key_that_interrupts_leaves_a_list(start: Start, given: Make, key: str) -> None:
    async with start(settings=given({"interrupt": key}), size=(80, 24)) as tau:
        for kind, opens in OPENED.items():
            await (tau.send(opens) if opens.startswith("/") else tau.pilot.press(opens))
            await on(tau, kind)
            await tau.pilot.press(key)
            await tau.until(lambda: tau.app.screen is tau.screen, f"back from {kind.__name__}")


async def test_what_is_selected_in_a_filter_is_copied_and_the_list_stays(start: Start, given: Make) -> None:
    async with start(settings=given({}), size=(80, 24)) as tau:
        await tau.pilot.press("ctrl+p")
        palette = await on(tau, PaletteScreen)
        await tau.pilot.press(*"mod", "shift+home")
        assert palette.query_one(Input).selected_text == "mod"
        await tau.pilot.press("ctrl+c")
        await tau.until(lambda: tau.app.clipboard == "mod", "the copy")
        assert tau.app.screen is palette


@pytest.mark.parametrize(
    ("keys", "named"),
    [({"cancel": "f6"}, "F6"), ({"cancel": ""}, "Ctrl+C"), ({"cancel": "", "interrupt": "f7"}, "F7")],
)
async def test_the_status_row_names_what_cancels(
    start: Start, given: Make, keys: dict[str, str], named: str
) -> None:
    slow = {"text": "word " * 50, "chunks": 50, "delay": 0.1}
    async with start(settings=given(keys, slow), size=(80, 24)) as tau:
        await tau.send("go")
        await tau.shows(f"· {named} cancels")
        await tau.pilot.press(named.lower())
        await tau.idle()
        assert "cancels" not in tau.text()


async def help_of(tau: Running, words: str) -> str:
    """What the help shows of some words."""
    await tau.pilot.press("f1")
    await on(tau, HelpScreen)
    await tau.pilot.press(*words)
    await tau.until(lambda: "Everywhere" not in tau.text(), "only what was found")
    text = tau.text()
    await tau.pilot.press("escape")
    await tau.until(lambda: tau.app.screen is tau.screen, "the conversation")
    return text


@pytest.mark.parametrize(("keys", "told"), [({}, True), ({"newline": "ctrl+n"}, False)])
async def test_the_help_speaks_of_shift_enter_where_it_is_in_force(
    start: Start, given: Make, keys: dict[str, str], told: bool
) -> None:
    async with start(settings=given(keys), size=(100, 30)) as tau:
        found = await help_of(tau, "new line")
        assert "new line" in found
        assert ("where the terminal tells" in found) is told


async def test_a_capital_letter_is_a_key_of_its_own(start: Start, given: Make) -> None:
    async with start(settings=given({"yes": "Y"}), size=(80, 24)) as tau:
        _, answers = await put(tau, offers=[])
        await tau.shows("Y once")
        await tau.pilot.press("y")
        await tau.until(lambda: tau.screen.prompt.text == "y", "the draft's")
        await quiet(tau, 0.7)
        assert answers == []
        await asked(tau, "asks to run")
        await tau.pilot.press("Y")
        await tau.until(lambda: answers == [("yes", "")], "the answer")
        assert "Y  " in await help_of(tau, "this once")


@pytest.mark.parametrize(
    ("keys", "pressed", "answer"),
    [
        ({}, "Y", "yes"),
        ({"always": "N"}, "N", "no"),
        ({"always": "N"}, "Y", "yes"),
        ({"yes": "R"}, "N", "no"),
    ],
)
async def test_with_caps_lock_on_a_letter_answers_as_the_small_one(
    start: Start, given: Make, keys: dict[str, str], pressed: str, answer: str
) -> None:
    async with start(settings=given(keys), size=(80, 24)) as tau:
        _, answers = await put(tau)
        await asked(tau, "asks to run")
        await tau.pilot.press(pressed)
        await tau.until(lambda: answers == [(answer, "")], "the answer")
