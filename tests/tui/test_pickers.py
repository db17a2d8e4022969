"""The palette and the pickers of themes, tools, models and help: found by typing, and what they do."""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tau.config.actions import ACTIONS
from tau.config.settings import McpSettings, ModelSettings, Settings
from tau.conversation.commands import COMMANDS
from tau.conversation.tooling import listing
from tau.sessions.store import SessionStore
from tau.tui.palette import DONE_HERE, needs_argument
from tau.tui.remembered import MOST_RECENT, Remembered
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.models import ModelPicker
from tau.tui.screens.palette import PaletteScreen
from tau.tui.screens.sessions import SessionPicker
from tau.tui.screens.themes import ThemePicker
from tau.tui.screens.tools import ToolsScreen
from tau.tui.theme import CHOICES
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

SERVER = Path(__file__).parents[1] / "fixtures" / "mcp" / "server.py"
GIVEN = McpSettings(command=sys.executable, args=[str(SERVER)])


async def opened(tau: Running, kind: type) -> None:
    await tau.until(lambda: isinstance(tau.app.screen, kind), kind.__name__)
    await tau.pilot.pause()


async def closed(tau: Running) -> None:
    await tau.until(lambda: tau.app.screen is tau.screen, "back in the conversation")


async def palette(tau: Running, typed: str = "") -> PaletteScreen:
    await tau.pilot.press("ctrl+p")
    await opened(tau, PaletteScreen)
    await tau.pilot.press(*typed)
    screen = tau.app.screen
    assert isinstance(screen, PaletteScreen)
    await tau.until(lambda: screen.typed == typed)
    return screen


def listed(screen: PaletteScreen) -> list[str]:
    """The keys of what is listed, in order, and the headings."""
    return [entry if isinstance(entry, str) else entry[0].key for entry in screen.entries]


async def test_the_palette_has_everything(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "20260101-000000-aaaa", exchanges(1), directory=str(work), title="About rates", name="wren")
    async with start() as tau:
        screen = await palette(tau)
        await tau.until(lambda: "session:20260101-000000-aaaa" in listed(screen), "sessions and models")
        keys = set(listed(screen))
        assert {f"command:{spec.name}" for spec in COMMANDS} <= keys
        doable = {action.name for action in ACTIONS if action.places[0] in DONE_HERE} - {"palette"}
        assert {key.removeprefix("action:") for key in keys if key.startswith("action:")} == doable
        assert {f"theme:{name}" for name in CHOICES} <= keys
        assert {"model:default", "model:fast", "theme:nord"} <= keys


async def test_letters_find_an_entry_and_stand_out(start: Start) -> None:
    async with start() as tau:
        screen = await palette(tau, "cmpct")
        entry = screen.entry
        assert entry is not None
        assert entry[0].key == "command:compact"
        row = screen.row(entry)
        assert "".join(row.text[place] for place in row.marks) == "cmpct"
        cells = [
            segment
            for strip in tau.app.screen._compositor.render_strips()
            for segment in strip
            if segment.text == "c" and segment.style is not None and segment.style.bold
        ]
        assert cells, "the letter is drawn bold"


@pytest.mark.parametrize("typed", ["theme", "/theme", "model", "sessions"])
async def test_a_command_goes_before_what_else_begins_with_its_name(start: Start, typed: str) -> None:
    async with start() as tau:
        screen = await palette(tau)
        await tau.until(lambda: "model:fast" in listed(screen), "models")
        await tau.pilot.press(*typed)
        await tau.until(lambda: screen.typed == typed and screen.entry is not None)
        entry = screen.entry
        assert entry is not None
        assert entry[0].key == f"command:{typed.removeprefix('/')}"
        row = screen.row(entry)
        assert "".join(row.text[place] for place in row.marks) == typed.removeprefix("/")


