"""What `/goal`, `/memory` and `tau memory` say of goals and memory files, in lines."""

from __future__ import annotations

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line, visible
from tau.errors import TauError
from tau.memory import documents, entries, goals, labels
from tau.memory.desk import Desk, Standing
from tau.memory.goals import Goal, GoalFile

_NOTES = 8
_CHANGES = 20

GOAL_USAGE = "/goal TEXT sets one; done, pause, resume and clear change it"


def goal(desk: Desk, wanted: str) -> CommandResult:
    """Carry out `/goal`.

    Args:
        desk: The memory.
        wanted: A word that changes the goal, else its new text; empty to see it.

    Raises:
        TauError: It cannot be done; the goal is as it was.
    """
    file = desk.goal_file()
    now = file.read()
    if not wanted:
        return Said(_seen(now) if now is not None else [f"No goal is set here ({GOAL_USAGE})"])
    word = wanted.lower()
    if word not in ("done", "pause", "resume", "clear"):
        file.set(wanted)
        replaced = [f"It replaces: {one_line(now.text, 200)}"] if now is not None else []
        return Said([*_seen(_there(file)), *replaced])
    if now is None:
        return Refused(f"There is no goal to {_VERBS[word]} ({GOAL_USAGE})")
    text = one_line(now.text, 200)
    match word:
        case "done":
            kept = file.done()
            return Said([f"Done: {text}", f"It is kept in {one_line(str(kept))}"])
        case "clear":
            kept = file.clear()
            return Said([f"Dropped: {text}", f"It is kept in {one_line(str(kept))}"])
        case "pause":
            file.pause()
        case _:
            file.resume()
    return Said(_seen(_there(file)))


_VERBS = {"done": "end", "pause": "pause", "resume": "resume", "clear": "drop"}


def _there(file: GoalFile) -> Goal:
    goal = file.read()
    assert goal is not None
    return goal


def _seen(goal: Goal) -> list[str]:
    """A goal with what was noted of it."""
    notes = [f"  {note.at:%Y-%m-%d %H:%M} UTC  {one_line(note.text)}" for note in goal.notes[-_NOTES:]]
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


def memory(desk: Desk, wanted: str) -> CommandResult:
    """Carry out `/memory`.

    Raises:
        TauError: It cannot be done; nothing was changed.
    """
    word, _, rest = wanted.partition(" ")
    match word.lower():
        case "" | "list":
            return Said(listing(desk, desk.standing()))
        case "history":
            return Said(history(desk))
        case "undo":
            return Said(desk.undo().lines)
        case "show" if rest.strip():
            return Said(document(desk, rest.strip()))
    return Refused("/memory takes list, show LABEL, history or undo")
