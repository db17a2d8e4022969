"""The prompt: lines, history, pastes, and what Ctrl+C does to a draft."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from textual import events

from tau.tui.widgets.blocks import ReasoningBlock
from tau.tui.widgets.reply import Reply
from tests.tui.conftest import Running, Start


def sent(tmp_path: Path) -> list[str]:
    lines = (tmp_path / "requests.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["messages"][-1]["content"][-1]["text"] for line in lines]


async def paste(tau: Running, text: str) -> None:
    tau.screen.prompt.post_message(events.Paste(text))
    await tau.pilot.pause()


async def test_ctrl_j_breaks_the_line_and_enter_sends(start: Start, tmp_path: Path) -> None:
    async with start() as tau:
        await tau.pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "enter")
        await tau.until(lambda: tau.screen.busy or (tmp_path / "requests.jsonl").exists())
        await tau.idle()
    assert sent(tmp_path) == ["a\nb\nc"]


async def test_history_at_the_edges_keeps_the_draft(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first")
        await tau.turn("second")
        await tau.pilot.press(*"draft", "up")
        assert tau.screen.prompt.text == "second"
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "first"
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "first"
        await tau.pilot.press("down", "down")
        assert tau.screen.prompt.text == "draft"


async def test_up_inside_a_text_of_several_lines_moves_the_cursor(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first")
        await tau.pilot.press("a", "ctrl+j", "b", "up")
        assert tau.screen.prompt.text == "a\nb"
        assert tau.screen.prompt.cursor_location == (0, 1)


@pytest.mark.parametrize(
    "text",
    ["x" * 600_000, "漢字 🎉 wide\n" * 20_000, "a\x1b[2Jb", "one\r\ntwo\n" * 6],
    ids=["one line of 600 kB", "20 000 lines", "escape codes", "twelve lines"],
)
async def test_a_large_paste_folds_and_is_sent_whole(start: Start, tmp_path: Path, text: str) -> None:
    async with start() as tau:
        began = time.monotonic()
        await paste(tau, text)
        await tau.shows("[Pasted text #1 · ")
        assert time.monotonic() - began < 5, "five times the second in which it has to answer"
        assert len(tau.screen.prompt.text) < 100
        await tau.pilot.press(*" please", "enter")
        await tau.until((tmp_path / "requests.jsonl").exists, "sent")
        await tau.idle()
    assert sent(tmp_path) == [text.replace("\r\n", "\n") + " please"]


async def test_a_small_paste_is_text(start: Start) -> None:
    async with start() as tau:
        await paste(tau, "one\ntwo\nthree")
        assert tau.screen.prompt.text == "one\ntwo\nthree"
        assert not tau.screen.busy


async def test_lines_that_come_at_once_are_one_message(start: Start, tmp_path: Path) -> None:
    """What a terminal without bracketed paste makes of three pasted lines."""
    async with start() as tau:
        for key in ("a", "enter", "b", "enter", "c"):
            character = "\r" if key == "enter" else key
            tau.screen.prompt.post_message(events.Key(key, character))
        await tau.until(lambda: tau.screen.prompt.text == "a\nb\nc")
        assert not tau.screen.busy
        await tau.send("")
        await tau.idle()
    assert sent(tmp_path) == ["a\nb\nc"]


async def test_ctrl_c_puts_the_draft_away_then_leaves_at_the_second_press(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press(*"draft", "ctrl+c")
        assert tau.screen.prompt.text == ""
        await tau.shows("The draft is put away; Up brings it back")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "draft"
        await tau.pilot.press("ctrl+c", "ctrl+c")
        await tau.shows("Ctrl+C again leaves")
        assert tau.app.is_running
        await tau.pilot.press("ctrl+c")
        await tau.until(lambda: not tau.app.is_running)
        assert tau.app.exit_code == 0


async def test_nothing_is_sent_for_white_space(start: Start, tmp_path: Path) -> None:
    async with start() as tau:
        await tau.send("  \n ")
        assert not tau.screen.busy
        assert not (tmp_path / "requests.jsonl").exists()


async def test_typing_goes_to_the_prompt_wherever_the_focus_is(start: Start) -> None:
    async with start([{"reasoning": "because", "text": "an answer"}]) as tau:
        await tau.turn("why")
        await tau.pilot.click(ReasoningBlock)
        await tau.shows("because")
        assert tau.screen.focused is tau.screen.query_one(ReasoningBlock)
        await tau.pilot.press("enter")
        await tau.until(lambda: "because" not in tau.text(), "folded again")
        await tau.pilot.press(*"so what")
        assert tau.screen.prompt.text == "so what"
        await tau.pilot.click(Reply)
        await tau.pilot.press("!")
        assert tau.screen.prompt.text == "so what!"
