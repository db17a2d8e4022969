"""Resuming: the newest turns first, cards as they were, older turns paged in, who holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tau.config.settings import Settings
from tau.events import AgentEvent, ErrorRecord, NoticeRecord, ToolCallRecord
from tau.sessions.store import SessionStore
from tau.tui.widgets.blocks import UserRow
from tau.tui.widgets.chat import EarlierRow
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Start
from tests.tui.recorded import answered, called, exchanges, record, result, said


async def test_history_and_events_come_back(start: Start, store: SessionStore, work: Path) -> None:
    messages = [
        said("Is it broken?"),
        answered("Let me see.", called("t1", "read_file", path="quail/rates.py")),
        result("t1", "def rate(): ..."),
        answered("It is **fine**."),
    ]
    events: list[AgentEvent] = [
        ToolCallRecord(
            "read_file", 0, {"path": "quail/rates.py"}, "success", "def rate(): ...", "approved", 1.8, "t1",
            at="2026-09-29T15:30:12+00:00",
        ),
        NoticeRecord("near the window", at="2026-09-29T15:30:31+00:00"),
        ErrorRecord("model", "the call failed", at="2026-09-29T15:31:00+00:00"),
    ]  # fmt: skip
    record(store, "s1", messages, directory=str(work), events=events)
    async with start(resume="s1") as tau:
        await tau.shows("It is fine.")
        card = str(tau.screen.query_one(ToolCard).render())
        assert "read_file" in card
        assert "1.8 s" in card
        assert "approved" in card
        assert "def rate" not in card
        tau.screen.query_one(ToolCard).action_turn()
        assert "def rate" in str(tau.screen.query_one(ToolCard).render())
        stored = tau.screen.query_one(EventsPane).entries
        assert [(entry.at, entry.name) for entry in stored] == [
            ("15:30:12", "read_file"),
            ("15:30:31", "notice"),
            ("15:31:00", "error model"),
        ]
        await tau.turn("and now?")
        assert tau.screen.query_one(EventsPane).entries[:3] == stored[:3]


async def test_a_call_without_a_result_says_so(start: Start, store: SessionStore, work: Path) -> None:
    messages = [said("go"), answered("", called("t1", "shell", command="make"))]
    record(store, "s1", messages, directory=str(work))
    async with start(resume="s1") as tau:
        assert "outcome unknown" in str(tau.screen.query_one(ToolCard).render())


async def test_40_turns_are_live_and_20_more_come_from_the_top(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(75), directory=str(work))
    async with start(resume="s1") as tau:
        await tau.shows("answer 74")
        await tau.until(lambda: len(tau.screen.query(UserRow)) == 40, "40 turns")
        assert tau.screen.query_one(EarlierRow).display
        tau.screen.chat.scroll_home(animate=False)
        await tau.shows("question 35")
        await tau.pilot.press("pageup")
        await tau.until(lambda: len(tau.screen.query(UserRow)) == 60, "60 turns")
        await tau.pilot.pause()
        assert "question 35" in tau.text()
        tau.screen.chat.scroll_home(animate=False)
        await tau.shows("question 15")
        await tau.pilot.press("pageup")
        await tau.until(lambda: len(tau.screen.query(UserRow)) == 75, "all turns")
        assert not tau.screen.query_one(EarlierRow).display
        rows = [str(row.render()) for row in tau.screen.query(UserRow)]
        assert rows == [f"question {n}" for n in range(75)]


async def test_the_oldest_live_turn_folds_when_a_new_one_begins(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(40), directory=str(work))
    async with start(resume="s1") as tau:
        await tau.until(lambda: len(tau.screen.query(UserRow)) == 40)
        await tau.turn("one more")
        assert len(tau.screen.query(UserRow)) == 40
        assert tau.screen.query_one(EarlierRow).display
        assert str(tau.screen.query(UserRow).first().render()) == "question 1"


async def test_a_session_held_elsewhere_is_read_only_and_says_by_whom(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(2), directory=str(work))
    with store.hold("s1"):
        async with start(resume="s1", ready=False) as tau:
            await tau.shows("answer 1")
            await tau.shows("Read-only: this session is open in tau tui, process")
            assert not tau.screen.query_one("#prompt-box").display
            await tau.pilot.press("f3")
            await tau.until(lambda: tau.screen.query_one("#prompt-box").display, "a new session")
            await tau.ready()
            await tau.turn("hello")
    assert store.read("s1").count() == 4


async def test_a_session_that_is_not_there_ends_the_app_with_one_line(start: Start) -> None:
    async with start(resume="nowhere", ready=False) as tau:
        await tau.until(lambda: tau.app.last_line, "the line")
        assert "nowhere" in tau.app.last_line
        assert tau.app.exit_code == 1


async def test_warnings_and_a_directory_that_is_gone_are_said(
    start: Start, settings_for: Callable[..., Settings], work: Path
) -> None:
    settings = settings_for()
    work.rmdir()
    async with start(settings=settings, warnings=["unknown key 'aproval'"]) as tau:
        await tau.shows("unknown key 'aproval'")
        await tau.shows("is gone")
        await tau.turn("hello")
        assert tau.text().count("is gone") == 1
