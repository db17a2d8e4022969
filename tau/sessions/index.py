"""The index beside a store: tables and a full text in SQLite that answer listings and searches.

It is a cache: what it says is checked against the record by `tau.sessions.reconcile`.
Every method raises `sqlite3.Error` or `OSError` when the file cannot be used.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tau.sessions.index_file import IndexFile
from tau.sessions.records import ListQuery, SessionSummary
from tau.sessions.searching import clean, index_text

SCHEMA = 3
"""Version of the tables. Part of the folder's name, so that two versions of tau do not rebuild by turns."""

LABELS = -1
"""The index under which a session's name and title are kept among its texts."""

_TABLES = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, updated_at TEXT NOT NULL, created_at TEXT NOT NULL, message_count INTEGER NOT NULL,
    meta TEXT NOT NULL, directory TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL,
    continued_by TEXT NOT NULL,          -- the session that goes on after a summary of this one
    listed INTEGER NOT NULL,             -- 1: a plain listing shows it; 2: one that wants one-shots does
    problem TEXT NOT NULL DEFAULT '',    -- why it cannot be read
    indexed INTEGER NOT NULL DEFAULT 0,  -- messages that are in `words`
    labelled INTEGER NOT NULL DEFAULT 0, -- whether name and title are in `words`
    checked REAL NOT NULL DEFAULT 0,     -- when it was last compared with the record
    revision INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX newest_listed ON sessions (listed, updated_at DESC, id DESC);
CREATE INDEX newest_here ON sessions (directory, listed, updated_at DESC, id DESC);
CREATE INDEX newest ON sessions (updated_at DESC, id DESC);
CREATE INDEX behind ON sessions (id) WHERE indexed < message_count OR NOT labelled;
CREATE INDEX least_checked ON sessions (checked);
CREATE TABLE open_sessions (id TEXT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE reserved_names (directory TEXT, name TEXT, at REAL NOT NULL, PRIMARY KEY (directory, name));
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (
    number INTEGER PRIMARY KEY, session_id TEXT NOT NULL, place INTEGER NOT NULL, role TEXT NOT NULL,
    origin TEXT, origin_place INTEGER,   -- the message that this one is a copy of
    text TEXT NOT NULL, UNIQUE (session_id, place)
);
CREATE INDEX summaries ON texts (number) WHERE role = 'summary';
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='ascii');
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What the index holds of a session.

    Attributes:
        summary: The session, as it was in the record; empty where it could not be read.
        problem: Why it could not be read, or empty.
        revision: Goes up with each change of the row.
        indexed: How many of its messages were taken in by the full text.
    """

    summary: SessionSummary
    problem: str = ""
    revision: int = 0
    indexed: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A message's words, or a session's name and title under the index `LABELS`.

    Attributes:
        session_id: The session.
        index: The message's index in it.
        role: As `SearchHit.role` says.
        text: The words.
        origin: The session and index of the message that this one is a copy of; None when it is none.
    """

    session_id: str
    index: int
    role: str
    text: str
    origin: tuple[str, int] | None = None


