"""What `/goal`, `/memory` and `tau memory` say of goals and memory files, in lines."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from tau.conversation.state import CommandResult, MemoryFile, MemoryListing, Refused, Said
from tau.display import one_line, visible
from tau.errors import MemoryRefused, TauError
from tau.memory import applying, documents, entries, files, goals, labels
from tau.memory.desk import Desk, Standing
from tau.memory.entries import Entry
from tau.memory.goals import Goal
from tau.memory.loading import Part
from tau.memory.undone import UndoRefused

_NOTES = 8
_CHANGES = 20
_LISTED_CHANGES = 200
_SHOWN_CHARACTERS = 100_000

UNDO_ANYWAY = "/memory undo anyway"
"""Takes the change back whose undo was refused last, over edits by hand."""

GOAL_USAGE = "/goal TEXT sets one; done, pause, resume and clear change it"


def goal(desk: Desk, wanted: str, given_up: Callable[[], bool] = files.never) -> CommandResult:
    """Carry out `/goal`.

    Args:
        desk: The memory.
        wanted: A word that changes the goal, else its new text; empty to see it.
        given_up: Whether nobody waits for it any more; a change that has begun is made, and told of all the
            same.

    Raises:
        GivenUp: `given_up` said so; the goal is as it was.
        TauError: It cannot be done; the goal is as it was.
    """
    result = _goal(desk, wanted, given_up)
    if wanted and isinstance(result, Said) and given_up():
        desk.late("\n".join(result.lines))
    return result


def _goal(desk: Desk, wanted: str, given_up: Callable[[], bool]) -> CommandResult:
    file = desk.goal_file()
    now = file.read()
    if not wanted:
        said = _seen(now) if now is not None else [f"No goal is set here ({GOAL_USAGE})"]
        return Said([*said, *desk.passed_over()])
    word = wanted.lower()
    if desk.bare:
        return Refused("The goal stays as it is: tau runs with --bare, which writes nothing")
    if word not in _VERBS:
        fresh, before = file.set(wanted, given_up=given_up)
        replaced = [f"It replaces: {one_line(before.text, 200)}"] if before is not None else []
        return Said([*_seen(fresh), *replaced])
    if now is None:
        return Refused(f"There is no goal to {_VERBS[word]} ({GOAL_USAGE})")
    match word:
        case "pause":
            return Said(_seen(file.pause(text=now.text, given_up=given_up)))
        case "resume":
            return Said(_seen(file.resume(text=now.text, given_up=given_up)))
    done = word == "done"
    ended, kept = file.end("done" if done else "dropped", text=now.text, given_up=given_up)
    how = "Done" if done else "Dropped"
    return Said([f"{how}: {one_line(ended.text, 200)}", f"It is kept in {one_line(str(kept))}"])


_VERBS = {"done": "end", "pause": "pause", "resume": "resume", "clear": "drop"}


def _seen(goal: Goal) -> list[str]:
    """A goal with what was noted of it."""
    notes = [
        f"  {note.at:%Y-%m-%d %H:%M} UTC  {one_line(note.text)}"
        + (f" ({goals.after(note.origin)})" if note.origin else "")
        for note in goal.notes[-_NOTES:]
    ]
    earlier = len(goal.notes) - len(notes)
    if earlier > 0:
        notes.insert(0, f"  {earlier} earlier note{'' if earlier == 1 else 's'} in the file")
    return [goals.line(goal), *notes]


def listing(desk: Desk, standing: Standing) -> list[str]:
    """What is loaded into prompts, what is not, and where it lies.

    Raises:
        TauError: The places cannot be used.
    """
    where = desk.where()
    lines = [
        f"Memory of every project: {one_line(str(where.shared))}",
        f"Memory of this project: {one_line(str(where.memory))}",
    ]
    if desk.bare:
        return [*lines, "Nothing of it is loaded: tau runs with --bare."]
    for part in standing.parts:
        count = f"{part.lines} line{'' if part.lines == 1 else 's'}"
        lines.append(
            f"  {one_line(part.title)}  {count}" + (f", not loaded: {part.missing}" if part.missing else "")
        )
    if not standing.parts:
        lines.append("  There is none yet.")
    return [*lines, *standing.notices]


def history(desk: Desk, limit: int = _CHANGES) -> list[str]:
    """The newest changes, and what of the history cannot be used.

    Raises:
        TauError: The places cannot be used.
    """
    kept = desk.history()
    return [*entries.log(kept.entries(limit)), *kept.problems]


def overview(desk: Desk) -> MemoryListing:
    """All there is of memory: the files, the newest changes, the goal.

    Raises:
        TauError: The places cannot be used.
    """
    seen = desk.seen()
    parts = {part.title: part for part in seen.standing.parts}
    own = [
        _file(file.name, file.path, file.text, file.lines, parts.get(file.name), own=True)
        for file in seen.files
    ]
    memory = [
        _file(
            document.title,
            document.path,
            document.text,
            documents.line_count(document.data),
            parts.get(document.title),
            builtin=document.builtin,
            origin=one_line(document.origin, 200),
        )
        for document in seen.documents
    ]
    kept = desk.history()
    changes = kept.entries(_LISTED_CHANGES + 1)
    standing = seen.standing
    problems = seen.problems if desk.bare else standing.notices
    return MemoryListing(
        files=[*own, *memory],
        changes=changes[:_LISTED_CHANGES],
        more_changes=len(changes) > _LISTED_CHANGES,
        goal=_seen(standing.goal) if standing.goal else (),
        problems=[*problems, *kept.problems],
        shared=one_line(str(seen.where.shared)),
        project=one_line(str(seen.where.memory)),
        bare=desk.bare,
        lines=listing(desk, standing),
    )


def _file(
    title: str,
    path: Path,
    text: str,
    lines: int,
    part: Part | None,
    *,
    builtin: bool = False,
    origin: str = "",
    own: bool = False,
) -> MemoryFile:
    """A file as it is shown; without a part of it in prompts nothing of it is loaded."""
    if part is None:
        part = Part(title, path, lines, lines + 1, lines)
    return MemoryFile(
        title=title,
        path=str(path),
        text=visible(text[:_SHOWN_CHARACTERS]),
        lines=lines,
        first_loaded=part.first_loaded,
        last_loaded=part.last_loaded,
        missing=part.missing,
        builtin=builtin,
        origin=origin,
        own=own,
    )


def difference(desk: Desk, entry: Entry) -> str:
    """What a change did, as `tau.memory.history.History.diff` says it.

    Raises:
        TauError: The places cannot be used.
    """
    return desk.history().diff(entry)


def on_disk(desk: Desk, title: str) -> bytes | None:
    """A memory file as it is; None when it is not there.

    Raises:
        TauError: It is a link or no regular file, or cannot be read.
    """
    where = desk.where()
    try:
        return applying.read(where, title)
    except OSError as error:
        path = one_line(str(applying.path_of(where, title)))
        raise MemoryRefused(f"{path} cannot be read: {files.reason(error)}") from error


def edited(title: str, before: bytes | None, after: bytes | None) -> str:
    """What a person did to a file in an editor, as they are told; empty when nothing."""
    if after == before:
        return ""
    if after is None:
        return f"You deleted {one_line(title)}; your next message goes without it"
    old, new = ((data or b"").splitlines(keepends=True) for data in (before, after))
    blocks = difflib.SequenceMatcher(None, old, new).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return (
        f"You edited {one_line(title)} (+{len(new) - same:,} −{len(old) - same:,} lines);"
        " it holds from your next message on"
    )


def document(desk: Desk, label: str) -> list[str]:
    """One memory file, in lines that are safe to show.

    Raises:
        TauError: There is no such file, or the places cannot be used.
    """
    where = desk.where()
    scope, name = labels.parse(label)
    title = f"{scope}/{labels.on_disk(labels.file_name(name), where.folder(scope))}"
    found, _ = documents.read(where)
    for each in found:
        if each.title == title:
            return [f"{one_line(str(each.path))}:", *visible(each.text).splitlines()]
    raise TauError(f"There is no memory {one_line(title)}", "/memory lists them")


def not_undone(error: TauError) -> str:
    """Why a change was not undone; where files were edited since, with what differs, in lines."""
    return "\n".join(error.told(UNDO_ANYWAY)) if isinstance(error, UndoRefused) else error.line()


def memory(desk: Desk, wanted: str, given_up: Callable[[], bool] = files.never) -> CommandResult:
    """Carry out `/memory`.

    Args:
        desk: The memory.
        wanted: What of it.
        given_up: As `goal` has it.

    Raises:
        GivenUp: `given_up` said so; nothing was changed.
        TauError: It cannot be done; nothing was changed.
    """
    word, _, rest = wanted.partition(" ")
    match word.lower():
        case "" | "list":
            return overview(desk)
        case "history":
            return Said(history(desk))
        case "undo" if rest.strip().lower() in ("", "anyway"):
            from tau.journal import rules_file

            try:
                undo = desk.undo_anyway if rest.strip() else desk.undo
                undone = undo(given_up=given_up)
                return Said(rules_file.told(undone))
            except UndoRefused as refused:
                return Refused(not_undone(refused))
        case "show" if rest.strip():
            return Said(document(desk, rest.strip()))
    return Refused("/memory takes list, show LABEL, history, undo or undo anyway")
