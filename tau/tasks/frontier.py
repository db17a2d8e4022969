"""The frontier of a task, computed when it is asked for: what explored files import and nobody looked at yet.

    frontier = imports of explored files - explored files - skipped files

Flagged files stay in it. The cost grows with the files that were explored: a project is never listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tau.tasks.import_cache import ImportCache
from tau.tasks.imports.languages import language_of
from tau.tasks.imports.project import ProjectFiles
from tau.tasks.imports.resolving import resolve
from tau.tasks.records import STATUSES, TaskFile


@dataclass(frozen=True, slots=True)
class Ahead:
    """A file of the frontier.

    Attributes:
        path: As `TaskFile` has it.
        importers: The explored files that import it.
        flagged: Whether it was marked as flagged.
    """

    path: str
    importers: tuple[str, ...]
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Frontier:
    """Where a task stands.

    Attributes:
        ahead: The files worth looking at next, those that most explored files import first.
        edges: What each explored file imports of the project.
        unread: Explored files whose imports are not known, each with the reason.
        seen: How many files that are there were explored or skipped.
        known: How many files that are there are known of: marked in any way, or ahead.
    """

    ahead: tuple[Ahead, ...]
    edges: dict[str, tuple[str, ...]]
    unread: dict[str, str]
    seen: int
    known: int


def compute(files: Sequence[TaskFile], project: ProjectFiles, cache: ImportCache) -> Frontier:
    """The frontier of a task now.

    Args:
        files: What is marked in it.
        project: The files of its directory.
        cache: Keeps what files import.
    """
    by_status = {status: [file.path for file in files if file.status == status] for status in STATUSES}
    explored = by_status["explored"]
    found = cache.imports(explored, project)
    edges = {
        path: tuple(resolve(path, language_of(path), imports.imports, project))
        for path, imports in found.items()
    }
    seen = {*explored, *by_status["skipped"]}
    importers: dict[str, list[str]] = {}
    for path in explored:
        for target in edges.get(path, ()):
            if target not in seen:
                importers.setdefault(target, []).append(path)
    flagged = set(by_status["flagged"])
    ahead = [Ahead(path, tuple(by), path in flagged) for path, by in importers.items()]
    unread = {path: imports.problem for path, imports in found.items() if imports.problem}
    there = {file.path for file in files if project.find(file.path) is not None}
    return Frontier(
        ahead=tuple(sorted(ahead, key=lambda each: (-len(each.importers), each.path))),
        edges=edges,
        unread=unread,
        seen=len(seen & there),
        known=len(there | set(importers)),
    )
