"""What the tools of task memory answer, without the SDK: other agents are answered in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from tau.display import one_line, visible
from tau.masking import mask_content
from tau.tasks.frontier import Ahead, Frontier
from tau.tasks.lifecycle import Collected
from tau.tasks.records import STATUSES, Task, TaskFile, when
from tau.tasks.views import Created, Marked, TaskListing, TaskView

_MOST_AHEAD = 20
_MOST_IMPORTERS = 3
_MOST_REASONS = 5
_LEAST_NOTE = 200
_LONGEST_PATH = 1_000
_FOR_NOTES = 200
"""Characters kept for saying how to go on."""


def created(made: Created) -> str:
    """What `create_task` answers."""
    lines = [f"Created the task {made.task.title}, id {made.task.id}."]
    if made.others:
        ids = ", ".join(task.id for task in made.others[:10])
        lines.append(
            f"There is an open task of that name already: {ids}. The name alone means neither now: "
            "name them by their ids, of which the first 8 characters do, "
            "or go on with that one and complete this one."
        )
    lines += _collected(made.collected)
    return "\n".join(lines)


def put_away(listing: TaskListing) -> list[str]:
    """What a listing put away, or why it did not, and what it leaves out, a line each."""
    lines = _collected(listing.collected)
    if listing.problem:
        lines.append(f"Old tasks were not put away: {listing.problem}")
    if listing.odd:
        lines.append(f"Left out, as another program wrote them: {listing.odd:,} tasks.")
    return lines


def _collected(collected: Collected) -> list[str]:
    did = [(collected.archived, "archived"), (collected.purged, "purged")]
    lines = [f"Old tasks of this directory were put away: {told}."] if (told := _told(did)) else []
    if collected.gone:
        count = len(collected.gone)
        whose = "a directory that is" if count == 1 else f"{count:,} directories that are"
        did = [(collected.gone_archived, "archived"), (collected.gone_purged, "purged")]
        lines.append(f"Old tasks of {whose} gone were put away: {_told(did)}.")
    return lines


def _told(did: Sequence[tuple[int, str]]) -> str:
    return " and ".join(f"{count:,} {what}" for count, what in did if count)


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


def described(view: TaskView, *, room: int, offset: int = 0) -> str:
    """A task with its files and its frontier, in at most so many characters, and how to go on.

    Args:
        view: The task.
        room: Characters, about.
        offset: How many entries are left out: files with their notes, those that were marked last first, and
            then what is ahead beyond the first ones.
    """
    lines = [*_head(view), *_caveats(view.frontier)]
    files = [file for status in STATUSES for file in reversed(view.files) if file.status == status]
    ahead = [_ahead_line(each) for each in view.frontier.ahead]
    first = _fitting(ahead[:_MOST_AHEAD], room // 3)
    rest = ahead[len(first) :]
    if not offset:
        lines += ["", _frontier_head(view), *first]
        if rest:
            lines.append(f"- and {len(rest):,} more: offset={len(files)} goes on")
    room -= _length(lines) + _FOR_NOTES
    most = _share([len(_note(file)) for file in files[offset:]], room - sum(map(_overhead, files[offset:])))
    heads = [*(f"{file.status.capitalize()}:" for file in files), *["Frontier:"] * len(rest)]
    at, cut = offset, False
    while at < (len(heads) if offset else len(files)):
        entry = _file_lines(files[at], most) if at < len(files) else [rest[at - len(files)]]
        if at == offset or heads[at] != heads[at - 1]:
            entry = ["", heads[at], *entry]
        if at > offset and _length(entry) > room:
            break
        room -= _length(entry)
        lines += entry
        cut = cut or (at < len(files) and len(_note(files[at])) > most)
        at += 1
    notes = []
    if at < len(files):
        notes.append(f"{len(files) - at:,} more files were marked: offset={at} goes on.")
    elif at < len(heads) and offset:
        notes.append(f"{len(heads) - at:,} more are ahead: offset={at} goes on.")
    elif offset >= len(heads) and offset:
        notes.append(f"There are {len(heads):,} entries, so none from offset={offset} on.")
    if cut:
        notes.append("path, with a file, reads all its notes.")
    return "\n".join([*lines, *(["", f"[{' '.join(notes)}]"] if notes else [])])


def noted(task: Task, file: TaskFile, *, room: int, offset: int = 0) -> str:
    """What was noted of a file, in at most so many characters, from a character on, and how to go on."""
    notes = _note(file)
    shown = notes[offset : offset + max(_LEAST_NOTE, room - _FOR_NOTES)]
    lines = [f"{one_line(file.path, _LONGEST_PATH)} in {task.title}: {file.status}, {when(file.explored_at)}"]
    lines.append(shown or ("There are no more notes." if offset else "Nothing was noted of it."))
    left = len(notes) - offset - len(shown)
    if left > 0:
        lines.append(f"[{left:,} more characters: offset={offset + len(shown)} goes on.]")
    return "\n".join(lines)


def _head(view: TaskView) -> list[str]:
    task = view.task
    lines = [
        f"Task {task.title}, id {task.id}",
        f"{task.state}, created {when(task.created_at)}, changed {when(task.updated_at)}",
    ]
    if task.origin:
        lines.append(f"Named after content from outside: {one_line(task.origin)}")
    if view.odd:
        lines.append(f"Left out, as another program wrote them: {view.odd:,} files.")
    return lines


def _caveats(frontier: Frontier) -> list[str]:
    """Explored files whose imports are not known, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in sorted(frontier.unread.items()):
        by_reason.setdefault(reason, []).append(one_line(path))
    lines = []
    for reason, paths in list(by_reason.items())[:_MOST_REASONS]:
        names = ", ".join(paths[:_MOST_IMPORTERS])
        more = len(paths) - _MOST_IMPORTERS
        lines.append(f"Imports not known of {names}{f' and {more:,} more' if more > 0 else ''}: {reason}")
    if len(by_reason) > _MOST_REASONS:
        left = sum(map(len, list(by_reason.values())[_MOST_REASONS:]))
        lines.append(f"Imports not known of {left:,} more files, for other reasons")
    return lines


