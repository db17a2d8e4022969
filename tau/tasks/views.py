"""What the desk of task memory answers: tasks that were made, marked, looked at and listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tau.tasks.lifecycle import Collected
from tau.tasks.records import Counts, Task, TaskFile

if TYPE_CHECKING:
    from tau.tasks.frontier import Frontier


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
    """A task with all that is known of it.

    Attributes:
        task: The task.
        files: What is marked in it.
        frontier: Where it stands.
        odd: How many files are left out because no tau writes such rows.
        where: Its directory, where that is another one than tau works in; None where it is not.
    """

    task: Task
    files: Sequence[TaskFile]
    frontier: Frontier
    odd: int = 0
    where: str | None = None


class TaskRow(msgspec.Struct, frozen=True):
    """A task in a listing.

    Attributes:
        task: The task.
        counts: How many files are marked in it.
        frontier: Where it stands; None for one that is finished.
        where: Its directory in a listing of all directories; else None.
        is_there: Whether that directory is there.
    """

    task: Task
    counts: Counts
    frontier: Frontier | None
    where: str | None = None
    is_there: bool = True

    @property
    def ahead(self) -> int | None:
        """The size of its frontier; None for one that is finished."""
        return None if self.frontier is None else len(self.frontier.ahead)


class TaskListing(msgspec.Struct, frozen=True):
    """Tasks of a directory, the one that changed last first.

    Attributes:
        rows: Those that were asked for.
        total: How many there are.
        odd: How many rows are left out because no tau writes such ones.
        collected: What was put away on the way.
        problem: Why nothing could be put away, as a line; or empty.
        above: Where there are none, the nearest directory above, in the same repository, that has some.
        everywhere: Whether it is of all directories.
    """

    rows: Sequence[TaskRow]
    total: int = 0
    odd: int = 0
    collected: Collected = Collected()
    problem: str = ""
    above: str = ""
    everywhere: bool = False
