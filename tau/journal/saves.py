"""What saves put in the place of what, kept in tau's own state: undo takes the newest one back whole.

A save changes several files. What each held before and after stands in a folder of the save, as plain files
that an index names, and stays there when it was taken back.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import markdown
from tau.journal.kept_in_state import open_kept, write_kept
from tau.journal.markdown import PutBack
from tau.journal.save import Index, Save, is_copy
from tau.sessions import file_system as fs

KEPT = 100
"""Saves that can be taken back."""

_DIGITS = 8
_INDEX = "save.json"


@dataclass(frozen=True, slots=True)
class Undone:
    """A save that was taken back.

    Attributes:
        at: When it was made, local time.
        called: The session that was saved.
        restored: The files that hold again what they held before, below the folder.
        removed: The files that it had made, and that are gone.
        also: What else is to be said.
        copies: Where what it had written is kept.
    """

    at: str
    called: str
    restored: Sequence[str]
    removed: Sequence[str]
    also: Sequence[str]
    copies: Path


class Saves:
    """The saves into one folder, newest last. May be used from several processes.

    Args:
        state: The state directory.
        folder: The folder whose files are changed; no link is followed below it.
    """

    def __init__(self, state: Path, folder: Path) -> None:
        self._state = state
        self.folder = folder
        self._names = ("journal", "saves", sha256(os.fsencode(folder)).hexdigest()[:32])

    @contextmanager
    def saving(self, at: str, called: str) -> Iterator[Save]:
        """Make a save, which one undo takes back.

        Args:
            at: When, local time.
            called: The session that is saved.
        """
        save = Save(self, at, called)
        try:
            yield save
        finally:
            save.close()

    def undo(self) -> Undone:
        """Take back the newest save that stands: each file is put back byte for byte, or none is.

        An undo that was interrupted is finished.

        Raises:
            JournalRefused: There is none, a file was changed since, or it is being made; no file is touched.
        """
        with self._opened() as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            for number in sorted(_numbers(folder), reverse=True):
                with _inner(number, folder) as inner:
                    if undone := self._undo(number, inner):
                        return undone
        raise JournalRefused(f"There is no save into {one_line(str(self.folder))} to take back")

    def unfinished(self) -> str:
        """When the save was made whose undo was interrupted; empty when none was.

        Raises:
            JournalRefused: The state directory cannot be used.
        """
        index = self._newest()
        return index.at if index is not None and index.state == "undoing" else ""

    def cut_off(self) -> str:
        """When the newest save that stands was made, where its process ended on the way; else empty.

        Raises:
            JournalRefused: The state directory cannot be used.
        """
        index = self._newest()
        return index.at if index is not None and index.state == "saving" else ""

    def _newest(self) -> Index | None:
        """The newest save that stands; None where there is none, or it is being made right now."""
        if not self._path().is_dir():
            return None
        with self._opened() as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            for number in sorted(_numbers(folder), reverse=True):
                with _inner(number, folder) as inner:
                    try:
                        fcntl.flock(inner, fcntl.LOCK_SH | fcntl.LOCK_NB)
                        index = self._read(number, inner)
                    except BlockingIOError:
                        return None
                    except (FileNotFoundError, JournalRefused):  # an undo says what is damaged
                        continue
                if index.state != "undone":
                    return index
        return None

    def begin(self) -> tuple[int, int]:
        """The number of a new save and its open folder, which holds the lock of it.

        Raises:
            JournalRefused: The state directory cannot be written.
        """
        with self._opened() as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            numbers = _numbers(folder)
            number = max(numbers, default=0) + 1
            made = fs.make_directory(_named(number), folder)
            fcntl.flock(made, fcntl.LOCK_EX)
            for old in sorted(numbers)[: 1 - KEPT]:
                _drop(old, folder)
            return number, made

    def forget(self, number: int) -> None:
        """Forget a save that changed nothing.

        Raises:
            JournalRefused: The state directory cannot be used.
        """
        with self._opened() as folder:
            _drop(number, folder)

    def also(self, number: int, line: str) -> None:
        """Have a line said when a save is taken back.

        Raises:
            JournalRefused: The state directory cannot be used, or what it holds of the save is damaged.
        """
        with self._opened() as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            with _inner(number, folder) as inner:
                index = self._read(number, inner)
                if line not in index.also:
                    index.also.append(line)
                    self.write(index, inner)

    def stands(self, number: int) -> bool:
        """Whether a save was not taken back; so does one of which that is not known any more."""
        try:
            with self._opened() as folder, _inner(number, folder) as inner:
                return self._read(number, inner).state != "undone"
        except (FileNotFoundError, JournalRefused):
            return True

    def write(self, index: Index, folder: int) -> None:
        """Write the index of a save.

        Raises:
            JournalRefused: It cannot be written.
        """
        try:
            write_kept(_INDEX, folder, msgspec.json.encode(index))
        except OSError as error:
            raise self._unusable(error) from error

    def _undo(self, number: int, inner: int) -> Undone | None:
        """Take back one save; None when it was already, or never changed anything."""
        try:
            fcntl.flock(inner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalRefused(
                f"{one_line(str(self.folder))} is being saved into right now", "try again when that is done"
            ) from None
        try:
            index = self._read(number, inner)
        except FileNotFoundError:
            return None  # tau ended before its first step
        if index.state == "undone":
            return None
        if parted := next((file.path for file in index.files if file.parted), ""):
            raise JournalRefused(
                f"The save of {index.at} is not taken back: {self._shown(parted)} was changed by somebody "
                "else while it was made",
                self._ways(number),
            )
        files = self._files(number, index, inner)
        was, index.state = index.state, "undoing"
        self.write(index, inner)
        try:
            changed = markdown.put_back(files, root=self.folder)
        except JournalRefused as error:
            index.state = was
            with suppress(JournalRefused):  # it stays one that is not finished
                self.write(index, inner)
            raise JournalRefused(
                f"The save of {index.at} is not taken back: {error.message}", self._ways(number)
            ) from error
        for name in reversed(index.folders):
            with suppress(OSError):  # something of others is in it
                self.folder.joinpath(name).rmdir()
        index.state = "undone"
        also = list(index.also)
        try:
            self.write(index, inner)
        except JournalRefused as error:
            also.append(
                f"That it was taken back is not noted, so /wrap undo does it once more: {error.line()}"
            )
        restored = [file.path for file in index.files if file.before is not None]
        removed = [file.path for file in index.files if file.before is None]
        if not changed and was != "undoing":
            restored, removed = [], []
            also.insert(0, "Nothing was left to put back: its files are as they were before it")
        return Undone(
            index.at,
            index.called,
            restored,
            removed,
            also,
            self._path(number),
        )

    def _read(self, number: int, inner: int) -> Index:
        """The index of a save.

        Raises:
            FileNotFoundError: It has none.
            JournalRefused: It is damaged.
        """
        try:
            return msgspec.json.decode(fs.read_file(_INDEX, inner)[0], type=Index)
        except msgspec.DecodeError as error:
            path = one_line(str(self._path(number, _INDEX)))
            raise JournalRefused(f"{path} is damaged", self._past(number)) from error

    def _ways(self, number: int) -> str:
        """How to go on where a save is not taken back."""
        kept = one_line(str(self._path(number)))
        return f"what the files held before and after is in {kept}; {self._past(number)}"

    def _past(self, number: int) -> str:
        kept = one_line(str(self._path(number)))
        return f"remove {kept} to leave that save as it is; then /wrap undo takes the one before it back"

    def _files(self, number: int, index: Index, inner: int) -> list[PutBack]:
        """What is to be put back, what was changed last first: cut short, nothing is in no file.

        Raises:
            JournalRefused: A copy is not there or damaged.
        """

        def held(name: str) -> bytes:
            try:
                data = fs.read_file(name, inner)[0]
            except FileNotFoundError:
                data = None
            if data is None or not is_copy(name, data):
                path = one_line(str(self._path(number, name)))
                raise JournalRefused(
                    f"The save of {index.at} is not taken back: {path} is damaged", self._past(number)
                )
            return data

        return [
            PutBack(
                self.folder / file.path,
                None if file.before is None else held(file.before),
                [held(name) for name in file.after],
            )
            for file in reversed(index.files)
        ]

    def _shown(self, name: str) -> str:
        return one_line(str(self.folder / name))

    def _path(self, number: int | None = None, *names: str) -> Path:
        of = [] if number is None else [_named(number)]
        return self._state.joinpath(*self._names, *of, *names)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            descriptor = open_kept(self._state, self._names)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield descriptor
        except OSError as error:
            raise self._unusable(error) from error
        finally:
            os.close(descriptor)

    def _unusable(self, error: OSError) -> JournalRefused:
        return JournalRefused(f"{one_line(str(self._path()))} cannot be used: {error.strerror}")


def _numbers(folder: int) -> list[int]:
    return [int(name) for name in fs.names(folder) if len(name) == _DIGITS and name.isdecimal()]


def _named(number: int) -> str:
    return f"{number:0{_DIGITS}}"


@contextmanager
def _inner(number: int, folder: int) -> Iterator[int]:
    descriptor = fs.open_directory(_named(number), folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _drop(number: int, folder: int) -> None:
    with suppress(OSError):
        with _inner(number, folder) as inner:
            for name in fs.names(inner):
                fs.remove_temporary(name, inner)
        os.rmdir(_named(number), dir_fd=folder)
