"""The task memory of one directory: what tools, commands and prompts read and change."""

from __future__ import annotations

import copy
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tau.config.settings import Settings
from tau.config.trust import repository_root
from tau.display import one_line
from tau.errors import TaskRefused
from tau.masking import mask_content
from tau.tasks import lifecycle
from tau.tasks.database import Database
from tau.tasks.imports.project import ProjectFiles, open_to_all, storable, within
from tau.tasks.lifecycle import Collected, Files, NoSuchTask
from tau.tasks.records import OPEN, Counts, Task, TaskFile, file_notes, file_status, task_name

if TYPE_CHECKING:
    from tau.tasks.frontier import Frontier

log = logging.getLogger(__name__)

PERSON_SECONDS = 5.0
"""How long a person waits for other processes that hold the database."""

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
    """A task with all that is known of it; `odd` counts files left out because no tau writes such rows."""

    task: Task
    files: Sequence[TaskFile]
    frontier: Frontier
    odd: int = 0


class TaskRow(msgspec.Struct, frozen=True):
    """A task in a listing.

    Attributes:
        task: The task.
        counts: How many files are marked in it.
        ahead: The size of its frontier; None for one that is finished.
        seen: As `Frontier` has it.
        known: Likewise.
    """

    task: Task
    counts: Counts
    ahead: int | None
    seen: int
    known: int


class TaskListing(msgspec.Struct, frozen=True):
    """Tasks of a directory, the one that changed last first.

    Attributes:
        rows: Those that were asked for.
        total: How many there are.
        odd: How many rows are left out because no tau writes such ones.
        collected: What was put away on the way.
        problem: Why nothing could be put away, as a line; or empty.
        above: Where there are none, the nearest directory above, in the same repository, that has some.
    """

    rows: Sequence[TaskRow]
    total: int = 0
    odd: int = 0
    collected: Collected = Collected()
    problem: str = ""
    above: str = ""


