"""Keys of lists, bars, blocks and questions can be chosen; each place names the ones in force."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual import events
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from tau.config.settings import Settings
from tau.sessions.store import SessionStore
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.memory import MemoryScreen
from tau.tui.screens.models import ModelPicker
from tau.tui.screens.palette import PaletteScreen
from tau.tui.screens.rewind import RewindPicker
from tau.tui.screens.sessions import SessionPicker
from tau.tui.screens.themes import ThemePicker
from tau.tui.screens.tools import ToolsScreen
from tau.tui.widgets.block_bar import BlockBar
from tau.tui.widgets.choices import Choices
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.find_bar import FindBar
from tau.tui.widgets.letter_answers import HELD_SECONDS, QUIET_SECONDS
from tau.tui.widgets.row_list import RowList
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, record, result, said
from tests.tui.test_memory_screen import write
from tests.tui.test_questions import asked, jots, no_question, put

Make = Callable[..., Settings]

LISTS = {
    "back": "f10",
    "choose": "ctrl+o",
    "list-up": "alt+k",
    "list-down": "alt+j",
    "list-page-up": "f11",
    "list-page-down": "f12",
}


@pytest.fixture
def given(settings_for: Make) -> Make:
    """Settings with these keys."""

    def make(keys: dict[str, str | list[str]], *script: dict[str, object]) -> Settings:
        return msgspec.structs.replace(settings_for(script), keys=keys)

    return make


async def on(tau: Running, kind: type[Any]) -> Screen[Any]:
    await tau.until(lambda: isinstance(tau.app.screen, kind), kind.__name__)
    await tau.pilot.pause()
    return tau.app.screen


def searches(tau: Running) -> bool:
    return tau.screen.search is not None and tau.screen.search.is_open


def has_focus(widget: Widget) -> bool:
    return widget.has_focus


async def quiet(tau: Running, seconds: float) -> None:
    """Wait until a key that was pressed would have done what it does."""
    until = time.monotonic() + seconds
    await tau.until(lambda: time.monotonic() > until, "a moment")


PICKERS: dict[type, str] = {
    PaletteScreen: "ctrl+p",
    ModelPicker: "/model",
    ThemePicker: "/theme",
    ToolsScreen: "/tools",
    SessionPicker: "f2",
    RewindPicker: "/rewind",
    MemoryScreen: "alt+m",
    HelpScreen: "f1",
}
LISTS_OF_THEIR_OWN = (PaletteScreen, SessionPicker, RewindPicker, MemoryScreen)
"""The others are the palette's kind, or none."""


async def test_one_setting_holds_in_every_list(
    start: Start, given: Make, store: SessionStore, work: Path
) -> None:
    for number in range(3):
        record(store, f"s{number}", exchanges(3), directory=str(work), title=f"Session {number}")
    settings = given(LISTS)
    for name in ("style", "tests"):
        write(settings, name, "Short.")
    async with start(settings=settings, size=(80, 24), resume="s0") as tau:
        press = tau.pilot.press
        for kind, opens in PICKERS.items():
            await (tau.send(opens) if opens.startswith("/") else press(opens))
            screen = await on(tau, kind)
            await tau.shows("F10 back")
            assert "Esc" not in tau.text(), kind
            await press("escape", "enter")
            assert tau.app.screen is screen, kind
            if kind in LISTS_OF_THEIR_OWN:
                rows = screen.query_one(RowList)
                await tau.until(lambda rows=rows: len(rows.rows) > 1, "rows")  # type: ignore[misc]  # bound now
                before = rows.cursor
                await press("down", "up", "up", "pagedown")
                assert rows.cursor == before, kind
                await press("alt+k")
                above = rows.cursor
                await press("alt+j")
                assert rows.cursor == (before if above < before else before + 1), kind
            if kind is PaletteScreen:
                await press("f12")
                below = rows.cursor
                assert below > 5
                await press("f11")
                assert rows.cursor < below
            await press("f10")
            await tau.until(lambda: tau.app.screen is tau.screen, "back")
        await press("f2")
        await on(tau, SessionPicker)
        await tau.shows("Ctrl+O resume")
        await tau.shows("Session 2")
        await press("ctrl+o")
        await tau.until(lambda: tau.screen.conversation.state.session_id in ("s1", "s2"), "resumed")


