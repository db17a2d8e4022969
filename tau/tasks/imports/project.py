"""The files of a project, asked for one by one: nothing is listed that is not named by an import."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tau.tasks.imports.found import LONGEST_FILE, Imported

MOST_IN_FOLDER = 2_000
"""Files of one folder that an import of the whole folder may mean."""


def open_to_all(path: str) -> bool:
    """Keeps no file from being read."""
    return False


class ProjectFiles:
    """Looks for files below a directory. What was seen once holds for the life of the object.

    Paths are relative to the directory, with slashes; the directory itself is the empty path. Links are
    followed, and what they lead to counts only when it is below the directory, under the name it has there.

    Args:
        root: The real path of the directory.
        closed: Whether a file is not to be read, given its path.

    Attributes:
        resolved: The files that imports were found to mean: by language, place of the file, and import.
        packages: The folders of packages by their names, by the folder of the workspace they belong to.
    """

    def __init__(self, root: Path, closed: Callable[[str], bool] = open_to_all) -> None:
        self.root = root
        self._closed = closed
        self._top = str(root)
        self._found: dict[str, str | None] = {}
        self._folders: dict[str, list[str]] = {}
        self._texts: dict[str, str | None] = {}
        self.resolved: dict[tuple[str, str, Imported], list[str]] = {}
        self.packages: dict[str, dict[str, str]] = {}

    def find(self, path: str) -> str | None:
        """The file that a path leads to, under its real name; None where there is none in the project."""
        if path not in self._found:
            self._found[path] = self._look(posixpath.normpath(path))
        return self._found[path]

    def _look(self, place: str) -> str | None:
        if place.startswith(("/", "../")) or place == ".." or "\0" in place:
            return None
        given = f"{self._top}/{place}"
        try:
            if not stat.S_ISREG(os.stat(given).st_mode):  # noqa: PTH116  # asked thousands of times
                return None
            real = os.path.realpath(given)
        except (OSError, ValueError):
            return None
        return within(real, self._top)

    def first(self, paths: Iterable[str]) -> str | None:
        """The first of some files that is there."""
        return next((found for path in paths if (found := self.find(path)) is not None), None)

    def in_folder(self, folder: str, ending: str) -> list[str]:
        """The files right in a folder that have an ending, by name."""
        if folder not in self._folders:
            try:
                names = os.listdir(f"{self._top}/{folder}")  # noqa: PTH208  # names are all that is needed
            except (OSError, ValueError):
                names = []
            self._folders[folder] = sorted(names)
        named = [name for name in self._folders[folder] if name.endswith(ending)][:MOST_IN_FOLDER]
        found = (self.find(joined(folder, name)) for name in named)
        return [path for path in found if path is not None]

    def folders(self, folder: str) -> list[str]:
        """The names of the folders right in a folder, without links and hidden ones, sorted."""
        place = posixpath.normpath(folder or ".")
        if place.startswith(("/", "../")) or place == "..":
            return []
        try:
            with os.scandir(f"{self._top}/{place}") as entries:
                names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except (OSError, ValueError):
            return []
        return sorted(name for name in names if not name.startswith("."))[:MOST_IN_FOLDER]

    def text(self, path: str) -> str | None:
        """The text of a file that says where modules are; None where it is not there or too long."""
        if path not in self._texts:
            data = self.read(path)[0]
            self._texts[path] = data.decode("utf-8", "replace") if data is not None else None
        return self._texts[path]

    def withheld(self, path: str) -> str:
        """Why a file is not to be read, in a few words, by the name it is given or its real one; or empty."""
        real = self.find(path)
        names = (path,) if real is None else (path, real)
        return "reading it waits for the person" if any(map(self._closed, names)) else ""

    def absence(self, path: str) -> str:
        """Why `find` finds no file, in a few words."""
        there = os.path.isfile(os.path.join(self._top, path))  # noqa: PTH113, PTH118  # may be no path at all
        return "it is outside of the directory" if there else "it is not there"

    def read(self, path: str) -> tuple[bytes | None, str]:
        """The content of a file, or None and why there is none, in a few words."""
        real = self.find(path)
        if real is None:
            return None, self.absence(path)
        if reason := self.withheld(path):
            return None, reason
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(f"{self._top}/{real}", flags)
            with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None, "it is no regular file"
                data = file.read(LONGEST_FILE + 1)
        except OSError as error:
            return None, f"it cannot be read: {error.strerror or error}"
        if len(data) > LONGEST_FILE:
            return None, f"it is larger than {LONGEST_FILE:,} bytes"
        return data, ""


def within(real: str, top: str) -> str | None:
    """A real path as one relative to a real directory; None where it is not below it."""
    prefix = top if top.endswith("/") else f"{top}/"
    return real.removeprefix(prefix) if real.startswith(prefix) else None


def joined(*parts: str) -> str:
    """Parts of a path with slashes between them; the empty ones are left out."""
    return "/".join(filter(None, parts))


def folder_of(path: str) -> str:
    """The folder that a path lies in; that of a path without slashes is the empty one."""
    return path.rpartition("/")[0]


def upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, the project's own last."""
    while folder:
        yield folder
        folder = folder_of(folder)
    yield ""
