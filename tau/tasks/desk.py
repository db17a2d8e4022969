"""The task memory of one directory: what tools, commands and prompts read and change."""

from __future__ import annotations

import copy
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tau.config.settings import Settings
from tau.config.trust import repository_root
from tau.display import one_line, storable
from tau.errors import TaskRefused
from tau.masking import mask_content
from tau.tasks import lifecycle
from tau.tasks.database import Database
from tau.tasks.directories import Disk, disk_of, is_gone, place_in
from tau.tasks.imports.project import ProjectFiles, open_to_all
from tau.tasks.lifecycle import Collected, Files, NoSuchTask
from tau.tasks.records import Counts, Task, TaskFile, file_notes, file_status, task_name
from tau.tasks.views import Created, Marked, TaskListing, TaskRow, TaskView

if TYPE_CHECKING:
    from tau.tasks.frontier import Frontier

log = logging.getLogger(__name__)

_NOWHERE = Path(os.devnull, "nowhere")

PERSON_SECONDS = 5.0
"""How long a person waits for other processes that hold the database."""

FOLDER, FILE = "tasks", "tasks.sqlite"
"""The folder of the database in the data directory, and its name there."""


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
        gone, disk = self._gone(), disk_of(self._directory)

        def work(connection: sqlite3.Connection) -> Created:
            collected = self._collected(connection, gone)
            task, others = lifecycle.create(
                connection, name, directory=self._kept_as, disk=disk, session_id=session, origin=origin
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
        real, place = place_in(self._directory, path)

        def work(connection: sqlite3.Connection) -> tuple[Task, Task, TaskFile]:
            before = self._find(connection, wanted)
            task, file = lifecycle.mark(connection, before, place, known, kept)
            return before, task, file

        before, task, file = self._database.write(work)
        return Marked(task, file, before.state == "created", not os.path.lexists(real))

    def complete(self, wanted: str, *, everywhere: bool = False) -> tuple[Task, bool]:
        """Complete a task, by id or name.

        Args:
            wanted: The task.
            everywhere: Whether it may be one of another directory.

        Returns:
            The task as it is now, and whether it was not completed before.

        Raises:
            TaskRefused: There is no such task, it is archived, or the database cannot be used.
        """
        return self._database.write(
            lambda connection: lifecycle.complete(
                connection, self._find(connection, wanted, everywhere=everywhere)
            )
        )

    def view(
        self, wanted: str, *, closed: Callable[[str], bool] = open_to_all, everywhere: bool = False
    ) -> TaskView:
        """A task, by id or name, with its files and its frontier. Nothing is changed.

        Args:
            wanted: The task.
            closed: Whether reading a file waits for the person, given its path relative to the directory;
                what such a file imports is not read.
            everywhere: As of `complete`.

        Raises:
            TaskRefused: There is no such task, or the database cannot be used.
        """
        task, found = self._with_files(wanted, everywhere=everywhere)
        (frontier,) = self._frontiers([(task, found.files)], closed)
        where = None if task.directory == self._kept_as else task.directory
        return TaskView(task, found.files, frontier, found.odd, where)

    def file(self, wanted: str, path: str, *, everywhere: bool = False) -> tuple[Task, TaskFile]:
        """A task, by id or name, and a file that was marked in it. Nothing is changed.

        Args:
            wanted: The task.
            path: As of `mark`.
            everywhere: As of `complete`.

        Raises:
            TaskRefused: There is no such task, or no such file in it, or the database cannot be used.
        """
        task, found = self._with_files(wanted, everywhere=everywhere)
        by_path = {file.path: file for file in found.files}
        file = by_path.get(path) or by_path.get(place_in(self._root(task), path)[1])
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

    def _with_files(self, wanted: str, *, everywhere: bool) -> tuple[Task, Files]:
        def work(connection: sqlite3.Connection) -> tuple[Task, Files]:
            task = self._find(connection, wanted, everywhere=everywhere)
            return task, lifecycle.files(connection, task.id)

        found = self._database.read(work, None)
        if found is None:
            raise NoSuchTask(one_line(wanted, 60))
        return found

    def listing(
        self,
        *,
        closed: Callable[[str], bool] = open_to_all,
        first: int = 0,
        most: int | None = None,
        everywhere: bool = False,
    ) -> TaskListing:
        """The tasks of the directory, after a collection, also where nothing can be put away now.

        Args:
            closed: As for `view`.
            first: So many are left out.
            most: At most so many; None for all.
            everywhere: Whether those of other directories are listed, too, directory by directory.

        Raises:
            TaskRefused: The database cannot be used.
        """
        if not os.path.lexists(self.path):
            return TaskListing([])
        collected, problem = Collected(), ""
        try:
            collected = self.collect()
        except TaskRefused as error:
            problem = error.line()

        def work(
            connection: sqlite3.Connection,
        ) -> tuple[list[tuple[Task, Counts, list[TaskFile]]], int, int]:
            tasks, odd = lifecycle.of_directory(connection, None if everywhere else self._kept_as)
            shown = tasks[first:] if most is None else tasks[first : first + most]
            counts = lifecycle.counts(connection, shown)
            # What is finished has no frontier in a list: there are more and more of such tasks.
            files = {task.id: lifecycle.files(connection, task.id).files for task in shown if task.is_open}
            return [(task, counts[task.id], files.get(task.id, [])) for task in shown], len(tasks), odd

        none: list[tuple[Task, Counts, list[TaskFile]]] = []
        found, total, odd = self._database.read(work, (none, 0, 0))
        unfinished = [(task, files) for task, _, files in found if task.is_open]
        frontiers = {
            task.id: frontier
            for (task, _), frontier in zip(unfinished, self._frontiers(unfinished, closed), strict=True)
        }
        rows = [TaskRow(task, counts, frontiers.get(task.id)) for task, counts, _ in found]
        if everywhere:
            rows = self._by_directory(rows)
        above = "" if total or everywhere else self._above()
        return TaskListing(rows, total, odd, collected, problem, above, everywhere)

    def _by_directory(self, rows: Sequence[TaskRow]) -> list[TaskRow]:
        """Rows with their directories, those of one together, the directory that changed last first."""
        by_directory: dict[str, list[TaskRow]] = {}
        for row in rows:
            by_directory.setdefault(row.task.directory, []).append(row)
        return [
            TaskRow(row.task, row.counts, row.frontier, directory or "no directory that is known", is_there)
            for directory, some in by_directory.items()
            for is_there in [self._root(some[0].task).is_dir()]
            for row in some
        ]

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
        gone = self._gone()
        return self._database.write(lambda connection: self._collected(connection, gone))

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

    def _gone(self) -> list[tuple[str, Disk]]:
        """The other directories that are gone and have tasks to be put away; not asked in a transaction."""

        def work(connection: sqlite3.Connection) -> set[tuple[str, Disk]]:
            return lifecycle.overdue_elsewhere(connection, self._kept_as, max_age_days=self._max_age_days)

        none: set[tuple[str, Disk]] = set()
        due = self._database.read(work, none)
        return sorted((each for each in due if is_gone(*each)), key=lambda each: each[0])

    def _collected(self, connection: sqlite3.Connection, gone: Collection[tuple[str, Disk]]) -> Collected:
        collected = lifecycle.collect(connection, self._kept_as, max_age_days=self._max_age_days, gone=gone)
        if collected != Collected():
            log.info("Tasks: %s", collected)
        return collected

    def _find(self, connection: sqlite3.Connection, wanted: str, *, everywhere: bool = False) -> Task:
        task = lifecycle.find(connection, wanted, None if everywhere else self._kept_as)
        if task.directory != self._kept_as and not everywhere:
            where = one_line(task.directory) or "no directory that is known"
            ends = f"tau tasks done --all {task.id} ends it"
            hint = "start tau there" if self._root(task).is_dir() else f"that is not there; {ends}"
            raise TaskRefused(f"The task {task.title} is of another directory: {where}", hint)
        return task

    def _root(self, task: Task) -> Path:
        """The directory of a task; where it is not known, one that is not there."""
        if task.directory == self._kept_as:
            return self._directory
        return Path(task.directory) if task.directory.startswith("/") else _NOWHERE

    def _frontiers(
        self, tasks: Sequence[tuple[Task, Sequence[TaskFile]]], closed: Callable[[str], bool]
    ) -> list[Frontier]:
        """The frontiers of tasks with their files."""
        if not tasks:
            return []
        from tau.tasks.frontier import compute
        from tau.tasks.import_cache import ImportCache

        projects = {root: ProjectFiles(root, closed) for root in {self._root(task) for task, _ in tasks}}
        with closing(ImportCache(self._imports)) as cache:
            return [compute(files, projects[self._root(task)], cache) for task, files in tasks]
