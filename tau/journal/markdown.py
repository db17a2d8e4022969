"""Changes Markdown files on disk while people and other programs write them: none of what they wrote is lost.

What a document is, and how it is changed, is in `tau.journal.markdown_document`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tau.display import one_line
from tau.errors import JournalChanged, JournalRefused
from tau.journal.encoding import check_encoding
from tau.journal.markdown_blocks import Heading, Item, Section
from tau.journal.markdown_document import Line, Markdown
from tau.journal.markdown_line import WHOLE, as_line
from tau.sessions import file_system as fs

__all__ = [
    "WHOLE",
    "Change",
    "Heading",
    "Item",
    "Line",
    "Markdown",
    "PutBack",
    "Section",
    "as_line",
    "create",
    "edit",
    "holding",
    "listed",
    "put_back",
    "read",
]

SECONDS = 20.0
"""How long a change of a file waits for another one in its folder."""

LARGEST = 1_000_000
"""Bytes of a file that are read to be shown; a larger one is refused."""

_TRIES = 5
_PAUSE = 0.004
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


Change = Callable[[Markdown], object]
"""Changes a document; what it returns is nobody's."""

Keep = Callable[[bytes | None, bytes], object]
"""Is told what a file holds, None where it is not there, and what it is to hold, before that is written."""


@dataclass(frozen=True, slots=True)
class PutBack:
    """A file that is to hold again what it held before.

    Attributes:
        path: The file.
        before: What it held; None where it was not there.
        left: What it may hold now, so that it is put back.
    """

    path: Path
    before: bytes | None
    left: Sequence[bytes]


def edit(
    path: Path,
    change: Change,
    *,
    create: bytes | None = None,
    root: Path | None = None,
    private: bool = False,
    keep: Keep | None = None,
) -> bool:
    """Change a Markdown file on disk. What somebody else writes into it at the same time is kept.

    Everybody who changes a file of a folder by this function waits for the others. Who writes without it is
    noticed right before the file is replaced: then `change` is called again with what is there now.

    Args:
        path: The file.
        change: Changes a document; it may be called several times. When it raises, the file stays as it is.
        create: What a new file begins with; None when it must be there.
        root: The folder below which no link is followed, nor is the root one; the file's own by default.
            Folders below it that are missing are made when `create` is given.
        private: Whether what is made is for its owner alone, whatever the umask.
        keep: Is called with `change`, whenever that changed something; the last time it is called is the one
            that is written. When it raises, the file stays as it is.

    Returns:
        Whether the file was changed or made.

    Raises:
        JournalChanged: It was changed by somebody else again and again; nothing was written.
        JournalRefused: It is not there, is a link, is not UTF-8, takes no writes, or cannot be read or
            written.
    """
    shown = one_line(str(path))
    with _folder(path, root or path.parent, make=create is not None, private=private) as folder:
        try:
            for _ in range(_TRIES):
                before, status = _now(path.name, folder)
                if before is None and create is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
                if status is not None and not status.st_mode & 0o222:
                    raise PermissionError(errno.EACCES, "it is write-protected")
                if before is not None:
                    check_encoding(before, shown, to_change=True)
                document = Markdown(create or b"" if before is None else before)
                change(document)
                data = document.data
                if data == before:
                    return False
                if keep is not None:
                    keep(before, data)
                if _replaced(path.name, folder, before, data, status, private=private):
                    return True
        except OSError as error:
            reason = one_line(error.strerror or str(error))
            raise JournalRefused(f"{shown} cannot be changed: {reason}") from error
    raise JournalChanged(f"{shown} was changed by somebody else again and again", "try again")


def create(path: Path, data: bytes, *, root: Path | None = None, private: bool = False) -> bool:
    """Write a file that must not be there yet, whole or not at all.

    Args:
        path: The file.
        data: All it is to hold.
        root: As of `edit`; missing folders are made.
        private: As of `edit`.

    Returns:
        False when something has its name already.

    Raises:
        JournalRefused: It cannot be written.
    """
    with _folder(path, root or path.parent, make=True, private=private) as folder:
        try:
            return not fs.is_taken(path.name, folder) and _replaced(
                path.name, folder, None, data, None, private=private
            )
        except OSError as error:
            reason = one_line(error.strerror or str(error))
            raise JournalRefused(f"{one_line(str(path))} cannot be written: {reason}") from error


def put_back(files: Sequence[PutBack], *, root: Path) -> list[Path]:
    """Have files hold again what they held before, all of them or none.

    Args:
        files: Those that hold it already are left alone.
        root: As of `edit`.

    Returns:
        Those that were changed or removed.

    Raises:
        JournalRefused: One holds neither what was left in it nor what it held before, or cannot be written;
            names it, and all of them are as they were.
    """
    with ExitStack() as held:
        folders = {
            folder: held.enter_context(_folder(folder / "*", root, make=False, private=False))
            for folder in sorted({file.path.parent for file in files})
            if os.path.lexists(folder)
        }
        states = [_left(file, folders.get(file.path.parent)) for file in files]
        done: list[tuple[PutBack, bytes, os.stat_result]] = []
        for file, (now, status) in zip(files, states, strict=True):
            if now == file.before or now is None or status is None:
                continue
            reason = "it was changed since"
            try:
                if _became(file.path.name, folders[file.path.parent], now, file.before, status):
                    done.append((file, now, status))
                    continue
            except OSError as error:
                reason = one_line(error.strerror or str(error))
            for other, data, its in reversed(done):
                with suppress(OSError):
                    _became(other.path.name, folders[other.path.parent], other.before, data, its)
            raise JournalRefused(f"{one_line(str(file.path))} cannot be put back: {reason}")
        for file in files:  # a process that ended on the way has left them
            if (folder := folders.get(file.path.parent)) is not None:
                fs.remove_temporary(fs.temporary_name(file.path.name), folder)
    return [file.path for file, _, _ in done]


