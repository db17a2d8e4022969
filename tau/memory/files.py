"""What every change of memory rests on: one lock a root, and folders opened without following links."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tau.config.places import make_private
from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.places import SHARED, MemoryPlaces, make_folder, open_folder
from tau.sessions import file_system as fs

LOCK = ".lock"
"""The file in the folder of global memory whose lock everybody holds who changes anything of that root."""

SECONDS = 20.0
"""How long a change waits for another one."""

UNTOLD = 1.0
"""How long it waits before it says so."""


_PAUSE = 0.004
_HELD = (errno.EAGAIN, errno.EACCES)
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class GivenUp(MemoryRefused):
    """Nobody waits for a change any more that had not begun; nothing was touched."""

    def __init__(self) -> None:
        super().__init__("Memory is not changed: it was given up while another process was changing it")


def never() -> bool:
    """Waits as long as it takes."""
    return False


def _to_nobody(what: object) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Telling:
    """Who is told of what goes along with a change, in the thread that makes it.

    Attributes:
        waits: Given True when the change waits for another process, False when it waits no longer.
        made: Given the project's folder when that was made for the change.
    """

    waits: Callable[[bool], None] = _to_nobody
    made: Callable[[Path], None] = _to_nobody


NOBODY = Telling()
"""Nobody is told."""


@contextmanager
def locked(
    where: MemoryPlaces, given_up: Callable[[], bool] = never, telling: Telling = NOBODY
) -> Iterator[None]:
    """Hold a memory against every process and thread that changes something below its root.

    The lock is the kernel's: it ends with its process however that ends, and is never taken from one that is
    only slow or stopped. Its file is never deleted.

    Args:
        where: The memory.
        given_up: Whether nobody waits for it any more; asked as long as somebody else holds it, and once more
            when it is had.
        telling: Told after `UNTOLD` seconds in which somebody else holds it, and when that is over.

    Raises:
        GivenUp: `given_up` said so.
        MemoryRefused: It cannot be had within `SECONDS`, or its folder takes no writes.
    """
    lock = one_line(str(where.shared / LOCK))
    try:
        with folder(where, SHARED, make=True) as shared:
            descriptor = fs.open_for_append(LOCK, shared)
    except OSError as error:
        raise MemoryRefused(f"Memory cannot be changed: {lock}: {reason(error)}") from error
    try:
        _wait(descriptor, lock, given_up, telling)
        yield
    finally:
        with suppress(OSError):  # let go at once, also where a process that was just forked has it open, too
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def folder(where: MemoryPlaces, *names: str, make: bool = False) -> Iterator[int]:
    """An open folder below the root of a memory.

    Args:
        where: The memory.
        names: The way down from the root.
        make: Whether to make what is missing.

    Raises:
        FileNotFoundError: It is not there.
        OSError: It, or one above it, is a link or no folder, or cannot be opened or made.
    """
    descriptor = (make_folder if make else open_folder)(where, *names)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def state_folder(state: Path, *names: str, make: bool = False) -> Iterator[int]:
    """The same below the state directory, which may be a link itself."""
    if make:
        make_private(state)
    descriptor = os.open(state, _OPEN)
    try:
        for name in names:
            inner = (
                fs.open_or_make_directory(name, descriptor)[0]
                if make
                else fs.open_directory(name, descriptor)
            )
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def read(name: str, directory: int, *, most: int | None = None) -> bytes | None:
    """All of a regular file in an open folder; None when nothing has that name.

    Args:
        name: Its name.
        directory: The open folder.
        most: Bytes from which on it may be cut off; what is returned is longer than that then.

    Raises:
        OSError: The name stands for a link or something else, or the file cannot be read.
    """
    try:
        return fs.read_file(name, directory, most=None if most is None else most + 1)[0]
    except FileNotFoundError:
        return None


def write_whole(name: str, directory: int, data: bytes) -> bool:
    """Write a file that has its name whole or not at all; False when something has that name already.

    Raises:
        OSError: The disk refused.
    """
    if fs.is_taken(name, directory):
        return False
    temporary = fs.temporary_name(f"{name}.{os.getpid()}")
    try:
        stamp = fs.write_temporary(temporary, directory, data, sync=True)
        fs.publish(temporary, name, directory, data, stamp)
    except FileExistsError:
        return False
    finally:
        fs.remove_temporary(temporary, directory)
    return True


def sync(directory: int) -> None:
    """Return when the disk has the names in an open folder, where the file system can say so.

    Raises:
        OSError: The disk failed.
    """
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise


def sync_file(name: str, directory: int) -> None:
    """The same for a regular file's content."""
    descriptor = fs.open_file(name, directory)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """Why the system refused, in its words."""
    return one_line(error.strerror or str(error))


def _wait(descriptor: int, lock: str, given_up: Callable[[], bool], telling: Telling) -> None:
    began = time.monotonic()
    told = False
    try:
        while not _taken(descriptor, lock):
            waited = time.monotonic() - began
            if given_up():
                raise GivenUp
            if waited > SECONDS:
                raise MemoryRefused(
                    f"Memory is being changed by another process, which holds {lock}",
                    "try again when it is done",
                )
            if waited > UNTOLD and not told:
                told = True
                telling.waits(True)
            time.sleep(_PAUSE)
        if given_up():
            raise GivenUp
    finally:
        if told:
            telling.waits(False)


def _taken(descriptor: int, lock: str) -> bool:
    """Take the lock, unless somebody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise MemoryRefused(
            f"Memory cannot be locked: {lock}: {reason(error)}",
            "its file system has no locks; keep memory on another one",
        ) from error
    return True
