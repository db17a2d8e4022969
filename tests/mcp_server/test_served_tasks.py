"""What is told of tasks: findings before what is ahead, all within reach, and nothing closed is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from tau.config.settings import ApprovalSettings, Places, Settings
from tau.mcp_server.served_tasks import ServedTasks
from tau.tasks.desk import TaskDesk

if TYPE_CHECKING:
    from pathlib import Path

DEEP = "packages/backend/services/billing/invoicing/internal"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    directory = tmp_path.resolve() / "work"
    directory.mkdir()
    places = Places(data=tmp_path / "data", state=tmp_path / "state", config=tmp_path / "config")
    return Settings(places=places, directory=directory)


def write(settings: Settings, files: dict[str, str]) -> None:
    for path, text in files.items():
        place = settings.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def answers(served: ServedTasks, *, room: int) -> list[str]:
    """All that the context of the task ``t`` is told in, answer for answer."""
    told = [served.context("t", "", offset=0, room=room)]
    while found := re.findall(r"offset=(\d+) goes on", told[-1]):
        told.append(served.context("t", "", offset=int(found[-1]), room=room))
        assert len(told) < 200
    return told


@pytest.mark.parametrize("room", [20_000, 4_000, 1_000])
def test_findings_come_before_what_is_ahead_and_everything_is_reached(settings: Settings, room: int) -> None:
    names = [f"component_number_{number:03}" for number in range(120)]
    explorers = ["alpha_controller", "beta_controller", "gamma_controller"]
    write(settings, {f"{DEEP}/{name}.py": "" for name in names})
    write(
        settings, {f"{DEEP}/{name}.py": "".join(f"from . import {n}\n" for n in names) for name in explorers}
    )
    desk, served = TaskDesk(settings), ServedTasks(settings)
    desk.create("t")
    for name in explorers:
        desk.mark("t", f"{DEEP}/{name}.py", notes=f"FINDING in {name}")
    told = answers(served, room=room)
    assert all(len(each) <= room + 500 for each in told)
    whole = "\n".join(told)
    if room >= 4_000:
        assert all(f"FINDING in {name}" in told[0] for name in explorers)
        assert told[0].count("component_number") <= 20
    assert all(whole.count(f"FINDING in {name}") == 1 for name in explorers)
    assert all(whole.count(f"- {DEEP}/{name}.py") == 1 for name in names)


def test_long_notes_are_shown_in_part_and_read_whole_by_path(settings: Settings) -> None:
    desk, served = TaskDesk(settings), ServedTasks(settings)
    desk.create("t")
    notes = {f"f{number}.py": f"{number} " + f"word{number} " * 300 + "END" for number in range(60)}
    for path, note in notes.items():
        desk.mark("t", path, notes=note)
    told = answers(served, room=20_000)
    assert all(len(each) <= 20_500 for each in told)
    assert all("".join(told).count(f"- {path}: ") == 1 for path in notes)
    assert "path, with a file, reads all its notes." in told[0]
    for path, note in list(notes.items())[::20]:
        assert note in served.context("t", f"./{path}", offset=0, room=20_000)
    pieces, offset = "", 0
    while True:
        _, piece, *more = served.context("t", "f7.py", offset=offset, room=900).split("\n")
        pieces += piece
        if not more:
            break
        offset = int(re.findall(r"offset=(\d+) goes on", more[0])[0])
    assert pieces == notes["f7.py"]
    beyond = served.context("t", "", offset=60, room=20_000)
    assert beyond.endswith("[There are 60 entries, so none from offset=60 on.]")
    desk.mark("t", "short.py", notes="short")
    assert "- short.py: short\n" in served.context("t", "", offset=0, room=20_000)


def test_more_tasks_than_fit_are_listed_from_an_offset_on(settings: Settings) -> None:
    desk, served = TaskDesk(settings), ServedTasks(settings)
    for number in range(60):
        desk.create(f"task <{number}>")
    first = served.listed(offset=0)
    assert first.endswith("\nThere are 10 more that changed longer ago: offset=50 goes on.")
    both = first + served.listed(offset=50)
    assert all(both.count(f"'task <{number}>'") == 1 for number in range(60))
    assert served.listed(offset=60) == "There are no more tasks of this directory."


def test_what_approvals_close_is_read_under_no_name(settings: Settings) -> None:
    write(settings, {
        "hidden/keys.py": "import rates\n", "rates.py": "", "open.py": "import rates\n", "was.py": "",
        "web/tsconfig.json": '{"compilerOptions": {"baseUrl": "lib"}}', "web/a.ts": "import 'inner/x'\n",
        "web/lib/inner/x.ts": "",
    })  # fmt: skip
    desk = TaskDesk(settings)
    desk.create("t")
    for path in ("hidden/keys.py", "was.py", "web/a.ts"):
        desk.mark("t", path)
    (settings.directory / "was.py").unlink()
    (settings.directory / "was.py").symlink_to("hidden/keys.py")
    assert "; 2 ahead;" in ServedTasks(settings).listed(offset=0)
    deny = ApprovalSettings(deny=["read_file: hidden/**", "read_file: tsconfig.json"])
    served = ServedTasks(msgspec.structs.replace(settings, approvals=deny))
    told = served.context("t", "", offset=0, room=20_000)
    assert "Imports not known of hidden/keys.py, was.py: reading it waits for the person\n" in told
    assert "The frontier is not known for 2 of 3 explored files, and empty for others." in told
    assert "rates.py" not in told
    assert "inner" not in told
    assert "; 0 ahead;" in served.listed(offset=0)


def test_why_imports_are_not_known_is_said_once_a_reason(settings: Settings) -> None:
    write(settings, {f"n{number}.md": "" for number in range(9)})
    outside = settings.directory.parent / "out.py"
    outside.write_text("import x\n")
    write(settings, {"moved.py": "import x\n"})
    desk, served = TaskDesk(settings), ServedTasks(settings)
    desk.create("t")
    assert "The frontier is empty: no file was explored yet." in served.context(
        "t", "", offset=0, room=20_000
    )
    for path in [*(f"n{number}.md" for number in range(9)), "moved.py", "gone.py"]:
        desk.mark("t", path)
    (settings.directory / "moved.py").unlink()
    (settings.directory / "moved.py").symlink_to(outside)
    lines = served.context("t", "", offset=0, room=20_000).splitlines()
    assert [line for line in lines if line.startswith("Imports not known")] == [
        "Imports not known of gone.py: it is not there",
        "Imports not known of moved.py: it is outside of the directory",
        "Imports not known of n0.md, n1.md, n2.md and 6 more: imports of such files are not read",
    ]
    assert "The frontier is not known for 11 of 11 explored files, and empty for others." in lines
