"""What the project's file of a directory asks for beyond what any file may set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tau.config.load import candidates
from tau.config.places import resolve_places
from tau.config.schema import dotted, known, problems
from tau.config.toml_file import Document, read_toml
from tau.config.toml_lines import KeyPath
from tau.config.trust import loosening_keys, refused_keys
from tau.display import one_line
from tau.errors import ConfigError


class ProjectKeys(msgspec.Struct, frozen=True):
    """What the project's file of a directory asks for beyond what any file may set.

    Attributes:
        path: The file.
        trusted: Keys that count once the directory is trusted, dotted, with what servers run or reach.
        never: Keys that never count, dotted.
    """

    path: Path
    trusted: list[str]
    never: list[str]


def project_keys(directory: Path, environ: Mapping[str, str]) -> ProjectKeys | None:
    """What the project's file of a directory asks for; None when there is no file that can be used.

    Raises:
        ConfigError: A place cannot be used.
    """
    found = candidates(
        config=None,
        directory=directory,
        environ={key: value for key, value in environ.items() if key != "TAU_CONFIG"},
        places=resolve_places(environ),
    )
    if found[0].kind != "project":
        return None
    try:
        file = read_toml(found[0].path, follow_links=True)
    except (FileNotFoundError, ConfigError):
        return None  # the next start says what is wrong with it
    if any(problem.level == "error" for problem in problems(file)):
        return None
    document = known(file.document)
    never = list(loosening_keys(document))
    trusted = [path for path in refused_keys(document) if path not in never]
    return ProjectKeys(
        file.path, [_with_value(document, path) for path in trusted], [dotted(path) for path in never]
    )


def _with_value(document: Document, path: KeyPath) -> str:
    """A key, with what it would run or reach."""
    value: Any = document
    for part in path:
        value = value[part]
    if path[-2:-1] == ("mcp",):
        value = " ".join([value["command"], *value.get("args", [])]) if "command" in value else value["url"]
    elif path[-1] != "base_url":
        return dotted(path)
    return f"{dotted(path)} ({one_line(str(value), 200)})"
