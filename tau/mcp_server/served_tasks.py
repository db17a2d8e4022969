"""Task memory as other agents use it: the functions of tau's own tools, and a list of the tasks."""

from __future__ import annotations

from tau.config.settings import Settings
from tau.gate.patterns import closed_to
from tau.tasks.desk import TaskDesk, TaskRow
from tau.tasks.records import when
from tau.tasks.standing import said_counts
from tau.tools.task_answers import completed, created, described, marked

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
        return created(desk.create(name))

    def mark(self, task: str, path: str, status: str, notes: str) -> str:
        """Mark a file in a task; see `TaskDesk.mark`."""
        return marked(TaskDesk(self._settings).mark(task, path, status, notes or None))

    def complete(self, task: str) -> str:
        """Complete a task; see `TaskDesk.complete`."""
        return completed(*TaskDesk(self._settings).complete(task))

    def context(self, task: str, *, room: int) -> str:
        """A task with its files and its frontier, in at most so many characters; see `TaskDesk.view`."""
        closed = closed_to(self._settings.approvals, "read_file")
        return described(TaskDesk(self._settings).view(task, closed=closed), room=room)

    def listed(self) -> str:
        """The tasks of the directory, the one that changed last first; see `TaskDesk.listing`."""
        listing = TaskDesk(self._settings).listing()
        lines = [_row(row) for row in listing.rows[:_MOST_LISTED]]
        if len(listing.rows) > len(lines):
            lines.append(f"and {len(listing.rows) - len(lines):,} more that changed longer ago")
        return "\n".join(lines) or "There are no tasks of this directory yet; create_task makes one."


def _row(row: TaskRow) -> str:
    task = row.task
    ahead = "" if row.ahead is None else f"; {row.ahead:,} ahead"
    return (
        f"- {task.title}, id {task.id}: {task.state}; {said_counts(row.counts)}{ahead}; "
        f"changed {when(task.updated_at)}"
    )
