"""Puts a whole file in the place of another, or where there was none: at once, or not at all.

Directories are opened step by step without following links, so that what was judged is what is changed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tau.sessions import file_system
from tau.tools import paths
from tau.tools.context import MOST_CHANGED_BYTES, ToolContext
from tau.tools.refusals import Refused, os_reason

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY_WRITE = 0o222
_ACL = "system.posix_acl_access"
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})

_log = logging.getLogger(__name__)


class Current(NamedTuple):
    """What is in a place now.

    Attributes:
        data: The file's bytes, or None when there is no file.
        no_directory: Whether its directory is not there either.
        links: How many names the file has.
    """

    data: bytes | None
    no_directory: bool = False
    links: int = 1


def current(context: ToolContext, real: Path) -> Current:
    """What is in a place where a file is to be put. Nothing is changed.

    Args:
        context: How paths are named.
        real: A resolved path that may be written.

    Raises:
        Refused: No file can be put there, or what is there is no regular file, larger than
            `MOST_CHANGED_BYTES`, or may not be read or written.
    """
    name = paths.brief(paths.display(context, real))
    steps, at = real.parts[1:-1], Path(real.anchor)
    with ExitStack() as opened:
        directory = _hold(opened, paths.open_step(real.anchor))
        for step in steps:
            at /= step
            try:
                directory = _hold(opened, paths.open_step(step, directory))
            except FileNotFoundError:
                _check_writable(context, directory, at.parent)
                return Current(None, no_directory=True)
            except OSError as error:
                raise _cannot_enter(context, at, name, error) from error
        try:
            file = _hold(opened, paths.open_leaf(real.name, directory))
        except FileNotFoundError:
            _check_writable(context, directory, at)
            return Current(None)
        except OSError as error:
            raise Refused(f"{name} cannot be opened: {os_reason(error)}") from error
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise Refused(f"{name} is a directory; give the path of a file")
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{name} is no regular file (a pipe, socket or device) and is not changed")
        if status.st_size > MOST_CHANGED_BYTES:
            raise Refused(
                f"{name} has {status.st_size:,} bytes; files over {MOST_CHANGED_BYTES:,} are not changed by"
                " this tool, use shell"
            )
        if not status.st_mode & _ANY_WRITE or not os.access(real.name, os.W_OK, dir_fd=directory):
            raise Refused(f"{name} is read-only (mode {stat.S_IMODE(status.st_mode):04o}) and is not changed")
        _check_writable(context, directory, at)
        try:
            return Current(file_system.read_all(file), links=status.st_nlink)
        except OSError as error:
            raise Refused(f"{name} cannot be read: {os_reason(error)}") from error


def replace(
    context: ToolContext, real: Path, before: bytes | None, after: bytes, *, check: Callable[[], None]
) -> None:
    """Put a file in its place, with what is missing of the directories above it.

    The file is complete on disk under a temporary name before it gets its own. It keeps the mode, the owner
    and the attributes of the one it replaces where that is possible, and never lets anyone do more. When
    anything fails, nothing has changed.

    Args:
        context: How paths are named.
        real: A resolved path that may be written.
        before: What must be there, as `current` returned it.
        after: What is to be there.
        check: Called last before the change; what it raises stops it.

    Raises:
        Refused: What is there is not what must be, or the disk refused.
    """
    name = paths.brief(paths.display(context, real))
    try:
        with _directory(real) as directory, ExitStack() as opened:
            replaced = None
            if before is not None:
                replaced = _hold(opened, paths.open_leaf(real.name, directory))
            temporary = _write_beside(directory, after, like=replaced)
            try:
                check()
                if replaced is None:
                    _publish(temporary, real.name, directory)
                elif file_system.read_all(replaced) != before or not _is_still(
                    replaced, real.name, directory
                ):
                    raise FileExistsError
                else:
                    file_system.replace(temporary, real.name, directory)
            finally:
                file_system.remove_temporary(temporary, directory)
    except (FileExistsError, FileNotFoundError):
        raise Refused(f"{name} was changed by something else just now; nothing was written") from None
    except OSError as error:
        raise Refused(f"{name} cannot be written: {os_reason(error)}; nothing was changed") from error


def _write_beside(directory: int, data: bytes, *, like: int | None) -> str:
    """Write a complete file under a temporary name, which is returned; on an error nothing of it is left."""
    temporary = f".{secrets.token_hex(8)}.tmp"
    file = os.open(temporary, _NEW, 0o666 if like is None else 0o600, dir_fd=directory)
    try:
        try:
            file_system.write_all(file, data)
            if like is not None:
                _take_over(like, file)
            file_system.sync_data(file)
        finally:
            os.close(file)
    except BaseException:
        file_system.remove_temporary(temporary, directory)
        raise
    return temporary


def _take_over(like: int, file: int) -> None:
    """Give a file the owner, mode and attributes of another; what it cannot have lets nobody do more."""
    status, own = os.fstat(like), os.fstat(file)
    mode = stat.S_IMODE(status.st_mode) & 0o777
    others = mode & 0o007
    if own.st_uid != status.st_uid:
        with contextlib.suppress(PermissionError):
            os.fchown(file, status.st_uid, -1)
    if own.st_gid != status.st_gid:
        try:
            os.fchown(file, -1, status.st_gid)
        except PermissionError:
            mode = mode & 0o707 | mode & others << 3
    if not _take_over_attributes(like, file):
        mode = mode & 0o707 | mode & others << 3
    os.fchmod(file, mode)


def _take_over_attributes(like: int, file: int) -> bool:
    """Copy what users may set, the access list too; False when the list could not be."""
    if not hasattr(os, "listxattr"):
        return True
    try:
        names = os.listxattr(like)
    except OSError:  # a file system without attributes
        return True
    if _ACL not in names:
        with contextlib.suppress(OSError):  # there is none to inherit from the directory, as a rule
            os.removexattr(file, _ACL)
    for name in names:
        if name == _ACL or name.startswith("user."):
            try:
                os.setxattr(file, name, os.getxattr(like, name))
            except OSError as error:
                _log.warning("The attribute %s of a file is lost: %s", name, os_reason(error))
                if name == _ACL:
                    return False
    return True


def _publish(temporary: str, name: str, directory: int) -> None:
    """Give a complete file a name that must be free.

    Raises:
        FileExistsError: It is taken.
    """
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if file_system.is_taken(name, directory):
            raise FileExistsError from None
        file_system.replace(temporary, name, directory)


def _is_still(file: int, name: str, directory: int) -> bool:
    """Whether a name stands for the file that was opened by it."""
    status, found = os.fstat(file), os.stat(name, dir_fd=directory, follow_symlinks=False)
    return os.path.samestat(status, found)


@contextmanager
def _directory(real: Path) -> Iterator[int]:
    """The open directory of a path, made with those above it; those made go again when what follows fails."""
    with ExitStack() as opened, ExitStack() as undo:
        directory = _hold(opened, paths.open_step(real.anchor))
        grown = []
        for step in real.parts[1:-1]:
            try:
                inner = paths.open_step(step, directory)
            except FileNotFoundError:
                os.mkdir(step, dir_fd=directory)
                undo.callback(_remove_directory, step, directory)
                grown.append(directory)
                inner = paths.open_step(step, directory)
            directory = _hold(opened, inner)
        yield directory
        undo.pop_all()
        for changed in (directory, *reversed(grown)):
            _sync_directory(changed)


def _sync_directory(directory: int) -> None:
    """Have the disk keep the names in a directory. They are changed already, so a failure is no refusal."""
    try:
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.fsync(listed)
        finally:
            os.close(listed)
    except OSError as error:
        _log.warning("A changed file may be lost in a power cut: %s", os_reason(error))


def _remove_directory(name: str, parent: int) -> None:
    with contextlib.suppress(OSError):  # somebody put something in it meanwhile
        os.rmdir(name, dir_fd=parent)


def _hold(opened: ExitStack, descriptor: int) -> int:
    opened.callback(os.close, descriptor)
    return descriptor


def _check_writable(context: ToolContext, directory: int, at: Path) -> None:
    """Refuse a directory that nothing can be put in."""
    mode = os.fstat(directory).st_mode
    if not mode & _ANY_WRITE or not os.access(".", os.W_OK | os.X_OK, dir_fd=directory):
        raise Refused(
            f"The directory {paths.brief(paths.display(context, at))} is read-only"
            f" (mode {stat.S_IMODE(mode):04o}), so no file can be put there"
        )


def _cannot_enter(context: ToolContext, at: Path, name: str, error: OSError) -> Refused:
    step = paths.brief(paths.display(context, at))
    if error.errno == errno.ENOTDIR:
        return Refused(f"{step} is no directory, so {name} cannot be in it")
    return Refused(f"{step} cannot be entered: {os_reason(error)}")
