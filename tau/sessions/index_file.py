"""A SQLite file that is only a cache: opened anew when it was deleted, set aside when it is damaged.

It may be deleted at any time, also while it is in use. Several processes and threads may use it at once.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tau.config.places import is_there

BUSY_SECONDS = 2.0
"""How long a write waits for another process before the file counts as locked."""


@dataclass(frozen=True, slots=True)
class _Opened:
    connection: sqlite3.Connection
    path: Path
    inode: int


class _Used(threading.local):
    """The files a thread has used."""

    def __init__(self) -> None:
        self.files: set[tuple[Path, int]] = set()


class IndexFile:
    """Connections to the one database file in a folder.

    Each file made here has a name of its own. SQLite removes a database's log by name when its last
    connection is closed, so a file that takes the place of a deleted one must not share its name.

    Args:
        folder: The folder; it and the file are made when missing, for their owner only.
        version: The version of the tables, kept in the file; a file of another version is begun anew.
        tables: The statements that make them.
    """

    def __init__(self, folder: Path, *, version: int, tables: str) -> None:
        self.folder = folder
        self._version = version
        self._tables = tables
        self._idle: list[_Opened] = []
        self._closed = False
        self._used = _Used()

    def begin(self) -> None:
        """Begin a piece of work of this thread, see `steady`."""
        self._used.files.clear()

    def steady(self) -> bool:
        """Whether all that this thread did since `begin` was done in one file that is still there."""
        for path, inode in self._used.files:
            try:
                if path.stat().st_ino != inode:
                    return False
            except FileNotFoundError:
                return False
        return len(self._used.files) <= 1

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for this thread, to the file that is there now."""
        opened = self._waiting() or self._open()
        self._used.files.add((opened.path, opened.inode))
        try:
            yield opened.connection
        finally:
            if opened.connection.in_transaction:
                opened.connection.rollback()
            if self._closed:
                opened.connection.close()
            else:
                self._idle.append(opened)

    def _waiting(self) -> _Opened | None:
        """An open connection that is not in use; those to files that were deleted are closed."""
        while self._idle:
            try:
                opened = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            try:
                if opened.path.stat().st_ino == opened.inode:
                    return opened
            except FileNotFoundError:
                pass
            opened.connection.close()
        return None

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction that is committed at the end of the block."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def _open(self) -> _Opened:
        _make_private(self.folder)
        with _locked(self.folder):
            for path in sorted(self.folder.glob("*.sqlite")):
                opened = self._connect(path)
                if opened is not None:
                    return opened
                self._remove(path)  # another version
            for path in self.folder.glob("*.sqlite-*"):
                path.unlink(missing_ok=True)  # the log of a file that was deleted
            path = self.folder / f"{secrets.token_hex(4)}.sqlite"
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)
            opened = self._connect(path)
            if opened is None:
                raise sqlite3.DatabaseError(f"{path} keeps another version")
            return opened

    def _connect(self, path: Path) -> _Opened | None:
        """A connection to a file, its tables made where it is new; None for one of another version."""
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(f"BEGIN;{self._tables}PRAGMA user_version = {self._version};COMMIT;")
            elif version != self._version:
                connection.close()
                return None
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("PRAGMA secure_delete = ON")
            return _Opened(connection, path, path.stat().st_ino)
        except BaseException:
            connection.close()
            raise

    def _remove(self, path: Path) -> None:
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)

    def set_aside(self) -> None:
        """Move a damaged file out of the way, as ``damaged``; the next use begins a new one."""
        self.reopen()
        with _locked(self.folder):
            for path in self.folder.glob("*.sqlite"):
                path.replace(self.folder / "damaged")
                self._remove(path)

    def tidy(self) -> None:
        """Move what was written lately from the log into the file; waits for the disk."""
        with self.connection() as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def reopen(self) -> None:
        """Close the connections not in use; the next use opens the file that is there then."""
        while self._idle:
            self._idle.pop().connection.close()

    def close(self) -> None:
        """Close every connection; one that is in use is closed when its call ends."""
        self._closed = True
        self.reopen()


def _make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner only, whatever the umask."""
    missing = [path for path in (folder, *folder.parents) if not is_there(path)]
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:  # another process was faster
            continue
        path.chmod(0o700)


def remove_unused(folders: Iterable[Path], *, seconds: float) -> None:
    """Remove the folders of indexes in which nothing was written for so long."""
    for folder in folders:
        with suppress(OSError):
            written = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            if time.time() - written > seconds:
                shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder while an index file is made or removed, so that two processes do not mix theirs."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
