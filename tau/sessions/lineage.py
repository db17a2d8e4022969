"""The sessions that a session continues or was made from, and what was said in them, each message once.

Sessions are linked by flat metadata: ``compacted_from`` names the session that one continues after a summary,
``compacted_to`` the session that continues one, ``forked_from`` the session whose messages one begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from tau.errors import TauError
from tau.sessions.records import StoredMessage, message_text, origin_of
from tau.sessions.store import SessionReader

Read = Callable[[str], SessionReader]
"""Opens a session for reading, as `SessionStore.read` does. Who calls it closes what it returns."""

PAGE = 500
"""Messages read at a time."""

_BEFORE = ("compacted_from", "forked_from")
_AFTER = ("compacted_to",)


@dataclass(slots=True)
class Record:
    """Where the record of a conversation is read.

    Attributes:
        read: Opens a session for reading; may be called from several threads.
        session_id: The session in hand; another one once the conversation goes on in it.
    """

    read: Read
    session_id: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a chain that could not be read.

    Attributes:
        session_id: The session.
        reason: Why, as one line.
        index: The message; None when it is the session, or the rest of it.
    """

    session_id: str
    reason: str
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Original:
    """A message of a chain, and the session in which it was found.

    Attributes:
        session_id: The session.
        stored: The message.
        summary: Whether it is no part of what was said, but the summary that a continued session begins with.
    """

    session_id: str
    stored: StoredMessage
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Behind:
    """The sessions behind one.

    Attributes:
        sessions: Their ids, the newest first.
        unread: Sessions that are named as being behind and could not be read.
    """

    sessions: tuple[str, ...]
    unread: tuple[Unread, ...]


def look_behind(read: Read, session_id: str) -> Behind:
    """The sessions that a session continues or was forked from, those behind them, and so on.

    Each is named once, also where links lead in a circle. A session that cannot be read ends the way.
    """
    sessions, unread = _follow(read, session_id, _BEFORE)
    return Behind(tuple(sessions), tuple(unread))


def behind(read: Read, session_id: str) -> list[str]:
    """The ids of the sessions behind one, the newest first, without itself; see `look_behind`."""
    return list(look_behind(read, session_id).sessions)


def whole_chain(read: Read, session_id: str) -> list[str]:
    """The ids of the sessions behind one, itself, and those that continue it; the oldest first.

    What cannot be read ends the way on its side; the session itself is named in any case.
    """
    before, _ = _follow(read, session_id, _BEFORE)
    after, _ = _follow(read, session_id, _AFTER)
    return [*reversed(before), session_id, *(found for found in after if found not in before)]


def _follow(read: Read, session_id: str, keys: Sequence[str]) -> tuple[list[str], list[Unread]]:
    """The sessions that links lead to, near ones first, and what could not be read on the way."""
    met = {session_id}
    readable: list[str] = []
    unread: list[Unread] = []
    waiting = [session_id]
    while waiting:
        here = waiting.pop(0)
        try:
            with read(here) as reader:
                meta = reader.meta()
        except (TauError, OSError) as error:
            unread.append(Unread(here, reason_of(error)))
            continue
        readable.append(here)
        for key in keys:
            there = meta.get(key)
            if isinstance(there, str) and there and there not in met:
                met.add(there)
                waiting.append(there)
    return [found for found in readable if found != session_id], unread


def reason_of(error: TauError | OSError) -> str:
    """Why something could not be read, as one line."""
    return error.line() if isinstance(error, TauError) else error.strerror or type(error).__name__


class Messages:
    """What was said in several sessions: every message once, however often it was copied among them.

    A copy stands for its original only where that is not in these sessions, or cannot be read.

    Args:
        read: Opens a session for reading.
        sessions: The ids, in the order in which they are read.

    Attributes:
        unread: What could not be read so far.
    """

    def __init__(self, read: Read, sessions: Sequence[str]) -> None:
        self.unread: list[Unread] = []
        self._read = read
        self._sessions = sessions

    def __iter__(self) -> Generator[Original, None, None]:
        """The messages, session after session, in each by index; at last copies whose originals are lost."""
        self.unread = []
        found: set[tuple[str, int]] = set()
        copies: dict[tuple[str, int], tuple[str, int]] = {}
        for session_id in self._sessions:
            for original in self._messages_of(session_id):
                stored = original.stored
                here = session_id, stored.index
                origin = origin_of(stored.message) or here
                if origin != here and origin[0] in self._sessions:
                    copies.setdefault(origin, here)
                elif origin not in found:
                    found.add(origin)
                    yield original
        for origin, (session_id, index) in copies.items():
            if origin not in found:
                yield from self.at(session_id, [index])

    def at(self, session_id: str, indexes: Sequence[int]) -> Iterator[Original]:
        """Some messages of one session; what cannot be read is left out."""
        try:
            with self._read(session_id) as reader:
                for index in indexes:
                    for stored in reader.messages(offset=index, limit=1):
                        yield Original(session_id, stored)
        except (TauError, OSError) as error:
            self.unread.append(Unread(session_id, reason_of(error)))

    def _messages_of(self, session_id: str) -> Iterator[Original]:
        try:
            with self._read(session_id) as reader:
                source = reader.meta().get("compacted_from")
                for offset in range(0, reader.count(), PAGE):
                    for stored in reader.messages(offset=offset, limit=PAGE):
                        begins = bool(source) and stored.index == 0 and origin_of(stored.message) is None
                        names = begins and f"(session {source})" in message_text(stored.message)
                        yield Original(session_id, stored, summary=names)
                self.unread += [
                    Unread(session_id, part.reason, part.index)
                    for part in reader.damage()
                    if part.index is not None and not part.recovered
                ]
        except (TauError, OSError) as error:
            self.unread.append(Unread(session_id, reason_of(error)))
