"""Imports of Go: packages below the path of the module, and those that a ``replace`` leads to.

An import is ``path`` with what stands in its quotes; it means every file of the package but its tests.
"""

from __future__ import annotations

import posixpath
import re

from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_MODULE = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)
_REPLACED = re.compile(
    r"^[ \t]*(?:replace[ \t]+)?([^\s(]+)(?:[ \t]+v\S+)?[ \t]*=>[ \t]*(\.{1,2}(?:/\S*)?)[ \t\r]*(?://.*)?$",
    re.MULTILINE,
)


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The files of the project that an import of a Go file means."""
    folder = folder_of(path)
    if imported.target.startswith(("./", "../")):
        return _package(posixpath.normpath(joined(folder or ".", imported.target)), project)
    for above in upwards(folder):
        text = project.text(joined(above, "go.mod"))
        if text is None:
            continue
        for module, place in _modules(above, text):
            if imported.target == module or imported.target.startswith(f"{module}/"):
                inner = imported.target[len(module) + 1 :]
                return _package(posixpath.normpath(joined(place or ".", inner)), project)
        return []
    return []


def _modules(folder: str, text: str) -> list[tuple[str, str]]:
    """The paths of modules and their folders, the longest path first."""
    own = _MODULE.search(text)
    found = [(own.group(1), folder)] if own else []
    found += [
        (name, posixpath.normpath(joined(folder or ".", place))) for name, place in _REPLACED.findall(text)
    ]
    return sorted(found, key=lambda each: len(each[0]), reverse=True)


def _package(folder: str, project: ProjectFiles) -> list[str]:
    if folder.startswith(("/", "..")):
        return []
    files = project.in_folder("" if folder == "." else folder, ".go")
    return [path for path in files if not path.endswith("_test.go")]
