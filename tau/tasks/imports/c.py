"""Includes of C and C++: relative to the file, then in the include folders of the project.

An include is ``quoted`` or ``angled`` with its path.
"""

from __future__ import annotations

from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_INCLUDES = ("", "include", "inc", "src")


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The file of the project that an include means: the nearest one, looking from the file upwards."""
    folder = folder_of(path)
    near = [joined(folder, imported.target)] if imported.kind == "quoted" else []
    further = (joined(above, include, imported.target) for above in upwards(folder) for include in _INCLUDES)
    found = project.first([*near, *further])
    return [found] if found is not None else []
