"""A defect is one line with a place to look; leaving in the middle of a turn is no defect."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tau.config.settings import Settings
from tau.conversation.state import OpenRequest
from tau.tui.app import TauApp
from tests.tui.conftest import Start


async def test_a_defect_is_logged_and_said_in_one_line(
    settings_for: Callable[..., Settings], caplog: pytest.LogCaptureFixture
) -> None:
    app = TauApp(settings_for(), OpenRequest(channel="tui"))

    def fail() -> None:
        message = "a defect [/]"
        raise RuntimeError(message)

    app.call_later(fail)
    await app.run_async(headless=True)
    if app.conversation is not None:
        await app.conversation.close()
    assert app.exit_code == 1
    assert app.last_line.startswith("tau: stopped by a defect (RuntimeError); ")
    assert app.last_line.endswith("tau.log has the details")
    assert app._exit_renderables == []
    assert any(record.exc_info for record in caplog.records)


async def test_a_defect_keeps_what_was_written(start: Start, settings_for: Callable[..., Settings]) -> None:
    settings = settings_for()

    def fail() -> None:
        message = "a defect"
        raise RuntimeError(message)

    ended: list[TauApp] = []

    async def write_and_fail() -> None:
        async with start(settings=settings) as tau:
            ended.append(tau.app)
            await tau.pilot.press(*"what I was at")
            tau.app.call_later(fail)
            await tau.until(lambda: not tau.app.is_running, "ended")

    with pytest.raises(RuntimeError):
        await write_and_fail()
    (app,) = ended
    assert app.unsent == ["what I was at"]
    if app.conversation is not None:
        await app.conversation.close()
    app.close_kept()
    async with start(settings=settings) as tau:
        await tau.until(lambda: tau.app.screen_stack[0].query_one("#left-draft").display, "the draft is kept")


async def test_leaving_in_the_middle_of_a_turn(start: Start) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}]) as tau:
        await tau.send("go")
        await tau.shows("w w")
        await tau.pilot.press("ctrl+q")
        await tau.until(lambda: not tau.app.is_running)
        assert (tau.app.exit_code, tau.app.last_line) == (0, "")
    assert tau.app.conversation is not None
    assert tau.app.conversation.state.message_count >= 1