async def test_help_scrolls_by_the_keys_of_lists_and_shows_all_of_them(start: Start, given: Make) -> None:
    keys = {**LISTS, "block-quote": "x", "yes": ["j", "f6"], "memory-filter": "?", "earlier": "alt+p"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        await tau.pilot.press("f1")
        await on(tau, HelpScreen)
        await tau.shows("Alt+K Alt+J scroll   F10 back")
        seen = ""
        for _ in range(20):
            seen += tau.text()
            await tau.pilot.press("f12")
        lines = [" ".join(line.split()) for line in seen.splitlines()]
        for line in (
            "Everywhere",
            "Alt+P what was sent before, or what waits",
            "In lists, and in what is read",
            "F10 back; close a list or a bar",
            "? filter",
            "The cursor over the blocks",
            "x put it into the draft",
            "Questions",
            "j, F6 yes, this once",
            "n no",
        ):
            assert any(shown.startswith(line) for shown in lines), line
        await tau.pilot.press(*"this once")
        await tau.shows("j, F6")
        await tau.until(lambda: "Everywhere" not in tau.text(), "only what was found")


async def test_keys_of_the_list_of_sessions(
    start: Start, given: Make, store: SessionStore, work: Path
) -> None:
    record(store, "old", exchanges(1), directory=str(work), title="The one", compacted_to="new")
    record(store, "new", exchanges(1), directory=str(work), title="The one", compacted_from="old")
    keys = {"other-side": "f6", "rename": "tab", "back": "f10", "unfold": "f7", "fold": "alt+k"}
    async with start(settings=given(keys), size=(120, 40)) as tau:
        press = tau.pilot.press
        await press("f2")
        picker = await on(tau, SessionPicker)
        assert isinstance(picker, SessionPicker)
        await tau.shows("Enter resume   F7 earlier ones   F6 all directories   Tab rename   F10 back")
        await press("right")
        await tau.shows("F7 earlier ones")
        await press("f7")
        await tau.shows("Enter resume   Alt+K fold   F6 all")
        await press("left")
        await tau.shows("Alt+K fold")
        await press("alt+k")
        await tau.shows("F7 earlier ones")
        await press("f6")
        await tau.shows("every directory")
        await press("f6", "tab")
        await tau.shows("Enter keep the name   F10 back")
        await press(*"wren", "enter")
        await tau.shows("wren")
        await press("escape", "ctrl+r")
        assert tau.app.screen is picker
        await press("f10")
        await tau.until(lambda: tau.app.screen is tau.screen, "back")
        await press("ctrl+r")
        await tau.until(lambda: searches(tau), "the search")
        await tau.shows("F6 all directories   F10 back")
        await press("f6")
        await tau.shows("Search what was sent everywhere")
        await press("f10")
        await tau.until(lambda: not searches(tau), "closed")


async def test_keys_of_memory_can_be_letters(start: Start, given: Make, work: Path) -> None:
    keys = {"memory-filter": "i", "memory-edit": "w", "memory-undo": "?", "other-side": "f6", "choose": "f7"}
    settings = given(keys)
    write(settings, "style", "Short sentences.")
    async with start(settings=settings, size=(80, 24)) as tau:
        press = tau.pilot.press
        await press("alt+m")
        screen = await on(tau, MemoryScreen)
        field = screen.query_one("#memory-filter", Input)
        await tau.shows("w edit")
        await tau.shows("F6 changes   i filter   Esc back")
        await press("slash", "e", "tab")
        assert not has_focus(field)
        await tau.shows("F6 changes")
        await press("i")
        await tau.until(lambda: has_focus(field), "the filter")
        await tau.shows("F7 to the list   Esc all of them")
        await press("i", "w", "?", "enter")
        assert field.value == "iw?"
        assert has_focus(field)
        await press("f7")
        await tau.until(lambda: screen.query_one(RowList).has_focus, "the list")
        await press("escape", "f6")
        await tau.shows("F6 files")
        await press("u")
        await tau.shows("? undo")
        await press("?")
        await tau.shows("Undone:")


async def test_capital_letters_are_keys_in_memory_and_on_blocks(
    start: Start, given: Make, store: SessionStore, work: Path
) -> None:
    record(store, "one", [said("hello there"), answered("`x = 1`")], directory=str(work), title="One")
    settings = given({"other-side": "f6", "memory-undo": "U", "block-copy": "C"})
    write(settings, "style", "Short sentences.")
    async with start(settings=settings, size=(120, 40), resume="one") as tau:
        press = tau.pilot.press
        await press("alt+m")
        await on(tau, MemoryScreen)
        await press("f6")
        await tau.shows("U undo")
        await press("u")
        await tau.pilot.pause()
        assert "Undone:" not in tau.text()
        await press("U")
        await tau.shows("Undone:")
        await press("escape", "alt+up", "alt+up")
        await tau.shows("C copy")
        await press("C")
        await tau.shows("7 characters")
        await press("c")
        await tau.until(lambda: tau.screen.prompt.text == "c", "the draft's")


async def test_keys_of_the_find_bar(start: Start, given: Make, store: SessionStore, work: Path) -> None:
    record(store, "long", exchanges(30), directory=str(work), title="A long one")
    keys = {**LISTS, "find-before": "f6", "find-stay": "f7", "find": "ctrl+e"}
    async with start(settings=given(keys), size=(120, 40), resume="long") as tau:
        press = tau.pilot.press
        await press("ctrl+f")
        assert not tau.screen.query(FindBar)
        await press("ctrl+e")
        await tau.shows("Alt+K Alt+J previous, next   F7 stay   F10 back")
        await press(*"question 1")
        await tau.shows("11 of 11")
        await press("enter", "up", "shift+enter", "escape")
        assert tau.screen.query_one(FindBar).display
        await tau.shows("11 of 11")
        await press("f6")
        await tau.shows("10 of 11")
        await press("alt+k")
        await tau.shows("9 of 11")
        await press("alt+j", "ctrl+o", "ctrl+e")
        await tau.shows("1 of 11")
        await press("f7")
        await tau.until(lambda: tau.screen.query(BlockBar), "the cursor over the blocks")
        await tau.shows("F10 back")
        await press("f10")
        await tau.until(lambda: tau.screen.focused is tau.screen.prompt, "the prompt")


async def test_keys_on_a_block(start: Start, given: Make, store: SessionStore, work: Path) -> None:
    record(store, "one", [said("hello there"), answered("`x = 1`")], directory=str(work), title="One")
    keys = {**LISTS, "block-copy": "x", "block-quote": ["f4", "z"], "block-resend": ""}
    async with start(settings=given(keys), size=(120, 40), resume="one") as tau:
        press = tau.pilot.press
        await press("alt+up", "alt+k")
        await tau.shows("x copy   o editor   F4 to prompt   F10 back")
        await press("up", "down", "alt+j", "alt+up")
        await tau.shows("x copy")
        assert "resend" not in tau.text()
        await press("x")
        await tau.shows("11 characters")
        await press("f4")  # which folds the events pane elsewhere
        await tau.until(lambda: tau.screen.prompt.text == "> hello there\n", "the quotation")
        assert tau.screen.query_one(EventsPane).display
        await press("alt+up", "c", "o", "p")
        await tau.until(lambda: tau.screen.prompt.text == "> hello there\ncop", "a word that begins with c")


async def test_cards_are_gone_through_and_opened_by_the_keys_in_force(
    start: Start, given: Make, store: SessionStore, work: Path
) -> None:
    messages = [
        said("go"),
        answered("", called("t1", "read_file", path="a.py")),
        result("t1", "x = 1"),
        answered("done"),
    ]
    record(store, "one", messages, directory=str(work), title="One")
    keys = {"card-next": "f6", "card-back": "f7", "choose": "ctrl+o"}
    async with start(settings=given(keys), size=(80, 24), resume="one") as tau:
        press = tau.pilot.press
        card = tau.screen.query_one(ToolCard)
        await press("tab", "shift+tab")
        assert has_focus(tau.screen.prompt)
        await press("f7")
        assert has_focus(card)
        states = []
        for key in ("enter", "ctrl+o", "enter", "ctrl+o"):
            await press(key)
            states.append(card.is_open)
        assert states == [False, True, True, False]
        await press("f6")
        assert not has_focus(card)


async def test_what_was_sent_before_comes_by_the_keys_in_force(start: Start, given: Make) -> None:
    keys = {"earlier": "alt+p", "later": "alt+n", "list-up": "alt+k", "list-down": "alt+j", "back": "f10"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        press, prompt = tau.pilot.press, tau.screen.prompt
        await tau.turn("first")
        await tau.turn("second")
        await press(*"draft", "up")
        assert prompt.text == "draft"
        await press("alt+p", "alt+p")
        assert prompt.text == "first"
        await press("down")
        assert prompt.text == "first"
        await press("alt+n", "alt+n")
        assert prompt.text == "draft"
        await press("ctrl+c")
        await tau.shows("The draft is put away; Alt+P brings it back")
        await press("/")
        await tau.until(lambda: tau.screen.completion.is_open, "commands")
        await tau.shows("Alt+K Alt+J choose   Tab take   F10 close")
        choices = tau.screen.query_one(Choices)
        await press("down")
        assert choices.cursor == 0
        await press("alt+j", "alt+j", "alt+k")
        assert choices.cursor == 1
        await press("escape")
        assert choices.display
        await press("f10")
        await tau.until(lambda: not choices.display, "closed")
        assert prompt.text == "/"


async def test_a_message_that_waits_comes_back_by_the_key_in_force(start: Start, given: Make) -> None:
    slow = {"text": "word " * 50, "chunks": 50, "delay": 0.1}
    async with start(settings=given({"earlier": "alt+p"}, slow), size=(80, 24)) as tau:
        await tau.send("go")
        await tau.send("next")
        await tau.shows("Alt+P take back")
        await tau.pilot.press("up")
        assert len(tau.screen.outbox) == 1
        await tau.pilot.press("alt+p")
        await tau.until(lambda: tau.screen.prompt.text == "next", "the message")


# Questions -------------------------------------------------------------------------------------

ANSWERS = {"yes": ["j", "f6"], "always": "w", "no": "k", "no-because": "?", "arguments": "v"}


async def test_a_question_is_answered_by_the_keys_in_force(start: Start, given: Make, work: Path) -> None:
    settings = given({**LISTS, **ANSWERS}, *jots("one", "two", "three"))
    async with start(settings=settings, can_ask=True) as tau:
        await tau.send("note it")
        await asked(tau, "text: one")
        assert "j once · w always this session: jot_note · k no · ? no, because…" in tau.text()
        await tau.pilot.press("y")
        await tau.until(lambda: tau.screen.prompt.text == "y", "no answer, but the draft's")
        await quiet(tau, HELD_SECONDS)
        question = await asked(tau, "text: one")
        await tau.pilot.press("j")
        assert question.held_answer == "yes"
        await asked(tau, "text: two")
        await tau.pilot.press("?")
        await tau.shows("Ctrl+O no, for this reason · F10 back")
        await tau.pilot.press("f10")
        await tau.shows("j once")
        await asked(tau, "text: two")
        await tau.pilot.press("?")
        await tau.shows("no, for this reason")
        await tau.pilot.press(*"why", "enter")
        await tau.shows("no, for this reason")
        await tau.pilot.press("ctrl+o")
        await asked(tau, "text: three")
        await tau.pilot.press("f6")
        await no_question(tau)
        await tau.idle()
        assert (work / "notes.txt").read_text() == "one\nthree\n"
        outcomes = [entry.outcome for entry in tau.screen.events_pane.entries if entry.name == "approval"]
        assert outcomes == ["approved", "denied", "approved"]


async def test_a_key_that_types_nothing_keeps_the_rules_of_letters(start: Start, given: Make) -> None:
    keys = {**LISTS, "yes": "f4", "no": "f3"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        question, answers = await put(tau, offers=[])
        early = events.Key("f4", None)
        early.time = question._quiet_until - QUIET_SECONDS / 2
        question.take_key(early)  # as it was pressed while the question came
        assert question.held_answer == ""
        assert question._quiet_until > early.time + QUIET_SECONDS / 2
        await asked(tau, "asks to run")
        await tau.pilot.press("y", "f4")  # a word is being typed: neither answers
        await tau.until(lambda: tau.screen.prompt.text == "y", "the draft")
        await quiet(tau, HELD_SECONDS * 2)
        assert answers == []
        assert tau.screen.query_one(EventsPane) is tau.screen.events_pane
        await asked(tau, "asks to run")
        await tau.pilot.press("f4", "f3")
        await quiet(tau, HELD_SECONDS * 2)
        assert answers == []
        await asked(tau, "asks to run")
        await tau.pilot.press("f4", "x")  # a letter at once behind it is the draft's
        await tau.until(lambda: tau.screen.prompt.text == "yx", "the draft")
        await quiet(tau, HELD_SECONDS)
        assert answers == []
        await asked(tau, "asks to run")
        await tau.pilot.press("f3")
        await tau.until(lambda: answers == [("no", "")], "the answer")


async def test_what_was_not_in_sight_to_its_end_is_shown_first_whatever_the_key(
    start: Start, given: Make
) -> None:
    keys = {**LISTS, "yes": "f6", "list-end": "f7"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        question, answers = await put(tau, arguments={"command": "\n".join(f"echo {n}" for n in range(80))})
        await tau.shows("F12 F7 scroll")
        await tau.pilot.press("end", "pagedown")
        assert question._lines.scroll_y == 0
        await tau.pilot.press("f12")
        await tau.until(lambda: question._lines.scroll_y > 0, "a page down")
        await asked(tau, "asks to run")
        await tau.pilot.press("f6")
        await tau.shows("that was all of it: F6 again")
        assert answers == []
        await asked(tau, "asks to run")
        await tau.pilot.press("f6")
        await tau.until(lambda: answers == [("yes", "")], "the answer")


async def test_a_question_can_be_answered_whatever_takes_its_keys(start: Start, given: Make) -> None:
    keys: dict[str, str | list[str]] = {"always": ["y", "n"], "arguments": "y"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        _, answers = await put(tau, offers=[])
        await tau.shows("y once")
        await tau.pilot.press("n")
        await tau.until(lambda: answers == [("no", "")], "the answer")


async def test_no_list_is_a_trap_whatever_takes_its_keys(start: Start, given: Make) -> None:
    keys = {"other-side": "escape", "rename": "enter"}
    async with start(settings=given(keys), size=(80, 24)) as tau:
        await tau.pilot.press("f2")
        await on(tau, SessionPicker)
        await tau.shows("Esc back")
        await tau.pilot.press("escape")
        await tau.until(lambda: tau.app.screen is tau.screen, "back")


async def test_the_start_page_says_whole_how_to_leave_where_there_is_little_room(start: Start) -> None:
    async with start(size=(50, 20)) as tau:
        await tau.shows("leave, nothing is lost")
        await tau.shows("F1 help")
