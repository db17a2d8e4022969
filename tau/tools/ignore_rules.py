"""What ``.gitignore`` and ``.ignore`` files leave out of a search.

The files count from the root of the repository down to the directory that is looked in, and in every
directory below it; without a repository, from the working directory down. The deepest file with an opinion
decides, and ``.ignore`` goes before ``.gitignore``. Where the directory looked in is itself ignored, the
files above it do not count: whoever names it wants to see into it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tau.path_patterns import PathPatterns

REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", "CVS"})
"""The stores of version control, which are never searched unless they are named as the path."""

FILES = (".ignore", ".gitignore")
_LARGEST = 256 << 10  # every line of it is looked at for every path


class _Rules(NamedTuple):
    directory: str  # relative to the top, with a slash at its end unless empty
    patterns: PathPatterns


class Ignored:
    """The rules that hold in one directory; immutable, so that each directory of a walk keeps its own.

    Paths are relative to the top of all rules, with ``/`` between names and at the end of directories.
    """

    def __init__(self, levels: tuple[tuple[_Rules, ...], ...] = ((), ())) -> None:
        self._levels = levels

    def entered(self, path: str, directory: Path, names: Iterable[str]) -> Ignored:
        """The rules inside a directory, in which `names` are found: these, and those of its own files."""
        present = set(names).intersection(FILES)
        if not present:
            return self
        levels = tuple(
            (*level, *_read(directory / name, path)) if name in present else level
            for name, level in zip(FILES, self._levels, strict=True)
        )
        return Ignored(levels)

    def matches(self, path: str) -> bool:
        """Whether a file or directory is left out."""
        for level in self._levels:
            for rules in reversed(level):
                below = path[len(rules.directory) :]
                verdict = rules.patterns.matches(below.removesuffix("/"), is_dir=below.endswith("/"))
                if verdict is not None:
                    return verdict
        return False


def rules_above(root: Path, directory: Path) -> tuple[Ignored, str]:
    """The rules that a directory is under because of those above it, and its path below their top."""
    top = _top(root, directory)
    ignored = Ignored()
    path, place = "", top
    for name in root.relative_to(top).parts:
        ignored = ignored.entered(path, place, FILES)
        path += name + "/"
        place /= name
        if ignored.matches(path):
            return Ignored(), ""
    return ignored, path


def _top(root: Path, directory: Path) -> Path:
    for place in (root, *root.parents):
        if os.path.lexists(place / ".git"):
            return place
    return directory if directory in root.parents else root


def _read(file: Path, directory: str) -> list[_Rules]:
    """The rules of one file; none when it cannot be read or is a link, as with git."""
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                text = os.pread(descriptor, _LARGEST, 0).decode("utf-8-sig", "surrogateescape")
                if patterns := PathPatterns(text.split("\n")):
                    return [_Rules(directory, patterns)]
        finally:
            os.close(descriptor)
    return []
