"""The files of a project that an import means, by the language of the file that imports."""

from __future__ import annotations

from collections.abc import Sequence

from tau.tasks.imports import c, go, java, python, rust, script
from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of

# Each finds the same files for all the files of a folder, but Rust, where modules lie below their file.
_RESOLVERS = {
    "Python": python.resolve,
    "JavaScript": script.resolve,
    "TypeScript": script.resolve,
    "TSX": script.resolve,
    "Go": go.resolve,
    "Rust": rust.resolve,
    "Java": java.resolve,
    "C": c.resolve,
    "C++": c.resolve,
}


def resolve(path: str, language: str, imports: Sequence[Imported], project: ProjectFiles) -> list[str]:
    """The files of the project that a file imports, each once, in their order, without itself."""
    place = path if language == "Rust" else folder_of(path)
    files: dict[str, None] = {}
    for imported in imports:
        key = (language, place, imported)
        if key not in project.resolved:
            project.resolved[key] = _RESOLVERS[language](path, imported, project)
        files.update(dict.fromkeys(project.resolved[key]))
    files.pop(path, None)
    return list(files)
