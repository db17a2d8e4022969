"""What files import, kept by the hash of their content, so that a file is read again only when it changed.

It is only a cache and may be deleted at any time. Where it cannot be used, files are read.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tau.display import storable
from tau.sessions.file_system import tells_changes
from tau.sessions.index_file import IndexFile
from tau.tasks.imports.found import Found
from tau.tasks.imports.languages import imports_of, language_of, missing_grammar
from tau.tasks.imports.project import ProjectFiles

log = logging.getLogger(__name__)

VERSION = 1
"""Goes up when imports are read otherwise, or the tables are others."""

_TABLES = """
CREATE TABLE imports (
    hash TEXT, language TEXT, found TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (hash, language)
) WITHOUT ROWID;
CREATE TABLE stamps (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
"""
_KEPT_SECONDS = 180 * 86_400
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it is now; `hash` is empty while its content has not been looked at."""

    path: str
    language: str
    stamp: str
    settled: bool
    hash: str = ""


class ImportCache:
    """Reads what files of a project import. May be used from several threads.

    Args:
        folder: Where the cache is; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self._file = IndexFile(folder, version=VERSION, tables=_TABLES)

    def imports(self, paths: Sequence[str], project: ProjectFiles) -> dict[str, Found]:
        """What each of some files imports.

        Args:
            paths: As `ProjectFiles` has them. Each is answered for.
            project: Where they are.
        """
        answers: dict[str, Found] = {}
        seen: list[_Seen] = []
        for path in paths:
            language = language_of(path)
            known = missing_grammar(language) if language else "imports of such files are not read"
            problem = project.withheld(path) or known
            looked = None if problem else _look(path, language, project)
            if looked is None:
                answers[path] = Found(problem=problem or project.absence(path))
            else:
                seen.append(looked)
        answers.update(self._answers(seen, project))
        return answers

    def _answers(self, seen: Sequence[_Seen], project: ProjectFiles) -> Iterator[tuple[str, Found]]:
        top = storable(str(project.root))
        hashes = self._kept(
            "SELECT path, stamp || ' ' || hash FROM stamps WHERE path",
            [f"{top}/{each.path}" for each in seen],
        )
        contents: dict[str, bytes] = {}
        known: list[_Seen] = []
        fresh: list[_Seen] = []
        for each in seen:
            stamp, _, digest = hashes.get(f"{top}/{each.path}", "").rpartition(" ")
            if stamp != each.stamp or not each.settled:
                data, problem = project.read(each.path)
                if data is None:
                    yield each.path, Found(problem=problem)
                    continue
                contents[each.path] = data
                digest = hashlib.sha256(data).hexdigest()
            looked = _Seen(each.path, each.language, each.stamp, each.settled, digest)
            known.append(looked)
            if each.path in contents and each.settled:
                fresh.append(looked)
        kept = self._kept(
            "SELECT hash || ' ' || language, found FROM imports WHERE hash", [each.hash for each in known]
        )
        read: dict[str, Found] = {}
        for each in known:
            key = f"{each.hash} {each.language}"
            found = _decoded(kept.get(key, "")) or read.get(key)
            if found is None:
                data = contents.get(each.path)
                if data is None:
                    data, problem = project.read(each.path)
                    if data is None:
                        yield each.path, Found(problem=problem)
                        continue
                    key = f"{hashlib.sha256(data).hexdigest()} {each.language}"
                found = read[key] = imports_of(data, each.language)
            yield each.path, found
        if read or fresh:
            self._keep(read, {f"{top}/{each.path}": f"{each.stamp} {each.hash}" for each in fresh})

    def _kept(self, select: str, keys: Sequence[str]) -> dict[str, str]:
        """What the cache has under some keys; nothing where it cannot be used."""
        found: dict[str, str] = {}
        if not keys:
            return found
        try:
            with self._file.connection() as connection:
                for start in range(0, len(keys), _AT_ONCE):
                    some = keys[start : start + _AT_ONCE]
                    marks = ", ".join("?" * len(some))
                    found.update(connection.execute(f"{select} IN ({marks})", some).fetchall())
        except sqlite3.DatabaseError as error:
            self._failed(error)
        except OSError as error:
            log.warning("What files import is not kept: %s", error)
        return found

    def _keep(self, read: Mapping[str, Found], stamps: Mapping[str, str]) -> None:
        at = time.time()
        try:
            with self._file.write() as connection:
                for table in ("imports", "stamps"):
                    connection.execute(f"DELETE FROM {table} WHERE at < ?", [at - _KEPT_SECONDS])  # noqa: S608 - constants only
                connection.executemany(
                    "INSERT OR REPLACE INTO imports VALUES (?, ?, ?, ?)",
                    [
                        (*key.split(" "), msgspec.json.encode(found).decode(), at)
                        for key, found in read.items()
                    ],
                )
                connection.executemany(
                    "INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?)",
                    [(path, *stamp.rsplit(" ", 1), at) for path, stamp in stamps.items()],
                )
            self._file.tidy()
        except sqlite3.DatabaseError as error:
            self._failed(error)
        except OSError as error:
            log.warning("What files import is not kept: %s", error)

    def _failed(self, error: sqlite3.DatabaseError) -> None:
        log.warning("What files import is not kept: %s", error)
        if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        ):
            try:
                self._file.set_aside()
            except OSError as problem:
                log.warning("The damaged cache of imports stays: %s", problem)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.reopen()


def _look(path: str, language: str, project: ProjectFiles) -> _Seen | None:
    """A file as it is now, or None when it is not there."""
    if project.find(path) is None:
        return None
    try:
        status = (project.root / path).stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    stamp = f"{status.st_dev}.{status.st_ino}.{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}"
    return _Seen(path, language, stamp, tells_changes(status.st_mtime_ns))


def _decoded(text: str) -> Found | None:
    try:
        return msgspec.json.decode(text, type=Found) if text else None
    except msgspec.MsgspecError:
        return None
