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
    if kept and (goal is None or goal.text != kept):
        folder, to = (_shown(each.project / goals.GOALS) for each in (other, where))
        hidden.append(f"the goal “{one_line(kept, 60)}” in {folder} (/goal sets it here, or copy it to {to})")
    scopes: Sequence[tuple[Scope, str]] = (("project", "of this project"), ("global", "of every project"))
    for scope, of in scopes:
        if count := sum(each.scope == scope for each in left):
            folder, to = (_shown(each.folder(scope)) for each in (other, where))
            them, files = ("it", "file") if count == 1 else ("them", "files")
            hidden.append(f"{count:,} {files} {of} in {folder} (copy {them} to {to} to take {them} over)")
    return [f"Not used here, since {_shown(where.root)} is: {'; '.join(hidden)}"] if hidden else []


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