def _nobody() -> str | None:
    return None


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

    def for_person(self) -> TaskDesk:
        """The same for somebody who sits before it and does not wait as long for other processes."""
        desk = copy.copy(self)
        desk._database = Database(self.path, busy_seconds=PERSON_SECONDS)
        return desk

    def create(self, name: str, *, origin: str = "") -> Created:
        """Make a task, after a collection.

        Args:
            name: Secrets in it are masked.
            origin: From where content had come in before it was named; empty where none had.

        Raises:
            TaskRefused: The name is none, or the database cannot be used.
        """
        name, origin, session = task_name(mask_content(name)), mask_content(origin), self.session()

        def work(connection: sqlite3.Connection) -> Created:
            collected = self._collected(connection)
            task, others = lifecycle.create(
                connection, name, directory=self._kept_as, session_id=session, origin=origin
            )
            return Created(task, others, collected)

        return self._database.write(work)

    def mark(self, wanted: str, path: str, status: str = "explored", notes: str | None = None) -> Marked:
        """Mark a file in a task; the first one makes the task active.

        Args:
            wanted: The task, by id or name.
            path: Relative to the directory, or absolute.
            status: ``explored``, ``skipped`` or ``flagged``.
            notes: What was found, in which secrets are masked; None leaves what was noted before.

        Raises:
            TaskRefused: There is no such task, it is finished, or something given cannot be kept.
        """
        known = file_status(status)
        kept = file_notes(mask_content(notes)) if notes is not None else None
        real, place = self._place(path)

        def work(connection: sqlite3.Connection) -> tuple[Task, Task, TaskFile]:
            before = self._find(connection, wanted)
            task, file = lifecycle.mark(connection, before, place, known, kept)
            return before, task, file

        before, task, file = self._database.write(work)
        return Marked(task, file, before.state == "created", not os.path.lexists(real))

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

    def view(self, wanted: str, *, closed: Callable[[str], bool] = open_to_all) -> TaskView:
        """A task, by id or name, with its files and its frontier. Nothing is changed.

        Args:
            wanted: The task.
            closed: Whether reading a file waits for the person, given its path relative to the directory;
                what such a file imports is not read.

        Raises:
            TaskRefused: There is no such task, or the database cannot be used.
        """
        task, found = self._with_files(wanted)
        return TaskView(task, found.files, self._frontiers([found.files], closed)[0], found.odd)

    def file(self, wanted: str, path: str) -> tuple[Task, TaskFile]:
        """A task, by id or name, and a file that was marked in it. Nothing is changed.

        Raises:
            TaskRefused: There is no such task, or no such file in it, or the database cannot be used.
        """
        task, found = self._with_files(wanted)
        by_path = {file.path: file for file in found.files}
        file = by_path.get(path) or by_path.get(self._place(path)[1])
        if file is None:
            raise TaskRefused(f"{one_line(path, 120)} was not marked in {task.title}")
        return task, file

    def parted(self, text: str) -> tuple[str, str]:
        """A task and a path in it, as a person types them one after the other.

        Returns:
            The longest beginning that is the name or the id of a task, or a beginning of one, and the rest;
            where there is none, the whole text and nothing.

        Raises:
            TaskRefused: The database cannot be used.
        """
        tasks = self.tasks()
        ends = [len(text), *(at for at in reversed(range(len(text))) if text[at] == " ")]
        for end in ends:
            wanted = text[:end].strip()
            if any(wanted in (task.name, task.id) or lifecycle.begins(task, wanted) for task in tasks):
                return wanted, text[end:].strip()
        return text, ""

    def _with_files(self, wanted: str) -> tuple[Task, Files]:
        def work(connection: sqlite3.Connection) -> tuple[Task, Files]:
            task = self._find(connection, wanted)
            return task, lifecycle.files(connection, task.id)

        found = self._database.read(work, None)
        if found is None:
            raise NoSuchTask(one_line(wanted, 60))
        return found

    def listing(
        self, *, closed: Callable[[str], bool] = open_to_all, first: int = 0, most: int | None = None
    ) -> TaskListing:
        """The tasks of the directory, after a collection, also where nothing can be put away now.

        Args:
            closed: As for `view`.
            first: So many are left out.
            most: At most so many; None for all.

        Raises:
            TaskRefused: The database cannot be used.
        """
        if not os.path.lexists(self.path):
            return TaskListing([])
        collected, problem = Collected(), ""
        try:
            collected = self._database.write(self._collected)
        except TaskRefused as error:
            problem = error.line()

        def work(
            connection: sqlite3.Connection,
        ) -> tuple[list[tuple[Task, Counts, list[TaskFile]]], int, int]:
            tasks, odd = lifecycle.of_directory(connection, self._kept_as)
            shown = tasks[first:] if most is None else tasks[first : first + most]
            counts = lifecycle.counts(connection, shown)
            found = [(task, counts[task.id], lifecycle.files(connection, task.id).files) for task in shown]
            return found, len(tasks), odd

        none: list[tuple[Task, Counts, list[TaskFile]]] = []
        found, total, odd = self._database.read(work, (none, 0, 0))
        frontiers = self._frontiers([files for _, _, files in found], closed)
        rows = [
            TaskRow(
                task,
                counts,
                ahead=len(frontier.ahead) if task.state in OPEN else None,
                seen=frontier.seen,
                known=frontier.known,
            )
            for (task, counts, _), frontier in zip(found, frontiers, strict=True)
        ]
        return TaskListing(rows, total, odd, collected, problem, "" if total else self._above())

    def _above(self) -> str:
        """The nearest directory above this one that has tasks, up to the root of its repository; or empty."""
        root = repository_root(self._directory)
        folders = [folder for folder in self._directory.parents if root and folder.is_relative_to(root)]

        def work(connection: sqlite3.Connection) -> str:
            kept_as = (storable(str(folder)) for folder in folders)
            having = (folder for folder in kept_as if lifecycle.of_directory(connection, folder).tasks)
            return next(having, "")

        return self._database.read(work, "")

    def collect(self) -> Collected:
        """Archive and purge what is due in the directory.

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

    def tasks(self) -> list[Task]:
        """All tasks of the directory, the one that changed last first. Nothing is changed.

        Raises:
            TaskRefused: The database cannot be used.
        """
        none: list[Task] = []
        return self._database.read(
            lambda connection: lifecycle.of_directory(connection, self._kept_as).tasks, none
        )

    def _collected(self, connection: sqlite3.Connection) -> Collected:
        collected = lifecycle.collect(connection, self._kept_as, max_age_days=self._max_age_days)
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
        self, tasks: Sequence[Sequence[TaskFile]], closed: Callable[[str], bool]
    ) -> list[Frontier]:
        """The frontiers of tasks, each given by its files."""
        from tau.tasks.frontier import compute
        from tau.tasks.import_cache import ImportCache

        project = ProjectFiles(self._directory, closed)
        with closing(ImportCache(self._imports)) as cache:
            return [compute(files, project, cache) for files in tasks]

    def _place(self, path: str) -> tuple[Path, str]:
        """The file of the directory that a path means: its real path, and what is kept of it."""
        shown = one_line(path, 120)
        if not path.strip():
            raise TaskRefused("A file to be marked needs a path", "relative to the directory tau works in")
        try:
            real = Path(os.path.realpath(self._directory / path))
            place = within(str(real), str(self._directory))
            if place is None and real != self._directory:
                raise TaskRefused(
                    f"{shown} leads out of {one_line(str(self._directory))}", "only files in it are marked"
                )
            (place or "").encode()
            is_directory = place is None or real.is_dir()
        except ValueError as error:  # a NUL, or bytes that are no UTF-8
            raise TaskRefused(f"'{shown}' cannot be the path of a file") from error
        except OSError as error:  # too long for one, or in a folder that may not be entered
            raise TaskRefused(f"'{shown}' cannot be looked at: {error.strerror or error}") from error
        if place is None or is_directory:
            raise TaskRefused(f"{shown} is a directory", "mark the files in it that were looked at")
        return real, place
