"""The way back behind a summary: every turn of every session before it, once and in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.config.settings import CompactionSettings, Settings
from tau.events import AgentEvent, Approval, NoticeRecord, ToolCallRecord
from tau.sessions.records import Message
from tau.sessions.store import SessionStore
from tau.tui.fit import duration
from tau.tui.widgets.blocks import SummaryBlock, UserRow
from tau.tui.widgets.chat import EarlierRow
from tau.tui.widgets.reply import Reply
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, numbered, record, result, said

NOTES = [{"text": "The person asks questions and gets answers."}]
QUESTIONS = [f"question {number}" for number in range(12)]

SettingsFor = Callable[..., Settings]


async def compact(tau: Running) -> str:
    """Compact, to the end; the new session."""
    return await switched(tau, "/compact")


async def switched(tau: Running, line: str) -> str:
    """Run a command that leads to another session; that one."""
    before = tau.screen.conversation.state.session_id
    await tau.send(line)
    await tau.until(lambda: tau.screen.conversation.state.session_id != before, "another session")
    await tau.until(lambda: not tau.screen.commands.under_way, "it is shown")
    await tau.ready()
    return tau.screen.conversation.state.session_id


def transcript(tau: Running) -> list[str]:
    """What was said and answered, and the summaries between, from the top."""
    lines = []
    for block in tau.screen.chat.children:
        match block:
            case UserRow():
                lines.append(f"> {block.render()}")
            case Reply():
                lines.append(block.source)
            case SummaryBlock():
                lines.append(str(block.title_line()).partition(" ·")[0])
            case _:
                pass
    return lines


def asked(tau: Running) -> list[str]:
    """What the person said, from the top."""
    return [line.removeprefix("> ") for line in transcript(tau) if line.startswith("> ")]


def told(tau: Running, kind: str = "") -> list[str]:
    """The notices in the chat, or those of one kind, each on one line."""
    return [" ".join(str(row.render()).split()) for row in tau.screen.query(f"NoticeRow{kind}")]


async def all_of_it(tau: Running) -> list[str]:
    """The transcript after everything that is folded above it was shown, page by page."""
    chat = tau.screen.chat
    while (earlier := chat.earlier) is not None:
        assert tau.screen.query_one(EarlierRow).display

        def gone_on(earlier: tuple[str, int] = earlier) -> bool:
            return chat.earlier != earlier and not chat.reading

        while not gone_on():
            at_the_top = chat.scroll_y <= 0
            await tau.pilot.press("pageup")
            if at_the_top:
                await tau.until(gone_on, "earlier turns")
        await tau.pilot.pause()
    assert not tau.screen.query_one(EarlierRow).display
    return transcript(tau)


async def test_a_long_session_is_paged_in_above_its_summary(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path
) -> None:
    record(store, "long", exchanges(50), directory=str(work))
    settings = settings_for(side=NOTES, compaction=CompactionSettings(keep_turns=3))
    async with start(settings=settings, resume="long") as tau:
        await compact(tau)
        assert asked(tau) == ["question 47", "question 48", "question 49"]
        assert "the conversation before the summary" in str(tau.screen.query_one(EarlierRow).render())
        await tau.turn("and now?")
        lines = await all_of_it(tau)
        before = lines[: lines.index("Summary of session long")]
        assert before == [line for n in range(47) for line in (f"> question {n}", f"answer {n}")]
        assert asked(tau) == [*(f"question {n}" for n in range(50)), "and now?"]


@pytest.mark.parametrize("keep", [0, 1, 3, 20])
async def test_beyond_two_compactions_every_turn_comes_once(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path, keep: int
) -> None:
    """Turns that are kept by both are copies of copies: their origin is older than the session before."""
    record(store, "first", exchanges(24), directory=str(work))
    settings = settings_for(side=NOTES, compaction=CompactionSettings(keep_turns=keep))
    questions = [f"question {n}" for n in range(24)]
    async with start(settings=settings, resume="first") as tau:
        second = await compact(tau)
        await tau.turn("a")
        await compact(tau)
        await tau.turn("b")
        lines = await all_of_it(tau)
        assert asked(tau) == [*questions, "a", "b"]
        assert [line for line in lines if line.startswith("Summary")] == [
            "Summary of session first",
            f"Summary of session {second}",
        ]
        await switched(tau, "/fork")
        await all_of_it(tau)
        assert asked(tau) == [*questions, "a", "b"], "so it is in a fork"


async def test_forks_of_forks_and_compactions_of_them_are_read_back_to_the_beginning(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path
) -> None:
    record(store, "first", exchanges(6), directory=str(work))
    settings = settings_for(side=NOTES, compaction=CompactionSettings(keep_turns=2))
    questions = [f"question {n}" for n in range(6)]
    async with start(settings=settings, resume="first") as tau:
        await compact(tau)
        await tau.turn("a")
        await tau.turn("b")
        for line, left in (("/undo", ["a"]), ("/rewind 6", []), ("/fork", [])):
            await switched(tau, line)
            tau.screen.prompt.empty()
            await all_of_it(tau)
            expected = [*questions, *left] if line == "/undo" else questions[:5]
            assert asked(tau) == expected
        await tau.turn("c")
        await compact(tau)
        await tau.turn("d")
        await switched(tau, "/fork 6")
        newest = await switched(tau, "/fork")
        await all_of_it(tau)
        assert asked(tau) == [*questions[:5], "c"]
    async with start(settings=settings, resume=newest) as tau:
        assert tau.screen.query_one(EarlierRow).display
        await all_of_it(tau)
        assert asked(tau) == [*questions[:5], "c"]


async def test_a_fork_goes_on_where_the_session_it_was_made_from_is_gone(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path, tmp_path: Path
) -> None:
    record(store, "first", exchanges(3), directory=str(work))
    async with start(settings=settings_for(side=NOTES), resume="first") as tau:
        middle = await compact(tau)
        await tau.turn("a")
        fork = await switched(tau, "/fork")
    (tmp_path / "data" / "sessions" / middle).rename(tmp_path / "elsewhere")
    async with start(settings=settings_for(side=NOTES), resume=fork) as tau:
        await all_of_it(tau)
        assert asked(tau) == [*QUESTIONS[:3], "a"]


async def test_that_the_session_before_is_gone_is_said_once(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path, tmp_path: Path
) -> None:
    record(store, "first", exchanges(3), directory=str(work))
    async with start(settings=settings_for(side=NOTES), resume="first") as tau:
        newest = await compact(tau)
        (tmp_path / "data" / "sessions" / "first").rename(tmp_path / "elsewhere")
        for _ in range(3):
            tau.screen.chat.scroll_home(animate=False)
            await tau.pilot.pause()
            await tau.pilot.press("pageup")
            await tau.until(lambda: told(tau, ".-warning"), "why nothing comes")
            await tau.until(lambda: not tau.screen.chat.reading)
            await tau.pilot.pause()
        assert len([line for line in told(tau, ".-warning") if "first" in line]) == 1
        (tmp_path / "elsewhere").rename(tmp_path / "data" / "sessions" / "first")
        lines = await all_of_it(tau)
        assert "> question 0" in lines, f"it is there again, before {newest}"


@pytest.mark.parametrize("compacted", [False, True], ids=["one session", "behind a summary"])
async def test_cards_on_earlier_pages_look_as_they_did_live(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path, compacted: bool
) -> None:
    """Every turn calls a tool under the same id, as some providers do."""
    messages: list[Message] = []
    events: list[AgentEvent] = []
    for n in range(150):
        messages += [
            said(f"run {n}"),
            numbered(f"m{n}", answered("", called("t1", "shell", command=f"make {n}"))),
            result("t1", "made"),
            answered("It is made."),
        ]
        approval: Approval = "approved" if n % 2 else "allowed"
        events.append(
            ToolCallRecord("shell", 2, {}, "success", "made", approval, n + 10, "t1", message=f"m{n}")
        )
        events.append(NoticeRecord("something else"))
    record(store, "old", messages, directory=str(work), events=events)
    async with start(settings=settings_for(side=NOTES), resume="old") as tau:
        if compacted:
            await compact(tau)
        await all_of_it(tau)
        cards = [" ".join(str(card.render()).split()) for card in tau.screen.query(ToolCard)]
        assert len(cards) == 150
        for n, card in enumerate(cards):
            word, seconds = "approved" if n % 2 else "allowed", duration(n + 10)
            assert card.endswith(f"make {n} {word} · {seconds}")


async def test_what_was_said_in_the_old_session_afterwards_is_not_before_the_summary(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path
) -> None:
    record(store, "old", exchanges(3), directory=str(work))
    async with start(settings=settings_for(side=NOTES), resume="old") as tau:
        new = await compact(tau)
    with store.hold("old") as writer:
        for message in (said("another way"), answered("so be it")):
            writer.append(writer.count(), message)
    async with start(settings=settings_for(side=NOTES), resume=new) as tau:
        assert asked(tau) == []
        await all_of_it(tau)
        assert asked(tau) == QUESTIONS[:3]


async def test_a_session_that_cannot_be_read_is_told_of_and_can_be_tried_again(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path, tmp_path: Path
) -> None:
    record(store, "old", exchanges(3), directory=str(work))
    folder, elsewhere = tmp_path / "data" / "sessions" / "old", tmp_path / "elsewhere"
    async with start(settings=settings_for(side=NOTES), resume="old") as tau:
        await compact(tau)
        folder.rename(elsewhere)
        await tau.pilot.press("pageup")
        await tau.until(lambda: told(tau, ".-warning"), "why it is not shown")
        assert "old" in told(tau, ".-warning")[0]
        await tau.until(lambda: "before the summary · PageUp shows it" in tau.text(), "it can be tried again")
        elsewhere.rename(folder)
        await all_of_it(tau)
        assert asked(tau) == QUESTIONS[:3]


async def test_cards_of_kept_turns_have_what_is_known_of_their_calls(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path
) -> None:
    messages = [
        *exchanges(2),
        said("run the tests"),
        numbered("m1", answered("", called("t1", "shell", command="pytest -x"))),
        result("t1", "2 passed"),
        answered("They pass."),
    ]
    events: list[AgentEvent] = [
        ToolCallRecord(
            "shell", 2, {"command": "pytest -x"}, "success", "2 passed", "approved", 1.8, "t1", message="m1"
        )
    ]
    record(store, "old", messages, directory=str(work), events=events)
    settings = settings_for(side=NOTES, compaction=CompactionSettings(keep_turns=1))
    async with start(settings=settings, resume="old") as tau:
        new = await compact(tau)
        assert transcript(tau) == ["Summary of session old", "> run the tests", "They pass."]
        assert is_known(tau)
    async with start(settings=settings, resume=new) as tau:
        await tau.shows("They pass.")
        assert is_known(tau)
        assert [entry.name for entry in tau.screen.events_pane.entries] == ["shell"]


def is_known(tau: Running) -> bool:
    (card,) = tau.screen.query(ToolCard)
    return "approved · 1.8 s" in str(card.render())


# A compaction in the middle of a turn ----------------------------------------------------------------


def step(tokens: int, text: str = "", *, look: str = "") -> dict[str, Any]:
    """A reply to a request of so many tokens."""
    call = {"tools": [{"name": "list_files", "input": {"path": "."}, "id": look}]} if look else {}
    return {"text": text, **call, "usage": {"inputTokens": tokens, "outputTokens": 10}}


FULL = [step(1_000, "one"), step(20_000, look="t1"), step(35_000, look="t2"), step(6_000, "done")]
"""The second turn fills a window of 40,000 tokens in its middle."""


async def test_turns_that_folded_since_come_back_from_the_session_they_are_in(
    start: Start, settings_for: SettingsFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.tui.widgets.chat.LIVE_TURNS", 2)
    async with start(settings=settings_for(FULL, side=NOTES, window=40_000)) as tau:
        old = tau.screen.conversation.state.session_id
        said_so_far: list[str] = []
        for text in ("first", "look twice", "third", "fourth", "fifth"):
            await tau.turn(text)
            said_so_far.append(text)
            assert asked(tau) == said_so_far[-2:]
        assert tau.screen.conversation.state.session_id != old
        await all_of_it(tau)
        assert asked(tau) == said_so_far
        assert len(tau.screen.query(ToolCard)) == 2


async def test_esc_while_a_turn_summarizes_cancels_the_turn(start: Start, settings_for: SettingsFor) -> None:
    endless = [{"text": "notes", "silent": 600}]
    async with start(settings=settings_for(FULL, side=endless, window=40_000)) as tau:
        await tau.turn("first")
        session = tau.screen.conversation.state.session_id
        await tau.send("look twice")
        await tau.until(lambda: tau.screen.status.activity == "Summarizing…", "Summarizing…")
        await tau.send("and then?")
        await tau.pilot.press("escape")
        await tau.idle()
        assert tau.screen.prompt.text == "and then?"
        assert tau.screen.conversation.state.session_id == session
        assert tau.screen.status.activity == "Ready"
        assert told(tau)[-1] == "· Turn cancelled."
