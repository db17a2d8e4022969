"""Reads whole turns of a session, newest first, at a cost that does not depend on its length."""

from __future__ import annotations

from tau.agent.history import begins_turn, cut_off, text_of
from tau.conversation.state import HistoryPage
from tau.sessions.records import StoredMessage
from tau.sessions.store import SessionReader

_CHUNK = 64
_MOST = 2_000
"""A page never holds more messages than this, whatever its turns are like."""


def page(reader: SessionReader, *, before: int | None, turns: int) -> HistoryPage:
    """The `turns` whole turns that end before index `before` (None: the end of the session).

    A reply that was cut off before it was recorded is the last message of the newest page, as the next turn
    will record it.
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
    if before is None and gathered and gathered[-1].message["role"] == "user":
        gathered += _cut_reply(reader, gathered[-1])
    return HistoryPage(messages=gathered, first_index=start, more=start > 0)


def last_turn(reader: SessionReader) -> tuple[int, str] | None:
    """Where the newest turn begins, and the person's message that begins it; None when there is none."""
    newest = page(reader, before=None, turns=1)
    if not newest.messages or not begins_turn(newest.messages[0].message):
        return None
    return newest.first_index, text_of(newest.messages[0].message)


def _cut_reply(reader: SessionReader, last: StoredMessage) -> list[StoredMessage]:
    shown = reader.scratch()
    if not shown.strip():
        return []
    message = {"role": "assistant", "content": [{"text": cut_off(shown)}]}
    return [StoredMessage(index=last.index + 1, message=message, created_at=last.created_at)]
