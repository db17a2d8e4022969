"""The ``file`` store: one folder a session below ``TAU_DATA_DIR/sessions``, readable without tau."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tau.config.places import is_there
from tau.errors import InvalidSessionId, SessionExists, StoreError, StoreWriteFailed, TauError
from tau.sessions import file_system as fs
from tau.sessions.file_folder import (
    META_PART,
    SESSION_PART,
    SESSIONS,
    Folder,
    disk_reads,
    disk_writes,
    make_folders,
    not_found,
)
from tau.sessions.file_journal import JournalWriter
from tau.sessions.file_journal_lines import META, SESSION, Entry
from tau.sessions.file_lock import LOCK_NAME, SessionLock, current_holder
from tau.sessions.file_reader import FileReader
from tau.sessions.file_writer import FileWriter
from tau.sessions.plain_json import encode, now_stamp, patched, stamp_text
from tau.sessions.records import FORMAT, Holder, ListQuery, MetaValue, SessionSummary, check_id
from tau.sessions.store import Capabilities, SessionReader, SessionStore, SessionWriter, StoreContext

_HIDDEN = ".new-"
"""What the names of folders begin with that are no sessions yet."""


class FileStore(SessionStore):
    """Sessions as folders of JSON files. Nothing is made on disk before the first `create`.

    Args:
        data_dir: Holds the folder ``sessions``. It may be a symbolic link; nothing below it may.
        channel: The channel, for `Holder`.
    """

    name = "file"

    def __init__(self, data_dir: Path, channel: str = "") -> None:
        self._data_dir = data_dir
        self._place = data_dir / SESSIONS
        self._channel = channel
        self._lock = threading.Lock()
        self._writers: set[FileWriter] = set()

    @property
    def capabilities(self) -> Capabilities:
        """Durable, persistent, shared; the place is the real path of the sessions' folder."""
        place = os.path.realpath(self._place)
        return Capabilities(durable=True, persistent=True, shared=True, location=place)

    def create(self, session_id: str, *, meta: Mapping[str, MetaValue]) -> SessionWriter:
        """Begin a session: whole on the disk before it has its name."""
        check_id(session_id)
        first_meta = patched({}, meta)
        with disk_writes(str(self._place / session_id)):
            sessions = self._open_or_make_place()
            try:
                if fs.is_taken(session_id, sessions):
                    raise SessionExists(session_id, f"Session {session_id} exists already")
                self._make_session(session_id, first_meta, sessions)
            finally:
                os.close(sessions)
            try:
                return self.hold(session_id)
            except StoreWriteFailed:
                self._take_back(session_id)
                raise

    def hold(self, session_id: str) -> SessionWriter:
        """Take the session's lock, and bring its files up to its log."""
        check_id(session_id)
        with self._sessions(session_id) as sessions:
            folder = Folder(session_id, self._place, sessions)
        try:
            with folder.writing(LOCK_NAME):
                lock = SessionLock(session_id, folder.root, folder.path(LOCK_NAME), self._channel)
        except BaseException:
            folder.close()
            raise
        writer = FileWriter(folder, lock, self._forget)
        with self._lock:
            self._writers.add(writer)
        return writer

    def read(self, session_id: str) -> SessionReader:
        """Open a session's folder, without a lock."""
        check_id(session_id)
        with self._sessions(session_id) as sessions:
            return FileReader(Folder(session_id, self._place, sessions))

    def holder(self, session_id: str) -> Holder | None:
        """Who has the session's lock; None also when there is no such session."""
        check_id(session_id)
        try:
            with disk_reads(str(self._place / session_id)):
                sessions = self._open_place()
                try:
                    folder = fs.open_directory(session_id, sessions)
                finally:
                    os.close(sessions)
                try:
                    return current_holder(folder)
                finally:
                    os.close(folder)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def session_ids(self) -> Iterator[str]:
        """The folders whose names are ids; none when nothing was recorded yet."""
        for name in self._names():
            try:
                yield check_id(name)
            except InvalidSessionId:
                continue

    def remains(self) -> Sequence[str]:
        """The hidden folders of sessions that never got their names."""
        return [str(self._place / name) for name in sorted(self._names()) if name.startswith(_HIDDEN)]

    def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """Reads every session; tau's index does it faster."""
        wanted = []
        for session_id in self.session_ids():
            try:
                with self.read(session_id) as reader:
                    summary = reader.summary()
            except TauError:
                continue
            if query.wants(summary):
                wanted.append(summary)
        wanted.sort(key=lambda summary: (summary.updated_at, summary.session_id), reverse=True)
        return wanted[query.offset : query.offset + query.limit]

    def close(self) -> None:
        """Close the writers."""
        with self._lock:
            writers = list(self._writers)
        failed: TauError | None = None
        for writer in writers:
            try:
                writer.close()
            except TauError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def _forget(self, writer: FileWriter) -> None:
        with self._lock:
            self._writers.discard(writer)

    def _take_back(self, session_id: str) -> None:
        """Remove a session that was just begun and that nobody could be given."""
        sessions = self._open_place()
        try:
            hidden = _HIDDEN + secrets.token_hex(8)
            os.rename(session_id, hidden, src_dir_fd=sessions, dst_dir_fd=sessions)
            _remove_unfinished(hidden, sessions)
        finally:
            os.close(sessions)

    def _names(self) -> list[str]:
        """What is in the folder of all sessions; nothing while it is not there."""
        try:
            with disk_reads(str(self._place)):
                sessions = self._open_place()
                try:
                    return fs.names(sessions)
                finally:
                    os.close(sessions)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise

    def _open_place(self) -> int:
        data = os.open(self._data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return fs.open_directory(SESSIONS, data)
        finally:
            os.close(data)

    def _open_or_make_place(self) -> int:
        missing = [path for path in (self._data_dir, *self._data_dir.parents) if not is_there(path)]
        for path in reversed(missing):
            parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                descriptor, _made = fs.open_or_make_directory(path.name, parent)
                os.close(descriptor)
                os.fsync(parent)
            finally:
                os.close(parent)
        data = os.open(self._data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sessions, made = fs.open_or_make_directory(SESSIONS, data)
            if made:
                os.fsync(data)
            return sessions
        finally:
            os.close(data)

    @contextmanager
    def _sessions(self, session_id: str) -> Iterator[int]:
        """The open folder of all sessions, in which one is looked for."""
        try:
            with disk_reads(str(self._place)):
                sessions = self._open_place()
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise not_found(session_id) from None
            raise
        try:
            yield sessions
        finally:
            os.close(sessions)

    def _make_session(self, session_id: str, meta: Mapping[str, MetaValue], sessions: int) -> None:
        """Build a session under a hidden name, wait for the disk, and give it its own, which must be free."""
        hidden = _HIDDEN + secrets.token_hex(8)
        root = fs.make_directory(hidden, sessions)
        try:
            try:
                make_folders(root)
                stamp = now_stamp()
                at = stamp_text(stamp)
                record = {
                    "session_id": session_id,
                    "session_type": "AGENT",
                    "created_at": at,
                    "updated_at": at,
                    "format": FORMAT,
                }
                journal = JournalWriter(session_id, root)
                try:
                    for name, kind, content in ((SESSION_PART, SESSION, record), (META_PART, META, meta)):
                        body = encode(content)
                        written = fs.write_new(name, root, body)
                        journal.append(Entry(kind, 0, written.size, written.mtime_ns, 0, stamp, body))
                    journal.flush()
                finally:
                    journal.close()
            finally:
                os.close(root)
            try:
                os.rename(hidden, session_id, src_dir_fd=sessions, dst_dir_fd=sessions)
            except OSError:
                if fs.is_taken(session_id, sessions):
                    raise SessionExists(session_id, f"Session {session_id} exists already") from None
                raise
            os.fsync(sessions)
        except BaseException:
            _remove_unfinished(hidden, sessions)
            raise


def _remove_unfinished(hidden: str, sessions: int) -> None:
    """Remove a session that never got its name."""
    import shutil

    shutil.rmtree(hidden, ignore_errors=True, dir_fd=sessions)


def open_store(context: StoreContext) -> SessionStore:
    """The entry point ``file`` of the group ``tau.sessions``. Touches no disk."""
    return FileStore(context.data_dir, context.channel)
