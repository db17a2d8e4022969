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


async def test_leaving_in_the_middle_of_a_turn(start: Start) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}]) as tau:
        await tau.send("go")
        await tau.shows("w w")
        await tau.pilot.press("ctrl+q")
        await tau.until(lambda: not tau.app.is_running)
        assert (tau.app.exit_code, tau.app.last_line) == (0, "")
    assert tau.app.conversation is not None
    assert tau.app.conversation.state.message_count >= 1
