"""Imports of Java: classes by their packages, below the folders that packages usually begin in.

An import is ``import`` with a class, or a class and a name in it, or ``wildcard`` with a package or a class.
"""

from __future__ import annotations

from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_SOURCES = ("src/main/java", "src/test/java", "src", "")


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The files of the project that an import of a Java file means."""
    names = imported.target.split(".")
    for source in _sources(path):
        if imported.kind == "wildcard":
            found = project.in_folder(joined(source, *names), ".java")
            if found:
                return found
        for count in (len(names), len(names) - 1, len(names) - 2):
            if count > 0:
                place = project.find(joined(source, *names[:count]) + ".java")
                if place is not None:
                    return [place]
    return []


def _sources(path: str) -> list[str]:
    """The folders that packages may begin in: the usual ones of each folder from the file's up."""
    return list(
        dict.fromkeys(joined(above, source) for above in upwards(folder_of(path)) for source in _SOURCES)
    )
