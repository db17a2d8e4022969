"""The entries of one history as they are on disk, and what is true of one whose process was killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from tau.config.places import why_unwritable
from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import applying, entries, entry_copies, files
from tau.memory.entries import META, NEXT, Entry, State, digest
from tau.memory.places import MemoryPlaces
from tau.sessions import file_system as fs

REFINEMENTS = "refinements"
"""The folder in the state directory that holds the histories."""

_SETTLED = "meta.settled"


class EntryStore:
    """The entries of one memory.

    Args:
        where: The memory.
        state: The state directory.

    Attributes:
        problems: What the last look at all entries could not use, a line each.
    """

    def __init__(self, where: MemoryPlaces, state: Path) -> None:
        self.problems: list[str] = []
        self._where = where
        self._state = state
        self._hash = sha256(os.fsencode(os.path.realpath(where.project))).hexdigest()[:12]
        self._name = f"{where.project.name}-{self._hash}"

    @property
    def folder(self) -> Path:
        """Where the entries are: by the name of the project's folder, and a hash of where that is."""
        return self._state / REFINEMENTS / self._name

    def tag(self, name: str) -> str:
        """What copies beside memory files are called that belong to an entry of this history."""
        return f"{self._hash}-{name}"

    @contextmanager
    def opened(self) -> Iterator[int]:
        """The history's folder, made when it is not there; what the disk refuses while it is open is told."""
        try:
            with files.state_folder(self._state, REFINEMENTS, self._name, make=True) as history:
                yield history
        except OSError as error:
            why = why_unwritable(self.folder) or why_unwritable(self._where.shared) or files.reason(error)
            raise MemoryRefused(
                f"Memory is not changed: {one_line(why)}",
                f"its files are in {_shown(self._where.root)}, their history in {_shown(self.folder)}",
            ) from error

    def standing(self) -> Iterator[Entry]:
        """The entries, newest first, read as far as they are asked for."""
        self.problems = []
        for name in reversed(self.ids()):
            entry = self._entry(name)
            if entry is not None:
                yield entry

    def ids(self) -> list[str]:
        """The names of the entries' folders, oldest first."""
        try:
            with files.state_folder(self._state, REFINEMENTS, self._name) as history:
                return sorted(filter(entries.is_id, fs.names(history)))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problems.append(f"{_shown(self.folder)} cannot be read: {files.reason(error)}")
            return []

    def _entry(self, name: str) -> Entry | None:
        """An entry as it is true now; None for one whose changes did not begin, and for a damaged one."""
        try:
            entry, state, pending = self._parsed(name)
        except (OSError, ValueError) as error:
            why = files.reason(error) if isinstance(error, OSError) else one_line(str(error))
            self.problems.append(f"{_shown(self.folder / name / META)} is damaged: {why}")
            return None
        if not pending:
            return entry
        if state == "changing":
            made = applying.happened(self._where, self.tag(name), entry.changes)
            if not made:
                return None
            return replace(entry, changes=tuple(made), interrupted=len(made) < len(entry.changes))
        as_before = all(self._holds(change.title, change.before) for change in entry.changes)
        return replace(entry, undone=entry.undone or as_before)

    def _parsed(self, name: str) -> tuple[Entry, State, bool]:
        with files.state_folder(self._state, REFINEMENTS, self._name, name) as inner:
            data = files.read(META, inner)
            if data is None:
                raise ValueError("it is not there")
            entry, state = entries.from_meta(data, self.folder / name)
            return entry, state, fs.is_taken(NEXT, inner)

    def _is_changing(self, name: str) -> bool:
        with suppress(OSError, ValueError):
            return self._parsed(name)[1] == "changing"
        return False

    def _holds(self, title: str, wanted: str | None) -> bool:
        with suppress(OSError):
            return digest(applying.read(self._where, title)) == wanted
        return False

    def settle(self, history: int) -> None:
        """Make true what the entries of processes that ended on the way say, and remove what they left."""
        names = fs.names(history)
        for name in names:
            if name.startswith(".") and name.endswith(entry_copies.TEMPORARY):
                shutil.rmtree(name, ignore_errors=True, dir_fd=history)
        for name in filter(entries.is_id, names):
            try:
                inner = fs.open_directory(name, history)
            except OSError:  # nothing that was made here; `entries` names it
                continue
            try:
                if fs.is_taken(NEXT, inner):
                    self._settle_entry(name, inner, history)
            finally:
                os.close(inner)
        applying.clear(self._where, self._hash)

    def _settle_entry(self, name: str, inner: int, history: int) -> None:
        entry = self._entry(name)
        if entry is None and self._is_changing(name):
            entry_copies.drop(name, history)
            return
        if entry is None:
            return  # damaged, and said so where entries are listed
        state: State = "undone" if entry.undone else "changed"
        fs.write_temporary(_SETTLED, inner, entries.to_meta(entry, state), sync=True)
        fs.replace(_SETTLED, META, inner)
        fs.remove_temporary(NEXT, inner)
        files.sync(inner)


def _shown(path: Path) -> str:
    return one_line(str(path))