async def test_a_command_runs_and_stands_first_the_next_time(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = settings_for()
    async with start(settings=settings) as tau:
        await palette(tau, "/status")
        await tau.pilot.press("enter")
        await tau.shows("Context: sliding")
        await palette(tau, "/session")
        await tau.pilot.press("enter")
        await tau.shows("Kept in:")
        screen = await palette(tau)
        assert listed(screen)[:3] == ["Used last", "command:session", "command:status"]
    remembered = Remembered(settings.places.state)
    assert list(remembered.recent) == ["command:session", "command:status"]
    async with start(settings=settings) as tau:
        screen = await palette(tau)
        assert listed(screen)[1] == "command:session"


async def test_a_command_that_needs_an_argument_goes_into_the_prompt(start: Start) -> None:
    async with start() as tau:
        tau.screen.prompt.insert("a draft that matters")
        await palette(tau, "/name")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.prompt.text == "/name ", "in the prompt")
        assert tau.screen.prompt.cursor_location == (0, 6)
        assert tau.app.focused is tau.screen.prompt
        await tau.pilot.press("h", "i")
        assert tau.screen.prompt.text == "/name hi"
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.name == "hi", "named")
        await tau.pilot.press("up", "up")
        await tau.until(lambda: tau.screen.prompt.text == "a draft that matters", "the draft")


async def test_tab_puts_any_command_into_the_prompt(start: Start) -> None:
    async with start() as tau:
        await palette(tau, "/compact")
        await tau.pilot.press("tab")
        await tau.until(lambda: tau.screen.prompt.text == "/compact ", "in the prompt")


@pytest.mark.parametrize(
    ("usage", "needed"),
    [("/name NAME", True), ("/new [NAME]", False), ("/quit", False), ("/export [PATH] [chain]", False)],
)
def test_what_stands_in_brackets_can_be_left_out(usage: str, needed: bool) -> None:
    assert needs_argument(usage) is needed


async def test_the_palette_does_what_keys_do_also_where_they_have_none(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"sessions": "", "palette": "ctrl+o"})
    async with start(settings=settings) as tau:
        await tau.pilot.press("ctrl+o")
        await opened(tau, PaletteScreen)
        await tau.pilot.press(*"sessions: resume")
        await tau.shows("no key")
        await tau.pilot.press("enter")
        await opened(tau, SessionPicker)
        await tau.pilot.press("escape")
        await closed(tau)
        before = tau.screen.events_pane.display
        await tau.pilot.press("ctrl+o")
        await opened(tau, PaletteScreen)
        await tau.pilot.press(*"events pane", "enter")
        await tau.until(lambda: tau.screen.events_pane.display is not before, "the events pane")


async def test_the_palette_resumes_switches_and_dresses(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "20260101-000000-aaaa", exchanges(2), directory=str(work), title="About rates", name="wren")
    async with start() as tau:
        screen = await palette(tau, "about rat")
        await tau.until(lambda: screen.entry and screen.entry[0].kind == "Sessions", "the session")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id == "20260101-000000-aaaa")
        await tau.ready()
        screen = await palette(tau, "model fast")
        await tau.until(lambda: screen.entry and screen.entry[0].kind == "Models", "the model")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.role == "fast")
        await palette(tau, "theme light")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.app.theme == "tau-light")


async def test_esc_closes_the_palette_and_nothing_has_changed(start: Start) -> None:
    async with start() as tau:
        tau.screen.prompt.insert("a draft")
        await palette(tau, "quit")
        await tau.pilot.press("escape")
        await closed(tau)
        assert tau.screen.prompt.text == "a draft"


# Themes -----------------------------------------------------------------------------------------------


async def test_a_theme_is_shown_under_the_cursor_and_esc_brings_the_old_one_back(start: Start) -> None:
    async with start() as tau:
        await tau.send("/theme")
        await opened(tau, ThemePicker)
        entries = [entry if isinstance(entry, str) else entry[0] for entry in picker(tau).entries]
        assert entries[: len(CHOICES) + 2] == ["tau", *CHOICES, "Textual"]
        assert "tau-dark" not in entries
        await tau.pilot.press("down")
        await tau.until(lambda: tau.app.theme == "tau-light", "shown at once")
        await tau.pilot.press("escape")
        await closed(tau)
        assert tau.app.theme == "tau-dark"


def picker(tau: Running) -> ThemePicker:
    assert isinstance(tau.app.screen, ThemePicker)
    return tau.app.screen


