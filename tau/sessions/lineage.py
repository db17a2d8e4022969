"""The sessions that a session continues or was made from, and what was said in them, each message once.

Sessions are linked by flat metadata: ``compacted_from`` names the session that one continues after a summary,
``compacted_to`` the session that continues one, ``forked_from`` the session whose messages one begins with.
``from_count`` says how many messages of the session before one goes on from. What stands there behind them
was undone, or said later by somebody who went on with that session: it is no part of the conversation.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tau.errors import TauError
from tau.sessions.records import Meta, StoredMessage, origin_of, summed_up_in
from tau.sessions.store import SessionReader

_ALL: Mapping[str, int] = MappingProxyType({})

Read = Callable[[str], SessionReader]
"""Opens a session for reading, as `SessionStore.read` does. Who calls it closes what it returns."""

COMPACTED_FROM = "compacted_from"
FORKED_FROM = "forked_from"
FROM_COUNT = "from_count"

WENT_BACK_FROM = "went_back_from"
"""The metadata key for the session in hand when the person went back to where this one begins."""

WENT_BACK_COUNT = "went_back_count"
"""The metadata key for how many messages that session had then."""

_SEED = 2
"""Messages that a session begins with when it goes on from a summary: that, and the reply to it."""

_PAGE = 64
"""Messages read at a time where few are wanted."""


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
class Link:
    """How a session goes on from the one before it.

    Attributes:
        session_id: The one before.
        count: How many of its messages belong to the conversation; None where that cannot be told: all.
        kept: How many of them, the last ones, the session has as copies.
    """

    session_id: str
    count: int | None
    kept: int


@dataclass(frozen=True, slots=True)
class Left:
    """A session that a conversation left as it went on in another one.

    Attributes:
        session_id: The session.
        count: How many messages it had then; None where that is not recorded.
    """

    session_id: str
    count: int | None

    def gone_on(self, count: int) -> bool:
        """Whether a session that has so many messages now was gone on with by itself since it was left."""
        return self.count is not None and count > self.count


@dataclass(frozen=True, slots=True)
class Behind:
    """The sessions behind one.

    Attributes:
        sessions: Their ids, the newest first.
        unread: Sessions that are named as being behind and could not be read.
        ends: How many messages of each belong to the conversation, where that is known; the others, also
            those of the session itself, belong to it whole.
    """

    sessions: tuple[str, ...]
    unread: tuple[Unread, ...]
    ends: Mapping[str, int] = field(default_factory=dict)


def left_for(meta: Meta) -> Left | None:
    """The session that a conversation left for the one with this metadata; None for a beginning or a fork."""
    for key, counted in ((COMPACTED_FROM, FROM_COUNT), (WENT_BACK_FROM, WENT_BACK_COUNT)):
        for session_id in _named(meta, key):
            return Left(session_id, _count(meta, counted))
    return None


def look_behind(read: Read, session_id: str) -> Behind:
    """The sessions that a session continues or was forked from, those behind them, and so on.

    Each is named once, also where links lead in a circle. A session that cannot be read ends the way.
    """
    ends: dict[str, int] = {}

    def before(reader: SessionReader) -> Iterator[str]:
        for link in links_behind(reader, read, end=ends.get(reader.session_id)):
            if link.count is not None and link.session_id != session_id:
                ends.setdefault(link.session_id, link.count)
            yield link.session_id

    sessions, unread = _follow(read, session_id, before)
    return Behind(tuple(sessions), tuple(unread), {found: ends[found] for found in sessions if found in ends})


def behind(read: Read, session_id: str) -> list[str]:
    """The ids of the sessions behind one, the newest first, without itself; see `look_behind`."""
    return list(look_behind(read, session_id).sessions)


def whole_chain(read: Read, session_id: str) -> list[str]:
    """The ids of the sessions behind one, itself, and those that continue it; the oldest first.

    What cannot be read ends the way on its side; the session itself is named in any case.
    """
    before = behind(read, session_id)
    after, _ = _follow(read, session_id, lambda reader: _named(reader.meta(), "compacted_to"))
    return [*reversed(before), session_id, *(found for found in after if found not in before)]


def _follow(
    read: Read, session_id: str, next_ones: Callable[[SessionReader], Iterable[str]]
) -> tuple[list[str], list[Unread]]:
    """The sessions that links lead to, near ones first, and what could not be read on the way."""
    met = {session_id}
    readable: list[str] = []
    unread: list[Unread] = []
    waiting = [session_id]
    while waiting:
        here = waiting.pop(0)
        try:
            with read(here) as reader:
                found = list(next_ones(reader))
        except (TauError, OSError) as error:
            unread.append(Unread(here, reason_of(error)))
            continue
        readable.append(here)
        for there in found:
            if there not in met:
                met.add(there)
                waiting.append(there)
    return [found for found in readable if found != session_id], unread


# Where one session goes on from another -----------------------------------------------------------


def links_behind(reader: SessionReader, read: Read, *, end: int | None = None) -> list[Link]:
    """How a session goes on from those before it; one at most, unless links were made by hand.

    Args:
        reader: The session.
        read: Opens the ones before it, which is needed where none recorded how many messages it goes on from.
        end: How many messages of the session belong to the conversation; None for all. Those before it belong
            to it only as far as these go on from them.
    """
    meta = reader.meta()
    known = _count(meta, FROM_COUNT)
    links = [_compacted(reader, read, other, known, end) for other in _named(meta, COMPACTED_FROM)]
    known = None if links else known
    return links + [_forked(reader, other, known, end) for other in _named(meta, FORKED_FROM)]


def _named(meta: Meta, key: str) -> list[str]:
    value = meta.get(key)
    return [value] if isinstance(value, str) and value else []


def _count(meta: Meta, key: str) -> int | None:
    value = meta.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _forked(reader: SessionReader, source: str, known: int | None, end: int | None) -> Link:
    """A fork begins with copies of the first messages of its source, under the same indexes."""
    try:
        count = known if known is not None else _copied_to(reader, 0)
    except (TauError, OSError):  # whoever reads it is told
        return Link(source, end, 0)
    count = count if end is None else min(count, end)
    return Link(source, count, count)


def _compacted(reader: SessionReader, read: Read, source: str, known: int | None, end: int | None) -> Link:
    """A session that goes on from a summary begins with that, then with copies of the last messages."""
    try:
        first = next((at for at in range(_SEED) if _is_copy(reader, at)), _SEED)
        last = _copied_to(reader, first)
        count = known if known is not None else _summarized(reader, read, source, last if last > first else 0)
    except (TauError, OSError):  # as above
        return Link(source, known, 0)
    kept = last - first
    if end is None or end >= last or count is None:
        return Link(source, count, kept)
    left = max(0, end - first)
    return Link(source, max(0, count - kept + left) if end else 0, left)


def _copied_to(reader: SessionReader, first: int) -> int:
    """The index behind the copies that a session begins with, from the first of them on."""
    if not _is_copy(reader, first):
        return first
    return bisect.bisect_left(range(reader.count()), True, lo=first, key=lambda at: not _is_copy(reader, at))


def _is_copy(reader: SessionReader, index: int) -> bool:
    """Whether a message is a copy; one that cannot be read is what the one before it is."""
    for at in range(index, -1, -1):
        for stored in reader.messages(offset=at, limit=1):
            return origin_of(stored.message) is not None
    return False


def _summarized(reader: SessionReader, read: Read, source: str, copied_to: int) -> int | None:
    """How many messages the source of a summary had: as the last copy says, else the time of the summary.

    Args:
        reader: The session that begins with the summary.
        read: Opens the source.
        source: Its id.
        copied_to: The index behind the copies; 0 where there are none.
    """
    copies = reader.messages(offset=copied_to - 1, limit=1) if copied_to else []
    origin = origin_of(copies[0].message) if copies else None
    if origin is not None and origin[0] == source:
        return origin[1] + 1
    with read(source) as before:
        if origin is not None:
            return _place_behind(before, origin)
        begins = reader.messages(limit=1)
        return _count_at(before, begins[0].created_at) if begins else None


def _place_behind(reader: SessionReader, origin: tuple[str, int]) -> int | None:
    """The index behind a session's own copy of a message; copies stand at its beginning."""
    for stored in reader.stream():
        if origin_of(stored.message) == origin:
            return stored.index + 1
    return None


