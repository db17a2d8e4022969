"""The memory screen as pictures, at the sizes and in the themes it was designed for."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import pytest
import time_machine
from syrupy.assertion import SnapshotAssertion
from textual.widgets import Input

from tau.config.settings import MemorySettings, Settings
from tau.config.trust import Trust
from tau.memory.desk import Desk
from tests.tui.conftest import Running, Start
from tests.tui.pictures import LONG_AGO, picture
from tests.tui.test_picker_snapshots import LOOKS

BUILD = """# Build

- `make check` runs what CI runs; `make test` only the tests.
- The tests need `PYTHONHASHSEED=0`.
- `make wheel` writes to `dist/`, which is not under version control.
"""


def remembered(settings: Settings) -> None:
    """Memory of two projects' worth of sessions, a year ago, with one change taken back."""
    desk = Desk(settings)
    desk.begin()
    with time_machine.travel(LONG_AGO, tick=False):
        for session, label, content, origin in (
            ("wren", "global/answers", "Short answers, in the language of the question.\n", ""),
            (
                "heron",
                "global/build",
                BUILD.replace("make check", "tox").replace("make test", "tox -e py"),
                "",
            ),
            ("heron", "global/rates", "The central bank publishes at 16:00.\n", "fetch_page"),
            ("amber", "project/deploy", "# Deploy\n\n`make ship` deploys; only from `main`.\n", ""),
            ("amber", "global/build", BUILD, ""),
            ("amber", "project/deploy", "# Deploy\n\n`make ship` deploys.\n", ""),
        ):
            desk.said = partial(lambda name: (name, 14), session)
            desk.remember(label, content, replace=True, origin=origin)
        desk.undo()
        desk.goal_file().set("the nightly job runs a week without a failure")
        desk.goal_file().note("the import of quail.rates is mended", met=False)
    shared = desk.where().shared
    notes = "".join(
        f"{number}. something that was found out about the nightly job\n" for number in range(1, 41)
    )
    (shared / "notes.md").write_text(notes)
    (shared / "old.md").write_text("The trains run on time.\n")
    written = ["project.md", "answers.md", "build.md", "rates.md", "deploy.md"]
    paths = sorted([*shared.glob("*.md"), *desk.where().memory.glob("*.md")])
    written = ["old.md", "notes.md", *(path.name for path in paths if path.name not in written), *written]
    for path in paths:
        at = 1_600_000_000 + written.index(path.name)
        os.utime(path, (at, at))


async def to(tau: Running, name: str) -> None:
    """Bring the cursor to a row."""
    for _ in range(30):
        if f"▌ {name}" in tau.text():
            return
        await tau.pilot.press("down")
    raise AssertionError(f"{name} is not in the list:\n{tau.text()}")


async def open_files(tau: Running) -> None:
    await tau.pilot.press("alt+m")
    await tau.shows("This project")
    await to(tau, "build.md")


async def open_cut(tau: Running) -> None:
    await open_files(tau)
    await to(tau, "notes.md")
    await tau.pilot.press("enter")
    await tau.shows("to the list")


async def open_own(tau: Running) -> None:
    await open_files(tau)
    await to(tau, "AGENTS.md")


async def open_goal(tau: Running) -> None:
    await tau.pilot.press("alt+m")
    await tau.shows("This project")
    await to(tau, "the nightly job")


async def open_changes(tau: Running) -> None:
    await tau.pilot.press("alt+m")
    await tau.shows("This project")
    await tau.pilot.press("tab", "down")
    await tau.shows("make check")


async def open_undone(tau: Running) -> None:
    await tau.pilot.press("alt+m")
    await tau.shows("This project")
    await tau.pilot.press("tab")
    await tau.shows("(undone)")
    await tau.shows("only from")


async def open_filtered(tau: Running) -> None:
    await tau.pilot.press("alt+m")
    await tau.shows("This project")
    await tau.pilot.press("slash", *"rat")
    await tau.until(lambda: "answers.md" not in tau.text(), "only what was typed")


SCREENS: dict[str, Callable[[Running], Awaitable[None]]] = {
    "files": open_files,
    "cut": open_cut,
    "own": open_own,
    "goal": open_goal,
    "changes": open_changes,
    "undone": open_undone,
    "filtered": open_filtered,
}


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=str)
async def test_memory(
    start: Start,
    settings_for: Callable[..., Settings],
    snapshot: SnapshotAssertion,
    size: tuple[int, int],
    theme: str,
) -> None:
    settings = msgspec.structs.replace(
        settings_for(theme=theme), memory=MemorySettings(max_chars=6_500, refine="off")
    )
    work = settings.directory
    (work / ".tau").mkdir()
    (work / "AGENTS.md").write_text("# Quail\n\nRun `make check` before you say that something is done.\n")
    Trust(settings.places).add(work)
    remembered(settings)
    async with start(size=size, settings=settings, name="rook") as tau:
        await tau.shows("main")
        for name, open_screen in SCREENS.items():
            await open_screen(tau)
            for field in tau.app.screen.query(Input):
                field.cursor_blink = False
                field._cursor_visible = True
            await picture(partial(snapshot, name=name), tau)  # type: ignore[arg-type]  # called the same way
            await tau.pilot.press("alt+m")
            await tau.until(lambda: tau.app.screen is tau.screen, "back")
