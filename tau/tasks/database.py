"""The task database: one SQLite file for all directories, which many processes read and write at once.

It is opened for each piece of work and closed after it, so that nothing is held between two of them.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from tau.config.places import make_private
from tau.display import one_line
from tau.errors import TaskRefused
from tau.sessions import file_system

Result = TypeVar("Result")

BUSY_SECONDS = 20.0
"""How long a piece of work waits for other processes."""

HERE = "CASE WHEN json_valid(metadata_json) THEN json_extract(metadata_json, '$.directory') END"
"""The directory of a task, in SQL; as the index has it."""

MIGRATIONS = (
    """
CREATE TABLE tasks (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  state         TEXT NOT NULL DEFAULT 'created',
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  session_id    TEXT,
  metadata_json TEXT
);
CREATE TABLE task_files (
  task_id     TEXT NOT NULL,
  file_path   TEXT NOT NULL,
  status      TEXT NOT NULL DEFAULT 'explored',
  notes       TEXT,
  explored_at INTEGER NOT NULL,
  PRIMARY KEY (task_id, file_path),
  FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
""",
    f"CREATE INDEX tasks_of_directory ON tasks ({HERE}, updated_at);",
)
"""What makes the tables, step by step; ``PRAGMA user_version`` counts the steps that were taken."""

_AWAY = "move tasks.sqlite* away, all of them, and tau begins a new one"
"""The newest of what is kept may be in the log beside the file."""

_WAITS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Database:
    """The file and what can be done in it. May be used from any thread.

    Args:
        path: The file. It and its folder are made, for their owner only, by the first `write`.
        busy_seconds: How long a piece of work waits for other processes; None for `BUSY_SECONDS`.
    """

    def __init__(self, path: Path, *, busy_seconds: float | None = None) -> None:
        self.path = path
        self._busy_seconds = BUSY_SECONDS if busy_seconds is None else busy_seconds
        self._shown = one_line(str(path))

    def read(self, work: Callable[[sqlite3.Connection], Result], without: Result) -> Result:
        """Do work that only reads.

        Args:
            work: Is given a connection, and may be called again after it has failed.
            without: What is returned where there is no database yet.

        Raises:
            TaskRefused: The database cannot be used.
        """
        if not os.path.lexists(self.path):
            return without

        def if_begun(connection: sqlite3.Connection) -> Result:
            return work(connection) if self._ready(connection, begin=False) else without

        return self._do(if_begun)

    def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do work in a transaction, all of it or nothing.

        Args:
            work: Is given a connection, and may be called again after it has failed.

        Raises:
            TaskRefused: The database cannot be used; nothing was changed.
        """

        def in_transaction(connection: sqlite3.Connection) -> Result:
            self._ready(connection, begin=True)
            with _transaction(connection, "IMMEDIATE"):
                return work(connection)

        return self._do(in_transaction)

    def _do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                with self._opened(deadline) as connection:
                    return work(connection)
            except sqlite3.Error as error:
                if _code(error) not in _WAITS or time.monotonic() > deadline:
                    raise self._unusable(error) from error
                time.sleep(0.02)  # SQLite does not wait in every case in which another connection is busy
            except OSError as error:
                raise TaskRefused(
                    f"The task database {self._shown} cannot be used: {error.strerror or error}"
                ) from error

    @contextmanager
    def _opened(self, deadline: float) -> Iterator[sqlite3.Connection]:
        """A connection to the database."""
        self._make()
        wait = max(0.1, deadline - time.monotonic())
        connection = sqlite3.connect(self.path, timeout=wait, isolation_level=None)
        try:
            connection.text_factory = _text
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        finally:
            connection.close()

    def _make(self) -> None:
        """Make the file where it is not there, and see that it is one, its owner's alone."""
        make_private(self.path.parent.parent)
        make_private(self.path.parent)
        if not os.path.lexists(self.path):
            self._begin()
        status = self.path.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise TaskRefused(
                f"The task database {self._shown} is no regular file, so it is not used",
                _AWAY,
            )

    def _begin(self) -> None:
        """Make the file, empty; one that another process has made meanwhile stays.

        It gets its name when it is closed already: closing a descriptor drops every lock that this process
        holds on the file, also those of connections on other threads, and another process would take itself
        for the only one and delete the log with what they have committed.
        """
        temporary = f".{self.path.name}-{secrets.token_hex(8)}"
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            stamp = file_system.write_new(temporary, folder, b"")
            with suppress(FileExistsError):
                file_system.publish(temporary, self.path.name, folder, b"", stamp)
        finally:
            file_system.remove_temporary(temporary, folder)
            os.close(folder)

    def _ready(self, connection: sqlite3.Connection, *, begin: bool) -> bool:
        """Whether the tables are there, as this version knows them; those of an earlier one are brought up.

        Args:
            connection: Outside of a transaction.
            begin: Whether they are made in an empty database.
        """
        with _transaction(connection, "DEFERRED"):
            version = self._version(connection)
        if version < len(MIGRATIONS) and (version or begin):
            self._migrate(connection)
            return True
        return version > 0

    def _version(self, connection: sqlite3.Connection) -> int:
        """How many steps were taken; 0 for an empty database. Within a transaction."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise TaskRefused(
                f"The task database {self._shown} was written by a newer tau "
                f"(version {version} of its tables; this one knows {len(MIGRATIONS)})",
                f"use that tau, or {_AWAY}",
            )
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise TaskRefused(
                f"The file {self._shown} is the database of another program",
                _AWAY,
            )
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        with _transaction(connection, "IMMEDIATE"):
            version = self._version(connection)  # another process may have been faster
            for number, step in enumerate(MIGRATIONS[version:], version + 1):
                for statement in step.strip().rstrip(";").split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")

    def _unusable(self, error: sqlite3.Error) -> TaskRefused:
        code = _code(error)
        if code in _WAITS:
            return TaskRefused(
                f"The task database {self._shown} was busy for {self._busy_seconds:.0f} seconds",
                "another program holds it; try again when it is done",
            )
        if code in _DAMAGED:
            return TaskRefused(
                f"The task database {self._shown} is damaged, so it is left as it is: {error}",
                _AWAY,
            )
        return TaskRefused(f"The task database {self._shown} cannot be used: {error}")


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise


def _text(data: bytes) -> str:
    """Text of a row; what another program wrote may be no UTF-8."""
    return data.decode("utf-8", "replace")


def _code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite, or 0 where there is none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
