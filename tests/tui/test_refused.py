"""A command that cannot run now is back in the prompt, and is mixed with nothing that is typed next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.events import Paste

from tau.tui.enter_key import BURST_SECONDS
from tests.terminal import Open
from tests.tui.conftest import Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SLOW: list[dict[str, Any]] = [
    {"text": "word " * 400, "chunks": 400, "delay": 0.05},
    {"text": "the next answer"},
]
BUSY = "I am still answering the previous turn."


@pytest.mark.parametrize("command", ["/fork", "/new amber", "!touch ran"])
@pytest.mark.parametrize("typed", ["a letter", "a paste", "Ctrl+C", "a letter elsewhere"])
async def test_what_is_typed_next_replaces_it(start: Start, command: str, typed: str) -> None:
    async with start(SLOW) as tau:
        await tau.send("go")
        await tau.shows("word word")
        await tau.send(command)
        await tau.shows(BUSY)
        prompt = tau.screen.prompt
        await tau.until(lambda: prompt.text, "the command")
        assert prompt.text == prompt.selected_text == command
        match typed:
            case "a letter":
                await tau.pilot.press("x")
            case "a paste":
                tau.app.post_message(Paste("x"))
            case "a letter elsewhere":
                tau.screen.set_focus(None)
                await tau.pilot.press("x")
            case "Ctrl+C":
                await tau.pilot.press("ctrl+c")
                await tau.shows("The draft is put away; Up brings it back")
        await tau.until(lambda: prompt.text == ("" if typed == "Ctrl+C" else "x"), "what was typed")
        await tau.pilot.press("up")
        assert prompt.text == command
        await tau.pilot.press("escape")
        await tau.idle()
        assert BUSY not in tau.text(), "it goes with the turn"


async def test_enter_tries_it_again(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("go")
        await tau.shows("word word")
        session = tau.screen.conversation.state.session_id
        await tau.send("/fork")
        await tau.shows(BUSY)
        await tau.pilot.press("escape")
        await tau.idle()
        assert tau.screen.prompt.text == "/fork"
        await tau.pilot.press("enter")
        await tau.shows(f"Forked session {session} into new session")
        assert tau.screen.prompt.text == ""


async def test_what_waited_does_not_come_back_before_it(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("go")
        await tau.shows("word word")
        await tau.send("a message that waits")
        await tau.send("/fork")
        await tau.shows(BUSY)
        await tau.until(lambda: tau.screen.prompt.text, "the command")
        await tau.pilot.press("escape")
        await tau.idle()
        assert tau.screen.prompt.text == "a message that waits"


@pytest.mark.terminal
def test_what_is_typed_right_after_it_is_not_part_of_it(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted(*SLOW)
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    app.shows("word word")
    app.send("/fork\r")
    app.quiet(BURST_SECONDS * 3)
    app.send("a draft")
    app.shows(BUSY)
    app.shows("❯ a draft")
    assert "/fork" not in app.text()
