"""Names of packages in JavaScript and TypeScript, as far as the packages are in the project itself.

These are packages of a workspace (npm, yarn, bun, pnpm), a package's own name, and the private names of its
``imports``. What is installed from elsewhere lies in ``node_modules`` and is no file of the project.
"""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_MANIFEST = "package.json"
_MOST_PACKAGES = 500
"""Packages of a workspace that are known of."""

_MOST_PATTERNS, _MOST_PARTS, _MOST_FOLDERS = 50, 8, 1_000
"""Patterns of a workspace, the folders in one of them, and folders that are listed for all of them."""

_MOST_NESTED = 10
"""Conditions within conditions."""

_BUILT = re.compile(r"^(dist|lib|build|out|output|esm|cjs|es)/(?:(?:esm|cjs|es|src|types)/)?")
"""Folders of what is compiled. It is not in a fresh clone, and what it was compiled from is in ``src``."""

_FIELDS = ("source", "module", "main", "types", "typings")


def places(folder: str, name: str, project: ProjectFiles) -> list[str]:
    """Where a file that is imported by the name of a package may be, the likeliest first.

    Args:
        folder: That of the file which imports.
        name: As it is imported: ``@acme/rates/table`` is ``table`` of the package ``@acme/rates``.
        project: Where they are looked for.

    Returns:
        Places without their endings, or folders with an index file; empty for a package from elsewhere.
    """
    if name.startswith("#"):
        return _private(folder, name, project)
    parts = name.split("/")
    named = 2 if name.startswith("@") else 1
    package, inner = "/".join(parts[:named]), "/".join(parts[named:])
    if not all(parts[:named]) or len(parts) < named or ":" in package:
        return []
    home = _home(folder, package, project)
    return [] if home is None else _in_package(home, inner, project)


def _home(folder: str, package: str, project: ProjectFiles) -> str | None:
    """The folder of a package of the project."""
    for above in upwards(folder):
        installed = project.find(joined(above, "node_modules", package, _MANIFEST))
        if installed is not None:
            return None if "node_modules" in installed.split("/") else folder_of(installed)
        manifest = _manifest(above, project)
        if manifest.get("name") == package:
            return above
        patterns = _patterns(above, manifest, project)
        if patterns:
            if above not in project.packages:
                project.packages[above] = _workspace(above, patterns, project)
            return project.packages[above].get(package)
    return None


def _patterns(folder: str, manifest: dict[str, Any], project: ProjectFiles) -> list[str]:
    """Where the packages of a workspace are, as its root says."""
    given = manifest.get("workspaces")
    if isinstance(given, dict):
        given = given.get("packages")
    if not isinstance(given, list):
        given = _listed(project.text(joined(folder, "pnpm-workspace.yaml")) or "")
    texts = [each.removeprefix("./").strip("/") for each in given if isinstance(each, str)]
    return [each for each in texts if each and not each.startswith("../")]


def _listed(text: str) -> list[str]:
    """The items under ``packages:`` of a YAML file in which they are one a line."""
    items: list[str] = []
    inside = False
    for line in text.splitlines():
        plain = line.strip()
        if plain.startswith("- ") and inside:
            items.append(_scalar(plain[1:].strip()))
        elif plain and not plain.startswith("#"):
            if inside:
                break
            inside = line.partition("#")[0].rstrip() == "packages:"
    return items


def _scalar(text: str) -> str:
    """A text in quotes or without, and without the comment behind it."""
    if text[:1] in ("'", '"'):
        return text[1:].partition(text[0])[0]
    return text.partition(" #")[0].rstrip()


def _workspace(top: str, patterns: list[str], project: ProjectFiles) -> dict[str, str]:
    """The folders of the packages of a workspace, by the names of the packages."""
    left_out = [each.lstrip("!/") for each in patterns if each.startswith("!")][:_MOST_PATTERNS]
    found: dict[str, str] = {}
    for inner in _spread(top, [each for each in patterns if not each.startswith("!")], project):
        if not any(fnmatch.fnmatch(inner, each) for each in left_out):
            home = joined(top, inner)
            name = _manifest(home, project).get("name")
            if isinstance(name, str):
                found.setdefault(name, home)
    return found


