"""Reads whole turns of a session, newest first, at a cost that does not depend on its length."""

from __future__ import annotations

from tau.conversation.state import HistoryPage
from tau.sessions.records import Message, StoredMessage
from tau.sessions.store import SessionReader

_CHUNK = 64
_MOST = 2_000
"""A page never holds more messages than this, whatever its turns are like."""


def begins_turn(message: Message) -> bool:
    """Whether a message is a person's: a user message that answers no tool call."""
    content = message.get("content")
    return message.get("role") == "user" and not any(
        isinstance(block, dict) and "toolResult" in block
        for block in (content if isinstance(content, list) else ())
    )


def page(reader: SessionReader, *, before: int | None, turns: int) -> HistoryPage:
    """The `turns` whole turns that end before index `before` (None: the end of the session)."""
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
    return HistoryPage(messages=gathered, first_index=start, more=start > 0)
