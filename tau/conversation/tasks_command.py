"""What `/tasks` and `tau tasks` say of tasks, in lines for a width or as long as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from wcwidth import wcswidth, wrap

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.errors import TaskRefused
from tau.tasks.lifecycle import NoSuchTask
from tau.tasks.picture import beside, cut, draw, packed, shortened
from tau.tasks.records import LONGEST_NOTES, STATUSES, now, when
from tau.tools.task_answers import completed, noted, put_away

if TYPE_CHECKING:
    from tau.tasks.desk import TaskDesk
    from tau.tasks.frontier import Ahead
    from tau.tasks.views import TaskListing, TaskRow, TaskView

USAGE = "/tasks lists them; show NAME [FILE] and done NAME take one, by name or id, or a beginning of it"
MOST_ROWS = 40
"""Tasks that a listing shows."""

_MOST_AHEAD = 10
_SHORTEST_NAME = 16
"""Columns of a name in a table; where there are fewer, each task has lines of its own."""

_NARROWEST = 24
_UNCUT = 100_000
_PROSE = 76
"""Columns in which notes are folded, also where there are more."""

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
            return _said(partial(listed, desk.listing(most=MOST_ROWS)))
        case "show" if name:
            task, path = desk.parted(name)
            return _said(notes(desk, task, path) if path else looked_at(desk, task))
        case "done" if name:
            return Said([done(desk, name)])
    return Refused(USAGE)


def _said(laid_out: Callable[[int | None], list[str]]) -> Said:
    return Said(laid_out(None), laid_out=laid_out)


def done(desk: TaskDesk, wanted: str, *, everywhere: bool = False) -> str:
    """Complete a task, and say so.

    Args:
        desk: The tasks.
        wanted: The task.
        everywhere: Whether it may be one of another directory.

    Raises:
        TauError: There is no such task, or it cannot be completed.
    """
    with _for_person():
        return completed(*desk.complete(wanted, everywhere=everywhere)).rstrip(".")


def looked_at(
    desk: TaskDesk, wanted: str, *, everywhere: bool = False, most: int = 60
) -> Callable[[int | None], list[str]]:
    """A task, as `shown` tells it in some columns.

    Args:
        desk: The tasks.
        wanted: The task.
        everywhere: Whether it may be one of another directory.
        most: Lines of the picture.

    Raises:
        TauError: There is no such task.
    """
    with _for_person():
        return partial(shown, desk.view(wanted, everywhere=everywhere), most=most)


def notes(
    desk: TaskDesk, wanted: str, path: str, *, everywhere: bool = False
) -> Callable[[int | None], list[str]]:
    """All that was noted of a file of a task, in some columns.

    Raises:
        TauError: There is no such task, or no such file in it.
    """
    with _for_person():
        told = noted(*desk.file(wanted, path, everywhere=everywhere), room=2 * LONGEST_NOTES)
    return partial(_folded, told)


def _folded(text: str, width: int | None) -> list[str]:
    room = min(_PROSE, _room(width))
    return [piece for line in text.split("\n") for piece in (wrap(line, room) or [""])]


@contextmanager
def _for_person() -> Iterator[None]:
    """Tell a person, who has no tools, how tasks are made."""
    try:
        yield
    except NoSuchTask as error:
        raise TaskRefused(error.message, _MADE) from error


def _room(width: int | None) -> int:
    return _UNCUT if width is None else max(width, _NARROWEST)


def listed(listing: TaskListing, width: int | None) -> list[str]:
    """The tasks, the one that changed last first, and what was put away.

    Args:
        listing: They.
        width: Columns of a line; None cuts nothing.
    """
    room = _room(width)
    rows = listing.rows
    lines = _rows(rows, room)
    prose = [] if rows else [f"There are no tasks {'at all' if listing.everywhere else 'here'}; {_MADE}."]
    if listing.above:
        prose.append(f"There are some in {one_line(listing.above)}: start tau there.")
    if listing.total > len(rows):
        prose.append(f"{listing.total - len(rows):,} more changed longer ago.")
    named = [one_line(row.task.name) for row in rows if row.task.origin]
    if named:
        prose.append(f"Named after content from outside: {', '.join(named)}")
    prose += put_away(listing)
    if gone := listing.collected.gone:
        prose.append(f"They were of {', '.join(one_line(directory) for directory in gone)}")
    return [*lines, *(piece for line in prose for piece in wrap(line, room))]


_HEAD = ("ID", "TASK", "STATE", "PROGRESS", "AHEAD", "CHANGED")


def _rows(rows: Sequence[TaskRow], room: int) -> list[str]:
    """Tasks in a table, or where its columns have no room, each in lines of its own; by directory if told."""
    table = [_cells(row) for row in rows]
    widths = [max(map(wcswidth, column)) for column in zip(_HEAD, *table, strict=True)]
    left = room - sum(widths) + widths[1] - 2 * (len(widths) - 1)
    is_table = left >= min(widths[1], _SHORTEST_NAME)
    widths[1] = min(widths[1], left)
    lines = [_line(_HEAD, widths)] if rows and is_table else []
    before = None
    for row, cells in zip(rows, table, strict=True):
        if row.where is not None and row.where != before:
            before = row.where
            lines += wrap(f"{one_line(row.where)}{'' if row.is_there else '  (not there)'}", room)
        lines += [_line(cells, widths)] if is_table else _entry(row, cells, room)
    return lines


def _cells(row: TaskRow) -> tuple[str, ...]:
    task, frontier = row.task, row.frontier
    ahead = "–" if frontier is None else f"{len(frontier.ahead):,}"
    bar = _files(row.counts.marked) if frontier is None else progress(frontier.seen, frontier.known)
    return task.id[:_ID], one_line(task.name), task.state, bar, ahead, changed(task.updated_at)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A row of the table; its fifth column is of numbers."""
    padded = []
    for column, text in enumerate(cells):
        cell = cut(text, widths[column])
        gap = " " * (widths[column] - wcswidth(cell))
        padded.append(gap + cell if column == 4 else cell + gap)
    return "  ".join(padded).rstrip()


