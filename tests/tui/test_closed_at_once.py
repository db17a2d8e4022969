"""Every screen over the conversation can be closed, and have its keys pressed, before it is drawn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.events import Key

from tau.sessions.store import SessionStore
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

MOMENTS = [*range(8), 12, 16, 24, 40, 90, 200]
"""How often the loop turns between opening a screen and the next key."""

OPENED_BY_KEY = ["f1", "f2", "ctrl+p", "alt+m"]
OPENED_BY_COMMAND = ["/theme", "/model", "/tools", "/rewind"]

OLDER = "20260101-000000-aaaa"


def press(tau: Running, *keys: str) -> None:
    """Press keys that come at once, as they do in one read of a terminal."""
    for key in keys:
        tau.app.post_message(Key(key, key if len(key) == 1 else None))


def open_by(tau: Running, opener: str) -> None:
    if opener.startswith("/"):
        tau.screen.commands.run(opener)
    else:
        press(tau, opener)


async def closed(tau: Running, opener: str, shown: list[object], times: int) -> None:
    """Wait until it was there and the conversation is in front again.

    A key that came too early to close it was the conversation's.
    """
    await tau.until(lambda: len(shown) == times, f"{opener} opened")
    if len(tau.app.screen_stack) > 1:
        press(tau, "escape")
    await tau.until(lambda: len(tau.app.screen_stack) == 1, f"{opener} closed")


@pytest.fixture
def more_sessions(store: SessionStore, work: Path) -> None:
    record(store, OLDER, exchanges(40), directory=str(work), title="An older one")


@pytest.mark.usefixtures("more_sessions")
@pytest.mark.parametrize(
    ("opener", "keys"),
    [
        *((opener, ["escape"]) for opener in [*OPENED_BY_KEY, *OPENED_BY_COMMAND]),
        ("ctrl+p", ["down", "escape"]),
    ],
)
async def test_keys_can_come_while_a_screen_opens(start: Start, opener: str, keys: list[str]) -> None:
    async with start([{"text": "ok"}]) as tau:
        await tau.turn("hello")
        shown: list[object] = []
        tau.app.screen_change_signal.subscribe(
            tau.screen, lambda screen: shown.append(screen) if screen is not tau.screen else None
        )
        for times, moment in enumerate(MOMENTS, 1):
            open_by(tau, opener)
            for _ in range(moment):
                await asyncio.sleep(0)
            press(tau, *keys)
            await closed(tau, opener, shown, times)
            assert tau.app.is_running, f"{tau.app.last_line} after {moment}"
        tau.screen.prompt.insert("still here")
        await tau.shows("still here")
        assert tau.app.last_line == ""


async def test_what_is_typed_at_once_is_searched_for(start: Start) -> None:
    async with start() as tau:
        shown: list[object] = []
        tau.app.screen_change_signal.subscribe(tau.screen, shown.append)
        press(tau, "f1")
        while not shown:
            await asyncio.sleep(0)
        press(tau, *"compact")
        await tau.shows("/compact [FOCUS]")
        await tau.until(lambda: "Ctrl+J" not in tau.text(), "only what fits")
