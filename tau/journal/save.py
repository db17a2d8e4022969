"""One save while it is made: what each file held before and after a step is kept before the step is made."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import msgspec

from tau.errors import JournalRefused
from tau.journal.kept_in_state import write_kept
from tau.journal.markdown import Keep
from tau.sessions import file_system as fs

if TYPE_CHECKING:
    from tau.journal.saves import Saves

log = logging.getLogger(__name__)


class SavedFile(msgspec.Struct, frozen=True):
    """A file that a save changed.

    Attributes:
        path: Below the folder.
        before: The copy of what it held; None where it was not there.
        after: The copies of what it may hold now, the newest last.
        parted: Whether somebody else changed it between two steps of the save.
    """

    path: str
    before: str | None
    after: tuple[str, ...]
    parted: bool = False


class Index(msgspec.Struct):
    """A save.

    Attributes:
        at: When, local time.
        called: The session that was saved.
        files: What it changed, what was changed last at the end.
        folders: Those that it made, the inner ones last; empty for the whole of it.
        also: What else is to be said when it was taken back.
        state: Empty where it stands; else what is being done or was: ``saving`` and ``undoing`` stay where
            the process ended on the way.
    """

    at: str
    called: str
    files: list[SavedFile] = []
    folders: list[str] = []
    also: list[str] = []
    state: Literal["", "saving", "undoing", "undone"] = ""


class Save:
    """One save while it is made. Nothing is kept of one that changes nothing.

    Attributes:
        trouble: What went wrong at its end, where all of it was made; else empty.
    """

    def __init__(self, saves: Saves, at: str, called: str) -> None:
        self._saves = saves
        self._index = Index(at, called, state="saving")
        self._files: dict[str, SavedFile] = {}
        self._folder: int | None = None
        self._number = 0
        self.trouble = ""

    @property
    def wrote(self) -> bool:
        """Whether it changed a file."""
        return bool(self._files)

    def changing(self, name: str, change: Callable[[Keep], bool]) -> bool:
        """Keep what a change of a file puts in the place of what.

        Args:
            name: The file, below the folder.
            change: Makes the change, and tells what it is before it is made; returns whether it was.

        Raises:
            JournalRefused: The state directory cannot be written; the file stays as it is.
        """
        try:
            folder = self._opened()  # before the lock of the file's folder is taken, which an undo waits for
        except JournalRefused as error:
            raise _not_kept(name, error.message) from error
        so_far = dict(self._files)
        old = so_far.get(name)
        missing = self._missing(name)

        def keep(before: bytes | None, after: bytes) -> None:
            first = None if before is None else _copy(name, before, folder)
            last = _copy(name, after, folder)
            now = SavedFile(name, first, (last,))
            if old is not None:
                joins = first == old.after[-1]
                now = SavedFile(name, old.before, (old.after[-1], last), old.parted or not joins)
            self._files.pop(name, None)
            self._files[name] = now
            made = [each for each in missing if each not in self._index.folders]
            self._index.folders += made
            try:
                self._write()
            except JournalRefused as error:
                raise _not_kept(name, error.message) from error

        written = False
        try:
            written = change(keep)
        finally:
            if not written and self._files.get(name) is not old:
                self._files = so_far
                with suppress(JournalRefused):  # the next step writes it
                    self._write()
        return written

    def also(self, line: str) -> None:
        """Have a line said when it is taken back, once it is made.

        Raises:
            JournalRefused: The state directory cannot be written, or what it holds is damaged.
        """
        if self.wrote:
            self._saves.also(self._number, line)

    def stands(self) -> bool:
        """Whether it was not taken back, by whichever process."""
        return self._saves.stands(self._number)

    def close(self) -> None:
        """End it: each file is as the last step left it. What fails undoes nothing, and is in `trouble`."""
        if self._folder is None:
            return
        try:
            if not self.wrote:
                self._saves.forget(self._number)
                return
            self._files = {
                name: msgspec.structs.replace(file, after=file.after[-1:])
                for name, file in self._files.items()
            }
            self._index.state = ""
            self._write()
        except JournalRefused as error:  # each step is in the index already, with one state too many
            log.warning("the end of a save is not noted: %s", error.line())
            if self.wrote:
                self.trouble = f"It can be taken back, but that it ended is not noted: {error.line()}"
        finally:
            os.close(self._folder)
            self._folder = None

    def _missing(self, name: str) -> list[str]:
        """The folders of a file that are not there, the outer one first."""
        folders = ["", name.rpartition("/")[0]]
        return [each for each in folders if not os.path.lexists(self._saves.folder / each)]

    def _opened(self) -> int:
        if self._folder is None:
            self._number, self._folder = self._saves.begin()
        return self._folder

    def _write(self) -> None:
        self._index.files = list(self._files.values())
        self._saves.write(self._index, self._opened())


@dataclass(slots=True)
class Made:
    """What one close saved.

    Attributes:
        last: The newest save, of the close or of what was agreed to later; None where nothing was written.
    """

    last: Save | None = None

    def note(self, save: Save | None) -> list[str]:
        """Take a save that was made; what is to be told of it."""
        if save is not None and save.wrote:
            self.last = save
        return [save.trouble] if save is not None and save.trouble else []

    def also(self, line: str) -> None:
        """Have a line said when the newest one is taken back.

        Raises:
            JournalRefused: The state directory cannot be used.
        """
        if self.last is not None:
            self.last.also(line)


def is_copy(name: str, data: bytes) -> bool:
    """Whether data is what the copy of a name was made of."""
    return name.startswith(f"{_digest(data)}-")


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _copy(path: str, data: bytes, folder: int) -> str:
    """Keep what a file holds; the name of the copy."""
    name = f"{_digest(data)}-{path.rpartition('/')[2]}"
    try:
        if not fs.is_taken(name, folder):
            write_kept(name, folder, data)
    except OSError as error:
        raise _not_kept(path, error.strerror or str(error)) from error
    return name


def _not_kept(path: str, reason: str) -> JournalRefused:
    return JournalRefused(f"What {path} held cannot be kept, so it stays: {reason}")
