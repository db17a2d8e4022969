"""The states of tasks in the database: created, active, completed, archived, and what is purged when.

Each function is a step of one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from tau.display import one_line
from tau.errors import TaskRefused
from tau.masking import mask_content
from tau.tasks.database import HERE
from tau.tasks.directories import Disk
from tau.tasks.records import OPEN, STATUSES, Counts, State, Status, Task, TaskFile, now

DAY_MS = 86_400_000
SHORTEST_BEGINNING = 4
"""Characters of a name or an id that may stand for all of it."""

GONE_DAYS = 30
"""Days that tasks of a directory that is gone stay at least."""

_MOST_NAMED = 20
_COLUMNS = "id, name, state, created_at, updated_at, session_id, metadata_json"


class NoSuchTask(TaskRefused):
    """No task has the name or the id that was given."""

    def __init__(self, wanted: str, where: str = "") -> None:
        super().__init__(f"There is no task '{wanted}'{where}", "create_task makes one")


class Collected(msgspec.Struct, frozen=True):
    """What a collection put away.

    Attributes:
        archived: How many tasks of the directory it archived.
        purged: How many it purged.
        gone: The other directories that are gone and had tasks that were archived or purged.
        gone_archived: How many of those were archived.
        gone_purged: How many of those were purged.
    """

    archived: int = 0
    purged: int = 0
    gone: Sequence[str] = ()
    gone_archived: int = 0
    gone_purged: int = 0


class Tasks(NamedTuple):
    """Tasks of a directory, and how many rows are left out because no tau writes such ones."""

    tasks: list[Task]
    odd: int


class Files(NamedTuple):
    """Files of a task, and how many rows are left out, likewise."""

    files: list[TaskFile]
    odd: int


def collect(
    connection: sqlite3.Connection,
    directory: str,
    *,
    max_age_days: int,
    gone: Collection[tuple[str, Disk]] = (),
) -> Collected:
    """Purge what was completed or archived so many days ago, and archive what was created and never begun.

    Only in one directory, and in those that are gone: another one may be configured to keep its tasks for
    longer. A task that is active stays, however old it is.

    Args:
        connection: In a transaction.
        directory: The directory.
        max_age_days: Days without a change; for directories that are gone, `GONE_DAYS` if that is more.
        gone: Directories that are gone, and from which file systems: tasks that are known to be of another
            one, or not known to be of any, stay.
    """
    archived, purged = _put_away(connection, directory, max_age_days)
    days = max(max_age_days, GONE_DAYS)
    put_away = [(each, _put_away(connection, each, days, disk)) for each, disk in gone]
    return Collected(
        archived,
        purged,
        tuple(dict.fromkeys(each for each, counts in put_away if any(counts))),
        sum(counts[0] for _, counts in put_away),
        sum(counts[1] for _, counts in put_away),
    )


def overdue_elsewhere(
    connection: sqlite3.Connection, directory: str, *, max_age_days: int
) -> set[tuple[str, Disk]]:
    """The other directories in which something is to be put away if they are gone, and their file systems."""
    due = now() - max(max_age_days, GONE_DAYS) * DAY_MS
    sql = (
        f"SELECT {_COLUMNS} FROM tasks WHERE state != 'active' AND updated_at <= ? "  # noqa: S608 - constants
        f"AND {HERE} != ?"
    )
    tasks = [_task(row) for row in connection.execute(sql, [due, directory])]
    return {(task.directory, task.disk) for task in tasks if task is not None and task.disk is not None}


def _put_away(
    connection: sqlite3.Connection, directory: str, days: int, disk: Disk | None = None
) -> tuple[int, int]:
    """Archive and purge what is due in a directory, of one file system where that is given.

    Returns:
        How many of each.
    """
    at = now()
    due = at - days * DAY_MS
    values: list[Any] = [directory, due]
    where = f"{HERE} = ? AND updated_at <= ?"
    if disk is not None:
        where += (
            " AND json_extract(metadata_json, '$.disk.at') = ?"
            " AND json_extract(metadata_json, '$.disk.device') = ?"
        )
        values += [disk.at, disk.device]
    purged = connection.execute(
        f"DELETE FROM tasks WHERE state IN ('completed', 'archived') AND {where}",  # noqa: S608 - constants
        values,
    ).rowcount
    archived = connection.execute(
        f"UPDATE tasks SET state = 'archived', updated_at = ? WHERE state = 'created' AND {where}",  # noqa: S608 - constants
        [at, *values],
    ).rowcount
    return archived, purged


def create(
    connection: sqlite3.Connection,
    name: str,
    *,
    directory: str,
    disk: Disk | None,
    session_id: str | None,
    origin: str,
) -> tuple[Task, list[Task]]:
    """Make a task.

    Args:
        connection: In a transaction.
        name: Its name.
        directory: What it is about.
        disk: The file system that it is on; None where that cannot be said.
        session_id: The session that makes it.
        origin: As `Task` has it.

    Returns:
        The task, and the open ones of the directory that have its name already.
    """
    from uuid import uuid4

    there = of_directory(connection, directory).tasks
    others = [task for task in there if task.name == name and task.state in OPEN]
    at = now()
    kept: dict[str, object] = {"directory": directory}
    kept |= {"origin": origin} if origin else {}
    kept |= {"disk": disk} if disk is not None else {}
    metadata = msgspec.json.encode(kept).decode()
    task = Task(str(uuid4()), name, "created", at, at, session_id, metadata)
    connection.execute(
        f"INSERT INTO tasks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants only
        [task.id, name, task.state, at, at, session_id, metadata],
    )
    return task, others


def find(connection: sqlite3.Connection, wanted: str, directory: str | None) -> Task:
    """A task by its id, or among those of a directory by its name or a beginning of its name or id.

    Where the directory is None, it is among all. Of several with one name, the one that is open is meant.

    Raises:
        NoSuchTask: There is none.
        TaskRefused: There are several; their ids are named.
    """
    sql = f"SELECT {_COLUMNS} FROM tasks WHERE id = ?"  # noqa: S608 - constants only
    found = connection.execute(sql, [wanted]).fetchone() if _storable(wanted) else None
    shown = one_line(mask_content(wanted), 60)
    if found is not None:
        task = _task(found)
        if task is None:
            raise TaskRefused(f"The task '{shown}' was written by another program, in no way that is known")
        return task
    names = {wanted.strip(), mask_content(wanted.strip())}  # names are kept masked
    tasks = of_directory(connection, directory).tasks
    named = [task for task in tasks if task.name in names]
    found_by = named or [task for task in tasks if any(begins(task, text) for text in names)]
    chosen = found_by
    if len({task.name for task in found_by}) == 1:
        chosen = [task for task in found_by if task.state in OPEN] or found_by
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise NoSuchTask(shown, " of any directory" if directory is None else f" in {one_line(directory)}")
    if named:
        ids = ", ".join(f"{task.id} ({task.state})" for task in chosen[:_MOST_NAMED])
        raise TaskRefused(f"There are {len(chosen)} tasks '{shown}'", f"say which by its id: {ids}")
    ids = ", ".join(f"{task.id} ({one_line(task.name, 60)}; {task.state})" for task in chosen[:_MOST_NAMED])
    raise TaskRefused(f"{len(chosen)} tasks begin with '{shown}'", f"say which by its id: {ids}")


def begins(task: Task, text: str) -> bool:
    """Whether a text is a beginning of the name or the id of a task that is long enough to stand for it."""
    return len(text) >= SHORTEST_BEGINNING and (task.name.startswith(text) or task.id.startswith(text))


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def of_directory(connection: sqlite3.Connection, directory: str | None) -> Tasks:
    """The tasks of a directory, or where that is None of all, the one that changed last first."""
    where = "" if directory is None else f"WHERE {HERE} = ?"
    sql = (
        f"SELECT {_COLUMNS} FROM tasks {where} "  # noqa: S608 - constants only
        "ORDER BY updated_at DESC, created_at DESC, id"
    )
    rows = connection.execute(sql, [] if directory is None else [directory]).fetchall()
    found = [task for row in rows if (task := _task(row)) is not None]
    tasks = [task for task in found if directory is None or task.directory == directory]
    return Tasks(tasks, len(rows) - len(tasks))


def _task(row: Sequence[object]) -> Task | None:
    """A row of the tasks as one; None where it is as no tau writes it."""
    try:
        task = msgspec.convert(dict(zip(Task.__struct_fields__, row, strict=True)), Task)
    except msgspec.ValidationError:
        return None
    return task if task.id and one_line(task.id) == task.id else None


def open_tasks(connection: sqlite3.Connection, directory: str, *, max_age_days: int) -> list[Task]:
    """The open tasks of a directory, as they are after a collection, the one that changed last first."""
    due = now() - max_age_days * DAY_MS
    return [
        task
        for task in of_directory(connection, directory).tasks
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
    (kept,) = connection.execute(
        "SELECT notes FROM task_files WHERE task_id = ? AND file_path = ?", [task.id, path]
    ).fetchone()
    return changed, TaskFile(path, status, str(kept or ""), at)


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


def files(connection: sqlite3.Connection, task_id: str) -> Files:
    """The files of a task, in the order in which they were marked."""
    rows = connection.execute(
        "SELECT file_path, status, coalesce(notes, ''), explored_at FROM task_files WHERE task_id = ? "
        "ORDER BY explored_at, rowid",
        [task_id],
    ).fetchall()
    found = [file for row in rows if (file := _file(row)) is not None]
    return Files(found, len(rows) - len(found))


def _file(row: Sequence[object]) -> TaskFile | None:
    """A row of the files as one; None where it is as no tau writes it."""
    try:
        return msgspec.convert(dict(zip(TaskFile.__struct_fields__, row, strict=True)), TaskFile)
    except msgspec.ValidationError:
        return None


def counts(connection: sqlite3.Connection, tasks: Sequence[Task]) -> dict[str, Counts]:
    """How many files are marked in each of some tasks, by their ids."""
    found: dict[str, Counts] = {}
    for task in tasks:
        rows = connection.execute(
            "SELECT status, count(*) FROM task_files WHERE task_id = ? GROUP BY status", [task.id]
        )
        by_status = dict(rows.fetchall())
        found[task.id] = Counts(*(by_status.get(status, 0) for status in STATUSES))
    return found