def read(path: Path, *, root: Path | None = None) -> bytes | None:
    """A file, reached without following a link below its root; None when it is not there.

    Raises:
        JournalRefused: It is a link, no regular file or no text, is too large, or cannot be read.
    """
    shown = one_line(str(path))
    try:
        folder = _opened(path, root or path.parent)
        try:
            data, _ = fs.read_file(path.name, folder, most=LARGEST + 1)
        finally:
            os.close(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = one_line(error.strerror or str(error))
        raise JournalRefused(f"{shown} cannot be read: {reason}") from error
    if len(data) > LARGEST:
        raise JournalRefused(f"{shown} is larger than {LARGEST // 1000:,} kB, so it is not read")
    check_encoding(data, shown)
    return data


def listed(folder: Path, *, root: Path) -> list[str]:
    """The names in a folder, in no order; none when it is not there.

    Raises:
        JournalRefused: It is a link or no folder, or cannot be read.
    """
    try:
        descriptor = _opened(folder / "*", root)
        try:
            return fs.names(descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = one_line(error.strerror or str(error))
        raise JournalRefused(f"{one_line(str(folder))} cannot be read: {reason}") from error


@contextmanager
def holding(folder: Path, *, private: bool = False) -> Iterator[None]:
    """Hold a folder against everybody else who does, for what concerns several files below it.

    Files right in the folder cannot be changed by `edit` meanwhile: it would wait for this.

    Args:
        folder: Made where it is missing; it must be no link.
        private: As of `edit`.

    Raises:
        JournalRefused: It cannot be held.
    """
    with _folder(folder / "*", folder, make=True, private=private):
        yield


def _replaced(
    name: str, folder: int, before: bytes | None, data: bytes, status: os.stat_result | None, *, private: bool
) -> bool:
    """Whether the file still was as it was read, and now holds the data."""
    temporary = fs.temporary_name(name)
    fs.remove_temporary(temporary, folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600 if private or status else 0o666, dir_fd=folder)
    try:
        try:
            if status is not None:
                _give(descriptor, status)
            if status is not None or private:
                with suppress(PermissionError):  # a file system without modes
                    os.fchmod(descriptor, stat.S_IMODE(status.st_mode) if status else 0o600)
            fs.write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if _now(name, folder)[0] != before:
            return False
        if before is not None:
            fs.replace(temporary, name, folder)
        else:
            try:
                os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                return False
            except OSError:  # a file system without links
                fs.replace(temporary, name, folder)
    finally:
        fs.remove_temporary(temporary, folder)
    with suppress(OSError):  # where folders cannot be synced
        os.fsync(folder)
    return True


def _give(descriptor: int, status: os.stat_result) -> None:
    """Have a file belong to whom another one belongs to, as far as that is allowed."""
    for owner in (status.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, status.st_gid)
            return


def _left(file: PutBack, folder: int | None) -> tuple[bytes | None, os.stat_result | None]:
    """What a file holds that is to be put back.

    Raises:
        JournalRefused: It must not be.
    """
    shown = one_line(str(file.path))
    try:
        now, status = _now(file.path.name, folder) if folder is not None else (None, None)
    except OSError as error:
        reason = one_line(error.strerror or str(error))
        raise JournalRefused(f"{shown} cannot be put back: {reason}") from error
    if now != file.before and (now is None or now not in file.left):
        raise JournalRefused(f"{shown} was changed since, so nothing is put back")
    if now != file.before and status is not None and not status.st_mode & 0o222:
        raise JournalRefused(f"{shown} cannot be put back: it is write-protected")
    return now, status


def _became(name: str, folder: int, now: bytes | None, data: bytes | None, status: os.stat_result) -> bool:
    """Whether a file still was as it was read, and now holds the data; without data it is removed."""
    if data is not None:
        return _replaced(name, folder, now, data, status, private=False)
    if _now(name, folder)[0] != now:
        return False
    os.unlink(name, dir_fd=folder)
    return True


def _now(name: str, folder: int) -> tuple[bytes | None, os.stat_result | None]:
    try:
        descriptor = fs.open_file(name, folder)
    except FileNotFoundError:
        return None, None
    try:
        return fs.read_all(descriptor), os.fstat(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _folder(path: Path, root: Path, *, make: bool, private: bool) -> Iterator[int]:
    """The open folder of a file, locked against everybody who changes a file of it."""
    shown = one_line(str(path))
    try:
        descriptor = _opened(path, root, make=make, private=private)
    except OSError as error:
        reason = one_line(error.strerror or str(error))
        raise JournalRefused(f"{shown} cannot be changed: {reason}") from error
    try:
        _lock(descriptor, shown)
        yield descriptor
    finally:
        with suppress(OSError):  # let go at once, also where a process that was just forked has it open, too
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _opened(path: Path, root: Path, *, make: bool = False, private: bool = False) -> int:
    """The open folder of a file; no link is followed from the root on."""
    descriptor = os.open(root.parent, _OPEN)
    for name in path.parent.relative_to(root.parent).parts:
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700 if private else 0o777, dir_fd=descriptor)
            inner = fs.open_directory(name, descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _lock(descriptor: int, shown: str) -> None:
    """Hold an open folder's lock, which ends with its process and leaves no file behind."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise JournalRefused(f"{shown} cannot be locked: {error.strerror}") from error
            if time.monotonic() > until:
                raise JournalRefused(
                    f"{shown} is being changed by another process", "try again when it is done"
                ) from None
            time.sleep(_PAUSE)
        else:
            return
