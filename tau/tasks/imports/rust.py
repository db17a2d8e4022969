"""Imports of Rust: modules by their files, ``use`` from the crate, and crates that lie in the project.

An import is ``mod`` with the module, after those around it, ``path`` with a file, or ``use`` with a path.
"""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Iterator
from typing import Any

from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_ROOTS = ("lib.rs", "main.rs")
_OWN_CRATES = ("src/bin", "tests", "examples", "benches")
"""Folders in which each file is a crate of its own."""


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The files of the project that an import of a Rust file means."""
    if imported.kind == "path":
        place = project.find(joined(folder_of(path) or ".", imported.target))
        return [place] if place is not None else []
    package = _package(path, project)
    inside = _inside(path, package)
    if imported.kind == "mod":
        found = _module(joined(inside, imported.target), project)
        return [found] if found is not None else []
    found = _used(path, imported.target.split("::"), inside, package, project)
    return [found] if found is not None and found != path else []


def _used(path: str, names: list[str], inside: str, package: str | None, project: ProjectFiles) -> str | None:
    crate = _crate(path, package)
    if names[0] in ("crate", "self", "super"):
        base = crate if names[0] == "crate" else inside
        rest = names if names[0] == "super" else names[1:]
        while rest and rest[0] == "super":
            base, rest = folder_of(base), rest[1:]
        whole = _root(base, project) if base == crate else _module(base, project)
        return _deepest(base, rest, project) or whole
    found = _deepest(inside, names, project)
    if found is not None:
        return found
    for name, folder in _crates(package, project):
        if name == names[0]:
            source = joined(folder, "src")
            return _deepest(source, names[1:], project) or _root(source, project)
    return None


def _package(path: str, project: ProjectFiles) -> str | None:
    """The folder of the package that a file belongs to."""
    above = upwards(folder_of(path))
    return next((each for each in above if project.find(joined(each, "Cargo.toml")) is not None), None)


def _crate(path: str, package: str | None) -> str:
    """The folder of the crate's root."""
    folder = folder_of(path)
    if package is None:
        return folder
    for own in _OWN_CRATES:
        if folder == joined(package, own):
            return folder
    source = joined(package, "src")
    return source if path.startswith(f"{source}/") else folder


def _inside(path: str, package: str | None) -> str:
    """The folder that holds the modules within a file."""
    folder, name = folder_of(path), path.rpartition("/")[2]
    own_crate = package is not None and any(folder == joined(package, own) for own in _OWN_CRATES)
    if own_crate or name in (*_ROOTS, "mod.rs", "build.rs"):
        return folder
    return joined(folder, name.removesuffix(".rs"))


def _module(place: str, project: ProjectFiles) -> str | None:
    return project.first([f"{place}.rs", joined(place, "mod.rs")])


def _deepest(base: str, names: list[str], project: ProjectFiles) -> str | None:
    """The file of the longest part of a path that is a module; what follows is an item in it."""
    for count in range(len(names), 0, -1):
        found = _module(joined(base, *names[:count]), project)
        if found is not None:
            return found
    return None


def _root(source: str, project: ProjectFiles) -> str | None:
    return project.first(joined(source, name) for name in _ROOTS)


def _crates(package: str | None, project: ProjectFiles) -> Iterator[tuple[str, str]]:
    """The crates of the project that a package may name, with their folders: itself and dependencies."""
    if package is None:
        return
    given = _toml(joined(package, "Cargo.toml"), project)
    own = _table(given, "package").get("name")
    if isinstance(own, str):
        yield own.replace("-", "_"), package
    for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
        for name, about in _table(given, kind).items():
            if not isinstance(about, dict):
                continue
            place = about.get("path")
            folder = package
            if about.get("workspace") is True:
                folder, place = _of_workspace(package, name, project)
            if isinstance(place, str):
                yield name.replace("-", "_"), posixpath.normpath(joined(folder or ".", place))


def _of_workspace(package: str, name: str, project: ProjectFiles) -> tuple[str, Any]:
    for above in upwards(package):
        shared = _table(_table(_toml(joined(above, "Cargo.toml"), project), "workspace"), "dependencies")
        about = shared.get(name)
        if isinstance(about, dict):
            return above, about.get("path")
    return package, None


def _toml(path: str, project: ProjectFiles) -> dict[str, Any]:
    try:
        return tomllib.loads(project.text(path) or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(given: dict[str, Any], name: str) -> dict[str, Any]:
    table = given.get(name)
    return table if isinstance(table, dict) else {}
