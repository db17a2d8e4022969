"""What the key that cancels says it does: its first press, its second, and nothing where it does nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from tau.config.settings import Settings
from tests.tui.conftest import Running, Start

SLOW = [{"text": "word " * 200, "chunks": 200, "delay": 0.05}]
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('begun', flush=True);"
    " time.sleep(60)"
)


def says(tau: Running) -> str:
    return tau.screen.status.render().plain


async def test_what_lies_over_the_conversation_goes_first(start: Start, work: Path) -> None:
    (work / "notes.txt").touch()
    async with start(SLOW) as tau:
        await tau.send("talk")
        await tau.shows("word word")
        assert "Esc cancels" in says(tau)
        for keys in (["ctrl+f"], ["alt+up"], ["ctrl+r"], [*"@not"]):
            await tau.pilot.press(*keys)
            await tau.until(lambda: "Esc back, again cancels" in says(tau), f"{keys} is over it")
            await tau.pilot.press("escape")
            await tau.until(lambda: "s · Esc cancels" in says(tau), f"{keys} is gone")
            assert tau.screen.busy, "the first press cancelled nothing"
        await tau.pilot.press("escape")
        await tau.idle()


async def test_what_is_ending_ends_no_sooner(start: Start) -> None:
    command = f"{sys.executable} -c {json.dumps(STUBBORN)}"
    async with start([{"text": "fine"}]) as tau:
        await tau.pilot.press(*"!")
        tau.screen.prompt.insert(command)
        await tau.pilot.press("enter")
        await tau.shows("begun")
        assert "Esc cancels" in says(tau)
        await tau.pilot.press("escape")
        await tau.until(lambda: "Stopping…" in says(tau), "it is being stopped")
        assert "cancels" not in says(tau)


async def test_a_turn_that_is_being_cancelled(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("talk")
        await tau.shows("word word")
        tau.screen.turns.cancel()
        assert "Cancelling…" in says(tau)
        assert "cancels" not in says(tau)
        await tau.idle()
        await tau.turn("again")
        assert "cancels" not in says(tau)


async def test_another_key_goes_back(start: Start, settings_for: Callable[..., Settings]) -> None:
    settings = msgspec.structs.replace(settings_for(SLOW), keys={"back": "f7"})
    async with start(settings=settings) as tau:
        await tau.send("talk")
        await tau.shows("word word")
        await tau.pilot.press("ctrl+f")
        await tau.until(lambda: tau.screen.moving.has_the_keys, "the find bar")
        assert "· Esc cancels" in says(tau)


async def test_a_draft_behind_what_waits_is_found_in_the_history(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("talk")
        await tau.shows("word word")
        await tau.send("then this")
        await tau.shows("waiting  then this")
        await tau.pilot.press(*"a draft", "ctrl+c")
        await tau.shows("The draft is put away; Ctrl+R finds it")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "then this"
        assert tau.screen.not_sent() == ([], ["then this"])
        await tau.pilot.press("ctrl+r", *"draft", "enter")
        await tau.until(lambda: "a draft" in tau.screen.prompt.text, "it is found")
        await tau.pilot.press("ctrl+r", *"then", "enter")
        await tau.until(lambda: tau.screen.prompt.text == "then this", "what stood there was put away, too")


async def test_the_start_page_says_why_a_model_is_taken(start: Start) -> None:
    async with start() as tau:
        await tau.shows("named by [models.default]")
