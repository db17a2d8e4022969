"""The prompt: lines, history, pastes, and what Ctrl+C does to a draft."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from textual import events

from tau.tui.enter_key import BURST_SECONDS
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


@pytest.mark.parametrize("keys", ["one\rtwo\r", "one\r\rtwo\r\r"])
async def test_lines_that_come_at_once_wait_although_the_last_one_ends(
    start: Start, tmp_path: Path, keys: str
) -> None:
    async with start() as tau:
        for key in keys:
            tau.app.post_message(events.Key("enter" if key == "\r" else key, key))
        typed = keys.replace("\r", "\n")
        await tau.until(lambda: tau.screen.prompt.text == typed, "the lines")
        assert not await sends(tau)
        await tau.send("")
        await tau.until((tmp_path / "requests.jsonl").exists, "sent")
        await tau.idle()
    assert sent(tmp_path) == [typed]


async def test_keys_that_come_at_once_are_one_text_while_the_app_is_busy(start: Start) -> None:
    """The wait for what may follow Enter is not over before the keys that came with it are dealt with."""
    async with start() as tau:
        prompt = tau.screen.prompt
        keys = [events.Key("a", "a"), events.Key("enter", "\r"), events.Key("b", "b")]

        async def be_busy() -> None:
            while not prompt.enter_key.waits:
                await asyncio.sleep(0)
            time.sleep(BURST_SECONDS * 4)  # as over a long text

        tau.app.post_message(keys[0])
        tau.app.post_message(keys[1])
        tau.app.call_later(be_busy)
        tau.app.post_message(keys[2])
        await tau.until(lambda: prompt.text == "a\nb", "the lines")
        assert not await sends(tau)


async def test_enter_behind_letters_that_come_at_once_sends(start: Start, tmp_path: Path) -> None:
    """Also where they find the focus somewhere else, and lines that came at once in the prompt."""
    async with start([{"reasoning": "because", "text": "an answer"}]) as tau:
        await tau.turn("why")
        for key in "one\rtwo\r":
            tau.app.post_message(events.Key("enter" if key == "\r" else key, key))
        await tau.until(lambda: tau.screen.prompt.text == "one\ntwo\n", "the lines")
        later = tau.screen.prompt.enter_key.pressed_at + BURST_SECONDS
        await tau.until(lambda: time.monotonic() > later, "they are over")
        tau.screen.query_one(ReasoningBlock).focus()
        await tau.until(lambda: tau.screen.focused is tau.screen.query_one(ReasoningBlock), "the focus")
        for key in "n\r":
            tau.app.post_message(events.Key("enter" if key == "\r" else key, key))
        await tau.until(lambda: len(sent(tmp_path)) == 2, "sent")
        await tau.idle()
        assert "because" not in tau.text(), "Enter was not the card's"
    assert sent(tmp_path) == ["why", "one\ntwo\nn"]


async def sends(tau: Running) -> bool:
    """Whether something is sent once the keys that came are dealt with, and nothing comes behind them."""
    await tau.until(lambda: not tau.screen.prompt.enter_key.waits, "Enter was taken")
    await tau.pilot.pause()
    return not tau.screen.prompt.text


async def test_ctrl_c_puts_the_draft_away_then_leaves_at_the_second_press(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press(*"draft", "ctrl+c")
        assert tau.screen.prompt.text == ""
        await tau.shows("The draft is put away; Up brings it back")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "draft"
        assert "The draft is put away" not in tau.text(), "it goes with the next key"
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


PASTED = "\n".join(f"line {number}" for number in range(240))
MARKER = "[Pasted text #1 · 240\u00a0lines]"


@pytest.mark.parametrize(
    ("way", "key"),
    [
        ([], "backspace"),
        ([], "ctrl+w"),
        (["left"], "delete"),
        (["ctrl+left"], "alt+d"),
        (["shift+left"], "x"),
    ],
)
async def test_a_folded_paste_is_deleted_as_one_and_comes_back_whole(
    start: Start, tmp_path: Path, way: list[str], key: str
) -> None:
    async with start() as tau:
        prompt = tau.screen.prompt
        await tau.pilot.press(*"see")
        await paste(tau, PASTED)
        assert prompt.text == f"see{MARKER}"
        await tau.pilot.press(*way, key)
        assert prompt.text == ("seex" if key == "x" else "see")
        await tau.pilot.press("ctrl+z")
        assert prompt.text == f"see{MARKER}"
        await tau.send("")
        await tau.until((tmp_path / "requests.jsonl").exists, "sent")
        await tau.idle()
    assert sent(tmp_path) == ["see" + PASTED]


async def test_the_cursor_goes_over_a_folded_paste_as_over_one_character(start: Start) -> None:
    async with start() as tau:
        prompt = tau.screen.prompt
        await paste(tau, PASTED)
        end = len(MARKER)
        for key, column in (("left", 0), ("right", end), ("ctrl+left", 0), ("ctrl+right", end)):
            await tau.pilot.press(key)
            assert prompt.cursor_location == (0, column), key
        await tau.pilot.press("ctrl+j", *"abcdef", "up")
        assert prompt.cursor_location == (0, 0), "the nearer end"


async def test_what_looks_like_a_folded_paste_is_text(start: Start, tmp_path: Path) -> None:
    typed = MARKER.replace("\u00a0", " ")
    async with start() as tau:
        prompt = tau.screen.prompt
        await paste(tau, PASTED + MARKER.replace("#1", "#2"))
        await paste(tau, PASTED.upper())
        prompt.insert(typed)
        await tau.pilot.press("backspace", "]")
        assert prompt.text.endswith(typed)
        await tau.send("")
        await tau.until((tmp_path / "requests.jsonl").exists, "sent")
        await tau.idle()
    assert sent(tmp_path) == [PASTED + MARKER.replace("#1", "#2") + PASTED.upper() + typed]


async def test_a_folded_paste_that_is_cut_out_is_whole_where_it_is_pasted(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with start() as tau:
        prompt = tau.screen.prompt
        await paste(tau, PASTED)
        await tau.pilot.press("ctrl+x")
        assert prompt.text == ""
        prompt.empty()
        await tau.pilot.press("ctrl+v")
        await tau.until(lambda: prompt.text, "what was cut out")
        assert prompt.written_out().strip("\n") == PASTED


AGAIN = "Ctrl+C again leaves"


async def test_another_key_ends_that_the_same_one_leaves(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press("ctrl+c")
        await tau.shows(AGAIN)
        await tau.pilot.press(*"q1", "backspace", "backspace")
        assert AGAIN not in tau.text()
        await tau.pilot.press("ctrl+c")
        await tau.shows(AGAIN)
        assert not tau.app._leaving
        await tau.pilot.press("f4")
        assert AGAIN not in tau.text()


async def test_what_happens_in_the_conversation_ends_that_the_same_key_leaves(start: Start) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}]) as tau:
        await tau.pilot.press("ctrl+c")
        await tau.shows(AGAIN)
        tau.screen.turns.submit("one that waited")
        await tau.shows("w w")
        assert AGAIN not in tau.text()
        await tau.pilot.press("ctrl+c")
        await tau.until(lambda: not tau.screen.busy, "cancelled")
        await tau.pilot.press("ctrl+c")
        assert not tau.app._leaving


async def test_the_same_key_leaves_as_long_as_that_is_said(start: Start) -> None:
    async with start() as tau:
        await tau.pilot.press("ctrl+c")
        began = time.monotonic()
        await tau.shows(AGAIN)
        await tau.until(lambda: AGAIN not in tau.text(), "the end of it")
        assert time.monotonic() - began < 5, "it is three seconds, and six for other sentences"
        await tau.pilot.press("ctrl+c")
        assert not tau.app._leaving
        await tau.shows(AGAIN)
        await tau.pilot.press("ctrl+c")
        assert tau.app._leaving