def _count_at(reader: SessionReader, moment: str) -> int:
    """How many messages a session had at a moment: it may have been gone on with since."""
    start = count = reader.count()
    while start:
        end, start = start, max(0, start - _PAGE)
        for stored in reversed(reader.messages(offset=start, limit=end - start)):
            if stored.created_at <= moment:
                return count
            count = stored.index
    return count


def reason_of(error: TauError | OSError) -> str:
    """Why something could not be read, as one line."""
    return error.line() if isinstance(error, TauError) else error.strerror or type(error).__name__


class Messages:
    """What was said in several sessions: every message once, however often it was copied among them.

    A copy stands for its original only where that is not in these sessions, or cannot be read.

    Args:
        read: Opens a session for reading.
        sessions: The ids, in the order in which they are read.
        ends: How many messages of a session are read; those of others are read all. See `Behind`.

    Attributes:
        unread: What could not be read so far.
    """

    def __init__(self, read: Read, sessions: Sequence[str], ends: Mapping[str, int] = _ALL) -> None:
        self.unread: list[Unread] = []
        self._read = read
        self._sessions = sessions
        self._ends = ends

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
                for stored in reader.stream(limit=self._ends.get(session_id)):
                    yield Original(session_id, stored, summary=bool(summed_up_in(stored)))
                self.unread += [
                    Unread(session_id, part.reason, part.index)
                    for part in reader.damage()
                    if part.index is not None and not part.recovered
                ]
        except (TauError, OSError) as error:
            self.unread.append(Unread(session_id, reason_of(error)))
