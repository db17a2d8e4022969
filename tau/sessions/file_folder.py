"""A session's folder, opened: its directories, the paths of its parts, and disk errors in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tau.errors import SessionNotFound, SessionUnusable, StoreError, StoreWriteFailed
from tau.sessions import file_system as fs
from tau.sessions.file_journal import JOURNAL_NAME
from tau.sessions.file_lock import LOCK_NAME
from tau.sessions.records import AGENT_ID

SESSIONS = "sessions"
SESSION_PART = "session.json"
META_PART = "meta.json"
EVENTS_PART = "events.jsonl"
REPLY_PART = ".reply"
RESULTS_PART = ".results"
AGENT_FOLDER = f"agents/{AGENT_ID}"
AGENT_PART = f"{AGENT_FOLDER}/agent.json"
MESSAGES_FOLDER = f"{AGENT_FOLDER}/messages"

_ROOT_FILES = (SESSION_PART, META_PART, EVENTS_PART, REPLY_PART, RESULTS_PART, JOURNAL_NAME, LOCK_NAME)


def message_name(index: int) -> str:
    """The file name of a message: six digits, more when they do not suffice."""
    return f"{index:06}.json"


def message_part(index: int) -> str:
    """A message's path inside its session."""
    return f"{MESSAGES_FOLDER}/{message_name(index)}"


def message_index(name: str) -> int | None:
    """The index a file name stands for, or None when it is no message's."""
    digits = name.removesuffix(".json")
    if digits == name or not (digits.isascii() and digits.isdigit()):
        return None
    index = int(digits)
    return index if message_name(index) == name else None


class Folder:
    """The open directories of one session.

    Args:
        session_id: The session, a checked id.
        place: The folder of all sessions, for messages.
        sessions: That folder, open; stays the caller's.

    Raises:
        SessionNotFound: There is no such session.
        SessionUnusable: It, or a part of it, is a symbolic link or not what belongs there, or unreadable.
    """

    def __init__(self, session_id: str, place: Path, sessions: int) -> None:
        self.session_id = session_id
        self._place = place
        self._agent = self._messages = -1
        try:
            with self.reading(""):
                self.root = fs.open_directory(session_id, sessions)
        except SessionUnusable as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise not_found(session_id) from None
            raise
        try:
            part = SESSION_PART
            try:
                for part in _ROOT_FILES:
                    fs.stamp_of(part, self.root)
                if self.agent is not None:
                    part = AGENT_PART
                    fs.stamp_of("agent.json", self.agent)
            except OSError:
                with self.reading(part):
                    raise
            _ = self.messages
        except BaseException:
            self.close()
            raise

    @property
    def agent(self) -> int | None:
        """``agents/tau``, open; None while it is not there."""
        if self._agent < 0:
            with self.reading(AGENT_FOLDER):
                try:
                    agents = fs.open_directory("agents", self.root)
                except FileNotFoundError:
                    return None
                try:
                    self._agent = fs.open_directory(AGENT_ID, agents)
                except FileNotFoundError:
                    return None
                finally:
                    os.close(agents)
        return self._agent

    @property
    def messages(self) -> int | None:
        """``agents/tau/messages``, open; None while it is not there."""
        if self._messages < 0:
            agent = self.agent
            if agent is None:
                return None
            with self.reading(MESSAGES_FOLDER):
                try:
                    self._messages = fs.open_directory("messages", agent)
                except FileNotFoundError:
                    return None
        return self._messages

    def complete(self) -> None:
        """Make the directories that are not there.

        Raises:
            StoreWriteFailed: The disk refused.
        """
        with self.writing(MESSAGES_FOLDER):
            make_folders(self.root)

    def directory_of(self, part: str) -> tuple[int | None, str]:
        """The open directory a part is in, and its name there."""
        if part == AGENT_PART:
            return self.agent, "agent.json"
        return self.root, part

    def path(self, part: str) -> str:
        """A part's whole path, for messages to people."""
        return str(self._place / self.session_id / part)

    def reading(self, part: str) -> _Reading:
        """Turn an `OSError` into `SessionUnusable`, naming the part."""
        return _Reading(self, part)

    @contextmanager
    def writing(self, part: str) -> Iterator[None]:
        """Turn an `OSError` into `StoreWriteFailed`, naming the part."""
        with disk_writes(self.path(part)):
            yield

    def close(self) -> None:
        """Let go of the directories. May be called twice."""
        for descriptor in (self.root, self._agent, self._messages):
            if descriptor >= 0:
                os.close(descriptor)
        self.root = self._agent = self._messages = -1


class _Reading:
    """What `Folder.reading` returns: a class, since a generator costs a listing of many sessions more."""

    __slots__ = ("_folder", "_part")

    def __init__(self, folder: Folder, part: str) -> None:
        self._folder = folder
        self._part = part

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            session_id, path = self._folder.session_id, self._folder.path(self._part)
            irregular = isinstance(error, fs.NotRegular)
            raise SessionUnusable(
                session_id,
                f"Session {session_id} cannot be opened: {path} is {_reason(error)}"
                if irregular
                else f"Session {session_id} cannot be read: {path}: {_reason(error)}",
                "move it away, then open the session again" if irregular else "",
            ) from error


def make_folders(root: int) -> None:
    """Make what is missing of ``agents/tau/messages`` in a session's open folder; wait for the disk."""
    open_directories: list[int] = []
    parent = root
    try:
        for name in ("agents", AGENT_ID, "messages"):
            descriptor, made = fs.open_or_make_directory(name, parent)
            open_directories.append(descriptor)
            if made:
                os.fsync(parent)
            parent = descriptor
    finally:
        for descriptor in open_directories:
            os.close(descriptor)


@contextmanager
def disk_writes(path: str) -> Iterator[None]:
    """Turn an `OSError` into `StoreWriteFailed`, naming the path."""
    try:
        yield
    except OSError as error:
        raise StoreWriteFailed(f"Cannot write {path}: {_reason(error)}", _hint(error)) from error


@contextmanager
def disk_reads(path: str) -> Iterator[None]:
    """Turn an `OSError` into `StoreError`, naming the path."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {_reason(error)}", _hint(error)) from error


def not_found(session_id: str) -> SessionNotFound:
    """The error for a session that is not there."""
    return SessionNotFound(session_id, f"No session {session_id} is recorded here", "tau sessions list --all")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or set TAU_DATA_DIR to a folder on another disk"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make it yours and writable, or set TAU_DATA_DIR to another folder"
    return "set TAU_DATA_DIR to a folder that works"
