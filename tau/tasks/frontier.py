"""The frontier of a task, computed when it is asked for: what explored files import and nobody looked at yet.

    frontier = imports of explored files - explored files - skipped files

Flagged files stay in it. The cost grows with the files that were explored: a project is never listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tau.tasks.import_cache import ImportCache
from tau.tasks.imports.languages import language_of
from tau.tasks.imports.project import ProjectFiles
from tau.tasks.imports.resolving import resolve
from tau.tasks.records import TaskFile


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
    """

    ahead: tuple[Ahead, ...]
    edges: dict[str, tuple[str, ...]]
    unread: dict[str, str]


def compute(
    files: Sequence[TaskFile], directory: Path, cache: ImportCache, *, closed: Callable[[str], bool]
) -> Frontier:
    """The frontier of a task now.

    Args:
        files: What is marked in it.
        directory: The task's, as a real path.
        cache: Keeps what files import.
        closed: Whether a file, by its path, is not to be read.
    """
    project = ProjectFiles(directory)
    by_status = {status: [file.path for file in files if file.status == status] for status in _STATUSES}
    explored = by_status["explored"]
    readable = [path for path in explored if not closed(path)]
    found = cache.imports(readable, project)
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
    unread.update((path, "reading it waits for the person") for path in explored if path not in found)
    return Frontier(tuple(sorted(ahead, key=lambda each: (-len(each.importers), each.path))), edges, unread)


_STATUSES = ("explored", "skipped", "flagged")
