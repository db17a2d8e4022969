"""Tasks from their creation to their end, and what becomes of old ones."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
import time_machine

from tau.errors import TaskRefused
from tau.tasks.desk import TaskDesk
from tau.tasks.records import Counts
from tests.tasks.conftest import Home

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.timezone.utc)  # noqa: UP017  # time_machine reads it as it is
DAY = 86_400_000


@contextmanager
def days_later(days: float) -> Iterator[None]:
    with time_machine.travel(START + dt.timedelta(days=days), tick=False):
        yield


def states(desk: TaskDesk) -> dict[str, str]:
    return {row.task.name: row.task.state for row in desk.listing().rows}


def rows(desk: TaskDesk, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(desk.path)) as connection:
        return connection.execute(sql).fetchall()


def test_a_task_is_kept_as_the_tables_say(home: Home) -> None:
    desk = home.desk()
    desk.session = lambda: "20260301-120000-abcd"
    with days_later(0):
        task = desk.create("  the nightly job ").task
    with days_later(1):
        desk.mark("the nightly job", "a.py", "flagged", "look again")
        desk.mark(task.id, str(home.directory / "b.py"))
    at = int(START.timestamp() * 1000)
    assert str(uuid.UUID(task.id)) == task.id
    ((kept),) = rows(desk, "SELECT * FROM tasks")
    assert kept[:6] == (task.id, "the nightly job", "active", at, at + DAY, "20260301-120000-abcd")
    disk = json.loads(str(kept[6])).pop("disk")
    assert json.loads(str(kept[6])) == {"directory": str(home.directory), "disk": disk}
    assert os.path.ismount(disk["at"])
    assert home.directory.is_relative_to(disk["at"])
    assert disk["device"] == home.directory.stat().st_dev
    assert rows(desk, "SELECT * FROM task_files ORDER BY file_path") == [
        (task.id, "a.py", "flagged", "look again", at + DAY),
        (task.id, "b.py", "explored", None, at + DAY),
    ]


def test_states_go_forward_only(home: Home) -> None:
    desk = home.desk()
    desk.create("t")
    assert states(desk) == {"t": "created"}
    assert desk.mark("t", "a.py").begun
    assert not desk.mark("t", "b.py", "skipped").begun
    assert states(desk) == {"t": "active"}
    assert desk.complete("t")[1] is True
    assert desk.complete("t")[1] is False
    with pytest.raises(TaskRefused, match="is completed, so nothing is marked in it"):
        desk.mark("t", "c.py")
    assert [file.path for file in desk.view("t").files] == ["a.py", "b.py"]
    desk.create("never begun")
    desk.complete("never begun")
    assert states(desk) == {"t": "completed", "never begun": "completed"}


def test_marking_again_changes_status_and_keeps_notes_that_are_not_given(home: Home) -> None:
    desk = home.desk()
    desk.create("t")
    desk.mark("t", "a.py", notes="first")
    desk.mark("t", "./x/../a.py", "flagged")
    (file,) = desk.view("t").files
    assert (file.path, file.status, file.notes) == ("a.py", "flagged", "first")
    desk.mark("t", "a.py", notes="second")
    (file,) = desk.view("t").files
    assert (file.status, file.notes) == ("explored", "second")


def test_days_in_a_state_count_from_the_last_change(home: Home) -> None:
    desk = home.desk()
    with days_later(0):
        for name in ("idle", "worked on", "ended"):
            desk.create(name)
        desk.mark("worked on", "a.py")
    with days_later(20):
        desk.complete("ended")
    with days_later(29.9):
        assert states(desk) == {"idle": "created", "worked on": "active", "ended": "completed"}
        assert len(desk.open_tasks()) == 2
    with days_later(30):
        assert [task.name for task, _ in desk.open_tasks()] == ["worked on"], "as after a collection"
        listing = desk.listing()
        assert (listing.collected.archived, listing.collected.purged) == (1, 0)
        assert states(desk) == {"idle": "archived", "worked on": "active", "ended": "completed"}
        with pytest.raises(TaskRefused, match="is archived"):
            desk.mark("idle", "a.py")
        with pytest.raises(TaskRefused, match="is archived"):
            desk.complete("idle")
    with days_later(50):
        assert desk.create("new").collected.purged == 1, "a creation collects, too"
        assert states(desk) == {"idle": "archived", "worked on": "active", "new": "created"}
    with days_later(60):
        assert desk.collect().purged == 1
    with days_later(4_000):
        assert states(desk) == {"worked on": "active", "new": "archived"}, "what is active stays"


def test_purging_takes_the_files_along(home: Home) -> None:
    desk = home.desk(max_age_days=1)
    with days_later(0):
        desk.create("t")
        desk.mark("t", "a.py")
        desk.complete("t")
    with days_later(1):
        assert desk.listing().rows == []
    assert rows(desk, "SELECT count(*) FROM task_files") == [(0,)]


def test_each_directory_is_listed_and_collected_by_itself(home: Home) -> None:
    other = home.root / "other"
    other.mkdir()
    theirs = home.desk(directory=other)
    with days_later(0):
        for desk in (theirs, home.desk()):
            desk.create("begun")
            desk.create("ended")
            desk.complete("ended")
    with days_later(2):
        listing = home.desk(max_age_days=1).listing()
        assert (listing.collected.archived, listing.collected.purged) == (1, 1)
        assert [row.task.name for row in listing.rows] == ["begun"]
        assert states(theirs) == {"ended": "completed", "begun": "created"}, "its own setting is 30 days"
    with days_later(30):
        assert theirs.listing().collected == listing.collected


def gone_directory(home: Home, *, name: str = "gone") -> TaskDesk:
    """A directory with three tasks of that day, beside another folder, and gone."""
    directory = home.root / name
    directory.mkdir(parents=True)
    desk = home.desk(directory=directory, max_age_days=400)
    for task in ("idle", "worked on", "ended"):
        desk.create(task)
    desk.mark("worked on", "a.py")
    desk.complete("ended")
    directory.rmdir()
    return desk


@pytest.mark.parametrize(("own", "days"), [(1, 30), (30, 30), (45, 45)])
@pytest.mark.parametrize("event", ["listing", "creation", "start of the server"])
def test_tasks_of_a_directory_that_is_gone_are_put_away(home: Home, own: int, days: int, event: str) -> None:
    with days_later(0):
        theirs = gone_directory(home)
    collects = {
        "listing": lambda desk: desk.listing().collected,
        "creation": lambda desk: desk.create("another").collected,
        "start of the server": TaskDesk.collect,
    }[event]
    here = home.desk(max_age_days=own)
    with days_later(days - 0.1):
        assert not collects(here).gone
        assert len(theirs.tasks()) == 3
        (home.root / "gone").mkdir()
        theirs.complete(theirs.create("ended late").task.id)
        (home.root / "gone").rmdir()
    with days_later(days):
        collected = collects(here)
        assert (list(collected.gone), collected.gone_archived, collected.gone_purged) == (
            [str(home.root / "gone")], 1, 1,
        )  # fmt: skip
        assert {task.name: task.state for task in theirs.tasks()} == {
            "idle": "archived",
            "worked on": "active",
            "ended late": "completed",
        }
        assert not collects(here).gone
    with days_later(2 * days):
        assert collects(here).gone_purged == 2
        assert [task.name for task in theirs.tasks()] == ["worked on"], "what is active stays"


def test_tasks_that_are_not_known_to_be_of_the_disk_stay(home: Home) -> None:
    """They may be of another one that was mounted at the same place."""
    with days_later(0):
        theirs = gone_directory(home)
        for name in ("of another disk", "of no known disk"):
            theirs.complete(theirs.create(name).task.id)
        with closing(sqlite3.connect(theirs.path)) as connection, connection:
            connection.execute(
                "UPDATE tasks SET metadata_json = json_set(metadata_json, '$.disk', json(?)) WHERE name = ?",
                ['{"at": "/", "device": 1}', "of another disk"],
            )
    with days_later(60):
        collected = home.desk().listing().collected
        left = {task.name for task in theirs.tasks()}
    assert collected.gone_purged == 1, "the one that was completed while the directory was there"
    assert left == {"idle", "worked on", "of another disk", "of no known disk"}


def set_disk(desk: TaskDesk, disk: str | None) -> None:
    with closing(sqlite3.connect(desk.path)) as connection, connection:
        change = "json_remove(metadata_json, '$.disk')"
        if disk is not None:
            change = "json_set(metadata_json, '$.disk', json(?))"
        connection.execute(f"UPDATE tasks SET metadata_json = {change}", [disk] if disk is not None else [])


@pytest.mark.parametrize(
    "why",
    [
        "it is there",
        "what is above it is missing as well",
        "nothing else is beside it",
        "another disk is there",
        "nothing is mounted there",
        "its disk is not known",
        "its disk is nonsense",
    ],
)
def test_what_is_only_out_of_reach_is_not_gone(home: Home, why: str) -> None:
    with days_later(0):
        theirs = gone_directory(home, name="disk/gone")
    above = home.root / "disk"
    (above / "other").mkdir()
    device = above.stat().st_dev
    at = next(str(folder) for folder in above.parents if os.path.ismount(folder))
    match why:
        case "it is there":
            (above / "gone").mkdir()
        case "what is above it is missing as well":
            (above / "other").rmdir()
            above.rmdir()
        case "nothing else is beside it":
            (above / "other").rmdir()
        case "another disk is there":
            set_disk(theirs, json.dumps({"at": at, "device": device + 1}))
        case "nothing is mounted there":
            set_disk(theirs, json.dumps({"at": str(above), "device": device}))
        case "its disk is not known":
            set_disk(theirs, None)
        case _:
            set_disk(theirs, '{"at": 7}')
    with days_later(400):
        assert not home.desk().listing().collected.gone
        assert len(theirs.tasks()) == 3


def test_secrets_are_masked_in_names_and_notes(home: Home) -> None:
    secret = "sk-abcdefghij0123456789KLMNOP"
    desk = home.desk()
    assert desk.create(f"where {secret} is used").task.name == "where *** is used"
    desk.mark(f"where {secret} is used", "a.py", notes=f"it is {secret}")
    assert [file.notes for file in desk.view("where *** is used").files] == ["it is ***"]
    desk.complete(f"where {secret} is used")
    kept = [path.read_bytes() for path in desk.path.parent.iterdir()]
    assert not any(secret.encode() in data for data in kept)


def test_a_directory_of_odd_bytes_has_tasks_of_its_own(home: Home) -> None:
    odd = home.root / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    (odd / "a.py").write_text("import b\n")
    (odd / "b.py").write_text("")
    desk = home.desk(directory=odd)
    desk.create("t")
    desk.mark("t", "a.py")
    for _ in range(2):
        assert [each.path for each in desk.view("t").frontier.ahead] == ["b.py"]
    assert [row.task.name for row in desk.listing().rows] == ["t"]
    assert home.desk().listing().rows == []


def test_a_name_that_two_open_tasks_have_is_refused_with_their_ids(home: Home) -> None:
    desk = home.desk()
    first = desk.create("auth").task
    made = desk.create("auth")
    assert [task.id for task in made.others] == [first.id]
    with pytest.raises(TaskRefused, match="There are 2 tasks 'auth'") as refused:
        desk.mark("auth", "a.py")
    assert first.id in refused.value.line()
    assert made.task.id in refused.value.line()
    desk.complete(first.id)
    assert desk.mark("auth", "a.py").task.id == made.task.id, "the open one is meant"
    desk.complete("auth")
    with pytest.raises(TaskRefused, match="There are 2 tasks"):
        desk.view("auth")
    assert desk.view(first.id).task.state == "completed"


@pytest.mark.parametrize("name", ["C", "C++", "C#", "' OR 1=1 --", "%", "ü ☃ 🎉", "[red]x[/]", "a\u200db"])
def test_names_are_what_they_are(home: Home, name: str) -> None:
    desk = home.desk()
    for each in ("C", "C++", "C#", "other"):
        desk.create(each)
    if name not in ("C", "C++", "C#"):
        desk.create(name)
    assert desk.view(name).task.name == name


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "needs a path"),
        ("a\0b", "cannot be the path"),
        ("\udcff", "cannot be the path"),
        (".", "a directory"),
        ("a" * 300, "cannot be looked at: File name too long"),
        ("aaaa/" * 2_000 + "a", "cannot be looked at: File name too long"),
    ],
)
def test_what_is_no_file_is_refused(home: Home, path: str, why: str) -> None:
    desk = home.desk()
    desk.create("t")
    with pytest.raises(TaskRefused, match=why):
        desk.mark("t", path)
    assert states(desk) == {"t": "created"}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../" * 30 + "etc/passwd", "out/passwd", "..", "../work2/a.py", "/"]
)
def test_what_leads_out_of_the_directory_is_refused_and_not_named(home: Home, path: str) -> None:
    (home.directory / "out").symlink_to("/etc")
    desk = home.desk()
    desk.create("t")
    with pytest.raises(TaskRefused, match=f"^{path} leads out of {home.directory}$"):
        desk.mark("t", path)
    assert states(desk) == {"t": "created"}
    assert desk.view("t").files == []


@pytest.mark.parametrize(
    ("status", "notes", "why"),
    [
        ("seen", "", "There is no status 'seen'"),
        ("explored", "a\0b", "NUL"),
        ("explored", "\ud800", "half a character"),
        ("explored", "n" * 8_001, "8,001 characters"),
    ],
)
def test_what_cannot_be_noted_is_refused(home: Home, status: str, notes: str, why: str) -> None:
    desk = home.desk()
    desk.create("t")
    with pytest.raises(TaskRefused, match=why):
        desk.mark("t", "a.py", status, notes)
    assert states(desk) == {"t": "created"}


def test_the_frontier_is_what_explored_files_import_less_what_was_looked_at(home: Home) -> None:
    home.write({
        "a.py": "import b, c, d, e\n", "b.py": "import a, c\n", "c.py": "import f\n", "d.py": "import g\n",
        "e.py": "", "f.py": "", "g.py": "",
    })  # fmt: skip
    desk = home.desk()
    desk.create("t")
    desk.mark("t", "a.py")
    desk.mark("t", "b.py")
    desk.mark("t", "d.py", "skipped")
    desk.mark("t", "e.py", "flagged")
    desk.mark("t", "f.py", "flagged")
    frontier = desk.view("t").frontier
    assert [(each.path, each.importers, each.flagged) for each in frontier.ahead] == [
        ("c.py", ("a.py", "b.py"), False),
        ("e.py", ("a.py",), True),
    ], "a flagged file stays; what no explored file imports is no part of it"
    (row,) = desk.listing().rows
    assert (row.counts, row.ahead) == (Counts(explored=2, skipped=1, flagged=2), 2)
    (home.directory / "b.py").unlink()
    assert [each.importers for each in desk.view("t").frontier.ahead] == [("a.py",), ("a.py",)]
