"""`/tasks` in the app: laid out for the room there is, and said to run where it waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tau.config.settings import Settings
from tau.tasks.desk import TaskDesk
from tau.tui.widgets.blocks import LinesRow
from tests.tui.conftest import Start

NAME = "the nightly job stops before it writes"


@pytest.fixture
def desk(settings_for: Callable[..., Settings], work: Path) -> TaskDesk:
    """The tasks of a project in which some files were explored."""
    for path, text in {
        "quail/main.py": "from quail.jobs import nightly\nfrom quail import money\n",
        "quail/jobs/nightly.py": "from quail import money, rates\n",
        "quail/money.py": "",
        "quail/rates.py": "",
    }.items():
        place = work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    desk = TaskDesk(settings_for())
    desk.create(NAME)
    desk.mark(
        NAME, "quail/main.py", notes="the entry point, which is started by a timer at three and at five"
    )
    desk.mark(NAME, "quail/jobs/nightly.py")
    return desk


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
async def test_no_line_is_folded(desk: TaskDesk, start: Start, columns: int) -> None:
    async with start(size=(columns, 40)) as tau:
        await tau.send("/tasks")
        await tau.shows("2 ahead" if columns < 80 else "PROGRESS")
        await tau.send(f"/tasks show {NAME}")
        await tau.shows("● quail/jobs/nightly.py")
        for row in tau.screen.query(LinesRow):
            assert row.size.height == len(row.source.split("\n")), row.source


async def test_a_command_that_waits_is_said_to_run(desk: TaskDesk, start: Start) -> None:
    async with start() as tau:
        with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await tau.send(f"/tasks done {NAME}")
            await tau.until(lambda: tau.screen.status.activity == "Working…", "that it works")
            tau.screen.prompt.insert("meanwhile")
            await tau.shows("meanwhile")
            tau.screen.prompt.text = ""
            other.execute("COMMIT")
        await tau.shows("is completed")
        await tau.ready()


async def test_leaving_while_a_command_waits(desk: TaskDesk, start: Start) -> None:
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
        async with start() as tau:
            other.execute("BEGIN IMMEDIATE")
            await tau.send(f"/tasks done {NAME}")
            await tau.until(lambda: tau.screen.status.activity == "Working…", "that it works")
            tau.app.exit()
            await tau.until(lambda: not tau.app.is_running, "the app ended")
            other.execute("COMMIT")
    assert tau.app.return_code == 0
