"""What opens over a conversation as pictures, in one walk for each size and theme."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import time_machine
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import Settings
from tau.input.history import PromptHistory
from tau.tui.screens.rewind import RewindPicker
from tests.tui.conftest import Running, Start
from tests.tui.pictures import LONG_AGO, Size, picture
from tests.tui.test_past import searching


async def see_the_conversation(tau: Running) -> None:
    await tau.shows("See the commit")
    await tau.shows("main")


async def see_what_waits(tau: Running) -> None:
    tau.screen.outbox.add("Then run the tests again, please")
    tau.screen.outbox.add("and tell me what is left")
    await tau.shows("take back")


async def see_files(tau: Running) -> None:
    tau.screen.outbox.take_all()
    tau.screen.prompt.insert("@night")
    await tau.shows("jobs/nightly.py")


async def see_commands(tau: Running) -> None:
    tau.screen.prompt.empty()
    tau.screen.prompt.insert("/se")
    await tau.shows("show this session")


async def see_history(tau: Running) -> None:
    tau.screen.prompt.empty()
    await searching(tau, "job")
    await tau.shows("29 Sep 2020")


async def see_what_can_be_gone_back_to(tau: Running) -> None:
    await tau.pilot.press("escape")
    await tau.until(lambda: tau.screen.prompt.has_focus, "the prompt")
    await tau.send("/rewind")
    await tau.until(lambda: isinstance(tau.app.screen, RewindPicker), "the list")
    await tau.shows("1 message of yours")


WALK: dict[str, Callable[[Running], Awaitable[None]]] = {
    "conversation": see_the_conversation,
    "waiting": see_what_waits,
    "files": see_files,
    "commands": see_commands,
    "history": see_history,
    "rewind": see_what_can_be_gone_back_to,
}


@pytest.fixture
def used(sessions: None, work: Path, tmp_path: Path) -> None:
    """A project with files, in which something was sent before."""
    (work / "jobs").mkdir()
    (work / "jobs" / "nightly.py").touch()
    with time_machine.travel(LONG_AGO, tick=False):
        history = PromptHistory(tmp_path / "state", work)
        history.add("Why does the nightly job fail?")
        assert history.close()


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
async def test_walk(
    start: Start, settings_for: Callable[..., Settings], snapshot: SnapshotAssertion, size: Size, theme: str
) -> None:
    async with start(size=size, settings=settings_for(theme=theme), resume="amber") as tau:
        for name, see in WALK.items():
            await see(tau)
            await picture(partial(snapshot, name=name), tau)  # type: ignore[arg-type]  # called the same way
