"""Ctrl+F: words found in the conversation, on the screen, folded, above it and before a summary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tau.config.settings import CompactionSettings
from tau.sessions.store import SessionStore
from tau.tui.finding import Row, joined, pattern_for, places
from tau.tui.widgets.block import FOUND_HERE, Block
from tau.tui.widgets.reply import Reply
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, record, result, said
from tests.tui.test_behind_summary import SettingsFor, compact


async def find(tau: Running, words: str) -> None:
    """Open the bar and write the words."""
    await tau.pilot.press("ctrl+f")
    await tau.until(lambda: tau.screen.query("#find-field"), "the bar")
    tau.screen.query_one("#find-field").value = words  # type: ignore[attr-defined]  # an Input
    await done(tau)


async def done(tau: Running) -> None:
    """Wait until nothing is being looked for."""
    await tau.pilot.pause()
    await tau.until(
        lambda: not any(worker.group == "find" and worker.is_running for worker in tau.screen.workers),
        "it was searched",
    )
    await tau.pilot.pause()


async def press(tau: Running, *keys: str) -> None:
    for key in keys:
        await tau.pilot.press(key)
        await done(tau)


def bar(tau: Running) -> str:
    """What the bar says was found."""
    return str(tau.screen.query_one("#find-count").render())


def is_open(tau: Running) -> bool:
    """Whether the card is."""
    return tau.screen.query_one(ToolCard).open


def in_sight(tau: Running) -> list[str]:
    """The lines of the chat, without the scrollbar."""
    return [line[:70].rstrip() for line in tau.text().split("\n")[:-4]]


def here(tau: Running) -> tuple[Block, int] | None:
    """The block whose match is marked as the one that was reached, and which of its matches."""
    return next(((block, block._here) for block in tau.screen.chat.blocks if block._here >= 0), None)


def test_matches_go_on_over_wrapped_lines_and_not_over_ends_of_lines() -> None:
    rows = [Row("the quick"), Row("brown fox", 2, " "), Row("fox the"), Row("quick", 0, None)]
    assert joined(rows) == "the quick brown fox\nfox the\nquick"
    pattern = pattern_for("quick brown")
    assert pattern is not None
    assert places(rows, pattern) == [[(0, 4, 9), (1, 2, 7)]]
    pattern = pattern_for("the quick")
    assert pattern is not None
    assert places(rows, pattern) == [[(0, 0, 9)]]


def test_capitals_count_where_there_are_some() -> None:
    assert pattern_for("  ") is None
    small, capital = pattern_for("tau"), pattern_for("Tau")
    assert small is not None
    assert capital is not None
    assert len(small.findall("Tau tau TAU")) == 3
    assert capital.findall("Tau tau TAU") == ["Tau"]


async def test_matches_are_counted_and_gone_through(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "amber", exchanges(6), directory=str(work))
    async with start(resume="amber", size=(80, 24)) as tau:
        tau.screen.prompt.insert("a draft")
        await find(tau, "ANSWER".lower())
        assert bar(tau) == "6 of 6 · all 6 turns"
        await press(tau, "up")
        assert bar(tau).startswith("5 of 6")
        await press(tau, "enter", "down")
        assert bar(tau).startswith("1 of 6")
        assert "answer 0" in tau.text()
        await press(tau, "up")
        assert bar(tau).startswith("6 of 6")
        await tau.pilot.press("escape")
        assert tau.screen.prompt.text == "a draft"
        assert tau.screen.focused is tau.screen.prompt
        assert here(tau) is None
        await find(tau, "nowhere")
        assert bar(tau) == "not found · all 6 turns"


async def test_matches_are_marked_where_they_stand(start: Start, store: SessionStore, work: Path) -> None:
    text = "It is **very important** to know\n\n| a | b |\n|---|---|\n| very | important |\n\n" + "word " * 30
    record(store, "amber", [said("important?"), answered(text)], directory=str(work))
    async with start(resume="amber", size=(80, 24)) as tau:
        await find(tau, "very important")
        assert bar(tau).startswith("1 of 1")
        reply = tau.screen.query_one(Reply)
        strip = reply.render_line(0)
        marked = [segment.text for segment in strip if segment.style and segment.style.reverse]
        assert "".join(marked) == "very important"
        await tau.pilot.press("escape")
        assert not any(segment.style and segment.style.reverse for segment in reply.render_line(0))
        assert FOUND_HERE


async def test_a_folded_card_is_opened_for_a_match_and_closed_afterwards(
    start: Start, store: SessionStore, work: Path
) -> None:
    lines = "\n".join(f"line {n}" for n in range(300))
    messages = [
        said("look"),
        answered("", called("t1", "shell", command="seq 300")),
        result("t1", lines),
        answered("There are many."),
    ]
    record(store, "amber", messages, directory=str(work))
    async with start(resume="amber", size=(80, 24)) as tau:
        await find(tau, "line 123")
        assert bar(tau).startswith("1 of 1")
        assert is_open(tau)
        assert "line 123" in tau.text()
        await tau.pilot.press("escape")
        await tau.pilot.pause()
        assert not is_open(tau)
        assert tau.screen.chat.following
        await find(tau, "line 123")
        await press(tau, "tab")
        await tau.until(lambda: tau.screen.query("ToolCard.-pointed"), "the cursor is on it")
        assert is_open(tau)


async def test_turns_that_are_not_on_the_screen_are_searched_and_shown(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "long", exchanges(150), directory=str(work))
    async with start(resume="long", size=(80, 24)) as tau:
        await find(tau, "answer 1")
        found = 1 + 10 + 50  # answer 1, 10 to 19, 100 to 149
        assert bar(tau) == f"{found} of {found} · all 150 turns"
        assert len(tau.screen.chat.turns) == 40
        await press(tau, "down")
        assert bar(tau) == f"1 of {found} · all 150 turns"
        assert "answer 1" in tau.text()
        match = here(tau)
        assert match is not None
        assert match[0].source == "answer 1"
        await press(tau, "up")
        assert bar(tau) == f"{found} of {found} · all 150 turns"
        await press(tau, "escape")
        await tau.until(lambda: "answer 149" in tau.text(), "back at the end")


async def test_up_goes_on_page_by_page(start: Start, store: SessionStore, work: Path) -> None:
    messages = exchanges(100)
    messages[2 * 70] = said("the needle of turn 70")
    messages[2 * 30] = said("the needle of turn 30")
    record(store, "long", messages, directory=str(work))
    async with start(resume="long", size=(80, 24)) as tau:
        await find(tau, "needle")
        assert bar(tau) == "2 of 2 · all 100 turns"
        place = here(tau)
        await press(tau, "up")
        assert bar(tau) == "1 of 2 · all 100 turns"
        assert here(tau) != place
        assert "the needle of turn 30" in tau.text()
        assert 70 <= len(tau.screen.chat.turns) < 100


async def test_what_stands_before_a_summary_is_searched(
    start: Start, settings_for: SettingsFor, store: SessionStore, work: Path
) -> None:
    record(store, "long", exchanges(50), directory=str(work))
    notes = [{"text": "The person asks questions."}]
    settings = settings_for(side=notes, compaction=CompactionSettings(keep_turns=3))
    async with start(settings=settings, resume="long", size=(80, 24)) as tau:
        await compact(tau)
        await find(tau, "answer 7")
        assert bar(tau) == "1 found · all 51 turns"
        await press(tau, "enter")
        assert bar(tau) == "1 of 1 · all 51 turns"
        assert "answer 7" in tau.text()


async def test_escape_goes_back_to_where_one_was(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "long", exchanges(90), directory=str(work))
    async with start(resume="long", size=(80, 24)) as tau:
        await tau.pilot.press("pageup", "pageup")
        await tau.rest()
        before = in_sight(tau)
        await find(tau, "question 3")
        await press(tau, "up", "up", "up", "up", "up", "up")
        assert in_sight(tau) != before
        await press(tau, "escape")
        await tau.until(lambda: in_sight(tau) == before, "back")
        assert not tau.screen.chat.following


async def test_ctrl_c_leaves_the_bar_and_keeps_the_draft(start: Start) -> None:
    async with start([{"text": "ok"}]) as tau:
        await tau.turn("hello")
        tau.screen.prompt.insert("a draft")
        await find(tau, "ok")
        await tau.pilot.press("ctrl+c")
        assert tau.screen.focused is tau.screen.prompt
        assert tau.screen.prompt.text == "a draft"


@pytest.mark.parametrize("width", [80, 140])
async def test_old_beside_new_is_searched_once(
    start: Start, store: SessionStore, work: Path, width: int
) -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same needle\n-old needle\n+new needle\n same\n"
    messages = [
        said("x"),
        answered("", called("t1", "edit_file", path="x")),
        result("t1", f"Changed x\n{diff}"),
        answered("Done."),
    ]
    record(store, "amber", messages, directory=str(work))
    async with start(resume="amber", size=(width + 60, 40)) as tau:
        await find(tau, "needle")
        assert bar(tau).startswith("3 of 3")
        await press(tau, "up")
        match = here(tau)
        assert match is not None
        assert match[0].row_of(1) is not None


async def test_far_up_only_some_turns_are_on_the_screen_and_the_way_down_is_whole(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "long", exchanges(300), directory=str(work))
    async with start(resume="long", size=(80, 24)) as tau:
        chat = tau.screen.chat
        await find(tau, "question 10")
        await press(tau, "down", "down", "down")  # the newest, 109; then 10; then 100
        assert bar(tau) == "2 of 11 · all 300 turns"
        assert "question 100" in tau.text()
        assert len(chat.turns) <= 100
        await press(tau, "up")
        assert "question 10" in tau.text()
        assert len(chat.turns) <= 100
        await press(tau, "tab", "escape")
        seen: list[int] = []
        while not seen or seen[-1] != 299:
            seen += map(int, re.findall("▌ question ([0-9]+)", tau.text()))
            before = chat.scroll_y, len(chat.turns), chat.turns[0].place

            def went_on(before: tuple[object, ...] = before) -> bool:
                now = chat.scroll_y, len(chat.turns), chat.turns[0].place
                return now != before or chat.scroll_y >= chat.max_scroll_y

            await tau.pilot.press("pagedown")
            await tau.until(went_on, "it went on")
            await tau.until(
                lambda: not any(w.group == "between" and w.is_running for w in chat.workers),
                "turns are there",
            )
            await tau.pilot.pause()
            assert len(chat.turns) <= 100
        assert set(range(10, 300)) <= set(seen)


async def test_end_leaves_what_was_shown_far_up(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "long", exchanges(300), directory=str(work))
    async with start([{"text": "fine"}], resume="long", size=(80, 24)) as tau:
        chat = tau.screen.chat
        await find(tau, "question 10")
        await press(tau, "down", "tab", "escape")
        assert "question 10" in tau.text()
        chat.to_end()
        await tau.until(lambda: len(chat.turns) == 40 and "answer 299" in tau.text(), "the newest turns")
        assert chat.earlier == ("long", 520)
        await tau.turn("and now?")
        assert "fine" in tau.text()
        chat.scroll_home(animate=False)
        await tau.pilot.pause()
        await tau.pilot.press("pageup")
        await tau.until(lambda: len(chat.turns) == 60, "earlier turns")
        assert [turn.first_index for turn in chat.turns] == list(range(482, 602, 2))