def _spread(top: str, patterns: list[str], project: ProjectFiles) -> list[str]:
    """The folders that patterns name; ``**`` stands for one folder or two."""
    spread: dict[str, None] = {}
    looked_at = 0
    for pattern in dict.fromkeys(each for given in patterns[:_MOST_PATTERNS] for each in _levels(given)):
        found = [""]
        for part in pattern.split("/")[:_MOST_PARTS]:
            if "*" not in part:
                found = [joined(each, part) for each in found]
                continue
            deeper: list[str] = []
            for each in found:
                if looked_at == _MOST_FOLDERS or len(deeper) >= _MOST_PACKAGES:
                    break
                looked_at += 1
                deeper += [
                    joined(each, name)
                    for name in project.folders(joined(top, each))
                    if fnmatch.fnmatchcase(name, part) and name != "node_modules"
                ]
            found = deeper
        spread.update(dict.fromkeys(found))
        if len(spread) >= _MOST_PACKAGES:
            break
    return list(spread)[:_MOST_PACKAGES]


def _levels(pattern: str) -> list[str]:
    return [pattern.replace("**", stars) for stars in ("*", "*/*")] if "**" in pattern else [pattern]


def _in_package(home: str, inner: str, project: ProjectFiles) -> list[str]:
    manifest = _manifest(home, project)
    exports = manifest.get("exports")
    if exports is not None and not (isinstance(exports, dict) and any(key[:1] == "." for key in exports)):
        exports = {".": exports}
    targets = list(_matched(f"./{inner}" if inner else ".", exports))
    if not inner:
        targets += [each for field in _FIELDS if isinstance(each := manifest.get(field), str)]
    found = []
    for target in targets:
        found += _written(home, target)
    return [*found, _inside(home, joined("src", inner)), _inside(home, inner)]


def _private(folder: str, name: str, project: ProjectFiles) -> list[str]:
    """What a name that begins with ``#`` stands for in the package that a file belongs to."""
    for above in upwards(folder):
        if project.find(joined(above, _MANIFEST)) is not None:
            found = []
            for target in _matched(name, _manifest(above, project).get("imports")):
                found += _written(above, target)
            return found
    return []


def _matched(name: str, table: Any) -> Iterator[str]:
    """The targets of a name in ``exports`` or ``imports``: its own, then those of the longest pattern."""
    if not isinstance(table, dict):
        return
    if name in table:
        yield from _targets(table[name], "")
        return
    for pattern in sorted((key for key in table if key.count("*") == 1), key=len, reverse=True):
        before, _, after = pattern.partition("*")
        if name.startswith(before) and name.endswith(after) and len(name) >= len(pattern):
            yield from _targets(table[pattern], name[len(before) : len(name) - len(after)])
            return


def _targets(given: Any, star: str, left: int = _MOST_NESTED) -> Iterator[str]:
    """The paths of an entry, of whatever condition, in the order in which they stand."""
    if isinstance(given, str):
        if given.startswith("./"):
            yield given.replace("*", star)
    elif isinstance(given, dict | list) and left:
        for each in given.values() if isinstance(given, dict) else given:
            yield from _targets(each, star, left - 1)


def _written(home: str, target: str) -> list[str]:
    """A file of a package by its path there, and what it was compiled from."""
    plain = posixpath.normpath(target)
    source = _BUILT.sub("src/", plain)
    stem = re.sub(r"(\.d)?\.[cm]?[jt]sx?$", "", source)
    return [_inside(home, plain)] + ([_inside(home, stem)] if source != plain else [])


def _inside(home: str, inner: str) -> str:
    return posixpath.normpath(joined(home, inner) or ".")


def _manifest(folder: str, project: ProjectFiles) -> dict[str, Any]:
    try:
        given = json.loads(project.text(joined(folder, _MANIFEST)) or "null")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}
