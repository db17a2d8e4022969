"""The states of tasks in the database: created, active, completed, archived, and what is purged when.

Each function is a step of one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from tau.display import one_line
from tau.errors import TaskRefused
from tau.tasks.database import HERE
from tau.tasks.records import OPEN, Counts, State, Status, Task, TaskFile, now

DAY_MS = 86_400_000
_MOST_NAMED = 20
_COLUMNS = "id, name, state, created_at, updated_at, session_id, metadata_json"


class Collected(msgspec.Struct, frozen=True):
    """How many tasks a collection archived, and how many it purged."""

    archived: int = 0
    purged: int = 0


def collect(connection: sqlite3.Connection, *, max_age_days: int) -> Collected:
    """Purge what was completed or archived so many days ago, and archive what was created and never begun.

    A task that is active stays, however old it is.
    """
    at = now()
    due = at - max_age_days * DAY_MS
    purged = connection.execute(
        "DELETE FROM tasks WHERE state IN ('completed', 'archived') AND updated_at <= ?", [due]
    ).rowcount
    archived = connection.execute(
        "UPDATE tasks SET state = 'archived', updated_at = ? WHERE state = 'created' AND updated_at <= ?",
        [at, due],
    ).rowcount
    return Collected(archived, purged)


def create(
    connection: sqlite3.Connection, name: str, *, directory: str, session_id: str | None
) -> tuple[Task, list[Task]]:
    """Make a task.

    Returns:
        The task, and the open ones of the directory that have its name already.
    """
    from uuid import uuid4

    others = [
        task for task in of_directory(connection, directory) if task.name == name and task.state in OPEN
    ]
    at = now()
    metadata = msgspec.json.encode({"directory": directory}).decode()
    task = Task(str(uuid4()), name, "created", at, at, session_id, metadata)
    connection.execute(
        f"INSERT INTO tasks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants only
        [task.id, name, task.state, at, at, session_id, metadata],
    )
    return task, others


def find(connection: sqlite3.Connection, wanted: str, directory: str) -> Task:
    """A task by its id, or by its name among those of a directory.

    Of several with the name, the one that is open is meant.

    Raises:
        TaskRefused: There is none, or there are several; their ids are named.
    """
    sql = f"SELECT {_COLUMNS} FROM tasks WHERE id = ?"  # noqa: S608 - constants only
    found = connection.execute(sql, [wanted]).fetchone() if _storable(wanted) else None
    if found is not None:
        return Task(*found)
    named = [task for task in of_directory(connection, directory) if task.name == wanted.strip()]
    chosen = [task for task in named if task.state in OPEN] or named
    if len(chosen) == 1:
        return chosen[0]
    shown = one_line(wanted, 60)
    if not chosen:
        raise TaskRefused(f"There is no task '{shown}' in {one_line(directory)}", "create_task makes one")
    ids = ", ".join(f"{task.id} ({task.state})" for task in chosen[:_MOST_NAMED])
    raise TaskRefused(f"There are {len(chosen)} tasks '{shown}'", f"say which by its id: {ids}")


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def of_directory(connection: sqlite3.Connection, directory: str) -> list[Task]:
    """The tasks of a directory, the one that changed last first."""
    sql = (
        f"SELECT {_COLUMNS} FROM tasks WHERE {HERE} = ? "  # noqa: S608 - constants only
        "ORDER BY updated_at DESC, created_at DESC, id"
    )
    return [Task(*row) for row in connection.execute(sql, [directory])]


def open_tasks(connection: sqlite3.Connection, directory: str, *, max_age_days: int) -> list[Task]:
    """The open tasks of a directory, as they are after a collection, the one that changed last first."""
    due = now() - max_age_days * DAY_MS
    return [
        task
        for task in of_directory(connection, directory)
        if task.state == "active" or (task.state == "created" and task.updated_at > due)
    ]


def mark(
    connection: sqlite3.Connection, task: Task, path: str, status: Status, notes: str | None
) -> tuple[Task, TaskFile]:
    """Mark a file in a task, which is active then.

    Args:
        connection: In a transaction.
        task: An open one.
        path: As `TaskFile` has it.
        status: What becomes of the file.
        notes: None leaves those that are there.

    Raises:
        TaskRefused: The task is finished.
    """
    if task.state not in OPEN:
        raise TaskRefused(
            f"The task {task.title} is {task.state}, so nothing is marked in it", "create_task begins another"
        )
    at = now()
    connection.execute(
        "INSERT INTO task_files (task_id, file_path, status, notes, explored_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (task_id, file_path) DO UPDATE SET status = excluded.status, "
        "notes = coalesce(excluded.notes, notes), explored_at = excluded.explored_at",
        [task.id, path, status, notes, at],
    )
    changed = _set_state(connection, task, "active", at)
    kept = connection.execute(
        "SELECT file_path, status, notes, explored_at FROM task_files WHERE task_id = ? AND file_path = ?",
        [task.id, path],
    ).fetchone()
    return changed, _file(kept)


def complete(connection: sqlite3.Connection, task: Task) -> tuple[Task, bool]:
    """Complete a task.

    Returns:
        The task as it is now, and whether it was not completed before.

    Raises:
        TaskRefused: It is archived.
    """
    if task.state == "completed":
        return task, False
    if task.state == "archived":
        raise TaskRefused(f"The task {task.title} is archived, so it cannot be completed")
    return _set_state(connection, task, "completed", now()), True


def _set_state(connection: sqlite3.Connection, task: Task, state: State, at: int) -> Task:
    connection.execute("UPDATE tasks SET state = ?, updated_at = ? WHERE id = ?", [state, at, task.id])
    return Task(task.id, task.name, state, task.created_at, at, task.session_id, task.metadata)


def files(connection: sqlite3.Connection, task_id: str) -> list[TaskFile]:
    """The files of a task, in the order in which they were marked."""
    found = connection.execute(
        "SELECT file_path, status, notes, explored_at FROM task_files WHERE task_id = ? "
        "ORDER BY explored_at, rowid",
        [task_id],
    )
    return [_file(row) for row in found]


def _file(row: Sequence[object]) -> TaskFile:
    path, status, notes, explored_at = row
    return TaskFile(path, status, notes or "", explored_at)  # type: ignore[arg-type]  # as the tables have them


def counts(connection: sqlite3.Connection, tasks: Sequence[Task]) -> dict[str, Counts]:
    """How many files are marked in each of some tasks, by their ids."""
    found: dict[str, Counts] = {}
    for task in tasks:
        rows = connection.execute(
            "SELECT status, count(*) FROM task_files WHERE task_id = ? GROUP BY status", [task.id]
        )
        by_status = dict(rows.fetchall())
        found[task.id] = Counts(*(by_status.get(status, 0) for status in ("explored", "skipped", "flagged")))
    return found
