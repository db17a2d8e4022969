"""The task database as a file: who may read it, other versions, damage, and other writers."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from tau.errors import TaskRefused
from tau.tasks import database
from tau.tasks.database import MIGRATIONS
from tests.tasks.conftest import Home

COLUMNS = {
    "tasks": [
        ("id", "TEXT", 0, None, 1),
        ("name", "TEXT", 1, None, 0),
        ("state", "TEXT", 1, "'created'", 0),
        ("created_at", "INTEGER", 1, None, 0),
        ("updated_at", "INTEGER", 1, None, 0),
        ("session_id", "TEXT", 0, None, 0),
        ("metadata_json", "TEXT", 0, None, 0),
    ],
    "task_files": [
        ("task_id", "TEXT", 1, None, 1),
        ("file_path", "TEXT", 1, None, 2),
        ("status", "TEXT", 1, "'explored'", 0),
        ("notes", "TEXT", 0, None, 0),
        ("explored_at", "INTEGER", 1, None, 0),
    ],
}


def test_the_tables_are_those_of_the_model(home: Home) -> None:
    desk = home.desk()
    desk.create("t")
    with closing(sqlite3.connect(desk.path)) as connection:
        for table, columns in COLUMNS.items():
            found = connection.execute(f"PRAGMA table_info({table})").fetchall()
            assert [column[1:] for column in found] == columns
        ((_, _, table, column, other, _, on_delete, _),) = connection.execute(
            "PRAGMA foreign_key_list(task_files)"
        )
        assert (table, column, other, on_delete) == ("tasks", "task_id", "id", "CASCADE")
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_it_is_its_owners_alone_whatever_the_umask(home: Home) -> None:
    before = os.umask(0)
    try:
        home.desk().create("t")
        with closing(sqlite3.connect(home.desk().path)) as held:
            held.execute("SELECT * FROM tasks").fetchone()
            files = list(home.desk().path.parent.iterdir())
            modes = {stat.S_IMODE(path.stat().st_mode) for path in files}
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert len(files) == 3, files
    for folder in (home.places.data, home.places.data / "tasks"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_looking_makes_no_database(home: Home) -> None:
    desk = home.desk()
    assert desk.listing().rows == []
    assert desk.open_tasks() == []
    assert desk.collect().purged == 0
    with pytest.raises(TaskRefused, match="no task"):
        desk.view("t")
    assert not home.places.data.exists()


def test_tables_of_an_earlier_version_are_brought_up(home: Home) -> None:
    desk = home.desk()
    desk.path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.executescript(MIGRATIONS[0] + "PRAGMA user_version = 1;")
        connection.execute(
            "INSERT INTO tasks VALUES ('1', 'kept', 'active', 1, 2, NULL, json_object('directory', ?))",
            [str(home.directory)],
        )
        connection.commit()
    assert [task.name for task, _ in desk.open_tasks()] == ["kept"]
    with closing(sqlite3.connect(desk.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_what_another_program_wrote_into_a_row_does_no_harm(home: Home) -> None:
    desk = home.desk()
    desk.create("ours")
    with closing(sqlite3.connect(desk.path)) as connection:
        odd = [None, "no json", "[1]", '{"directory": 3}', '{"directory": "/x"}']
        for number, metadata in enumerate(odd):
            connection.execute(
                "INSERT INTO tasks VALUES (?, 'theirs', 'active', 9e18, -1, NULL, ?)", [str(number), metadata]
            )
        connection.commit()
    assert [row.task.name for row in desk.listing().rows] == ["ours"]
    with pytest.raises(TaskRefused, match="of another directory: no directory that is known"):
        desk.view("1")


def test_a_newer_database_is_left_as_it_is(home: Home) -> None:
    desk = home.desk()
    desk.create("t")
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = desk.path.read_bytes()
    for use in (desk.listing, desk.open_tasks, lambda: desk.create("u"), lambda: desk.view("t")):
        with pytest.raises(TaskRefused, match="was written by a newer tau") as refused:
            use()
        assert str(desk.path) in refused.value.line()
        assert "move tasks.sqlite* away" in refused.value.line()
    assert desk.path.read_bytes() == before


@pytest.mark.parametrize("kind", ["text", "cut", "of another program", "a directory", "a link"])
def test_what_is_no_task_database_is_left_as_it_is(home: Home, kind: str) -> None:
    desk = home.desk()
    desk.path.parent.mkdir(parents=True)
    target = home.root / "target"
    match kind:
        case "text":
            desk.path.write_bytes(b"these are notes\n" * 999)
        case "cut":
            desk.create("t")
            desk.path.write_bytes(desk.path.read_bytes()[:4096] + b"\xff" * 8192)
        case "of another program":
            with closing(sqlite3.connect(desk.path)) as connection:
                connection.execute("CREATE TABLE tasks (mine TEXT)")
        case "a directory":
            desk.path.mkdir()
        case _:
            target.write_bytes(b"")
            desk.path.symlink_to(target)
    before = desk.path.read_bytes() if desk.path.is_file() else None
    for use in (desk.listing, desk.open_tasks, lambda: desk.create("u"), lambda: desk.mark("t", "a.py")):
        with pytest.raises(TaskRefused) as refused:
            use()
        assert str(desk.path) in refused.value.line()
        assert "move tasks.sqlite* away" in refused.value.line()
    assert (desk.path.read_bytes() if desk.path.is_file() else None) == before


def test_a_place_that_cannot_be_written_is_said(home: Home) -> None:
    home.places.data.write_text("a file where the folder would be")
    with pytest.raises(TaskRefused, match="cannot be used: "):
        home.desk().create("t")


def test_a_writer_that_holds_on_for_too_long_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    desk = home.desk()
    desk.create("t")
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TaskRefused, match="was busy for 0 seconds"):
            desk.create("u")
        assert [task.name for task, _ in desk.open_tasks()] == ["t"], "reading waits for no writer"
        other.execute("ROLLBACK")
    desk.create("u")
    assert len(desk.open_tasks()) == 2


def test_a_database_that_is_deleted_meanwhile_is_begun_anew(home: Home) -> None:
    desk = home.desk()
    desk.create("t")
    desk.path.unlink()
    assert desk.open_tasks() == []
    desk.create("u")
    assert [task.name for task, _ in desk.open_tasks()] == ["u"]
