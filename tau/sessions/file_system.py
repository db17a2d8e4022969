"""File operations of the ``file`` store: relative to open directories, never through a symbolic link.

Every function names a file by an open directory and a plain name, and raises `OSError`; a link or anything
else that is no regular file raises `NotRegular`. Files are 0600 and directories 0700 whatever the umask.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from typing import NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})
"""What `os.link` reports where a file system has no hard links, or a policy forbids them."""


_TICK_NS = 50_000_000
"""Longer than any tick of the clock that file times are taken from, in nanoseconds."""


class NotRegular(OSError):
    """A name that stands for a symbolic link, or for something else than what belongs there."""


class Stamp(NamedTuple):
    """What tells one version of a file from another: its size and its time of modification."""

    size: int
    mtime_ns: int


def open_directory(name: str, parent: int) -> int:
    """Open a directory for the operations here.

    Raises:
        NotRegular: It is a symbolic link or no directory.
        OSError: It is not there, or may not be opened.
    """
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise _not_regular(name, parent, "not a directory") from None
        raise


def make_directory(name: str, parent: int) -> int:
    """Make a directory, 0700, and open it.

    Raises:
        FileExistsError: The name is taken.
        OSError: The disk refused.
    """
    os.mkdir(name, 0o700, dir_fd=parent)
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError:  # a umask that takes the owner's own rights away
        os.chmod(name, 0o700, dir_fd=parent)
        descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    _set_mode(descriptor, 0o700)
    return descriptor


def open_or_make_directory(name: str, parent: int) -> tuple[int, bool]:
    """Open a directory, made when it is not there; the second value says whether it was made."""
    try:
        return open_directory(name, parent), False
    except FileNotFoundError:
        pass
    try:
        return make_directory(name, parent), True
    except FileExistsError:
        return open_directory(name, parent), False


def open_file(name: str, directory: int) -> int:
    """Open a regular file for reading; never waits, whatever it is.

    Raises:
        NotRegular: It is a symbolic link or no regular file.
        OSError: It is not there, or may not be read.
    """
    return _open_regular(name, directory)[0]


def _open_regular(name: str, directory: int) -> tuple[int, os.stat_result]:
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _not_regular(name, directory, "not a regular file") from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotRegular(errno.EINVAL, "not a regular file", name)
    return descriptor, status


def open_for_append(name: str, directory: int) -> int:
    """Open a regular file for reading and appending, made (0600) when it is not there.

    Raises:
        NotRegular: It is a symbolic link or no regular file.
        OSError: The disk refused.
    """
    try:
        descriptor = os.open(name, _APPEND, 0o600, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_regular(name, directory, "not a regular file") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegular(errno.EINVAL, "not a regular file", name)
    _set_mode(descriptor, 0o600)
    return descriptor


def names(directory: int) -> list[str]:
    """The names in an open directory, in no order."""
    return os.listdir(directory)


def read_all(descriptor: int) -> bytes:
    """The whole of an open file, from its beginning."""
    size = os.fstat(descriptor).st_size
    return read_at(descriptor, 0, size)


def read_at(descriptor: int, start: int, length: int) -> bytes:
    """Up to `length` bytes from `start`; fewer when the file ends before."""
    data = os.pread(descriptor, length, start)
    if len(data) == length or not data:
        return data
    parts = [data]
    got = len(data)
    while got < length:
        more = os.pread(descriptor, min(length - got, _CHUNK), start + got)
        if not more:
            break
        parts.append(more)
        got += len(more)
    return b"".join(parts)


def read_file(name: str, directory: int, *, most: int | None = None) -> tuple[bytes, Stamp]:
    """A file's bytes, and its stamp.

    Args:
        name: Its name.
        directory: The open folder.
        most: Bytes that are read at most, however many there are; None for all of them.

    Raises:
        NotRegular: It is a symbolic link or no regular file.
        OSError: It is not there, or may not be read.
    """
    descriptor, status = _open_regular(name, directory)
    try:
        length = status.st_size if most is None else most
        return read_at(descriptor, 0, length), Stamp(status.st_size, status.st_mtime_ns)
    finally:
        os.close(descriptor)


def stamp_of(name: str, directory: int) -> Stamp | None:
    """The stamp of a regular file, or None when it is not there.

    Raises:
        NotRegular: It is a symbolic link or no regular file.
        OSError: It cannot be looked at.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(name, directory, "not a regular file")
    return Stamp(status.st_size, status.st_mtime_ns)


