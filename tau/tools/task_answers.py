"""What the tools of task memory answer, without the SDK: other agents are answered in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from tau.display import one_line, visible
from tau.tasks.desk import Created, Marked, TaskView
from tau.tasks.frontier import Frontier
from tau.tasks.records import STATUSES, Task, TaskFile, when

_NOTES_TOGETHER = 12_000
_MOST_AHEAD = 100
_MOST_IMPORTERS = 3


def created(made: Created) -> str:
    """What `create_task` answers."""
    lines = [f"Created the task {made.task.title}, id {made.task.id}."]
    if made.others:
        ids = ", ".join(task.id for task in made.others[:10])
        lines.append(
            f"There is an open task of that name already: {ids}. Name both by their ids, "
            "or go on with that one and complete this one."
        )
    old = made.collected
    if old.archived or old.purged:
        lines.append(f"Old tasks were put away: {old.archived} archived, {old.purged} purged.")
    return "\n".join(lines)


def marked(mark: Marked) -> str:
    """What `mark_explored` answers."""
    line = f"Marked {one_line(mark.file.path)} as {mark.file.status} in {mark.task.title}."
    if mark.begun:
        line += " The task is active now."
    if mark.missing:
        line += " There is no such file now, so look whether the path is right."
    return line


def completed(task: Task, changed: bool) -> str:
    """What `complete_task` answers, by whether the task was not completed before."""
    return f"The task {task.title} {'is completed' if changed else 'was completed already'}."


def described(view: TaskView, *, room: int) -> str:
    """A task with its files and its frontier, in at most so many characters."""
    task, frontier = view.task, view.frontier
    head = [
        f"Task {task.title}, id {task.id}",
        f"{task.state}, created {when(task.created_at)}, changed {when(task.updated_at)}",
    ]
    by_status = {status: [file for file in view.files if file.status == status] for status in STATUSES}
    blocks = [
        _ahead(frontier),
        *(_marked(f"{status.capitalize()}:", files) for status, files in by_status.items() if files),
        [f"Imports not known of {one_line(path)}: {why}" for path, why in sorted(frontier.unread.items())],
    ]
    lines = head + [line for block in blocks for line in ["", *block] if block]
    return _within(lines, room)


def _ahead(frontier: Frontier) -> list[str]:
    if not frontier.ahead:
        return ["The frontier is empty: what explored files import of the project was looked at."]
    lines = [f"Frontier, worth exploring next ({len(frontier.ahead):,}):"]
    for each in frontier.ahead[:_MOST_AHEAD]:
        names = ", ".join(one_line(path) for path in each.importers[:_MOST_IMPORTERS])
        more = len(each.importers) - _MOST_IMPORTERS
        by = f"{names} and {more:,} more" if more > 0 else names
        lines.append(f"- {one_line(each.path)}{' (flagged)' if each.flagged else ''}, imported by {by}")
    if len(frontier.ahead) > _MOST_AHEAD:
        lines.append(f"- and {len(frontier.ahead) - _MOST_AHEAD:,} more")
    return lines


def _marked(title: str, files: Sequence[TaskFile]) -> list[str]:
    """Files with their notes, those that were marked last first; long notes are cut where there are many."""
    each = max(200, _NOTES_TOGETHER // len(files))
    lines = [f"{title[:-1]} ({len(files):,}):"]
    for file in reversed(files):
        notes = visible(file.notes)
        if len(notes) > each:
            notes = f"{notes[:each]}… [{len(notes) - each:,} characters more]"
        inner = "\n  ".join(notes.splitlines())
        lines.append(f"- {one_line(file.path)}" + (f": {inner}" if inner else ""))
    return lines


def _within(lines: Sequence[str], room: int) -> str:
    """The lines that fit, and how many do not."""
    kept: list[str] = []
    left = room - 80
    for number, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            kept.append(
                f"[{len(lines) - number:,} more lines do not fit here; the person can see them with /tasks]"
            )
            break
        kept.append(line)
    return "\n".join(kept)
