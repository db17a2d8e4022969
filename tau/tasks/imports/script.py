"""Imports of JavaScript and TypeScript: relative and index files, the paths of tsconfig.json, and packages.

An import is ``path`` with what stands in its quotes.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import Any

from tau.tasks.imports import packages
from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles, folder_of, joined, upwards

_ENDINGS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json")
_WRITTEN_AS = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""What a file is compiled from that is imported by the name of its result."""

_CONFIGS = ("tsconfig.json", "jsconfig.json")
_MOST_EXTENDED = 5
# A text in quotes or a comment that nothing ends goes to the end: it would be looked for again and again.
_QUOTED = r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))'
_COMMENT = re.compile(_QUOTED + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_QUOTED + r"|,(?=\s*[}\]])", re.DOTALL)


def resolve(path: str, imported: Imported, project: ProjectFiles) -> list[str]:
    """The files of the project that an import of a script means."""
    target = imported.target.partition("?")[0]
    folder = folder_of(path)
    if target.startswith(("./", "../")) or target in (".", ".."):
        places = [posixpath.normpath(joined(folder or ".", target))]
    else:
        places = [*_by_config(folder, target, project), *packages.places(folder, target, project)]
    for place in places:
        found = _file(place, project)
        if found is not None:
            return [found]
    return []


def _file(place: str, project: ProjectFiles) -> str | None:
    stem, dot, ending = place.rpartition(".")
    candidates = [place, *(f"{place}{each}" for each in _ENDINGS)]
    candidates += [f"{stem}{each}" for each in _WRITTEN_AS.get(dot + ending, ())]
    candidates += [joined(place, f"index{each}") for each in _ENDINGS]
    return project.first(candidates)


def _by_config(folder: str, target: str, project: ProjectFiles) -> list[str]:
    """Where the nearest tsconfig.json says that a name is looked for."""
    for above in upwards(folder):
        for name in _CONFIGS:
            if project.find(joined(above, name)) is None:
                continue
            base, at, paths = _options(joined(above, name), project, _MOST_EXTENDED)
            found = _mapped(target, at, paths)
            return found if found or base is None else [posixpath.normpath(joined(base, target))]
    return []


def _mapped(target: str, at: str, paths: dict[str, Any]) -> list[str]:
    """The places of a name by the ``paths`` of a configuration, the longest pattern first."""
    matching = []
    for pattern, places in paths.items():
        before, star, after = pattern.partition("*")
        if target == pattern or (
            star
            and len(target) >= len(before) + len(after)
            and target.startswith(before)
            and target.endswith(after)
        ):
            middle = target[len(before) : len(target) - len(after)] if star else ""
            matching.append((len(before), middle, places))
    for _, middle, places in sorted(matching, key=lambda each: each[0], reverse=True):
        if isinstance(places, list):
            texts = [place for place in places if isinstance(place, str)]
            return [posixpath.normpath(joined(at, place.replace("*", middle, 1)) or ".") for place in texts]
    return []


def _options(config: str, project: ProjectFiles, left: int) -> tuple[str | None, str, dict[str, Any]]:
    """The folder that names are relative to, the one that ``paths`` are, and ``paths``."""
    given = _object(_json(project.text(config) or ""))
    folder = folder_of(config)
    base: str | None = None
    at, paths = folder, dict[str, Any]()
    extended = given.get("extends")
    if isinstance(extended, str) and extended.startswith(".") and left:
        place = posixpath.normpath(joined(folder or ".", extended))
        base, at, paths = _options(place if place.endswith(".json") else f"{place}.json", project, left - 1)
    options = _object(given.get("compilerOptions"))
    if isinstance(options.get("baseUrl"), str):
        base = at = posixpath.normpath(joined(folder or ".", options["baseUrl"]))
    if isinstance(options.get("paths"), dict):
        paths = options["paths"]
        at = base if base is not None else folder
    return base, at, paths


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Any:
    """What a file says that is JSON with comments and commas at the end of lists."""
    plain = text.lstrip("\ufeff")
    for left_out in (_COMMENT, _LAST_COMMA):
        plain = left_out.sub(lambda found: found.group(1) or "", plain)
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return None
