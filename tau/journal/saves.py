"""What saves put in the place of what, kept in tau's own state: undo takes the newest one back whole.

A save changes several files. What each held before and after stands in a folder of the save, as plain files
that an index names, and stays there when it was taken back.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from tau.config.places import make_private
from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import markdown
from tau.journal.markdown import Keep, PutBack
from tau.sessions import file_system as fs

KEPT = 100
"""Saves that can be taken back."""

_DIGITS = 8
_INDEX = "save.json"


class _File(msgspec.Struct, frozen=True):
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


class _Index(msgspec.Struct):
    """A save.

    Attributes:
        at: When, local time.
        called: The session that was saved.
        files: What it changed.
        folders: Those that it made, the inner ones last; empty for the whole of it.
        also: What else is to be said when it was taken back.
        state: Whether it stands.
    """

    at: str
    called: str
    files: list[_File] = []
    folders: list[str] = []
    also: list[str] = []
    state: Literal["", "undoing", "undone"] = ""


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


class Save:
    """One save while it is made. Nothing is kept of one that changes nothing."""

    def __init__(self, saves: Saves, at: str, called: str) -> None:
        self._saves = saves
        self._index = _Index(at, called)
        self._files: dict[str, _File] = {}
        self._folder: int | None = None
        self._number = 0

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
            JournalRefused: The state directory cannot be written; nothing was changed.
        """
        folder = self._opened()  # before the lock of the file's folder is taken, which an undo waits for
        old = self._files.get(name)
        missing = self._missing(name)

        def keep(before: bytes | None, after: bytes) -> None:
            first = None if before is None else _copy(name, before, folder)
            last = _copy(name, after, folder)
            now = _File(name, first, (last,))
            if old is not None:
                joins = first == old.after[-1]
                now = _File(name, old.before, (old.after[-1], last), old.parted or not joins)
            self._files[name] = now
            made = [each for each in missing if each not in self._index.folders]
            self._index.folders += made
            self._write()

        written = False
        try:
            written = change(keep)
        finally:
            if not written and self._files.get(name) is not old:
                self._files.pop(name)
                self._files |= {name: old} if old is not None else {}
                with suppress(JournalRefused):  # the next step writes it
                    self._write()
        return written

    def also(self, line: str) -> None:
        """Have a line said when it is taken back, once it is made.

        Raises:
            JournalRefused: The state directory cannot be written.
        """
        if self.wrote:
            self._saves.also(self._number, line)

    def close(self) -> None:
        """End it: each file is as the last step left it."""
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
            self._write()
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
            JournalRefused: There is none, a file was changed since, or it is being made. Nothing is touched.
        """
        with self._opened() as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            for number in sorted(_numbers(folder), reverse=True):
                with _inner(number, folder) as inner:
                    if undone := self._undo(number, inner):
                        return undone
        raise JournalRefused(f"There is no save into {one_line(str(self.folder))} to take back")

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
            JournalRefused: The state directory cannot be used.
        """
        with self._opened() as folder, _inner(number, folder) as inner:
            index = msgspec.json.decode(fs.read_file(_INDEX, inner)[0], type=_Index)
            index.also.append(line)
            self.write(index, inner)

    def write(self, index: _Index, folder: int) -> None:
        """Write the index of a save.

        Raises:
            JournalRefused: It cannot be written.
        """
        try:
            fs.write_temporary(fs.temporary_name(_INDEX), folder, msgspec.json.encode(index))
            fs.replace(fs.temporary_name(_INDEX), _INDEX, folder)
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
            index = msgspec.json.decode(fs.read_file(_INDEX, inner)[0], type=_Index)
        except FileNotFoundError:
            return None  # tau ended before its first step
        except msgspec.DecodeError as error:
            path = one_line(str(self._path(number, _INDEX)))
            raise JournalRefused(f"{path} is damaged, so nothing is taken back", "remove it") from error
        if index.state == "undone":
            return None
        if parted := next((file.path for file in index.files if file.parted), ""):
            raise JournalRefused(
                f"The save of {index.at} is not taken back: {self._shown(parted)} was changed by somebody "
                "else while it was made",
                f"what it held before and after: {one_line(str(self._path(number)))}",
            )
        resumes, index.state = index.state == "undoing", "undoing"
        self.write(index, inner)
        try:
            changed = markdown.put_back(self._files(index, inner), root=self.folder)
        except JournalRefused as error:
            index.state = "undoing" if resumes else ""
            self.write(index, inner)
            raise JournalRefused(
                f"The save of {index.at} is not taken back: {error.message}",
                f"what the files held before it: {one_line(str(self._path(number)))}",
            ) from error
        for name in reversed(index.folders):
            with suppress(OSError):  # something of others is in it
                self.folder.joinpath(name).rmdir()
        index.state = "undone"
        self.write(index, inner)
        if not changed and not resumes:
            return None  # its steps were kept, and then never made
        return Undone(
            index.at,
            index.called,
            [file.path for file in index.files if file.before is not None],
            [file.path for file in index.files if file.before is None],
            index.also,
            self._path(number),
        )

    def _files(self, index: _Index, inner: int) -> list[PutBack]:
        def held(name: str) -> bytes:
            return fs.read_file(name, inner)[0]

        return [
            PutBack(
                self.folder / file.path,
                None if file.before is None else held(file.before),
                [held(name) for name in file.after],
            )
            for file in index.files
        ]

    def _shown(self, name: str) -> str:
        return one_line(str(self.folder / name))

    def _path(self, number: int, *names: str) -> Path:
        return self._state.joinpath(*self._names, _named(number), *names)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            make_private(self._state)
            descriptor = os.open(self._state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for name in self._names:
                try:
                    inner, _ = fs.open_or_make_directory(name, descriptor)
                finally:
                    os.close(descriptor)
                descriptor = inner
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield descriptor
        except OSError as error:
            raise self._unusable(error) from error
        finally:
            os.close(descriptor)

    def _unusable(self, error: OSError) -> JournalRefused:
        shown = one_line(str(self._state.joinpath(*self._names)))
        return JournalRefused(f"{shown} cannot be used, so nothing was changed: {error.strerror}")


def _copy(path: str, data: bytes, folder: int) -> str:
    """Keep what a file holds; the name of the copy."""
    name = f"{sha256(data).hexdigest()[:16]}-{path.rpartition('/')[2]}"
    try:
        if not fs.is_taken(name, folder):
            fs.write_temporary(fs.temporary_name(name), folder, data)
            fs.replace(fs.temporary_name(name), name, folder)
    except OSError as error:
        raise JournalRefused(f"What {path} held cannot be kept, so it stays: {error.strerror}") from error
    return name


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
