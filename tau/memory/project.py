"""The project's folder, made with the first conversation there: its memory, its tasks, its roles."""

from __future__ import annotations

import os
from pathlib import Path

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import files
from tau.memory.places import SHARED, MemoryPlaces, make_folder, make_project, open_folder
from tau.sessions import file_system as fs

_ABOUT = """\
What holds in this project and cannot be read from its files: how it is built and checked, who decides
what, which way was tried and given up. Whatever fits no file of its own stands here, a line each; a
subject that grows gets a file under its own name beside this one.
"""

_ROLES = """\
# Roles

Each file in this folder, other than this one, describes a role that work can be handed to. Its name is
the name of the role. It begins with a header between two lines of `---`; the text after it is what
whoever takes the role is told.

    ---
    description: looks for tests that cannot fail
    files: tests/**
    lane: reads only
    ---
    Read the tests that changed. For each, name a change of the code that it would not notice. Change nothing.

- `description`: one line, by which the role is chosen.
- `files`: the part of the project it works on, as patterns of paths; two roles that write share none.
- `lane`: what it may do there, such as `reads only` or `writes`.

The body says what to do, when it is done, and what to report.
"""

CONTENTS: dict[str, bytes | None] = {
    SHARED: None,
    f"{SHARED}/project.md": _ABOUT.encode(),
    "tasks": None,
    "subagents": None,
    "subagents/README.md": _ROLES.encode(),
}
"""What a new project's folder holds: paths in it, each with the bytes of a file, or None for a folder."""


def ensure(where: MemoryPlaces) -> tuple[MemoryPlaces, list[Path]]:
    """Make the project's folder unless it is there. Nothing that exists is touched.

    Returns:
        The places to go on with (see `tau.memory.places.make_project`), and what was made: the folder, then
        what is in it. It is empty when the folder was there, or another process made it at the same moment.

    Raises:
        MemoryRefused: It cannot be made.
    """
    where, made = make_project(where, CONTENTS)
    return where, [where.project, *(where.project / path for path in CONTENTS)] if made else []


def ensured(where: MemoryPlaces, telling: files.Telling) -> MemoryPlaces:
    """As `ensure`, for a change that needs the folder: who follows the change is told that it was made.

    Raises:
        MemoryRefused: It cannot be made.
    """
    where, made = ensure(where)
    if made:
        telling.made(where.project)
    return where


def init(where: MemoryPlaces) -> tuple[MemoryPlaces, list[Path]]:
    """As `ensure`; in a project's folder that is there, what is missing of its contents is made as well.

    Raises:
        MemoryRefused: Something cannot be made.
    """
    where, created = ensure(where)
    if created:
        return where, created
    above = where.project.relative_to(where.root).parts
    for path, data in CONTENTS.items():
        folders, _, name = path.rpartition("/")
        place = (*above, *filter(None, (folders,)))
        try:
            if _make_missing(where, place, name, data):
                created.append(where.project / path)
        except OSError as error:
            shown = one_line(str(where.project / path))
            raise MemoryRefused(f"{shown} cannot be made: {error.strerror}") from error
    return where, created


def _make_missing(where: MemoryPlaces, place: tuple[str, ...], name: str, data: bytes | None) -> bool:
    """Make a file or folder in a place below the root; False when something has its name."""
    folder = open_folder(where, *place)
    try:
        if data is not None:
            return files.write_whole(name, folder, data)
        if fs.is_taken(name, folder):
            return False
        os.close(make_folder(where, *place, name))
        return True
    finally:
        os.close(folder)
