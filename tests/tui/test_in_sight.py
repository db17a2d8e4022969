"""The layout of a chat that is longer than the screen, and the width it keeps."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from textual.events import Key
from textual.geometry import Region

from tau.tui.widgets.chat import Chat
from tau.tui.widgets.tool_card import ToolCard
from tests.terminal import Open
from tests.tui.conftest import Running, Start
from tests.tui.test_snapshots import see_a_question_about_a_command, see_cards

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SLOW = [{"text": "word " * 400, "chunks": 400, "delay": 0.05}]


async def test_a_waiting_message_leaves_the_chat_its_width(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("first")
        await tau.until(lambda: tau.screen.busy)
        width = tau.screen.query_one(Chat).size.width
        await tau.send("second")
        await tau.shows("waiting  second")
        assert tau.screen.query_one(Chat).size.width == width
        await tau.pilot.press("escape")
        await tau.idle()


async def test_the_last_line_of_a_reply_is_on_the_screen(start: Start) -> None:
    paragraphs = ["x" * (length - 6) + f" end{length}" for length in range(66, 84)]
    async with start([{"text": "\n\n".join(paragraphs)}], size=(80, 24)) as tau:
        await tau.turn("go")
        await tau.shows("end83")


async def test_a_card_out_of_sight_is_scrolled_to_when_it_gets_the_focus(start: Start) -> None:
    script = [
        {"tools": [{"name": "no_such_tool", "input": {"path": "a.py"}, "id": "t1"}]},
        {"text": "\n\n".join(f"line {number}" for number in range(60))},
    ]
    async with start(script, size=(80, 24)) as tau:
        await tau.turn("look")
        await tau.shows("line 59")
        assert "no_such_tool" not in tau.text()
        tau.screen.query_one(ToolCard).focus()
        await tau.shows("no_such_tool")
        await tau.pilot.press("end")
        await tau.shows("line 59")


async def test_the_bar_stands_where_the_chat_is_when_a_question_takes_room(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await see_cards(tau)
        await tau.rest()
        await see_a_question_about_a_command(tau)
        await tau.rest()
        bar = tau.screen.query_one(Chat).vertical_scrollbar
        whole = Region(0, 0, 1, bar.size.height)
        drawn = [strip.text for strip in bar.render_lines(whole)]
        bar.refresh()
        assert drawn == [strip.text for strip in bar.render_lines(whole)]


async def test_a_key_costs_the_same_however_many_turns_stand_above(start: Start) -> None:
    async with start([{"text": "a paragraph\n\n" * 5}] * 30, size=(80, 24)) as tau:
        await tau.turn("one")
        few = await calls_of_a_key(tau)
        for _ in range(25):
            await tau.turn("another")
        assert await calls_of_a_key(tau) < 1.3 * few


async def calls_of_a_key(tau: Running) -> int:
    """Python calls from a key to its letter on the screen; the fewest of several, as other things run too."""
    counts = []
    for _ in range(5):
        calls = 0

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        length = len(tau.screen.prompt.text)
        sys.setprofile(count)
        try:
            tau.app.post_message(Key("x", "x"))
            while len(tau.screen.prompt.text) == length:
                await asyncio.sleep(0)
            painted = asyncio.Event()
            tau.screen.call_after_refresh(painted.set)
            await painted.wait()
        finally:
            sys.setprofile(None)
        counts.append(calls)
        await tau.pilot.pause()
    return min(counts)


@pytest.mark.terminal
def test_a_prompt_that_was_emptied_is_drawn_empty(tau_env: TauEnv, terminal: Open) -> None:
    """Also when the keys came at once, and what the command says is laid out at the same time."""
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    for command, answer in [("/goal\r", b"No goal is set"), ("/status\r", b"Tokens")] * 3:
        before = len(app.bytes)
        app.send(command)
        told = partial(bytes.__contains__, answer)
        app.until(lambda: told(app.bytes[before:]), "the answer")  # noqa: B023  # called at once
        app.shows("❯ Ask")
        app.send("x\x7f")
        app.quiet(0.2)
