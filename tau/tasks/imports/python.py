"""Imports of Python files: read by `ast`, found as the interpreter would from the folders of the project.

An import is ``module`` with a dotted name, or ``from`` with a dotted name, a colon and the name taken from
it; a relative one begins with its dots.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from tau.tasks.imports.found import MOST_IMPORTS, Found, Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards


def imports_of(data: bytes) -> Found:
    """What a Python file imports, anywhere in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except SyntaxError as error:
        return Found(problem=f"it is no Python of this version, line {error.lineno or 1}")
    except (ValueError, RecursionError, MemoryError):  # a NUL, or nested too deeply
        return Found(problem="it is no Python that can be read")
    imports = dict.fromkeys(_named(tree))
    taken = tuple(imports)[:MOST_IMPORTS]
    return Found(taken, f"only {MOST_IMPORTS:,} imports were read" if len(imports) > MOST_IMPORTS else "")


def _named(tree: ast.Module) -> Iterator[Imported]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(found, key=lambda each: (each.lineno, each.col_offset)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Imported("module", alias.name)
        else:
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield Imported("from", f"{module}:{alias.name}")


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The files of the project that an import of a Python file means."""
    module, _, name = imported.target.partition(":")
    names = module.lstrip(".").split(".") if module.lstrip(".") else []
    level = len(module) - len(module.lstrip("."))
    for base in _bases(path, level, project):
        found = _module(base, names, project)
        holds_modules = found is None or "__init__." in found
        if holds_modules and name not in ("", "*"):
            submodule = _module(base, [*names, name], project)
            if submodule is not None:
                return [submodule]
        if found is not None:
            return [found]
    return []


def _bases(path: str, level: int, project: ProjectFiles) -> list[str]:
    """The folders that a name is looked for in.

    For an absolute one that is the folder that holds the file's outermost package, then each folder above it,
    and the ``src`` in each.
    """
    folder = folder_of(path)
    if level:
        for _ in range(level - 1):
            if not folder:
                return []
            folder = folder_of(folder)
        return [folder]
    while folder and _package(folder, project):
        folder = folder_of(folder)
    return [base for above in upwards(folder) for base in (above, joined(above, "src"))]


def _package(folder: str, project: ProjectFiles) -> bool:
    return project.find(joined(folder, "__init__.py")) is not None


def _module(base: str, names: list[str], project: ProjectFiles) -> str | None:
    place = joined(base, *names)
    files = [joined(place, "__init__.py"), joined(place, "__init__.pyi")]
    if names:
        files = [f"{place}.py", *files[:1], f"{place}.pyi", *files[1:]]
    return project.first(files)
