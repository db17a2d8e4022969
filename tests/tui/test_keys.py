"""Every key can be given another meaning, and the help shows the ones in force."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.widgets import Static

from tau.config.actions import ACTIONS
from tau.config.keys import rarely_sent, read_key
from tau.config.keys import shown as written
from tau.config.settings import Settings
from tau.sessions.store import SessionStore
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.palette import PaletteScreen
from tau.tui.screens.sessions import SessionPicker
from tau.tui.widgets.find_bar import FindBar
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record


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
        await tau.shows("F2, Alt+H")
        await tau.pilot.press(*"sessions:")
        await tau.shows("Ctrl+A")
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
    async with start(settings=settings, size=(120, 60)) as tau:
        await tau.pilot.press("f4")
        await tau.pilot.press("f1")
        await shown(tau, HelpScreen)
        await tau.shows("no key")


SENT = {
    **{f"{m}+{key}": f"\x1b[1;{n}{end}"
       for m, n in [("shift", 2), ("alt", 3), ("ctrl", 5), ("ctrl+shift", 6), ("ctrl+alt", 7)]
       for key, end in [("up", "A"), ("home", "H"), ("f2", "Q")]},
    "ctrl+x": "\x18", "alt+x": "\x1bx", "alt+shift+x": "\x1bX",
    "ctrl+alt+x": "\x1b\x18", "ctrl+shift+x": "\x18",
    "ctrl+h": "\x08", "ctrl+enter": "\r", "alt+enter": "\x1b\r", "shift+enter": "\r", "shift+tab": "\x1b[Z",
    "ctrl+space": "\0", "ctrl+backspace": "\x08", "ctrl+underscore": "\x1f", "ctrl+backslash": "\x1c",
    "ctrl+5": "5", "ctrl+comma": ",",
}  # fmt: skip
"""What a terminal without the kitty keyboard protocol sends for a key."""


@pytest.mark.parametrize("key", SENT)
def test_keys_of_which_config_check_says_nothing_come_from_every_terminal(key: str) -> None:
    parser = XTermParser()
    came = [event.key for text in (SENT[key], "") for event in parser.feed(text) if isinstance(event, Key)]
    assert (came == [read_key(key)]) == (rarely_sent({"help": key}) == [])


OTHERS = {
    action.name: f"{('', 'ctrl+', 'alt+')[place // 24]}f{1 + place % 24}"
    for place, action in enumerate(action for action in ACTIONS if action.name != "send")
}
"""Keys that no action has by default, but for F1 to F9, which then do something else."""

DEFAULTS = {
    *(
        written(key)
        for action in ACTIONS
        for key in action.keys
        if not re.fullmatch("f[0-9]+|[a-z]|slash", key)
    ),
    "↑↓",
} - {"Enter"}
"""As they stand on the screen; Enter sends, here as well."""

IN_FORCE = {written(key): name for name, key in OTHERS.items()}


def hints(tau: Running) -> set[str]:
    """The actions whose keys are named on the screen: those in force."""
    text = tau.text()
    for key in DEFAULTS:
        assert re.search(rf"(?<![\w+]){re.escape(key)}(?![\w+])", text) is None, f"{key} in\n{text}"
    return {IN_FORCE[key] for key in re.findall(r"(?<![\w+])(?:Ctrl\+|Alt\+)?F[0-9]+\b", text)}


async def hinted(tau: Running, *names: str) -> None:
    await tau.until(lambda: set(names) <= hints(tau), f"the keys of {names}")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_every_hint_names_the_key_in_force(
    start: Start,
    settings_for: Callable[..., Settings],
    store: SessionStore,
    work: Path,
    size: tuple[int, int],
) -> None:
    (work / "notes.txt").write_text("notes")
    record(store, "long", exchanges(300), directory=str(work), title="A long one")
    slow = {"text": "word " * 400, "chunks": 400, "delay": 0.05}
    settings = msgspec.structs.replace(settings_for([slow], side=[{"text": "s", "delay": 60}]), keys=OTHERS)
    key = OTHERS.__getitem__
    async with start(settings=settings, size=size) as tau:
        press = tau.pilot.press
        await hinted(tau, "help", "sessions", "leave")
        await press(*"@no")
        await hinted(tau, "complete", "list-up", "list-down", "back")
        await press(key("back"))
        await tau.until(lambda: not tau.screen.completion.is_open, "closed")
        await press(key("interrupt"))
        await hinted(tau, "earlier")
        await press(key("history"))
        await hinted(tau, "choose", "list-up", "list-down", "back")
        await press(key("back"), key("palette"))
        await shown(tau, PaletteScreen)
        await hinted(tau, "choose", "into-prompt", "back")
        await press(key("palette"))
        await tau.until(lambda: not isinstance(tau.app.screen, PaletteScreen), "closed by its own key")
    async with start(settings=settings, size=size, resume="long") as tau:
        press, chat = tau.pilot.press, tau.screen.chat
        chat.scroll_home(animate=False)
        await hinted(tau, "page-up")
        await press(key("block-up"))
        await hinted(tau, "block-copy", "block-editor", "back")
        await press(key("back"), key("find"))
        await hinted(tau, "list-up", "list-down", "find-stay", "back")
        tau.screen.query_one(FindBar).field.value = "question 10"
        await tau.shows("11 found")
        await press(key("list-down"))
        await tau.shows("11 of 11")
        await press(key("choose"))
        await tau.shows("1 of 11")
        await press(key("find-stay"), key("back"))
        await tau.until(lambda: tau.screen.query("BetweenRow"), "turns between")
        row = tau.screen.query_one("BetweenRow", Static)
        row.scroll_visible(animate=False)
        await hinted(tau, "page-down")
        await press(key("newest"))
        await tau.send("/compact")
        await hinted(tau, "cancel")
        await tau.send("/new")
        await tau.shows("The conversation is being summarized; ")
        hints(tau)
        await press(key("interrupt"), key("cancel"))
        await tau.shows("Compaction cancelled")
        await tau.send("!sleep 60")
        await tau.shows("sleep 60")
        await tau.send("/new")
        await tau.shows("A command is running; ")
        hints(tau)
        await press(key("interrupt"), key("cancel"))
        await tau.idle()
        await tau.send("go")
        await tau.shows("word word word")
        chat.scroll_home(animate=False)
        await tau.shows("new below")
        await hinted(tau, "newest", "cancel")
        await press(key("interrupt"), key("cancel"))
        await tau.idle()
        await press(key("interrupt"))
        await tau.shows("again leaves")
        hints(tau)
        await press(key("help"))
        await shown(tau, HelpScreen)
