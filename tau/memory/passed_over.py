"""Memory in the configuration directory that a ``.tau`` folder hides: what it is, how it is taken over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import TauError
from tau.memory import documents, goals, places, project, shipped
from tau.memory.documents import Document
from tau.memory.goals import Goal, GoalFile
from tau.memory.labels import Scope
from tau.memory.places import MemoryPlaces


def lines(where: MemoryPlaces, settings: Settings, goal: Goal | None, used: Sequence[Document]) -> list[str]:
    """What the person is told of it, a line; none where nothing is hidden.

    What came with tau, the template of a project's folder, and what stands in the folder as well do not
    count.

    Args:
        where: The memory that is used.
        settings: The directory and the places.
        goal: The goal that is in force.
        used: The memory files that are.
    """
    if not where.workspace:
        return []
    other = places.outside_workspaces(where, settings.places)
    there, _ = documents.read(other)
    same = {(document.title, document.digest) for document in used}
    left = [each for each in there if (each.title, each.digest) not in same and not _came_with_tau(each)]
    kept = _goal(other, settings.directory)
    hidden: list[str] = []
    # A folder that a person makes has no record of whose it is, and would be passed over itself.
    first = "" if where.project.is_dir() else "`tau init`, then "
    if kept and (goal is None or goal.text != kept):
        text, folder, to = one_line(kept, 60), _shown(other.project / goals.GOALS), _shown(where.project)
        way = f"/goal sets it here, or {first}copy that folder into {to}"
        hidden.append(f"the goal “{text}” in {folder} ({way})")
    scopes: Sequence[tuple[Scope, str]] = (("project", "of this project"), ("global", "of every project"))
    for scope, of in scopes:
        if count := sum(each.scope == scope for each in left):
            folder, to = (_shown(each.folder(scope)) for each in (other, where))
            them, files = ("it", "file") if count == 1 else ("them", "files")
            if scope == "project":
                way = f"{first}copy {them} into {to}"
            else:
                way = f"copy {them} into {'' if where.shared.is_dir() else 'a new folder '}{to}"
            hidden.append(f"{count:,} {files} {of} in {folder} ({way})")
    if not hidden:
        return []
    return [f"Not used here, since {_shown(where.root)} is, and how to take it over: {'; '.join(hidden)}"]


def _came_with_tau(document: Document) -> bool:
    """Whether a file is as tau wrote it, of itself and unasked."""
    if document.scope == "project":
        return document.data == project.CONTENTS.get(f"{places.SHARED}/{document.name}")
    try:
        return document.builtin and document.data == (shipped.FOLDER / document.name).read_bytes()
    except OSError:
        return False


def _goal(where: MemoryPlaces, directory: Path) -> str:
    try:
        goal = GoalFile(where, directory).read()
    except TauError:
        return ""
    return goal.text if goal is not None else ""


def _shown(path: Path) -> str:
    return one_line(str(path), 1_000)