def _frontier_head(view: TaskView) -> str:
    frontier = view.frontier
    if frontier.ahead:
        return f"Frontier, worth exploring next ({len(frontier.ahead):,}):"
    explored = sum(file.status == "explored" for file in view.files)
    unknown = len(frontier.unread)
    if not explored:
        return "The frontier is empty: no file was explored yet."
    if unknown:
        return (
            f"The frontier is not known for {unknown:,} of {explored:,} explored files, and empty for others."
        )
    return "The frontier is empty: what explored files import of the project was looked at."


def _ahead_line(each: Ahead) -> str:
    names = ", ".join(one_line(path) for path in each.importers[:_MOST_IMPORTERS])
    more = len(each.importers) - _MOST_IMPORTERS
    by = f"{names} and {more:,} more" if more > 0 else names
    return f"- {one_line(each.path)}{' (flagged)' if each.flagged else ''}, imported by {by}"


def _file_lines(file: TaskFile, most: int) -> list[str]:
    """A file with its notes, of which so many characters are shown."""
    note = _note(file)
    if len(note) > most:
        note = f"{note[:most]}… [{len(note) - most:,} characters more]"
    inner = "\n  ".join(note.splitlines())
    return [f"- {one_line(file.path, _LONGEST_PATH)}" + (f": {inner}" if inner else "")]


def _note(file: TaskFile) -> str:
    return visible(mask_content(file.notes))  # before it is cut: half a secret is not known for one


def _overhead(file: TaskFile) -> int:
    """Characters that a file takes beside its notes, where they are cut."""
    return min(len(file.path), _LONGEST_PATH) + 40


def _share(lengths: Sequence[int], room: int) -> int:
    """How much of each text can be shown so that all fit, but at least the beginning."""
    ordered = sorted(lengths)
    for number, length in enumerate(ordered):
        each = room // (len(ordered) - number)
        if length > each:
            return max(_LEAST_NOTE, each)
        room -= length
    return max(_LEAST_NOTE, ordered[-1] if ordered else 0)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if kept and _length([*kept, line]) > room:
            break
        kept.append(line)
    return kept


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)
