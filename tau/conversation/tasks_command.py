"""What `/tasks` and `tau tasks` say of the tasks of a directory, in lines of at most 76 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wcwidth import wcswidth, wrap

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.errors import TaskRefused
from tau.tasks.lifecycle import NoSuchTask
from tau.tasks.picture import WIDTH, beside, cut, draw, shortened
from tau.tasks.records import LONGEST_NOTES, STATUSES, now, when
from tau.tools.task_answers import completed, noted, put_away

if TYPE_CHECKING:
    from tau.tasks.desk import TaskDesk, TaskListing, TaskRow, TaskView
    from tau.tasks.frontier import Ahead

USAGE = "/tasks lists them; show NAME [FILE] and done NAME take one, by name or id, or a beginning of it"
MOST_ROWS = 40
"""Tasks that a listing shows."""

_MOST_AHEAD = 10
_LONGEST_NAME = 26
_SHORTEST_NAME = 12
_ID = 8
"""Characters of an id that stand for it."""

_MADE = "the model makes one when you ask it to look into something"
_BAR = 8


def tasks(desk: TaskDesk, wanted: str) -> CommandResult:
    """Carry out `/tasks`.

    Raises:
        TauError: It cannot be done; nothing was changed.
    """
    desk = desk.for_person()
    word, _, rest = wanted.partition(" ")
    name = rest.strip()
    match word.lower():
        case "" | "list" if not name:
            return Said(listed(desk.listing(most=MOST_ROWS)))
        case "show" if name:
            task, path = desk.parted(name)
            return Said(notes(desk, task, path) if path else looked_at(desk, task))
        case "done" if name:
            return Said([done(desk, name)])
    return Refused(USAGE)


def done(desk: TaskDesk, wanted: str) -> str:
    """Complete a task, and say so.

    Raises:
        TauError: There is no such task, or it cannot be completed.
    """
    with _for_person():
        return completed(*desk.complete(wanted)).rstrip(".")


def looked_at(desk: TaskDesk, wanted: str, *, most: int = 60) -> list[str]:
    """A task, as `shown` tells it.

    Raises:
        TauError: There is no such task.
    """
    with _for_person():
        return shown(desk.view(wanted), most=most)


def notes(desk: TaskDesk, wanted: str, path: str) -> list[str]:
    """All that was noted of a file of a task.

    Raises:
        TauError: There is no such task, or no such file in it.
    """
    with _for_person():
        told = noted(*desk.file(wanted, path), room=2 * LONGEST_NOTES)
    return [piece for line in told.split("\n") for piece in (wrap(line, WIDTH) or [""])]


@contextmanager
def _for_person() -> Iterator[None]:
    """Tell a person, who has no tools, how tasks are made."""
    try:
        yield
    except NoSuchTask as error:
        raise TaskRefused(error.message, _MADE) from error


def listed(listing: TaskListing) -> list[str]:
    """The tasks as a table, the one that changed last first, and what was put away."""
    rows = listing.rows
    lines = _table([_HEAD, *map(_row, rows)]) if rows else [f"There are no tasks here; {_MADE}."]
    if listing.above:
        lines.append(f"There are some in {one_line(listing.above)}: start tau there.")
    if listing.total > len(rows):
        lines.append(f"{listing.total - len(rows):,} more changed longer ago.")
    named = [cut(one_line(row.task.name), _LONGEST_NAME) for row in rows if row.task.origin]
    if named:
        lines.append(cut(f"Named after content from outside: {', '.join(named)}", WIDTH))
    return [*lines, *put_away(listing)]


_HEAD = ("ID", "TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED")


def _row(row: TaskRow) -> tuple[str, ...]:
    task = row.task
    ahead = "–" if row.ahead is None else f"{row.ahead:,}"
    name = one_line(task.name)
    bar = progress(row.seen, row.known)
    return task.id[:_ID], name, task.state, bar, ahead, changed(task.updated_at)


def changed(at: int) -> str:
    """When a task changed: the time, or the day where that is another one than today."""
    day, _, time = when(at).partition(" ")
    return time if day == when(now()).partition(" ")[0] else day


def progress(seen: int, known: int) -> str:
    """How many of the files known of were looked at, as a bar and a count."""
    full = round(_BAR * seen / known) if known else 0
    if known and seen < known:
        full = min(full, _BAR - 1)
    return f"{'█' * full}{'░' * (_BAR - full)} {seen:,}/{known:,}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns; the second has the room that the others leave, the fifth is of numbers."""
    widths = [max(wcswidth(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = WIDTH - sum(widths) + widths[1] - 2 * (len(widths) - 1)
    widths[1] = min(widths[1], max(_SHORTEST_NAME, room))
    lines = []
    for row in rows:
        cells = []
        for column, text in enumerate(row):
            cell = cut(text, widths[column])
            gap = " " * (widths[column] - wcswidth(cell))
            cells.append(gap + cell if column == 4 else cell + gap)
        lines.append("  ".join(cells).rstrip())
    return lines


def shown(view: TaskView, *, most: int = 60) -> list[str]:
    """A task: what is known of it, its picture, and what is worth looking at next.

    Args:
        view: The task.
        most: Lines of the picture.
    """
    task, frontier = view.task, view.frontier
    by_status = [sum(file.status == status for file in view.files) for status in STATUSES]
    counts = ", ".join(
        f"{count:,} {status}" for count, status in zip(by_status, STATUSES, strict=True) if count
    )
    lines = [
        cut(one_line(task.name), WIDTH),
        f"{task.state}, changed {when(task.updated_at)}",
        f"id {task.id}",
        *([cut(f"named after content from outside: {one_line(task.origin)}", WIDTH)] if task.origin else []),
        f"{progress(frontier.seen, frontier.known)}   {counts or 'nothing explored'}",
    ]
    picture = draw(view, most=most)
    if picture:
        lines += ["", *picture]
    if frontier.ahead:
        lines += ["", f"Worth looking at next ({len(frontier.ahead):,}), the most imported first:"]
        lines += beside([_ahead(each) for each in frontier.ahead[:_MOST_AHEAD]], WIDTH)
        if len(frontier.ahead) > _MOST_AHEAD:
            lines.append(f"   and {len(frontier.ahead) - _MOST_AHEAD:,} more")
    if frontier.unread:
        lines.append("")
        reasons = sorted(set(frontier.unread.values()))
        for reason in reasons[:_MOST_AHEAD]:
            paths = [path for path, why in frontier.unread.items() if why == reason]
            name = shortened(one_line(paths[0]), 40) if len(paths) == 1 else f"{len(paths):,} files"
            lines.append(f"Imports not known of {name}: {reason}")
    if view.odd:
        lines += ["", f"Left out, as another program wrote them: {view.odd:,} files."]
    return lines


def _ahead(each: Ahead) -> tuple[str, str]:
    """A file of the frontier, and what imports it."""
    count = len(each.importers)
    by = f"by {count:,} files" if count > 1 else f"by {one_line(each.importers[0])}"
    return f" {'⚑' if each.flagged else '○'} {shortened(one_line(each.path), WIDTH - 3)}", by
