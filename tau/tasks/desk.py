"""The task memory of one directory: what tools, commands and prompts read and change."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import TaskRefused
from tau.tasks import lifecycle
from tau.tasks.database import Database
from tau.tasks.imports.project import storable, within
from tau.tasks.lifecycle import Collected
from tau.tasks.records import OPEN, Counts, Task, TaskFile, file_notes, file_status, task_name

if TYPE_CHECKING:
    from tau.tasks.frontier import Frontier

log = logging.getLogger(__name__)

FOLDER, FILE = "tasks", "tasks.sqlite"
"""The folder of the database in the data directory, and its name there."""


class Created(msgspec.Struct, frozen=True):
    """A task that was made.

    Attributes:
        task: The task.
        others: Open tasks of the directory that have its name already.
        collected: What was archived and purged on the way.
    """

    task: Task
    others: Sequence[Task]
    collected: Collected


class Marked(msgspec.Struct, frozen=True):
    """A file that was marked.

    Attributes:
        task: Its task, as it is now.
        file: The file.
        begun: Whether it was the first, which made the task active.
        missing: Whether there is no such file now.
    """

    task: Task
    file: TaskFile
    begun: bool
    missing: bool


class TaskView(msgspec.Struct, frozen=True):
    """A task with all that is known of it."""

    task: Task
    files: Sequence[TaskFile]
    frontier: Frontier


class TaskRow(msgspec.Struct, frozen=True):
    """A task in a listing; `ahead` is the size of its frontier, None for one that is finished."""

    task: Task
    counts: Counts
    ahead: int | None


class TaskListing(msgspec.Struct, frozen=True):
    """The tasks of a directory, the one that changed last first, and what was put away on the way."""

    rows: Sequence[TaskRow]
    collected: Collected


def _nobody() -> str | None:
    return None


def _open_to_all(path: str) -> bool:
    return False


class TaskDesk:
    """Reads and changes the tasks of the directory tau works in. Blocks; may be used from any thread.

    Args:
        settings: The directory, the places and ``[tasks]``.
        bare: No task stands in prompts, and models have no tools for them.

    Attributes:
        session: The id of the session that makes a task.
        bare: As given.
    """

    def __init__(self, settings: Settings, *, bare: bool = False) -> None:
        self._directory = Path(os.path.realpath(settings.directory))
        self._kept_as = storable(str(self._directory))
        self._max_age_days = settings.tasks.max_age_days
        self._database = Database(settings.places.data / FOLDER / FILE)
        self._imports = settings.places.state / "imports"
        self.session: Callable[[], str | None] = _nobody
        self.bare = bare

    @property
    def path(self) -> Path:
        """The database."""
        return self._database.path

    def create(self, name: str) -> Created:
        """Make a task, after a collection.

        Raises:
            TaskRefused: The name is none, or the database cannot be used.
        """
        name, session = task_name(name), self.session()

        def work(connection: sqlite3.Connection) -> Created:
            collected = self._collected(connection)
            task, others = lifecycle.create(connection, name, directory=self._kept_as, session_id=session)
            return Created(task, others, collected)

        return self._database.write(work)

    def mark(self, wanted: str, path: str, status: str = "explored", notes: str | None = None) -> Marked:
        """Mark a file in a task; the first one makes the task active.

        Args:
            wanted: The task, by id or name.
            path: Relative to the directory, or absolute.
            status: ``explored``, ``skipped`` or ``flagged``.
            notes: What was found; None leaves what was noted before.

        Raises:
            TaskRefused: There is no such task, it is finished, or something given cannot be kept.
        """
        known, kept = file_status(status), file_notes(notes) if notes is not None else None
        real, place, inside = self._place(path)

        def work(connection: sqlite3.Connection) -> tuple[Task, Task, TaskFile]:
            before = self._find(connection, wanted)
            task, file = lifecycle.mark(connection, before, place, known, kept)
            return before, task, file

        before, task, file = self._database.write(work)
        missing = inside and not os.path.lexists(real)
        return Marked(task, file, before.state == "created", missing)

    def complete(self, wanted: str) -> tuple[Task, bool]:
        """Complete a task, by id or name.

        Returns:
            The task as it is now, and whether it was not completed before.

        Raises:
            TaskRefused: There is no such task, it is archived, or the database cannot be used.
        """
        return self._database.write(
            lambda connection: lifecycle.complete(connection, self._find(connection, wanted))
        )

    def view(self, wanted: str, *, closed: Callable[[str], bool] = _open_to_all) -> TaskView:
        """A task, by id or name, with its files and its frontier. Nothing is changed.

        Args:
            wanted: The task.
            closed: Whether reading a file waits for the person, given its path relative to the directory;
                what such a file imports is not read.

        Raises:
            TaskRefused: There is no such task, or the database cannot be used.
        """

        def work(connection: sqlite3.Connection) -> tuple[Task, list[TaskFile]]:
            task = self._find(connection, wanted)
            return task, lifecycle.files(connection, task.id)

        found = self._database.read(work, None)
        if found is None:
            raise TaskRefused(f"There is no task '{one_line(wanted, 60)}'", "create_task makes one")
        task, files = found
        return TaskView(task, files, self._frontiers([files], closed)[0])

    def listing(self) -> TaskListing:
        """The tasks of the directory, after a collection.

        Raises:
            TaskRefused: The database cannot be used.
        """
        if not os.path.lexists(self.path):
            return TaskListing([], Collected())
        collected = self._database.write(self._collected)

        def work(connection: sqlite3.Connection) -> list[tuple[Task, Counts, list[TaskFile]]]:
            tasks = lifecycle.of_directory(connection, self._kept_as)
            counts = lifecycle.counts(connection, tasks)
            return [
                (task, counts[task.id], lifecycle.files(connection, task.id) if task.state in OPEN else [])
                for task in tasks
            ]

        none: list[tuple[Task, Counts, list[TaskFile]]] = []
        found = self._database.read(work, none)
        frontiers = self._frontiers([files for _, _, files in found])
        rows = [
            TaskRow(task, counts, len(frontier.ahead) if task.state in OPEN else None)
            for (task, counts, _), frontier in zip(found, frontiers, strict=True)
        ]
        return TaskListing(rows, collected)

    def collect(self) -> Collected:
        """Archive and purge what is due, in all directories.

        Raises:
            TaskRefused: The database cannot be used.
        """
        if not os.path.lexists(self.path):
            return Collected()
        return self._database.write(self._collected)

    def open_tasks(self) -> list[tuple[Task, Counts]]:
        """The open tasks of the directory, the one that changed last first. Nothing is changed.

        Raises:
            TaskRefused: The database cannot be used.
        """

        def work(connection: sqlite3.Connection) -> list[tuple[Task, Counts]]:
            tasks = lifecycle.open_tasks(connection, self._kept_as, max_age_days=self._max_age_days)
            counts = lifecycle.counts(connection, tasks)
            return [(task, counts[task.id]) for task in tasks]

        return self._database.read(work, [])

    def _collected(self, connection: sqlite3.Connection) -> Collected:
        collected = lifecycle.collect(connection, max_age_days=self._max_age_days)
        if collected != Collected():
            log.info("Tasks: %d archived, %d purged", collected.archived, collected.purged)
        return collected

    def _find(self, connection: sqlite3.Connection, wanted: str) -> Task:
        task = lifecycle.find(connection, wanted, self._kept_as)
        if task.directory != self._kept_as:
            where = one_line(task.directory) or "no directory that is known"
            raise TaskRefused(f"The task {task.title} is of another directory: {where}", "start tau there")
        return task

    def _frontiers(
        self, tasks: Sequence[Sequence[TaskFile]], closed: Callable[[str], bool] = _open_to_all
    ) -> list[Frontier]:
        """The frontiers of tasks, each given by its files."""
        from tau.tasks.frontier import compute
        from tau.tasks.import_cache import ImportCache

        with closing(ImportCache(self._imports)) as cache:
            return [compute(files, self._directory, cache, closed=closed) for files in tasks]

    def _place(self, path: str) -> tuple[Path, str, bool]:
        """The file a path means: its real path, what is kept of it, and whether it is in the directory."""
        shown = one_line(path, 120)
        if not path.strip():
            raise TaskRefused("A file to be marked needs a path", "relative to the directory tau works in")
        try:
            real = Path(os.path.realpath(self._directory / path))
            relative = within(str(real), str(self._directory))
            place = relative or str(real)
            place.encode()
        except ValueError as error:  # a NUL, or bytes that are no UTF-8
            raise TaskRefused(f"'{shown}' cannot be the path of a file") from error
        if real.is_dir():
            raise TaskRefused(f"{shown} is a directory", "mark the files in it that were looked at")
        return real, place, relative is not None
