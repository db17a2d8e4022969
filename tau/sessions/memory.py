"""The ``memory`` store: sessions that live as long as the process, for tests and throwaway runs."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tau.errors import MessageExists, SessionExists, SessionHeld, SessionNotFound, StoreError
from tau.sessions.plain_json import next_stamp, patched, plain_copy, stamp_text, state_from, state_object
from tau.sessions.records import (
    AgentState,
    Damage,
    Holder,
    ListQuery,
    Message,
    Meta,
    MetaValue,
    SessionSummary,
    StoredMessage,
    check_id,
)
from tau.sessions.store import Capabilities, SessionReader, SessionStore, SessionWriter, StoreContext


class _Session:
    """What is recorded of one session, and the lock that guards it."""

    def __init__(self, session_id: str, meta: Meta) -> None:
        self.session_id = session_id
        self.lock = threading.Lock()
        self.created = self.updated = next_stamp(0)
        self.meta = meta
        self.messages: list[StoredMessage] = []
        self.agent: dict[str, Any] | None = None
        self.events: list[dict[str, Any]] = []
        self.kept: list[dict[str, Any]] = []
        self.holder: Holder | None = None


class _MemoryReader(SessionReader):
    def __init__(self, session: _Session) -> None:
        self.session_id = session.session_id
        self._session = session

    def summary(self) -> SessionSummary:
        session = self._session
        with session.lock:
            return SessionSummary(
                session_id=session.session_id,
                updated_at=stamp_text(session.updated),
                created_at=stamp_text(session.created),
                message_count=len(session.messages),
                meta=dict(session.meta),
            )

    def meta(self) -> Meta:
        with self._session.lock:
            return dict(self._session.meta)

    def count(self) -> int:
        return len(self._session.messages)

    def messages(self, *, offset: int = 0, limit: int | None = None) -> list[StoredMessage]:
        start = max(offset, 0)
        with self._session.lock:
            kept = self._session.messages[start : None if limit is None else start + max(limit, 0)]
        return [
            StoredMessage(
                index=stored.index,
                message=plain_copy(stored.message),
                created_at=stored.created_at,
                redacted=stored.redacted,
            )
            for stored in kept
        ]

    def kept_results(self) -> list[dict[str, Any]]:
        with self._session.lock:
            return [plain_copy(result) for result in self._session.kept]

    def agent_state(self) -> AgentState | None:
        with self._session.lock:
            agent = self._session.agent
        return None if agent is None else state_from(plain_copy(agent))

    def events(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        with self._session.lock:
            kept = list(self._session.events)
        if limit is not None:
            kept = kept[max(len(kept) - max(limit, 0), 0) :]
        return [plain_copy(event) for event in kept]

    def damage(self) -> Sequence[Damage]:
        return ()

    def close(self) -> None:
        """Nothing is held open for reading."""


class _MemoryWriter(_MemoryReader, SessionWriter):
    def __init__(self, session: _Session, store: MemoryStore) -> None:
        super().__init__(session)
        self._store = store
        self._open = True

    def append(self, index: int, message: Message) -> StoredMessage:
        session = self._held()
        copy = plain_copy(message)
        if not isinstance(copy, dict):
            raise ValueError("a message is a JSON object")
        with session.lock:
            if 0 <= index < len(session.messages):
                raise MessageExists(f"Session {self.session_id} already has a message {index}")
            if index != len(session.messages):
                raise ValueError(f"message {index} would leave a gap after {len(session.messages)} messages")
            session.updated = next_stamp(session.updated)
            stored = StoredMessage(index=index, message=copy, created_at=stamp_text(session.updated))
            session.messages.append(stored)
        return StoredMessage(index=index, message=plain_copy(copy), created_at=stored.created_at)

    def redact(self, index: int, message: Message) -> None:
        session = self._held()
        copy = plain_copy(message)
        with session.lock:
            if not 0 <= index < len(session.messages):
                raise KeyError(index)
            old = session.messages[index]
            session.messages[index] = StoredMessage(
                index=index, message=copy, created_at=old.created_at, redacted=True
            )

    def write_agent_state(self, state: AgentState) -> None:
        session = self._held()
        copy = plain_copy(state_object(state))
        with session.lock:
            session.agent = copy

    def patch_meta(self, changes: Mapping[str, MetaValue], *, touch: bool = True) -> Meta:
        session = self._held()
        with session.lock:
            session.meta = patched(session.meta, changes)
            if touch:
                session.updated = next_stamp(session.updated)
            return dict(session.meta)

    def append_event(self, event: Mapping[str, Any]) -> None:
        session = self._held()
        copy = plain_copy(dict(event))
        with session.lock:
            session.events.append(copy)

    def keep_result(self, result: Mapping[str, Any]) -> None:
        session = self._held()
        copy = plain_copy(dict(result))
        with session.lock:
            session.kept.append(copy)

    def clear_kept_results(self) -> None:
        session = self._held()
        with session.lock:
            session.kept.clear()

    def flush(self) -> None:
        self._held()

    def close(self) -> None:
        if self._open:
            self._open = False
            with self._session.lock:
                self._session.holder = None
            self._store.forget(self)

    def _held(self) -> _Session:
        if not self._open:
            raise StoreError(f"Session {self.session_id} is no longer held for writing")
        return self._session


class MemoryStore(SessionStore):
    """Sessions in this store object; every reader and writer of it sees them."""

    name = "memory"

    def __init__(self, channel: str = "") -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._writers: set[_MemoryWriter] = set()

    @property
    def capabilities(self) -> Capabilities:
        """None: it ends with the process."""
        return Capabilities()

    def create(self, session_id: str, *, meta: Mapping[str, MetaValue]) -> SessionWriter:
        """Begin a session."""
        session = _Session(check_id(session_id), patched({}, meta))
        with self._lock:
            if session_id in self._sessions:
                raise SessionExists(session_id, f"Session {session_id} exists already")
            writer = self._hold(session)
            self._sessions[session_id] = session
            self._writers.add(writer)
        return writer

    def hold(self, session_id: str) -> SessionWriter:
        """Open a session for writing."""
        writer = self._hold(self._find(session_id))
        with self._lock:
            self._writers.add(writer)
        return writer

    def read(self, session_id: str) -> SessionReader:
        """Open a session for reading."""
        return _MemoryReader(self._find(session_id))

    def holder(self, session_id: str) -> Holder | None:
        """Who holds a session; None also when there is no such session."""
        check_id(session_id)
        with self._lock:
            session = self._sessions.get(session_id)
        return None if session is None else session.holder

    def session_ids(self) -> Iterator[str]:
        """The ids, in the order they were created."""
        with self._lock:
            return iter(list(self._sessions))

    def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """Looks at every session."""
        found = [_MemoryReader(self._find(session_id)).summary() for session_id in self.session_ids()]
        wanted = sorted(
            (summary for summary in found if query.wants(summary)),
            key=lambda summary: (summary.updated_at, summary.session_id),
            reverse=True,
        )
        return wanted[query.offset : query.offset + query.limit]

    def close(self) -> None:
        """Close the writers; what they recorded goes with the store object."""
        with self._lock:
            writers = list(self._writers)
        for writer in writers:
            writer.close()

    def forget(self, writer: _MemoryWriter) -> None:
        """A writer of this store was closed."""
        with self._lock:
            self._writers.discard(writer)

    def _find(self, session_id: str) -> _Session:
        check_id(session_id)
        with self._lock:
            session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id, f"No session {session_id} is recorded here")
        return session

    def _hold(self, session: _Session) -> _MemoryWriter:
        me = Holder(
            pid=os.getpid(), host=platform.node(), channel=self._channel, since=stamp_text(next_stamp(0))
        )
        with session.lock:
            if session.holder is not None:
                raise SessionHeld(session.session_id, session.holder.phrase())
            session.holder = me
        return _MemoryWriter(session, self)


def open_store(context: StoreContext) -> SessionStore:
    """The entry point ``memory`` of the group ``tau.sessions``."""
    return MemoryStore(context.channel)
