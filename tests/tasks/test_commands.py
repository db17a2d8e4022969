"""`tau tasks`, and how a task is drawn."""

from __future__ import annotations

import subprocess
import sys

from wcwidth import wcswidth

from tau.config.settings import Places, Settings
from tau.conversation.tasks_command import listed, progress, put_away, shown
from tau.tasks.desk import TaskDesk
from tau.tasks.lifecycle import Collected
from tests.conftest import TauEnv
from tests.tasks.conftest import Home


def desk_of(env: TauEnv) -> TaskDesk:
    places = Places(data=env.data, state=env.state, config=env.home / "config" / "tau")
    return TaskDesk(Settings(places=places, directory=env.directory))


def test_list_show_and_done(tau_env: TauEnv) -> None:
    none = tau_env.run("tasks", "list")
    assert (none.returncode, none.stdout) == (0, "There are no tasks here; create_task makes one.\n")
    desk = desk_of(tau_env)
    (tau_env.directory / "a.py").write_text("import b\n")
    (tau_env.directory / "b.py").write_text("")
    task = desk.create("how b is used").task
    desk.mark(task.id, "a.py", notes="only here")
    head, row = tau_env.run("tasks", "list").stdout.splitlines()
    assert head.split() == ["TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED"]
    assert row.startswith("how b is used  active  ████░░░░ 1/2      1  ")
    picture = tau_env.run("tasks", "show", "how b is used").stdout
    assert f"\nid {task.id}\n" in picture
    assert "\n ╰─○ b.py\n" in picture
    done = tau_env.run("tasks", "done", task.id)
    assert (done.returncode, done.stdout) == (0, "The task 'how b is used' is completed\n")
    assert "completed" in tau_env.run("tasks", "list").stdout
    wrong = tau_env.run("tasks", "show", "nothing")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("tau: There is no task 'nothing' in ")


def test_its_age_is_configured(tau_env: TauEnv) -> None:
    desk = desk_of(tau_env)
    desk.create("t")
    assert "max_age_days = 30" in tau_env.run("config", "show").stdout
    tau_env.configure("[tasks]\nmax_age_days = 0\n")
    wrong = tau_env.run("tasks", "list")
    assert wrong.returncode == 2
    assert "2: tasks.max_age_days must be a whole number, at least 1" in wrong.stderr
    tau_env.configure("[tasks]\nmax_age_days = 1\n")
    assert "created" in tau_env.run("tasks", "list").stdout


def test_nothing_heavy_is_loaded_to_list_tasks(tau_env: TauEnv) -> None:
    desk_of(tau_env).create("t")
    code = (
        "import sys; from tau.cli import main\n"
        "sys.argv = ['tau', 'tasks', 'list']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'strands', 'textual', 'mcp', 'pydantic', 'boto3', 'tree_sitter', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tau_env.directory,
        env=tau_env.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]", done


PICTURE = """\
██░░░░░░ 4/13   3 explored, 1 skipped, 2 flagged

 ● app/main.py            the entry point
 ├─● app/jobs/nightly.py  runs at three and at five, unless somebody is at …
 │ ├─● app/money.py
 │ │ ╰─↻ app/jobs/nightly.py
 │ ├─⚑ app/rates.py       what of 2024? Nobody knows it any more, it seems …
 │ ╰─○ app/dates.py
 ├─↑ app/money.py
 ├─– app/cli.py
 ├─○ app/f0.py
 ├─○ app/f1.py
 ├─○ app/f2.py
 ├─○ app/f3.py
 ├─○ app/f4.py
 ╰─ 2 more
 ⚑ docs/notes.py

 ● explored   ⚑ flagged   – skipped   ○ ahead   ↑ above   ↻ in a circle

Worth looking at next (9), the most imported first:
 ○ app/dates.py  by app/jobs/nightly.py
 ○ app/f0.py     by app/main.py"""


def test_the_picture(home: Home) -> None:
    others = [f"f{number}" for number in range(7)]
    home.write({f"app/{name}.py": "" for name in [*others, "rates", "dates", "cli"]})
    home.write({
        "app/main.py": f"from .jobs import nightly\nfrom . import money, cli, {', '.join(others)}\n",
        "app/jobs/nightly.py": "from .. import money, rates, dates\n",
        "app/money.py": "from .jobs import nightly\n",
        "docs/notes.py": "",
    })  # fmt: skip
    desk = home.desk()
    desk.create("t")
    desk.mark("t", "app/main.py", notes="the entry point")
    desk.mark("t", "app/jobs/nightly.py", notes="runs at three and at five, unless somebody is at work")
    desk.mark("t", "app/money.py")
    desk.mark("t", "app/rates.py", "flagged", "what of 2024?\n\nNobody knows it any more, it seems to me")
    desk.mark("t", "app/cli.py", "skipped")
    desk.mark("t", "docs/notes.py", "flagged")
    lines = shown(desk.view("t"))
    assert lines[0] == "t"
    assert lines[1].startswith("active, changed ")
    assert "\n".join(lines[3:]).startswith(PICTURE)
    assert lines[-1] == " ⚑ app/rates.py  by app/jobs/nightly.py"


def test_every_line_fits_and_says_nothing_to_the_terminal(home: Home) -> None:
    deep = "/".join(["a_rather_long_folder_name"] * 4)
    names = ["\x1b[2Jclear", "漢字" * 30, "[red]x[/]", "x" * 200]
    home.write({f"{deep}/m{number}.py": f"from . import m{number + 1}\n" for number in range(40)})
    for name in names:
        home.write({f"{deep}/{name}.py": ""})
    desk = home.desk()
    task = desk.create("n" * 200).task.id
    for number in range(39):
        desk.mark(task, f"{deep}/m{number}.py", notes="a note with \x1b]0;title\x07 in it " * 9)
    for name in names:
        desk.mark(task, f"{deep}/{name}.py", "flagged")
    view = desk.view(task)
    lines = [*shown(view), *listed(desk.listing())]
    assert all(0 <= wcswidth(line) <= 79 for line in lines), lines
    assert "\x1b" not in "".join(lines)
    picture = lines[5 : lines.index("", 5)]
    assert sum("m38.py" in line for line in picture) == 1, "a deep chain is drawn to its end"


def test_a_long_picture_is_cut_and_counted(home: Home) -> None:
    home.write({f"m{number}.py": "" for number in range(100)})
    desk = home.desk()
    task = desk.create("t").task.id
    for number in range(100):
        desk.mark(task, f"m{number}.py")
    assert " … 40 more lines" in shown(desk.view(task))
    assert sum(line.startswith(" ● m") for line in shown(desk.view(task), most=1_000)) == 100


def test_progress() -> None:
    told = [progress(0, 0), progress(0, 3), progress(999, 1), progress(3, None), progress(1, 1)]
    assert [each.split()[0] for each in told] == ["░" * 8, "░" * 8, "█" * 7 + "░", "█" * 8, "█" * 4 + "░" * 4]
    assert told[2].endswith(" 999/1,000")


def test_a_table_of_many_tasks_is_cut(home: Home) -> None:
    desk = home.desk()
    for number in range(45):
        desk.create(f"task {number}")
    lines = listed(desk.listing())
    assert len(lines) == 42
    assert lines[-1] == "5 more changed longer ago."


def test_what_was_put_away_is_said() -> None:
    assert put_away(Collected()) == []
    assert put_away(Collected(archived=1)) == ["Old tasks of all directories were put away: 1 archived."]
    assert put_away(Collected(2, 1_000)) == [
        "Old tasks of all directories were put away: 2 archived and 1,000 purged."
    ]