def _entry(row: TaskRow, cells: Sequence[str], room: int) -> list[str]:
    """A task in lines of its own: its id and name, and below them where it stands."""
    identity, name, state, bar, ahead, at = cells
    stands = [state, bar.rpartition(" ")[2] if row.frontier is not None else bar]
    stands += [f"{ahead} ahead"] if row.frontier is not None else []
    return [
        cut(f"{identity}  {name}", room),
        *packed([*stands, at], room, between=" · ", indent="  "),
    ]


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


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


def shown(view: TaskView, width: int | None, *, most: int = 60) -> list[str]:
    """A task: what is known of it, its picture, and what is worth looking at next.

    Args:
        view: The task.
        width: Columns of a line; None cuts nothing.
        most: Lines of the picture.
    """
    room = _room(width)
    task, frontier = view.task, view.frontier
    by_status = [sum(file.status == status for file in view.files) for status in STATUSES]
    counts = [f"{count:,} {status}" for count, status in zip(by_status, STATUSES, strict=True) if count]
    stands = progress(frontier.seen, frontier.known) if task.is_open else _files(len(view.files))
    head = [one_line(task.name), f"{task.state}, changed {when(task.updated_at)}"]
    if view.where is not None:
        head.append(f"in {one_line(view.where)}")
    identity = f"id {task.id}"
    head.append(identity if wcswidth(identity) <= room else f"id {task.id[:_ID]}")
    if task.origin:
        head.append(f"named after content from outside: {one_line(task.origin)}")
    lines = [piece for line in head for piece in wrap(line, room)]
    told = ", ".join(counts) or "nothing explored"
    lines += packed([stands, *wrap(told, room)], room, between="   ", indent="")
    picture = draw(view, room, most=most)
    if picture:
        lines += ["", *picture]
    if frontier.ahead:
        count = f"{len(frontier.ahead):,}"
        lines += ["", *wrap(f"Worth looking at next ({count}), the most imported first:", room)]
        lines += beside([_ahead(each, room) for each in frontier.ahead[:_MOST_AHEAD]], room)
        if len(frontier.ahead) > _MOST_AHEAD:
            lines.append(f"   and {len(frontier.ahead) - _MOST_AHEAD:,} more")
    if frontier.unread:
        lines.append("")
        reasons = sorted(set(frontier.unread.values()))
        for reason in reasons[:_MOST_AHEAD]:
            paths = [path for path, why in frontier.unread.items() if why == reason]
            name = shortened(one_line(paths[0]), room) if len(paths) == 1 else f"{len(paths):,} files"
            lines += wrap(f"Imports not known of {name}: {reason}", room)
    if view.odd:
        lines += ["", *wrap(f"Left out, as another program wrote them: {view.odd:,} files.", room)]
    return lines


def _ahead(each: Ahead, room: int) -> tuple[str, str]:
    """A file of the frontier, and what imports it."""
    count = len(each.importers)
    by = f"by {count:,} files" if count > 1 else f"by {one_line(each.importers[0])}"
    return f" {'⚑' if each.flagged else '○'} {shortened(one_line(each.path), room - 3)}", by
