"""Labels of memory files: a label is the name of its file without ``.md``, so no two labels share a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from tau.display import one_line, visible
from tau.errors import MemoryRefused

Scope: TypeAlias = Literal["global", "project"]

SCOPES: tuple[Scope, ...] = ("global", "project")
"""In the order in which they are loaded and listed."""

SUFFIX = ".md"

LONGEST = 100
"""Bytes of a label, in UTF-8."""


def file_name(label: str) -> str:
    """The name of a label's file: the same characters and ``.md``.

    Raises:
        MemoryRefused: Nothing can be called that: the label is empty or too long, begins or ends with a
            dot or a space, or holds ``/`` or a character that cannot be seen.
    """
    reason = _fault(label)
    if reason:
        raise MemoryRefused(
            f'"{one_line(label, 60)}" cannot be the label of a memory: {reason}',
            "a label is a few plain words, such as worktree-preferences",
        )
    return label + SUFFIX


def label_of(name: str) -> str:
    """The label of a file, the reverse of `file_name`.

    Raises:
        MemoryRefused: No label has a file of this name.
    """
    label = name.removesuffix(SUFFIX)
    if label == name:
        raise MemoryRefused(f"{one_line(name)} does not end in {SUFFIX}", f"rename it to NAME{SUFFIX}")
    file_name(label)
    return label


def parse(label: str) -> tuple[Scope, str]:
    """What a label names: ``global/NAME`` or ``project/NAME``, or ``NAME`` alone for the project's.

    ``.md`` at the end may be given and is no part of the name, which `file_name` accepts.

    Raises:
        MemoryRefused: It names neither of the two, or nothing can be called that.
    """
    scope: Scope = "project"
    name = _as_typed(label).strip()
    for known in SCOPES:
        if name.startswith(f"{known}/"):
            scope, name = known, name.removeprefix(f"{known}/")
            break
    else:
        if "/" in name:
            raise MemoryRefused(
                f'"{one_line(label, 60)}" names neither a global memory nor one of this project',
                "global/NAME or project/NAME",
            )
    name = name.removesuffix(SUFFIX)
    file_name(name)
    return scope, name


def for_system(name: str) -> str:
    """A file's name as the calls of the system take it: UTF-8 on disk, whatever the locale says."""
    return os.fsdecode(name.encode("utf-8", "surrogateescape"))


def from_system(name: str) -> str:
    """The reverse of `for_system`, for a name that a folder lists."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def on_disk(name: str, folder: Path) -> str:
    """The name under which a folder has a file already; `name` itself when it has none.

    The two differ only on a disk that takes names of different letters for the same one, such as ``Port.md``
    and ``port.md``.
    """
    try:
        names = [from_system(entry.name) for entry in folder.iterdir()]
        if name in names:
            return name
        there = (folder / for_system(name)).lstat()
    except OSError:
        return name
    for other in names:
        try:
            state = (folder / for_system(other)).lstat()
        except OSError:
            continue
        if other.casefold() == name.casefold() and os.path.samestat(state, there):
            return other
    return name


def _as_typed(label: str) -> str:
    """A label without the stand-ins that an argument has for the bytes of a character in an ASCII locale."""
    try:
        return label.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which is no label anyway
        return label


def _fault(label: str) -> str:
    """Why nothing can have this label, in a few words; empty when something can."""
    if not label.strip():
        return "it is empty"
    if "/" in label:
        return "it holds a /"
    if visible(label) != label or any(character in label for character in "\n\t"):
        return "it holds a character that cannot be seen"
    if label != label.strip() or label.startswith(".") or label.endswith("."):
        return "it begins or ends with a dot or a space"
    if len(label.encode()) > LONGEST:
        return f"it is longer than {LONGEST} bytes"
    return ""