class Index(IndexFile):
    """The index of one store.

    Args:
        folder: The folder of this index alone; it and the file in it are made when missing.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, version=SCHEMA, tables=_TABLES)

    # Sessions ---------------------------------------------------------------------------------

    def row(self, session_id: str) -> Row | None:
        """What is held of a session, or None."""
        with self.connection() as connection:
            found = connection.execute(_select("WHERE id = ?"), [session_id]).fetchone()
        return _row(found) if found else None

    def newest(self, query: ListQuery) -> list[Row]:
        """The readable sessions a query wants, newest first, ties by id, descending."""
        where, values = where_of(query)
        sql = _select(f"WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?")
        with self.connection() as connection:
            return [_row(found) for found in connection.execute(sql, [*values, query.limit, query.offset])]

    def count(self, query: ListQuery) -> int:
        """How many sessions a query wants, paging aside."""
        where, values = where_of(query)
        with self.connection() as connection:
            found = connection.execute(
                f"SELECT count(*) FROM sessions s WHERE {where}",  # noqa: S608 - `where` holds constants only
                values,
            ).fetchone()
        return int(found[0])

    def ids(self) -> set[str]:
        """Every id that is held, readable or not."""
        with self.connection() as connection:
            return {found[0] for found in connection.execute("SELECT id FROM sessions")}

    def ids_starting(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin with `prefix`, in order, at most `limit`."""
        with self.connection() as connection:
            found = connection.execute(
                "SELECT id FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT ?",
                [len(prefix), prefix, limit],
            )
            return [value for (value,) in found]

    def ids_named(self, name: str, directory: str | None) -> list[tuple[str, str]]:
        """(id, directory) of the sessions of that name, newest first; None: in every directory."""
        with self.connection() as connection:
            return connection.execute(
                "SELECT id, directory FROM sessions WHERE name = ? AND (? IS NULL OR directory = ?) "
                "ORDER BY updated_at DESC, id DESC",
                [name, directory, directory],
            ).fetchall()

    def problems(self) -> list[tuple[str, str]]:
        """(id, why) of the sessions that cannot be read."""
        with self.connection() as connection:
            return connection.execute(
                "SELECT id, problem FROM sessions WHERE problem != '' ORDER BY id"
            ).fetchall()

    def least_checked(self, before: float, limit: int) -> list[Row]:
        """Sessions not compared with the record since `before` (seconds since the epoch), longest first."""
        future = time.time() + 60  # such times are from before the clock was set back
        with self.connection() as connection:
            found = connection.execute(
                _select("WHERE checked < ? OR checked > ? ORDER BY checked LIMIT ?"), [before, future, limit]
            )
            return [_row(row) for row in found]

    def put(self, changes: Sequence[tuple[Row, int | None]]) -> None:
        """Take in what the record says of sessions.

        Args:
            changes: Each session as it was read, with the revision it had in the index before it was read:
                -1 when it was unknown; None to replace whatever is there (from the session's own writer).
                A session that another process changed since is left as that one wrote it.
        """
        now = time.time()
        with self.write() as connection:
            for row, seen in changes:
                summary, problem = row.summary, row.problem
                values = [
                    *(summary.updated_at, summary.created_at, summary.message_count, _encode(summary)),
                    *(
                        clean(summary.text("directory")),
                        clean(summary.text("name")),
                        clean(summary.text("title")),
                        clean(summary.text("compacted_to")),
                    ),
                    *(0 if problem else _listed(summary), problem, now),
                ]
                connection.execute(
                    _PUT,
                    [summary.session_id, *values, seen, seen],
                )

    def checked(self, ids: Sequence[str]) -> None:
        """Note that these sessions were found as the record has them."""
        now = time.time()
        with self.write() as connection:
            connection.executemany("UPDATE sessions SET checked = ? WHERE id = ?", [(now, i) for i in ids])

    def remove(self, ids: Sequence[str]) -> None:
        """Forget sessions that are no longer recorded, with their texts."""
        with self.write() as connection:
            for session_id in ids:
                _forget_texts(connection, session_id)
                connection.execute("DELETE FROM sessions WHERE id = ?", [session_id])
                connection.execute("DELETE FROM open_sessions WHERE id = ?", [session_id])

    # Marks and facts --------------------------------------------------------------------------

    def mark_open(self, session_id: str, token: str) -> None:
        """Note that a process writes this session; `token` tells this mark from later ones."""
        with self.write() as connection:
            connection.execute("INSERT OR REPLACE INTO open_sessions VALUES (?, ?)", [session_id, token])

    def unmark(self, session_id: str, token: str) -> bool:
        """Take a mark back, unless it was set anew since; whether it was."""
        with self.write() as connection:
            deleted = connection.execute(
                "DELETE FROM open_sessions WHERE id = ? AND token = ?", [session_id, token]
            )
            return deleted.rowcount == 1

    def marked(self) -> list[tuple[str, str]]:
        """(id, token) of the sessions marked as being written."""
        with self.connection() as connection:
            return connection.execute("SELECT id, token FROM open_sessions").fetchall()

    def fact(self, key: str) -> str:
        """A remembered value; empty when there is none."""
        with self.connection() as connection:
            found = connection.execute("SELECT value FROM facts WHERE key = ?", [key]).fetchone()
        return str(found[0]) if found else ""

    def remember(self, key: str, value: str) -> None:
        """Remember a value."""
        with self.write() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [key, value])

    def reserve_name(self, directory: str, name: str, *, seconds: float) -> bool:
        """Take a name for a session about to be made; False when a session or another process has it."""
        now = time.time()
        with self.write() as connection:
            connection.execute("DELETE FROM reserved_names WHERE abs(? - at) > ?", [now, seconds])
            taken = connection.execute(
                "SELECT 1 FROM sessions WHERE directory = ? AND name = ? LIMIT 1", [directory, name]
            ).fetchone()
            if taken:
                return False
            return (
                connection.execute(
                    "INSERT OR IGNORE INTO reserved_names VALUES (?, ?, ?)", [directory, name, now]
                ).rowcount
                == 1
            )

    def names(self, directory: str) -> set[str]:
        """The names sessions of a directory have, and those reserved there."""
        with self.connection() as connection:
            found = connection.execute(
                "SELECT name FROM sessions WHERE directory = ? UNION "
                "SELECT name FROM reserved_names WHERE directory = ?",
                [directory, directory],
            )
            return {name for (name,) in found if name}

    # Full text --------------------------------------------------------------------------------

    def behind(self, limit: int) -> list[Row]:
        """Sessions whose words are not all in, at most `limit`."""
        with self.connection() as connection:
            found = connection.execute(
                _select("WHERE indexed < message_count OR NOT labelled LIMIT ?"),
                [limit],
            )
            return [_row(row) for row in found]

    def messages(self) -> int:
        """How many messages have their words in."""
        with self.connection() as connection:
            return int(
                connection.execute("SELECT count(*) FROM texts WHERE place != ?", [LABELS]).fetchone()[0]
            )

    def put_texts(self, batch: Sequence[tuple[str, Sequence[Text], int, int]]) -> None:
        """Take in words.

        Args:
            batch: For each session its texts, each replacing an earlier one of the same index, how many of
                its messages were in before, and how many are afterwards; the latter does not count when
                another process changed the former meanwhile.
        """
        with self.write() as connection:
            for session_id, texts, seen, indexed in batch:
                for text in texts:
                    _put_text(connection, text)
                connection.execute(
                    "UPDATE sessions SET indexed = ? WHERE id = ? AND indexed = ?",
                    [indexed, session_id, seen],
                )
                if any(text.index == LABELS for text in texts):
                    connection.execute("UPDATE sessions SET labelled = 1 WHERE id = ?", [session_id])

    def forget_texts(self, session_id: str) -> None:
        """Drop a session's words, to be taken in again."""
        with self.write() as connection:
            _forget_texts(connection, session_id)
            connection.execute("UPDATE sessions SET indexed = 0, labelled = 0 WHERE id = ?", [session_id])


