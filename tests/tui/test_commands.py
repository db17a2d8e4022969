"""Slash commands and keys: each kind of result is shown its own way."""

from __future__ import annotations

from pathlib import Path

from tau.sessions.store import SessionStore
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.models import ModelPicker
from tau.tui.screens.sessions import SessionPicker
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.row_list import RowList
from tests.tui.conftest import Start
from tests.tui.recorded import exchanges, record


async def test_status_is_said_and_an_unknown_command_refused(start: Start) -> None:
    async with start() as tau:
        await tau.send("/status")
        await tau.shows("Context: sliding, window 60 · 0 messages in memory")
        await tau.send("/modle")
        await tau.shows("There is no command /modle (did you mean /model?)")


async def test_help_lists_keys_and_commands(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press("f1")
        await tau.shows("cancel the running turn")
        await tau.shows("/resume [N|ID|NAME]")
        await tau.pilot.press("escape")
        await tau.send("/help")
        await tau.until(lambda: isinstance(tau.app.screen, HelpScreen))


async def test_new_keeps_the_old_session_and_shows_an_empty_one(start: Start) -> None:
    async with start(size=(160, 40)) as tau:
        await tau.turn("hello there")
        before = tau.screen.conversation.state.session_id
        await tau.send("/new")
        await tau.until(lambda: tau.screen.conversation.state.session_id != before)
        await tau.shows(f"the previous session {before} is kept")
        await tau.shows("hello there")  # on the start page, as the newest earlier session
        await tau.send("/resume 1")
        await tau.until(lambda: tau.screen.conversation.state.session_id == before)
        await tau.shows(f"Resumed session {before}.")
        await tau.ready()


async def test_model_opens_a_picker_and_switches(start: Start) -> None:
    async with start() as tau:
        await tau.send("/model")
        await tau.until(lambda: isinstance(tau.app.screen, ModelPicker))
        await tau.shows("fast")
        await tau.pilot.press("down", "enter")
        await tau.until(lambda: tau.screen.conversation.state.role == "fast")
        await tau.shows("fast → claude-sonnet-5")


async def test_clear_and_quit(start: Start) -> None:
    async with start([{"text": "an answer"}]) as tau:
        await tau.turn("hello")
        await tau.send("/clear")
        await tau.until(lambda: "an answer" not in tau.text())
        assert tau.screen.conversation.state.message_count == 2
        await tau.send("/quit")
        await tau.until(lambda: not tau.app.is_running)


async def test_a_switch_is_refused_while_a_turn_runs(start: Start) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}]) as tau:
        await tau.send("hello")
        await tau.shows("w w")
        await tau.send("/new")
        await tau.shows("I am still answering the previous turn.")
        assert tau.screen.prompt.text == "/new"
        await tau.pilot.press("escape")
        await tau.idle()


async def test_the_events_pane_folds_into_a_count(start: Start) -> None:
    script = [{"tools": [{"name": "nothing", "input": {}, "id": "t1"}], "text": ""}, {"text": "done"}]
    async with start(script, size=(80, 24)) as tau:
        assert not tau.screen.query_one(EventsPane).display
        await tau.turn("go")
        await tau.shows("1 event F4")
        await tau.pilot.press("f4")
        assert tau.screen.query_one(EventsPane).display
        await tau.until(lambda: "1 event F4" not in tau.text())
        assert "nothing" in tau.text()


async def test_the_picker_filters_searches_previews_and_resumes(
    start: Start, store: SessionStore, work: Path
) -> None:
    here = str(work)
    record(store, "20260101-000000-aaaa", exchanges(3), directory=here, title="About rates", name="amber")
    record(store, "20260102-000000-bbbb", exchanges(2), directory=here, title="About trains")
    record(store, "20260103-000000-cccc", exchanges(1), directory="/elsewhere", title="From elsewhere")
    async with start() as tau:
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        await tau.shows("About trains")
        assert "About rates" in tau.text()
        assert "From elsewhere" not in tau.text()
        await tau.pilot.press("tab")
        await tau.shows("From elsewhere")
        await tau.pilot.press("tab")
        await tau.until(lambda: "From elsewhere" not in tau.text())
        await tau.pilot.press(*"amber")
        await tau.until(lambda: "About trains" not in tau.text())
        await tau.shows("question 2")  # the preview
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id.endswith("aaaa"))
        await tau.shows("answer 2")


async def test_the_picker_finds_what_was_said(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "20260101-000000-aaaa", exchanges(3), directory=str(work), title="About rates")
    async with start() as tau:
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        await tau.shows("About rates")
        await tau.pilot.press(*"answer")
        await tau.shows("In the text")
        await tau.shows("answer")


async def test_the_list_draws_only_what_is_on_the_screen(start: Start) -> None:
    from tau.tui.widgets.row_list import Row

    async with start() as tau:
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        rows = tau.app.screen.query_one(RowList)
        rows.show([Row(f"row {n}") for n in range(10_000)])
        await tau.shows("row 10")
        await tau.pilot.press("pagedown", "pagedown")
        await tau.shows("row 60")
        assert "row 29" not in tau.text()