def tells_changes(mtime_ns: int) -> bool:
    """Whether a file that has this time of modification now gets another one with its next change.

    It may not within one tick of the clock, so what is read from it must not be kept.
    """
    return abs(time.time_ns() - mtime_ns) > _TICK_NS


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; a short write is continued."""
    written = os.write(descriptor, data)
    if written == len(data):
        return
    rest = memoryview(data)[written:]
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_new(
    name: str,
    directory: int,
    data: bytes,
    *,
    later_than: int = 0,
    mtime_ns: int | None = None,
    sync: bool = False,
) -> Stamp:
    """Write a file that must not exist yet, 0600; on an error nothing of it is left.

    Args:
        name: The name.
        directory: The open directory.
        data: All it is to hold.
        later_than: Its time of modification is made later than this one, in nanoseconds.
        mtime_ns: Its time of modification, when it is to have a certain one.
        sync: Whether to wait until the disk has it.
    """
    descriptor = os.open(name, _NEW, 0o600, dir_fd=directory)
    try:
        try:
            write_all(descriptor, data)
            status = os.fstat(descriptor)
            if stat.S_IMODE(status.st_mode) != 0o600:
                _set_mode(descriptor, 0o600)
            if mtime_ns is None and status.st_mtime_ns <= later_than:
                mtime_ns = later_than + 1
            if mtime_ns is not None:
                os.utime(descriptor, ns=(mtime_ns, mtime_ns))
                status = os.fstat(descriptor)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        remove_temporary(name, directory)
        raise
    return Stamp(status.st_size, status.st_mtime_ns)


def sync_data(descriptor: int) -> None:
    """Return when the disk has an open file's content."""
    if sys.platform == "darwin":  # where fsync leaves it in the drive's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def temporary_name(name: str) -> str:
    """What a file is called until it is complete; need not be unique where one writer at a time makes it."""
    return f".{name}.tmp"


def write_temporary(
    name: str,
    directory: int,
    data: bytes,
    *,
    later_than: int = 0,
    mtime_ns: int | None = None,
    sync: bool = False,
) -> Stamp:
    """As `write_new`; what a killed writer left under this name goes first."""
    remove_temporary(name, directory)
    return write_new(name, directory, data, later_than=later_than, mtime_ns=mtime_ns, sync=sync)


def publish(temporary: str, name: str, directory: int, data: bytes, stamp: Stamp) -> None:
    """Give a complete temporary file its final name, which must be free; the temporary name goes.

    Where there are no hard links, the file is written again under its final name.

    Raises:
        FileExistsError: The name is taken; nothing changed.
        OSError: The disk refused.
    """
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        write_new(name, directory, data, mtime_ns=stamp.mtime_ns)
    remove_temporary(temporary, directory)


def replace(temporary: str, name: str, directory: int) -> None:
    """Put a complete temporary file in the place of `name`."""
    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)


def set_aside(name: str, directory: int) -> str:
    """Rename a file to the first free ``NAME.damaged-N``, so that its bytes stay; the new name."""
    number = 1
    while is_taken(f"{name}.damaged-{number}", directory):
        number += 1
    aside = f"{name}.damaged-{number}"
    os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    return aside


def is_taken(name: str, directory: int) -> bool:
    """Whether anything at all has this name."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def remove_temporary(name: str, directory: int) -> None:
    """Remove a temporary name; that it cannot be removed hides no error worth more."""
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=directory)


def _set_mode(descriptor: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777 == mode:
        return
    with contextlib.suppress(PermissionError):  # a file system without modes, or somebody else's file
        os.fchmod(descriptor, mode)


def _not_regular(name: str, directory: int, otherwise: str) -> NotRegular:
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    reason = "a symbolic link, which is never followed" if stat.S_ISLNK(mode) else otherwise
    return NotRegular(errno.EINVAL, reason, name)