_PLAIN = ListQuery()
_WITH_ONE_SHOTS = ListQuery(one_shots=True)
_PUT = """
INSERT INTO sessions (id, updated_at, created_at, message_count, meta, directory, name, title,
    continued_by, listed, problem, checked)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    labelled = labelled AND name = excluded.name AND title = excluded.title,
    updated_at = excluded.updated_at, created_at = excluded.created_at,
    message_count = excluded.message_count, meta = excluded.meta, directory = excluded.directory,
    name = excluded.name, title = excluded.title, continued_by = excluded.continued_by,
    listed = excluded.listed, problem = excluded.problem,
    checked = excluded.checked, revision = revision + 1
WHERE ? IS NULL OR revision = ?
"""
_COLUMNS = "id, updated_at, created_at, message_count, meta, problem, revision, indexed"


def _listed(summary: SessionSummary) -> int:
    if _PLAIN.wants(summary):
        return 1
    return 2 if _WITH_ONE_SHOTS.wants(summary) else 0


def _encode(summary: SessionSummary) -> str:
    return msgspec.json.encode(
        {clean(k): clean(v) if isinstance(v, str) else v for k, v in summary.meta.items()}
    ).decode()


def _select(rest: str) -> str:
    return f"SELECT {_COLUMNS} FROM sessions s {rest}"  # noqa: S608 - `rest` holds constants only


def _row(found: tuple[str, str, str, int, str, str, int, int]) -> Row:
    session_id, updated_at, created_at, count, meta, problem, revision, indexed = found
    summary = SessionSummary(session_id, updated_at, created_at, count, msgspec.json.decode(meta))
    return Row(summary, problem, revision, indexed)


def where_of(query: ListQuery, table: str = "s") -> tuple[str, list[str]]:
    """The condition for the sessions a query wants, and its values.

    Args:
        query: Its limit and offset do not matter.
        table: What the statement calls the table of sessions.
    """
    parts, values = [f"{table}.problem = ''"], []
    if query.directory is not None:
        parts.append(f"{table}.directory = ?")
        values.append(query.directory)
    if not query.include_unlisted:
        parts.append(f"{table}.listed IN (1, 2)" if query.one_shots else f"{table}.listed = 1")
    if query.exclude is not None:
        parts.append(f"{table}.id != ?")
        values.append(query.exclude)
    if query.fold_chains:
        # Also behind one that is not listed itself: that one stands for it.
        wanted, more = where_of(replace(query, fold_chains=False, exclude=None), "later")
        parts.append(
            f"({table}.continued_by = '' OR NOT EXISTS (SELECT 1 FROM sessions later"  # noqa: S608 - constants
            f" WHERE later.id = {table}.continued_by AND (later.updated_at, later.id) >"
            f" ({table}.updated_at, {table}.id) AND {wanted}))"
        )
        values += more
    return " AND ".join(parts), values


def _put_text(connection: sqlite3.Connection, text: Text) -> None:
    body = clean(text.text)
    origin, origin_place = text.origin or (None, None)
    found = connection.execute(
        "SELECT number, text FROM texts WHERE session_id = ? AND place = ?", [text.session_id, text.index]
    ).fetchone()
    if found:
        if found[1] == body:
            return
        _drop(connection, *found)
    if not body:
        return
    number = connection.execute(
        "INSERT INTO texts (session_id, place, role, origin, origin_place, text) VALUES (?, ?, ?, ?, ?, ?)",
        [text.session_id, text.index, clean(text.role), origin and clean(origin), origin_place, body],
    ).lastrowid
    connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", [number, index_text(body)])


def _drop(connection: sqlite3.Connection, number: int, body: str) -> None:
    connection.execute(
        "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", [number, index_text(body)]
    )
    connection.execute("DELETE FROM texts WHERE number = ?", [number])


def _forget_texts(connection: sqlite3.Connection, session_id: str) -> None:
    for number, body in connection.execute(
        "SELECT number, text FROM texts WHERE session_id = ?", [session_id]
    ).fetchall():
        _drop(connection, number, body)
