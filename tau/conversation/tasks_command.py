"""What `/tasks` and `tau tasks` say of the tasks of a directory, in lines of at most 76 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wcwidth import wcswidth

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.tasks.picture import WIDTH, beside, cut, draw, shortened
from tau.tasks.records import STATUSES, now, when

if TYPE_CHECKING:
    from tau.tasks.desk import TaskDesk, TaskListing, TaskRow, TaskView
    from tau.tasks.frontier import Ahead
    from tau.tasks.lifecycle import Collected

USAGE = "/tasks lists them; show NAME and done NAME take one, by name or id"
_MOST_ROWS = 40
_MOST_AHEAD = 10
_LONGEST_NAME = 26
_BAR = 8


def tasks(desk: TaskDesk, wanted: str) -> CommandResult:
    """Carry out `/tasks`.

    Raises:
        TauError: It cannot be done; nothing was changed.
    """
    word, _, rest = wanted.partition(" ")
    name = rest.strip()
    match word.lower():
        case "" | "list" if not name:
            return Said(listed(desk.listing()))
        case "show" if name:
            return Said(shown(desk.view(name)))
        case "done" if name:
            return Said([done(desk, name)])
    return Refused(USAGE)


def done(desk: TaskDesk, wanted: str) -> str:
    """Complete a task, and say so.

    Raises:
        TauError: There is no such task, or it cannot be completed.
    """
    task, changed = desk.complete(wanted)
    return (
        f"The task {task.title} is completed" if changed else f"The task {task.title} was completed already"
    )


def listed(listing: TaskListing) -> list[str]:
    """The tasks as a table, the one that changed last first, and what was put away."""
    rows = listing.rows[:_MOST_ROWS]
    lines = _table([_HEAD, *map(_row, rows)]) if rows else ["There are no tasks here; create_task makes one."]
    if len(listing.rows) > len(rows):
        lines.append(f"{len(listing.rows) - len(rows):,} more changed longer ago.")
    return [*lines, *put_away(listing.collected)]


def put_away(collected: Collected) -> list[str]:
    """What a collection did, as a line, if it did something."""
    did = [(collected.archived, "archived"), (collected.purged, "purged")]
    told = " and ".join(f"{count:,} {what}" for count, what in did if count)
    return [f"Old tasks of all directories were put away: {told}."] if told else []


_HEAD = ("TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED")


def _row(row: TaskRow) -> tuple[str, ...]:
    seen = row.counts.explored + row.counts.skipped
    ahead = "–" if row.ahead is None else f"{row.ahead:,}"
    name = cut(one_line(row.task.name), _LONGEST_NAME)
    return name, row.task.state, progress(seen, row.ahead), ahead, changed(row.task.updated_at)


def changed(at: int) -> str:
    """When a task changed: the time, or the day where that is another one than today."""
    day, _, time = when(at).partition(" ")
    return time if day == when(now()).partition(" ")[0] else day


def progress(seen: int, ahead: int | None) -> str:
    """How many of the files known of were looked at, as a bar and a count."""
    known = seen + (ahead or 0)
    full = round(_BAR * seen / known) if known else 0
    if known and seen < known:
        full = min(full, _BAR - 1)
    return f"{'█' * full}{'░' * (_BAR - full)} {seen:,}/{known:,}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns; the fourth is of numbers."""
    widths = [max(wcswidth(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            gap = " " * (widths[column] - wcswidth(cell))
            cells.append(gap + cell if column == 3 else cell + gap)
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
    explored, skipped, _ = by_status
    counts = ", ".join(
        f"{count:,} {status}" for count, status in zip(by_status, STATUSES, strict=True) if count
    )
    lines = [
        cut(one_line(task.name), WIDTH),
        f"{task.state}, changed {when(task.updated_at)}",
        f"id {task.id}",
        f"{progress(explored + skipped, len(frontier.ahead))}   {counts or 'nothing explored'}",
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
    return lines


def _ahead(each: Ahead) -> tuple[str, str]:
    """A file of the frontier, and what imports it."""
    count = len(each.importers)
    by = f"by {count:,} files" if count > 1 else f"by {one_line(each.importers[0])}"
    return f" {'⚑' if each.flagged else '○'} {shortened(one_line(each.path), WIDTH - 3)}", by
