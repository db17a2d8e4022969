"""Glob patterns over relative paths: ``*``, ``?``, ``[…]`` in a name, ``**`` for directories, ``{a,b}``."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

from tau.path_patterns import fits_names
from tau.tools.refusals import Refused

_MOST_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

LONGEST = 2_000
"""Characters of a pattern at most."""


class Glob:
    """A pattern ready to match.

    A pattern without ``/`` matches names in all directories; one with ``/`` matches from the directory that
    is looked in. Names that begin with a dot are like any other.

    Args:
        pattern: As a model wrote it.

    Raises:
        Refused: It is empty, too long, leaves the directory or has too many alternatives.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise Refused(f"The pattern has {len(pattern):,} characters; {LONGEST:,} is the most")
        self._ways = []
        for way in _expanded(pattern):
            parts = [part for part in way.split("/") if part not in ("", ".")]
            if not parts:
                raise Refused("The pattern is empty; **/* matches every file")
            if way.startswith(("/", "~")) or ".." in parts:
                raise Refused(
                    "The pattern is relative to path and cannot leave it; give the directory as path instead"
                )
            if len(parts) == 1 and "/" not in way.rstrip("/"):
                parts.insert(0, "**")
            if parts[-1] == "**":
                parts.append("*")
            self._ways.append([None if part == "**" else _segment(part) for part in parts])

    def matches(self, path: str) -> bool:
        """Whether a relative path, with ``/`` between names, matches."""
        names = path.split("/")
        return any(fits_names(way, names, re.Pattern.match) for way in self._ways)


@lru_cache(maxsize=256)
def _segment(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))


def _expanded(pattern: str) -> list[str]:
    """The patterns that ``{a,b}`` stands for; braces may be nested."""
    ways, done = [pattern], []
    while ways:
        way = ways.pop()
        braces = _BRACES.search(way)
        if braces is None:
            done.append(way)
        else:
            ways += [way[: braces.start()] + choice + way[braces.end() :] for choice in braces[1].split(",")]
        if len(ways) + len(done) > _MOST_ALTERNATIVES:
            raise Refused(f"The pattern has more than {_MOST_ALTERNATIVES} alternatives in braces")
    return done
