"""Walks a directory in the order of its paths, without what is ignored and without following links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tau.tools.ignore_rules import REPOSITORIES, Ignored, rules_above
from tau.tools.refusals import Watch


class Entry(NamedTuple):
    """A file or directory met on a walk.

    Attributes:
        path: Relative to where the walk began, with ``/`` between names.
        is_directory: Whether it is a directory; links to one are not.
        is_file: Whether it is a regular file; links to one are not.
    """

    path: str
    is_directory: bool
    is_file: bool


def walk(root: Path, *, directory: Path, watch: Watch) -> Iterator[Entry]:
    """Everything below a directory that no ignore file leaves out; ends early when the time is up.

    Stores of version control are left out; hidden files are not. What cannot be read is passed over.

    Args:
        root: Where to begin, a resolved path.
        directory: The working directory.
        watch: When to stop.

    Raises:
        Cancelled: The turn was cancelled.
    """
    ignored, above = rules_above(root, directory)
    waiting = [_level(root, "", ignored, above, watch)]
    while waiting:
        watch.check()
        if watch.over:
            return
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
            continue
        entry, inside = found
        yield entry
        if entry.is_directory:
            waiting.append(_level(root / entry.path, entry.path + "/", inside, above, watch))


def _level(
    place: Path, prefix: str, ignored: Ignored, above: str, watch: Watch
) -> Iterator[tuple[Entry, Ignored]]:
    """What is in one directory, by name, each with the rules that hold beside it."""
    try:
        with os.scandir(place) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    inside = ignored.entered(above + prefix, place, (entry.name for entry in found))
    for entry in found:
        watch.check()
        if watch.over:  # also among many names that are all ignored
            return
        try:
            is_directory = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        path = prefix + entry.name
        is_store = entry.name in REPOSITORIES and (is_directory or entry.name == ".git")
        if is_store or inside.matches(above + path + ("/" if is_directory else "")):
            continue
        yield Entry(path, is_directory, is_file), inside
