"""`tau tasks` and `/tasks` in terminals of several widths: every line fits and no name is broken."""

from __future__ import annotations

import re

import pexpect
import pytest
from wcwidth import wcswidth

from tau.config.settings import Places, Settings
from tau.tasks.desk import TaskDesk
from tests.conftest import TAU, TauEnv

pytestmark = pytest.mark.terminal

WIDTHS = (40, 60, 80, 120)
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])")
NAME = "the nightly job stops before it writes"


@pytest.fixture
def explored(tau_env: TauEnv) -> TauEnv:
    """A project with a task in which some files were explored."""
    for path, text in {
        "quail/main.py": "from quail.jobs import nightly\nfrom quail import money\n",
        "quail/jobs/nightly.py": "from quail import money, rates\n",
        "quail/money.py": "",
        "quail/rates.py": "",
    }.items():
        place = tau_env.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    places = Places(data=tau_env.data, state=tau_env.state, config=tau_env.home / "config" / "tau")
    desk = TaskDesk(Settings(places=places, directory=tau_env.directory))
    desk.create(NAME)
    desk.mark(
        NAME, "quail/main.py", notes="the entry point, which is started by a timer at three and at five"
    )
    desk.mark(NAME, "quail/jobs/nightly.py")
    return tau_env


def lines_of(env: TauEnv, columns: int, *arguments: str, program: str = TAU) -> list[str]:
    """What a program writes in a terminal of so many columns."""
    process = pexpect.spawn(
        program,
        list(arguments),
        cwd=str(env.directory),
        env=env.environ,
        encoding="utf-8",
        timeout=60,
        dimensions=(50, columns),
    )
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0
    return [line.rstrip() for line in ESCAPES.sub("", process.before or "").splitlines()]


@pytest.mark.parametrize("columns", WIDTHS)
def test_every_line_fits_the_terminal(explored: TauEnv, columns: int) -> None:
    listed = lines_of(explored, columns, "tasks", "list")
    shown = lines_of(explored, columns, "tasks", "show", NAME)
    assert all(0 <= wcswidth(line) <= columns for line in [*listed, *shown])
    assert any(" ╰─● quail/jobs/nightly.py" in line or "├─● quail/jobs/nightly.py" in line for line in shown)
    if columns < 73:
        assert listed[1].startswith("  active · 2/4 · 2 ahead")
    else:
        assert listed[0].split() == ["ID", "TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED"]
        assert len(listed) == 2
    assert (NAME in listed[-1]) == (columns == 120), "a wide one cuts nothing"


def test_a_pipe_gets_all_of_it(explored: TauEnv) -> None:
    assert NAME in explored.run("tasks", "list").stdout
    assert "which is started by a timer at three and at five" in explored.run("tasks", "show", NAME).stdout


@pytest.mark.parametrize("columns", WIDTHS)
def test_line_mode_lays_out_for_its_terminal(explored: TauEnv, columns: int) -> None:
    explored.scripted({"text": "hello"})
    lines = lines_of(explored, columns, "-c", f"echo /tasks | {TAU} chat", program="/bin/sh")
    if columns < 73:
        assert any(line.startswith("  active · 2/4 · 2 ahead") for line in lines), lines
    else:
        assert ["ID", "TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED"] in [line.split() for line in lines]
    assert all(wcswidth(line) <= columns for line in lines)
