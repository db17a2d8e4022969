"""What was sent before from a directory, shared by every window that is open in it, and across crashes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from tau.input.history_file import Entry, HistoryFile
from tau.input.history_search import HistorySearch
from tau.input.places import directory_key, history_folder
from tau.input.writer import Writer
from tau.masking import mask_content

SUFFIX = ".jsonl"
_PATIENCE = 2.0
"""Seconds that reading waits for what this window itself is writing."""

_TICK_SECONDS = 1.0
"""More than a file's time of modification can be behind the time of its newest text."""


class PromptHistory:
    """The history of one directory. Nothing is read or made before it is asked for.

    Args:
        state_dir: tau's state directory.
        directory: The working directory.
    """

    def __init__(self, state_dir: Path, directory: Path) -> None:
        self.problem = ""
        """One line that says why texts cannot be kept or read; empty while they can."""
        self._folder = history_folder(state_dir)
        self._directory = os.path.realpath(directory)
        self._file = HistoryFile(self._folder, directory_key(directory) + SUFFIX)
        self._writer = Writer("tau-history")
        self._unwritten: list[Entry] = []

    @property
    def path(self) -> Path:
        """The file, which need not be there."""
        return self._folder / self._file.name

    def add(self, text: str) -> None:
        """Keep a text that was sent; blank ones are left out. Returns at once.

        Secrets are masked, before it is written and for this window as well.
        """
        at = time.time()
        if text.strip():
            self._writer.submit(lambda: self._append(text, at))

    def latest(self, count: int = 100, before: Entry | None = None) -> list[Entry]:
        """The newest texts of this directory, from every window, newest first; no two alike in a row. Blocks.

        Args:
            count: How many at most.
            before: Only older ones than this.
        """
        self._writer.flush(_PATIENCE)
        found: list[Entry] = []
        newest = before
        for entry in self._newest_first(before):
            if len(found) >= count:
                break
            if not entry.is_same(newest):
                found.append(entry)
                newest = entry
        return found

    def whole(self, entry: Entry) -> str:
        """The whole text of an entry, also of a large one. Blocks.

        Raises:
            TauError: Its file is gone.
        """
        return self._file.whole(entry)

    def search(self, *, everywhere: bool = False) -> HistorySearch:
        """A search through what there is now, in this directory or in all.

        Args:
            everywhere: Whether to look in every directory's history.
        """
        unwritten = list(self._unwritten)
        if everywhere:
            return HistorySearch(lambda: _everywhere(self._folder, unwritten), self._settle)
        return HistorySearch(lambda: self._newest_first(None), self._settle)

    def close(self, seconds: float = _PATIENCE) -> bool:
        """Write what waits; whether that was done in time. Blocks."""
        return self._writer.close(seconds)

    def _settle(self) -> None:
        self._writer.flush(_PATIENCE)

    def _append(self, text: str, at: float) -> None:
        masked = mask_content(text)
        try:
            self._file.append(masked, at=at, directory=self._directory)
        except OSError as error:
            self.problem = (
                f"What you send is not kept for later: {self.path}: {error.strerror or error}"
                " (it can be written again once that is put right)"
            )
            place = -1 - len(self._unwritten)
            self._unwritten.append(Entry(masked, at, self._directory, len(masked), place=place))
        else:
            self.problem = ""

    def _newest_first(self, before: Entry | None) -> Iterator[Entry]:
        if before is None or before.place < 0:
            end = len(self._unwritten) if before is None else -1 - before.place
            yield from reversed(self._unwritten[:end])
            before = None
        try:
            yield from self._file.entries(None if before is None else before.place)
        except OSError as error:
            if not self.problem:
                self.problem = f"The history cannot be read: {self.path}: {error.strerror or error}"


def _everywhere(folder: Path, unwritten: list[Entry]) -> Iterator[Entry | None]:
    """The texts of all directories, newest first; a file is opened when it can have the next one.

    None stands for a file that was opened, so that whoever reads can stop in time.
    """
    from heapq import heappop, heappush

    yield from reversed(unwritten)
    try:
        with os.scandir(folder) as listing:
            files = [
                (entry.stat(follow_symlinks=False).st_mtime, entry.name)
                for entry in listing
                if entry.name.endswith(SUFFIX)
            ]
    except OSError:
        return
    # An open file for each directory would be too many: some texts are read of one, and when they are used up
    # it is opened again and read on from there.
    waiting: list[tuple[float, str, int, list[Entry]]] = []
    for modified, name in files:
        heappush(waiting, (-modified - _TICK_SECONDS, name, -1, []))
    while waiting:
        _, name, place, ready = heappop(waiting)
        if ready:
            entry = ready.pop(0)
            yield entry
            place = entry.place
        if not ready:
            ready = _some(HistoryFile(folder, name), place)
            yield None
        if ready:
            heappush(waiting, (-ready[0].at, name, place, ready))


def _some(file: HistoryFile, place: int) -> list[Entry]:
    """The next texts of a history that are older than the one at `place`; none where it cannot be read."""
    found: list[Entry] = []
    try:
        for entry in file.entries(None if place < 0 else place):
            found.append(entry)
            if len(found) >= 100:
                break
    except OSError:
        return found
    return found
