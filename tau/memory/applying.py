"""Changes memory files together: each by one rename, from copies made before the first; or none of them.

What a file is to hold stands beside it as ``.TAG-N.new`` before anything is changed, and what it held as
``.TAG-N.old``. So a change needs no room on the disk any more once it has begun, going back neither, and what
a killed process left tells how far it came.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import files
from tau.memory.entries import Change, digest, split
from tau.memory.labels import SCOPES
from tau.memory.places import MemoryPlaces
from tau.sessions import file_system as fs


class MemoryChanged(MemoryRefused):
    """A file that does not hold what it must; nothing was changed.

    Attributes:
        title: The file.
    """

    def __init__(self, title: str) -> None:
        super().__init__(
            f"{one_line(title)} was changed by something else meanwhile, so no memory file was changed",
            "read it again",
        )
        self.title = title


class LeftInPart(MemoryRefused):
    """Files that could neither be changed nor be put back; the message names them."""


class Step(NamedTuple):
    """What one file must hold, and what it is to hold; None for no file."""

    title: str
    before: bytes | None
    after: bytes | None


def path_of(where: MemoryPlaces, title: str) -> Path:
    """Where a memory file is."""
    scope, name = split(title)
    return where.folder(scope) / name


def read(where: MemoryPlaces, title: str) -> bytes | None:
    """A memory file as it is on disk, whatever its size; None when it is not there.

    Raises:
        OSError: It is a link, no regular file, or cannot be read.
    """
    scope, name = split(title)
    try:
        with files.folder(where, *where.folder_names(scope)) as directory:
            return files.read(name, directory)
    except FileNotFoundError:
        return None


class Prepared:
    """Steps that are ready to be taken.

    Args:
        where: The memory; its lock is held.
        tag: What the copies are called.
        steps: The steps.
        opened: Closes the folders.
    """

    def __init__(self, where: MemoryPlaces, tag: str, steps: Sequence[Step], opened: ExitStack) -> None:
        self._steps = steps
        self._places: list[tuple[int, str, str, str]] = []
        self._taken: list[int] = []
        self._folders: dict[str, int] = {}
        for number, step in enumerate(steps):
            scope, name = split(step.title)
            if scope not in self._folders:
                way = where.folder_names(scope)
                self._folders[scope] = opened.enter_context(files.folder(where, *way, make=True))
            self._places.append((self._folders[scope], name, f".{tag}-{number}.new", f".{tag}-{number}.old"))

    def copy(self) -> None:
        """Put what the files are to hold, and what they hold, beside them."""
        for step, (directory, name, new, old) in zip(self._steps, self._places, strict=True):
            if step.after is not None:
                fs.write_new(new, directory, step.after)
                if step.before is not None:
                    _open_as(name, new, directory)
            if step.before is not None and step.after is not None:
                _keep(name, old, directory, step.before)
        for step, (directory, _, new, _) in zip(self._steps, self._places, strict=True):
            if step.after is not None:
                files.sync_file(new, directory)
        self._sync()

    def take(self) -> None:
        """Take every step.

        Raises:
            MemoryChanged: A file does not hold what it must. Everything is as it was.
            OSError: The system refused. Everything is as it was.
            LeftInPart: The system refused to go back as well.
        """
        try:
            for number, step in enumerate(self._steps):
                self._take(number, step)
            self._sync()
        except BaseException as error:
            self.go_back(error)
            raise

    def go_back(self, error: BaseException) -> None:
        """Take back every step that was taken.

        Args:
            error: Why.

        Raises:
            LeftInPart: A file could not be put back.
        """
        changed = []
        for number in reversed(self._taken):
            step, (directory, name, _, old) = self._steps[number], self._places[number]
            try:
                if files.read(name, directory) != step.after:
                    changed.append(step.title)
                elif step.before is None:
                    os.unlink(name, dir_fd=directory)
                else:
                    fs.replace(old, name, directory)
            except OSError:
                changed.append(step.title)
        self._taken.clear()
        with suppress(OSError):  # names that a power cut may bring back; the entry tells of them
            self._sync()
        if changed:
            named = ", ".join(one_line(title) for title in sorted(changed))
            why = files.reason(error) if isinstance(error, OSError) else one_line(str(error))
            raise LeftInPart(
                f"Memory is changed in part: {named} could not be put back ({why})",
                "`tau memory history` tells what was changed, and `tau memory undo` takes it back",
            ) from error

    def clear(self) -> None:
        """Remove the copies."""
        for directory, _, new, old in self._places:
            for name in (new, old):
                fs.remove_temporary(name, directory)

    def _take(self, number: int, step: Step) -> None:
        directory, name, new, old = self._places[number]
        if files.read(name, directory) != step.before:
            raise MemoryChanged(step.title)
        if step.after is None:
            fs.replace(name, old, directory)
        elif step.before is None:
            _publish(new, name, directory, step.title)
        else:
            fs.replace(new, name, directory)
        self._taken.append(number)
        if step.before is not None and files.read(old, directory) != step.before:
            raise MemoryChanged(step.title)  # written to in this very moment; that goes back into its place

    def _sync(self) -> None:
        for directory in self._folders.values():
            files.sync(directory)


@contextmanager
def prepared(where: MemoryPlaces, tag: str, steps: Sequence[Step]) -> Iterator[Prepared]:
    """Make copies of what the files of `steps` are to hold and hold; they are gone at the end.

    Args:
        where: The memory; its lock is held.
        tag: What the copies are called.
        steps: What is to be done.

    Raises:
        OSError: A folder cannot be opened, or a copy not be made. Nothing is changed.
    """
    with ExitStack() as opened:
        ready = Prepared(where, tag, steps, opened)
        try:
            ready.copy()
            yield ready
        finally:
            ready.clear()


def happened(where: MemoryPlaces, tag: str, changes: Sequence[Change]) -> list[Change]:
    """Which changes of an entry were made, when its process ended on the way; in doubt the copies tell."""
    made = []
    for number, change in enumerate(changes):
        scope, name = split(change.title)
        try:
            with files.folder(where, *where.folder_names(scope)) as directory:
                now = digest(files.read(name, directory))
                # A new file and its copy are one file for a moment: written to since, it is no copy any more.
                new = digest(files.read(f".{tag}-{number}.new", directory)) == change.after
                old = fs.is_taken(f".{tag}-{number}.old", directory)
        except FileNotFoundError:
            now, new, old = None, False, False
        except OSError:  # something else stands there now
            now, new, old = "", True, True
        began = old if change.after is None else not new
        if now == change.after or (now != change.before and began):
            made.append(change)
    return made


def clear(where: MemoryPlaces, prefix: str) -> None:
    """Remove the copies whose tags begin with `prefix`, which a killed process left; the lock is held."""
    for scope in SCOPES:
        with suppress(OSError), files.folder(where, *where.folder_names(scope)) as directory:
            for name in fs.names(directory):
                if name.startswith(f".{prefix}"):
                    fs.remove_temporary(name, directory)


def _keep(name: str, old: str, directory: int, data: bytes) -> None:
    """Keep a file under a second name: the file itself, or its bytes where it cannot have two names."""
    try:
        os.link(name, old, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError:
        fs.write_new(old, directory, data)
        _open_as(name, old, directory)


def _open_as(name: str, copy: str, directory: int) -> None:
    """Let the copy of a file be read and written by those who may read and write the file."""
    with suppress(OSError):  # the file is gone, which taking the step finds out; or there are no modes
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        descriptor = fs.open_file(copy, directory)
        try:
            os.fchmod(descriptor, mode & 0o777)
        finally:
            os.close(descriptor)


def _publish(new: str, name: str, directory: int, title: str) -> None:
    """Give a complete file a name that must be free."""
    try:
        os.link(new, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        raise MemoryChanged(title) from None
    except OSError:  # a file system without second names
        fs.replace(new, name, directory)