async def test_a_chosen_theme_is_there_at_the_next_start(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = settings_for(theme="auto")
    async with start(settings=settings) as tau:
        await tau.send("/theme")
        await opened(tau, ThemePicker)
        await tau.pilot.press(*"nord", "enter")
        await tau.until(lambda: tau.app.theme == "nord", "nord")
        tau.app.remembered.close()
    path = settings.places.state / "tui.json"
    assert json.loads(path.read_text())["theme"] == "nord"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    async with start(settings=settings) as tau:
        assert tau.app.theme == "nord"
    async with start(settings=settings_for(theme="light")) as tau:
        assert tau.app.theme == "tau-light"  # tau.toml decides where it says more than auto
        await tau.send("/theme ansi")
        await tau.until(lambda: tau.app.theme == "tau-ansi-dark", "ansi")
        await tau.shows("at the next start [tui] theme = 'light'")


async def test_a_theme_that_is_not_there_is_refused(start: Start) -> None:
    async with start() as tau:
        await tau.send("/theme drak")
        await tau.shows("There is no theme drak (did you mean dark?)")
        assert tau.app.theme == "tau-dark"


async def test_a_kept_theme_that_is_gone_is_passed_over(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = settings_for(theme="auto")
    settings.places.state.mkdir(parents=True)
    (settings.places.state / "tui.json").write_text('{"theme": "no-such-theme", "recent": [1, "x"]}')
    async with start(settings=settings) as tau:
        assert tau.app.theme == "tau-dark"
        assert list(tau.app.remembered.recent) == ["x"]


@pytest.mark.parametrize("content", ["", "[]", '{"theme": 3, "recent": "x"}', "\x00"])
def test_a_damaged_file_is_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "tui.json").write_text(content)
    remembered = Remembered(tmp_path)
    assert (remembered.theme, list(remembered.recent)) == ("", [])
    remembered.use("a")
    remembered.close()
    assert list(Remembered(tmp_path).recent) == ["a"]


def test_windows_keep_what_others_kept(tmp_path: Path) -> None:
    one, other = Remembered(tmp_path), Remembered(tmp_path)
    one.choose_theme("nord")
    one.close()
    for number in range(MOST_RECENT + 3):
        other.use(f"key{number}")
    other.close()
    again = Remembered(tmp_path)
    assert again.theme == "nord"
    assert len(again.recent) == MOST_RECENT
    assert again.recent[0] == f"key{MOST_RECENT + 2}"


# Tools ------------------------------------------------------------------------------------------------


async def test_tools_say_what_they_may_do_and_where_they_are_from(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    servers = {"docs": GIVEN, "tracker": McpSettings(command="no-such-command-here")}
    settings = msgspec.structs.replace(settings_for(), mcp=servers)
    async with start(settings=settings, size=(120, 50)) as tau:
        await tau.send("/tools")
        await opened(tau, ToolsScreen)
        await tau.shows("Built in")
        assert re.search("edit_file +changes things, asks first", tau.text())
        assert re.search("read_file +looks", tau.text())
        await tau.shows("MCP server docs")
        await tau.shows("connected, ")
        await tau.shows("failed: ")
        assert "no-such-command-here" in tau.text()
        await tau.pilot.press(*"docs_add")
        await tau.shows("MCP server docs")
        assert "edit_file" not in tau.text()
        await tau.pilot.press("enter")
        assert isinstance(tau.app.screen, ToolsScreen)
        await tau.pilot.press("escape")
        await closed(tau)


async def test_a_server_that_takes_long_keeps_nobody_waiting(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    slow = McpSettings(command=sys.executable, args=["-c", "import time; time.sleep(60)"])
    settings = msgspec.structs.replace(settings_for(), mcp={"slow": slow})
    async with start(settings=settings, size=(120, 50)) as tau:
        await tau.send("/tools")
        await opened(tau, ToolsScreen)
        await tau.shows("1 server on the way")
        await tau.shows("is being connected")
        assert "read_file" in tau.text()


def test_without_tools_the_listing_says_why() -> None:
    assert list(listing([], [], "No tools without a model: x").lines) == ["No tools without a model: x"]
    assert not listing([], [], "").settled


# Models -----------------------------------------------------------------------------------------------


async def test_models_show_what_they_hold_cost_and_lack(
    start: Start, settings_for: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings = settings_for()
    models = {
        **settings.models,
        "claude": ModelSettings(provider="anthropic", model_id="claude-haiku-4-5"),
    }
    settings = msgspec.structs.replace(settings, models=models)
    async with start(settings=settings) as tau:
        await tau.send("/model")
        await opened(tau, ModelPicker)
        await tau.shows("200k tokens · in force")
        await tau.shows("cannot be used")
        await tau.pilot.press(*"haiku")
        await tau.shows("ANTHROPIC_API_KEY is not set")
        assert "in force" not in tau.text()
        await tau.pilot.press("escape")
        await closed(tau)
        assert tau.screen.conversation.state.role == "default"


async def test_a_price_that_is_known_is_shown(
    start: Start, settings_for: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x" * 40)
    settings = settings_for()
    models = {
        **settings.models,
        "claude": ModelSettings(provider="anthropic", model_id="claude-haiku-4-5"),
    }
    async with start(settings=msgspec.structs.replace(settings, models=models)) as tau:
        (choice,) = [choice for choice in await tau.screen.conversation.models() if choice.role == "claude"]
        assert choice.price is not None
        assert choice.window
        await tau.send("/model")
        await opened(tau, ModelPicker)
        await tau.shows(f"${choice.price[0]:.0f} in, ${choice.price[1]:.0f} out")


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_the_provider_is_whole_and_figures_give_way(
    start: Start, settings_for: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x" * 40)
    settings = settings_for()
    models = {"default": ModelSettings(provider="anthropic", model_id="claude-haiku-4-5")}
    settings = msgspec.structs.replace(settings, models={**settings.models, **models})
    async with start(settings=settings, size=(width, 24)) as tau:
        await tau.send("/model")
        await opened(tau, ModelPicker)
        await tau.until(lambda: "looking" not in tau.text(), "looked")
        (line,) = [line for line in tau.text().splitlines() if "▌ default" in line]
        assert "claude-haiku-4-5 · anthropic  " in line
        assert "in force" in line
        assert ("$1 in, $5 out" in line) == (width > 80)
        assert "200k tokens · $1 in, $5 out" in tau.text(), "below the list where the row has no room"


# Help -------------------------------------------------------------------------------------------------


async def test_help_is_found_by_typing(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await tau.pilot.press("f1")
        await opened(tau, HelpScreen)
        await tau.pilot.press(*"compact")
        await tau.shows("/compact [FOCUS]")
        await tau.until(lambda: "Ctrl+J" not in tau.text(), "only what fits")
        assert "Keys" not in tau.text()
        await tau.pilot.press("escape")
        await closed(tau)


async def test_help_scrolls_while_the_filter_has_the_keys(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await tau.pilot.press("f1")
        await opened(tau, HelpScreen)
        assert "/quit" not in tau.text()
        for _ in range(6):
            await tau.pilot.press("pagedown")
        await tau.shows("/quit")
        await tau.pilot.press("pageup", "up")
        await tau.until(lambda: "Every key can be changed" not in tau.text(), "scrolled up")


@pytest.mark.parametrize("width", [60, 80, 110, 120, 160])
async def test_no_word_of_a_usage_is_broken(start: Start, width: int) -> None:
    async with start(size=(width, 200)) as tau:
        await tau.pilot.press("f1")
        await opened(tau, HelpScreen)
        text = tau.text()
        for word in re.findall("[A-Za-z]{2,}", " ".join(spec.usage for spec in COMMANDS)):
            assert re.search(rf"(?<![A-Za-z]){word}(?![A-Za-z])", text), word


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 40), (200, 60)], ids=str)
async def test_names_in_the_help_take_a_third_at_most(start: Start, size: tuple[int, int]) -> None:
    async with start(size=size) as tau:
        await tau.pilot.press("f1")
        await opened(tau, HelpScreen)
        (line,) = [line for line in tau.text().splitlines() if "complete a command" in line]
        (first, *_) = [line for line in tau.text().splitlines() if "new line;" in line]
        assert line.index("complete") == first.index("new line;")
        if size[0] < 110:
            assert line.index("complete") - line.index("Tab") <= size[0] // 3 + 2
