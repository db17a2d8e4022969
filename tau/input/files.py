"""The files of the working directory, found by some of their letters while they are still being listed.

The listing is made on a thread by the same walk as the tools' and holds to the same ignore files. What there
is of it can be searched at once; when it has become old it is made anew behind the one in use.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from tau.input.file_listing import Listing, Patterns
from tau.input.fuzzy import Match, fold, match_path
from tau.tools.ignore_rules import REPOSITORIES, rules_above
from tau.tools.refusals import Cancelled, Watch
from tau.tools.walk import walk

MOST_FILES = 300_000
"""Paths that are listed at most, which is about 60 MB of memory."""

STALE_SECONDS = 10.0
"""Age from which on a listing is made anew; a slow one is left for ten times as long as it took."""

LONGEST_QUERY = 200
"""Letters of a query; nothing is found by more."""

_WALK_SECONDS = 120.0
_BATCH = 256
_ENOUGH = 300
_MOST_SCATTERED = 500
"""Paths of each kind (the query at the beginning, in a run, as initials; scattered) that are scored."""
_FIRST_WAIT = 0.05
_TOUCHED = 100
_MOST_ENTRIES = 20_000


@dataclass(frozen=True)
class FileHit:
    """A file or directory.

    Attributes:
        path: Relative to the working directory unless it was asked for otherwise, with ``/`` at the end of a
            directory; bytes that are no UTF-8 are lone surrogates, as Python has them from the system.
        positions: Where in `path` the letters of the query stand, rising.
        is_directory: Whether it is a directory, or a link to one.
        ignored: Whether an ignore file leaves it out of searches.
    """

    path: str
    positions: Sequence[int] = ()
    is_directory: bool = False
    ignored: bool = False


@dataclass(frozen=True)
class FilesFound:
    """What a query has found.

    Attributes:
        hits: The best first.
        complete: Whether the listing was there and all of it was looked through.
        truncated: Whether the directory has more files than are listed.
    """

    hits: Sequence[FileHit]
    complete: bool
    truncated: bool


class FileFinder:
    """Finds files below a directory. Nothing is read before it is asked for.

    Args:
        directory: The working directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = Path(os.path.realpath(directory))
        self._changed = threading.Condition()
        self._listing: Listing | None = None
        self._next: Listing | None = None
        self._stale = False
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._touched: dict[str, float] = {}

    def start(self) -> None:
        """Begin to list, unless there is a listing that is new enough. Returns at once."""
        with self._changed:
            if self._closed.is_set() or self._next is not None:
                return
            listing = self._listing
            if listing is not None and listing.made_at is not None and not self._stale:
                age = time.monotonic() - listing.made_at
                if age < max(STALE_SECONDS, 10 * listing.seconds):
                    return
            self._stale = False
            self._next = made = Listing()
            if listing is None:
                self._listing = made
            self._thread = threading.Thread(target=self._list, args=(made,), name="tau-files", daemon=True)
            self._thread.start()

    @property
    def is_listed(self) -> bool:
        """Whether there is a whole listing to search, be it one that is being made anew."""
        listing = self._listing
        return listing is not None and listing.made_at is not None

    def refresh(self) -> None:
        """Files may have changed: the next `find` has them listed anew."""
        self._stale = True

    def touch(self, path: str) -> None:
        """A file was used now: it goes before others that a query finds as well.

        Args:
            path: Relative to the directory.
        """
        self._touched.pop(path, None)
        self._touched[path] = time.time()
        while len(self._touched) > _TOUCHED:
            del self._touched[next(iter(self._touched))]

    def find(self, query: str, limit: int = 50, seconds: float = 0.08) -> FilesFound:
        """The files and directories that a query finds. Computes for about `seconds` at most.

        Where the listing is not complete yet, what there is of it is searched. An empty query finds what was
        used last, then the shortest paths.

        Args:
            query: Letters of a path in their order, in any case; those of its last name count most.
            limit: How many at most.
            seconds: When to stop.
        """
        ends = time.monotonic() + seconds
        self.start()
        listing = self._listing
        if listing is None or len(query) > LONGEST_QUERY:
            return FilesFound((), complete=True, truncated=False)
        with self._changed:
            self._changed.wait_for(
                lambda: listing.made_at is not None or self._closed.is_set(),
                timeout=min(seconds, _FIRST_WAIT),
            )
        listed = listing.made_at is not None
        paths, searched = _candidates(listing, fold(query).replace("\n", " "), ends)
        touched = [path for path in reversed(self._touched) if self._is_there(path)]
        hits = self._ranked(query, [*touched, *paths], limit)
        return FilesFound(hits, complete=listed and searched, truncated=listing.truncated)

    def tree(self, prefix: str) -> list[FileHit]:
        """The entries of one directory whose names begin with the last part of a prefix. Reads the disk.

        Directories come first, then files, both by name; what is ignored comes last and is marked. A relative
        prefix leads nowhere through a link out of the working directory; one that begins with ``/``, ``~/``
        or ``../`` is followed as it stands.

        Args:
            prefix: ``src/ma`` for what begins with ``ma`` in ``src``.
        """
        above, slash, begin = prefix.rpartition("/")
        place = self._place(above + slash)
        if place is None:
            return []
        wanted = fold(begin)
        try:
            with os.scandir(place) as listing:
                entries = [entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)]
        except OSError:
            return []
        rules, base = rules_above(place, self._directory)
        rules = rules.entered(base, place, (entry.name for entry in entries))
        found = []
        for entry in entries:
            if not fold(entry.name).startswith(wanted):
                continue
            is_directory = _is_directory(entry)
            ignored = entry.name in REPOSITORIES or rules.matches(
                base + entry.name + ("/" if is_directory else "")
            )
            path = above + slash + entry.name + ("/" if is_directory else "")
            start = len(above + slash)
            positions = range(start, start + len(begin))
            found.append(FileHit(path, positions, is_directory, ignored))
        found.sort(key=lambda hit: (hit.ignored, not hit.is_directory, fold(hit.path), hit.path))
        return found

    def close(self, seconds: float = 1.0) -> None:
        """Stop listing, and wait for that, but no longer than `seconds`."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    # Listing, on the thread ---------------------------------------------------------------------

    def _list(self, listing: Listing) -> None:
        batch: list[str] = []
        truncated = False
        watch = Watch(self._closed, _WALK_SECONDS)
        try:
            for entry in walk(self._directory, directory=self._directory, watch=watch):
                if entry.is_directory:
                    batch.append(entry.path + "/")
                elif entry.is_file or self._leads_inside(entry.path):
                    batch.append(entry.path)
                if len(batch) >= _BATCH:
                    listing.add(batch)
                    batch = []
                    if len(listing) >= MOST_FILES:
                        truncated = True
                        break
        except Cancelled:
            return
        listing.add(batch)
        listing.finish(truncated=truncated or watch.over)
        with self._changed:
            self._listing, self._next = listing, None
            self._changed.notify_all()

    def _leads_inside(self, path: str) -> bool:
        """Whether what is neither a file nor a directory is a link to one in the working directory."""
        place = self._directory / path
        real = os.path.realpath(place)
        return real.startswith(f"{self._directory}/".replace("//", "/")) and (
            os.path.isfile(real) or os.path.isdir(real)  # noqa: PTH112, PTH113  # of a str
        )

    # Details ------------------------------------------------------------------------------------

    def _place(self, above: str) -> Path | None:
        """The directory that a prefix names, if it may be looked into."""
        if "\0" in above:
            return None
        given = above
        if given.startswith("~/"):
            given = os.path.expanduser(given)  # noqa: PTH111  # raises nothing
        place = Path(os.path.realpath(self._directory / given))
        named_outside = above.startswith(("/", "~/", "../"))
        is_inside = place == self._directory or self._directory in place.parents
        return place if is_inside or named_outside else None

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(self._directory / path)

    def _ranked(self, query: str, paths: Iterable[str], limit: int) -> list[FileHit]:
        used = {path: number for number, path in enumerate(reversed(self._touched))}
        found: dict[str, tuple[tuple[int, int, int, str], Match]] = {}
        for path in paths:
            if path not in found and (lies := match_path(query, path)) is not None:
                recent = used.get(path, _TOUCHED)
                found[path] = ((-lies.score, recent, len(path), path), lies)
        best = nsmallest(limit, found.items(), key=lambda item: item[1][0])
        return [FileHit(path, lies.positions, path.endswith("/")) for path, (_, lies) in best]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory or a link to one."""
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or one that may not be followed
        return False


def _candidates(listing: Listing, wanted: str, ends: float) -> tuple[list[str], bool]:
    """Paths that are worth scoring, and whether all of the listing was looked through for them."""
    pieces = listing.pieces()
    if not wanted:
        shortest: list[str] = []
        for piece in pieces:
            shortest += piece.paths
            if len(shortest) >= _ENOUGH:
                break
        return shortest, True
    patterns = Patterns(wanted)
    ways = [(patterns.run, False, _ENOUGH), (patterns.scattered, False, _MOST_SCATTERED)]
    if "/" not in wanted:
        ways = [
            (patterns.begins, True, _ENOUGH),
            (patterns.run, True, _ENOUGH),
            (patterns.initials, True, _ENOUGH),
            (patterns.scattered, True, _MOST_SCATTERED),
            *ways,
        ]
    found: dict[str, None] = {}
    for pattern, names, most in ways:
        if len(found) >= 2 * _ENOUGH:
            break
        taken = 0
        for piece in pieces:
            if time.monotonic() > ends:
                return list(found), False
            for path in piece.hits(pattern, patterns.letters, names=names):
                found[path] = None
                taken += 1
                if taken >= most:
                    break
            if taken >= most:
                break
    return list(found), True
