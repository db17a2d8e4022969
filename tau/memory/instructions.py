"""What a project says to agents: ``AGENTS.md`` and ``CLAUDE.md`` at its root, which tau never writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tau.config.trust import trust_root
from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.documents import line_count, read_regular
from tau.sessions import file_system as fs

NAMES = ("AGENTS.md", "CLAUDE.md")

LARGEST = 64_000
"""Bytes of a file that are loaded. They are written from the top, so what is above that is cut at the end."""


@dataclass(frozen=True)
class ProjectFile:
    """A file of the project's own.

    Attributes:
        name: Its name.
        path: Where it is.
        text: What of it is loaded: its first lines.
        lines: How many lines it has.
        loaded: How many of them are loaded.
    """

    name: str
    path: Path
    text: str
    lines: int
    loaded: int


def project_files(root: Path, *, trusted: bool) -> tuple[list[ProjectFile], list[str]]:
    """The files of a project's root that a prompt holds, and a line for each that is there and not read.

    Without trust none is. No link is followed; one that only leads to the other file is passed over, and so
    is a file that says the same as the other or only points to it.

    Args:
        root: The project's root, a real path.
        trusted: Whether the person trusts it.
    """
    files: list[ProjectFile] = []
    problems: list[str] = []
    unread: list[str] = []
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return [], [f"{one_line(str(root))} cannot be read: {error.strerror}"]
    try:
        for name in NAMES:
            if _leads_to_other(name, folder):
                continue
            if not trusted:
                if fs.is_taken(name, folder):
                    unread.append(name)
                continue
            try:
                data, _ = read_regular(name, folder, one_line(str(root / name)))
            except FileNotFoundError:
                continue
            except MemoryRefused as problem:
                problems.append(problem.line())
                continue
            file = _cut(root / name, data)
            if file.loaded or not data:
                files.append(file)
            else:
                problems.append(
                    f"{one_line(str(file.path))} has a first line that is too long, so it is not read"
                )
    finally:
        os.close(folder)
    if unread:
        command = f"tau trust {quote(one_line(str(trust_root(root))))}"
        named = f"{' and '.join(unread)} of {one_line(str(root))}"
        problems.append(f"Until you trust this directory, nothing is read of {named}: {command}")
    return _without_repeats(files), problems


def _leads_to_other(name: str, folder: int) -> bool:
    """Whether a name is a link to the other file beside it."""
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError:
        return False
    return target.removeprefix("./") in NAMES


def _cut(path: Path, data: bytes) -> ProjectFile:
    """What of a file is loaded: all of it, or as many whole lines as fit."""
    kept = data
    if len(data) > LARGEST:
        kept = data[: data.rfind(b"\n", 0, LARGEST) + 1]
    text, loaded = kept.decode("utf-8-sig", "replace"), line_count(kept)
    return ProjectFile(path.name, path, text, line_count(data), loaded)


def _without_repeats(files: list[ProjectFile]) -> list[ProjectFile]:
    kept: list[ProjectFile] = []
    for file in files:
        points = file.text.strip().removeprefix("@").removeprefix("./")
        others = [other for other in files if other is not file]
        if not points or (points != file.text.strip() and points in [other.name for other in others]):
            continue
        if any(other.text.strip() == file.text.strip() for other in kept):
            continue
        kept.append(file)
    return kept
