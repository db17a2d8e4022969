"""A copy of a long session can be cancelled, and leaves nothing behind but what `tau doctor` names."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.events import Key

from tau.sessions.store import SessionStore
from tau.tui.messages import Submitted
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

if TYPE_CHECKING:
    from tests.conftest import TauEnv

LONG = "20260101-000000-aaaa"
TURNS = 1_000
CANCELLED = "Copying was cancelled; the session continues."


def _is_said(tau: Running, count: int) -> bool:
    return tau.text().count(CANCELLED) == count


async def test_a_key_cancels_a_copy(tau_env: TauEnv, start: Start, store: SessionStore, work: Path) -> None:
    record(store, LONG, exchanges(TURNS), directory=str(work))
    async with start([{"text": "the answer"}], resume=LONG) as tau:
        status, prompt = tau.screen.status, tau.screen.prompt
        for count, key in enumerate(("escape", "ctrl+c"), 1):
            tau.screen.post_message(Submitted("/fork"))
            while status.activity != "Copying…" or len(list(tau_env.sessions())) <= count:
                assert "Forked" not in tau.text()
                await asyncio.sleep(0)
            assert "Esc cancels" in status.render().plain
            tau.screen.post_message(Submitted("typed meanwhile"))
            tau.app.post_message(Key(key, None))
            await tau.until(partial(_is_said, tau, count), "how it ended")
            await tau.until(lambda: prompt.text == "typed meanwhile", "what waited")
            assert tau.screen.conversation.state.session_id == LONG
            prompt.empty()
            status.unsay()
        await tau.turn("go on")
        await tau.shows("the answer")
    copies = [folder.name for folder in tau_env.sessions() if folder.name != LONG]
    assert len(copies) == 2
    tau_env.scripted({"text": "the answer"})
    listed = tau_env.run("sessions", "list", "--all").stdout
    assert LONG in listed
    doctor = tau_env.run("doctor").stdout
    for copy in copies:
        assert copy not in listed
        assert f"session {copy}, begun as a copy of session {LONG}, is not whole" in doctor
