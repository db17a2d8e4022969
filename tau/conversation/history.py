"""Reads a session's turns, newest first, at a cost that does not depend on its length."""

from __future__ import annotations

from tau.agent.history import begins_turn
from tau.agent.streaming import cut_message, read_scratch
from tau.conversation.recorded_calls import RecordedCalls
from tau.conversation.state import HistoryPage
from tau.errors import TauError
from tau.sessions.attached import own_text
from tau.sessions.lineage import Read, links_behind
from tau.sessions.records import StoredMessage, summary_of
from tau.sessions.store import SessionReader

_CHUNK = 64
END = 2**31
"""An index beyond every message of a session."""

_MOST = 2_000
"""A page never holds more messages than this, whatever its turns are like."""


def page(
    reader: SessionReader,
    *,
    before: int | None,
    turns: int,
    read: Read,
    calls: RecordedCalls | None = None,
) -> HistoryPage:
    """The `turns` whole turns that end before index `before` (None: the end of the session).

    A reply that was cut off before it was recorded is the last message of the newest page, as the next turn
    will record it.

    Args:
        reader: The session.
        before: An index in it, or None.
        turns: How many.
        read: Where the session begins with a summary, the one that is summarized is looked into.
        calls: What is known already of the session's calls, to be handed in again for the page before.
    """
    end = reader.count() if before is None else min(before, reader.count())
    start = end
    gathered: list[StoredMessage] = []
    found = 0
    while start > 0 and found < turns and end - start < _MOST:
        lower = max(0, start - _CHUNK)
        chunk = reader.messages(offset=lower, limit=start - lower)
        start = lower
        gathered[:0] = chunk
        found = sum(begins_turn(item.message) for item in gathered)
    begins = [place for place, item in enumerate(gathered) if begins_turn(item.message)]
    if len(begins) > turns:
        gathered = gathered[begins[-turns] :]
        start = gathered[0].index
    elif start > 0 and begins:
        gathered = gathered[begins[0] :]
        start = gathered[0].index
    recorded = (calls or RecordedCalls()).of(reader, gathered)
    if before is None and gathered and gathered[-1].message["role"] == "user":
        gathered += _cut_reply(reader, gathered[-1])
    return HistoryPage(
        messages=gathered,
        events=recorded,
        first_index=start,
        more=start > 0,
        session_id=reader.session_id,
        previous=None if start else previous(reader, read),
    )


def previous(reader: SessionReader, read: Read, *, end: int | None = None) -> tuple[str, int] | None:
    """Where a conversation goes on before the beginning of a session.

    Args:
        reader: The session.
        read: Opens the ones before it.
        end: How many messages of the session belong to the conversation; None for all.

    Returns:
        A session, and the index in it of what comes word for word in this one, through any number of forks;
        None when nothing came before, or that is not known.
    """
    met = {reader.session_id}
    link = next(iter(links_behind(reader, read, end=end)), None)
    while link is not None:
        before = END if link.count is None else link.count - link.kept
        if before > 0:
            return link.session_id, before
        if link.session_id in met:
            return None
        met.add(link.session_id)
        try:  # all of it is in this one
            with read(link.session_id) as source:
                link = next(iter(links_behind(source, read, end=link.count)), None)
        except (TauError, OSError):  # it is gone; a summary says of which session it is
            first = reader.messages(limit=1)
            summarized = summary_of(first[0], None) if first else ""
            return (summarized, END) if summarized else None
    return None


def said(stored: StoredMessage) -> str:
    """The text of a message without what goes along, also of one that has not the shape it should have."""
    return own_text(stored.message)


def _cut_reply(reader: SessionReader, last: StoredMessage) -> list[StoredMessage]:
    shown = read_scratch(reader.scratch())
    if not shown:
        return []
    return [StoredMessage(last.index + 1, cut_message(shown), last.created_at)]
