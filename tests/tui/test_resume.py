"""Resuming: the newest turns first, cards as they were, older turns paged in, who holds it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.config.settings import Settings
from tau.events import AgentEvent, ErrorRecord, NoticeRecord, ToolCallRecord, to_line
from tau.sessions.records import Message
from tau.sessions.store import SessionStore
from tau.tui.widgets.blocks import UserRow
from tau.tui.widgets.chat import EarlierRow
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, numbered, record, result, said


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


async def test_a_call_that_broke_off_is_marked_the_same_after_an_undo(
    start: Start, store: SessionStore, work: Path
) -> None:
    def mark(tau: Running) -> str:
        (card,) = tau.screen.query(ToolCard)
        return " ".join(card.render().plain.split("\n")[0].split())

    asking = numbered("m1", answered("", called("t1", "shell", command="make")))
    record(store, "s1", [said("go"), asking], directory=str(work))
    async with start(resume="s1") as tau:
        before = mark(tau)
        assert before == "? shell make outcome unknown"
        await tau.turn("and now?")
        assert mark(tau) == before
        await tau.send("/undo")
        await tau.until(lambda: tau.screen.conversation.state.session_id != "s1", "it is undone")
        await tau.until(lambda: len(tau.screen.query(UserRow)) == 1, "it is shown")
        assert mark(tau) == before


def call_of(text: str, message: str = "", **fields: Any) -> ToolCallRecord:
    """The record of a call with the id that every turn begins anew with."""
    call = ToolCallRecord("shell", 2, {"command": text}, "success", f"{text}\n[exit 0, 1 s]", "approved", 1.0,
                          "call_0", message=message)  # fmt: skip
    return replace(call, **fields)


def turn_of(text: str, outcome: str, name: str = "", status: str = "success") -> list[Message]:
    """A turn of one call, in a message of this name."""
    asking = answered("", called("call_0", "shell", command=text))
    if name:
        asking = numbered(name, asking)
    return [said(f"do {text}"), asking, result("call_0", outcome, status), answered(f"did {text}")]


@pytest.mark.parametrize("named", [True, False], ids=["records that name the message", "older records"])
async def test_calls_whose_ids_repeat_each_show_their_own_outcome(
    start: Start, store: SessionStore, work: Path, named: bool
) -> None:
    names = ("m1", "m2", "m3") if named else ("", "", "")
    messages = [
        *turn_of("one", "one\n[exit 0, 1 s]", names[0]),
        *turn_of("two", "Refused: the person said no.", names[1], "error"),
        *turn_of("three", "three\n[exit 3, 9 s]", names[2]),
    ]
    events: list[AgentEvent] = [
        call_of("long before, and not on the screen", "m0" if named else ""),
        call_of("one", names[0]),
        call_of("two", names[1], approval="denied", status="error", result="Refused: the person said no."),
        call_of("three", names[2], approval="allowed", duration=9.0, result="three\n[exit 3, 9 s]"),
    ]
    record(store, "s1", messages, directory=str(work), events=events)
    async with start(resume="s1") as tau:
        await tau.shows("did three")
        lines = [" ".join(card.render().plain.split("\n")[0].split()) for card in tau.screen.query(ToolCard)]
        assert lines == [
            "▸ shell one approved · 1.0 s",
            "⊘ shell two denied",
            "✗ shell three allowed · exit 3 · 9.0 s",
        ]


async def test_a_call_that_broke_off_takes_no_outcome_of_one_with_its_id(
    start: Start, store: SessionStore, work: Path
) -> None:
    for name, message in (("s1", "m1"), ("s2", "")):
        asking = answered("", called("call_0", "shell", command="two"))
        messages = [
            *turn_of("one", "one", message),
            said("do two"),
            numbered("m2", asking) if message else asking,
        ]
        record(store, name, messages, directory=str(work), events=[call_of("one", message)])
        async with start(resume=name) as tau:
            one, two = (card.render().plain for card in tau.screen.query(ToolCard))
            assert "approved" in one
            assert "outcome unknown" in two


async def test_a_call_that_runs_in_another_window_is_not_over_yet(
    start: Start, store: SessionStore, work: Path
) -> None:
    messages = [
        said("go"), numbered("m1", answered("", called("call_0", "shell", command="one"))),
        said("go on"), numbered("m2", answered("", called("call_0", "shell", command="two"))),
    ]  # fmt: skip
    record(store, "s1", messages, directory=str(work))

    def outcomes(tau: Running) -> list[str]:
        return [
            card.render().plain.split("\n")[0].split("  ")[-1].strip() for card in tau.screen.query(ToolCard)
        ]

    with store.hold("s1") as writer:
        async with start(resume="s1", ready=False) as tau:
            await tau.shows("go on")
            await tau.until(lambda: outcomes(tau) == ["outcome unknown", "running"], "the last one runs")
            writer.append_event(to_line(call_of("two", "m2", result="two\n[exit 0, 1 s]")))
            writer.append(4, result("call_0", "two\n[exit 0, 1 s]"))
            writer.flush()
            await tau.until(lambda: outcomes(tau) == ["outcome unknown", "approved · 1.0 s"], "it is over")


async def test_a_call_that_ran_in_a_window_that_died_has_an_unknown_outcome(
    start: Start, store: SessionStore, work: Path
) -> None:
    messages = [said("go"), numbered("m1", answered("", called("call_0", "shell", command="make")))]
    record(store, "s1", messages, directory=str(work))
    with ExitStack() as other:
        other.enter_context(store.hold("s1"))
        async with start(resume="s1", ready=False) as tau:
            await tau.shows("running")
            other.close()
            await tau.shows("The other window has let go of this session.")
            await tau.until(lambda: "outcome unknown" in tau.text(), "nobody runs it any more")


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
            held = tau.screen.query_one("#held")
            assert held.region.bottom <= tau.screen.query_one("#prompt-box").region.y, "over the prompt"
            await tau.pilot.press("f3")
            await tau.until(lambda: not held.display, "a new session")
            await tau.ready()
            await tau.turn("hello")
    assert store.read("s1").count() == 4


async def test_a_message_to_a_session_held_elsewhere_stays_in_the_prompt(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(2), directory=str(work))
    holder = store.hold("s1")
    async with start(resume="s1", ready=False) as tau:
        await tau.shows("Read-only: this session is open in tau tui, process")
        await tau.send("not yet")
        await tau.shows("your text stays here; /fork goes on in a new session")
        await tau.pilot.press("enter")
        await tau.until(lambda: not tau.screen.prompt.enter_key.waits, "Enter was taken")
        await tau.pilot.pause()
        assert " ".join(tau.text().split()).count("your text stays here") == 1, (
            "once, however often it is sent"
        )
        assert "waiting" not in tau.text()
        holder.close()
        await tau.shows("has let go of this session")
        await tau.ready()
        assert tau.screen.prompt.text == "not yet"
        assert not tau.screen.query_one("#held").display
        assert store.read("s1").count() == 4, "nothing is sent by itself"
        await tau.pilot.press("enter")
        await tau.until(lambda: store.read("s1").count() == 6, "it is sent when it is wanted")
        await tau.idle()


async def test_commands_work_in_a_session_held_elsewhere(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(2), directory=str(work))
    with store.hold("s1"):
        async with start(resume="s1", ready=False) as tau:
            await tau.shows("Read-only: this session is open in tau tui, process")
            await tau.send("/status")
            await tau.until(lambda: tau.text().count("Read-only: this session is open in") == 2, "its state")
            await tau.send("/fork")
            await tau.until(lambda: not tau.screen.query_one("#held").display, "the fork")
            await tau.ready()
            await tau.turn("on we go")
            assert tau.screen.conversation.state.message_count == 6
    assert store.read("s1").count() == 4


async def test_what_waits_comes_back_when_the_session_turns_out_to_be_held(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(2), directory=str(work))
    with store.hold("s1"):
        async with start() as tau:
            await tau.turn("hello")
            tau.screen.outbox.add("for whoever answers")
            tau.screen.commands.resume("s1")
            await tau.shows("Read-only: this session is open in tau tui, process")
            assert not len(tau.screen.outbox)
            assert tau.screen.prompt.text == "for whoever answers"


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
