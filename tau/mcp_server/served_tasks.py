"""Task memory as other agents use it: the functions of tau's own tools, and a list of the tasks."""

from __future__ import annotations

from collections.abc import Callable

from tau.config.settings import Settings
from tau.gate.patterns import closed_to
from tau.tasks.desk import TaskDesk
from tau.tasks.records import when
from tau.tasks.standing import said_counts
from tau.tasks.views import TaskRow
from tau.tools.task_answers import completed, created, described, marked, noted, put_away

_MOST_LISTED = 50


class ServedTasks:
    """Reads and changes the tasks of the directory. Blocks; may be used from several threads.

    Args:
        settings: The directory, the places, ``[tasks]`` and ``[approvals]``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def collect(self) -> None:
        """Archive and purge what is due.

        Raises:
            TaskRefused: The database cannot be used.
        """
        TaskDesk(self._settings).collect()

    def create(self, name: str, *, session_id: str) -> str:
        """Make a task of the session of a client; see `TaskDesk.create`."""
        desk = TaskDesk(self._settings)
        desk.session = lambda: session_id
        return created(desk.create(name, origin="another agent"))

    def mark(self, task: str, path: str, status: str, notes: str) -> str:
        """Mark a file in a task; see `TaskDesk.mark`."""
        return marked(TaskDesk(self._settings).mark(task, path, status, notes or None))

    def complete(self, task: str) -> str:
        """Complete a task; see `TaskDesk.complete`."""
        return completed(*TaskDesk(self._settings).complete(task))

    def context(self, task: str, path: str, *, offset: int, room: int) -> str:
        """A task with its files and its frontier, or the notes of one file, in at most so many characters.

        See `TaskDesk.view` and `TaskDesk.file`.
        """
        desk = TaskDesk(self._settings)
        if path:
            return noted(*desk.file(task, path), room=room, offset=offset)
        return described(desk.view(task, closed=self._closed()), room=room, offset=offset)

    def listed(self, *, offset: int) -> str:
        """Tasks of the directory, the one that changed last first, from one on; see `TaskDesk.listing`."""
        listing = TaskDesk(self._settings).listing(closed=self._closed(), first=offset, most=_MOST_LISTED)
        lines = [_row(row) for row in listing.rows]
        left = listing.total - offset - len(lines)
        if left > 0:
            lines.append(
                f"There are {left:,} more that changed longer ago: offset={offset + len(lines)} goes on."
            )
        if not lines:
            more = (
                "no more tasks of this directory."
                if offset
                else "no tasks of this directory yet; create_task makes one."
            )
            lines.append(f"There are {more}")
        return "\n".join([*lines, *put_away(listing)])

    def _closed(self) -> Callable[[str], bool]:
        return closed_to(self._settings.approvals, "read_file")


def _row(row: TaskRow) -> str:
    task = row.task
    ahead = "" if row.ahead is None else f"; {row.ahead:,} ahead"
    return (
        f"- {task.title}, id {task.id}: {task.state}; {said_counts(row.counts)}{ahead}; "
        f"changed {when(task.updated_at)}"
    )
