"""Reads a session's turns, newest first, at a cost that does not depend on its length, and its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tau.agent.history import LOST_REQUEST, begins_turn, cut_off, is_summary
from tau.conversation.state import HistoryPage, Prompt
from tau.display import one_line
from tau.errors import TauError, UsageError
from tau.sessions.records import StoredMessage, origin_of
from tau.sessions.store import SessionReader

_CHUNK = 64
_END = 2**31
"""An index beyond every message of a session."""

Read = Callable[[str], SessionReader]
"""Opens a session of the same store for reading. Who calls it closes what it returns."""

_MOST = 2_000
"""A page never holds more messages than this, whatever its turns are like."""

_PROMPTS_CHUNK = 512
"""Messages that are looked through for prompts at once."""


def page(reader: SessionReader, *, before: int | None, turns: int, read: Read) -> HistoryPage:
    """The `turns` whole turns that end before index `before` (None: the end of the session).

    A reply that was cut off before it was recorded is the last message of the newest page, as the next turn
    will record it.

    Args:
        reader: The session.
        before: An index in it, or None.
        turns: How many.
        read: Where the session begins with a summary, the one that is summarized is looked into.
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
    return HistoryPage(
        messages=gathered,
        first_index=start,
        more=start > 0,
        session_id=reader.session_id,
        previous=None if start else _previous(reader, gathered, read),
    )


def _previous(
    reader: SessionReader, beginning: Sequence[StoredMessage], read: Read
) -> tuple[str, int] | None:
    """The session that this one's summary is of, and the index in it of what comes word for word here."""
    if not beginning or beginning[0].index or not is_summary(beginning[0].message):
        return None
    copied = origin_of(beginning[0].message)
    if copied is None or copied[0] == reader.session_id:
        return _summarized(reader, read)
    try:  # a fork has the summary of the session that it is a copy of
        with read(copied[0]) as original:
            return _summarized(original, read)
    except TauError:  # it is gone; what it was a summary of is not known
        return None


def _summarized(reader: SessionReader, read: Read) -> tuple[str, int] | None:
    source = reader.meta().get("compacted_from")
    if not isinstance(source, str) or not source:
        return None
    beginning = {item.index: item for item in reader.messages(limit=3)}
    kept = origin_of(beginning[2].message) if 2 in beginning else None
    if kept is not None and kept[0] == source:
        return source, kept[1]
    try:
        with read(source) as before:
            if kept is not None:
                return source, _place_of(kept, before)
            return source, _count_at(before, beginning[0].created_at if 0 in beginning else "")
    except TauError:  # whoever asks for what came before is told why it cannot be read
        return source, _END


def _place_of(origin: tuple[str, int], reader: SessionReader) -> int:
    """Where a session has its own copy of a message; copies stand at its beginning."""
    for offset in range(0, reader.count(), _CHUNK):
        for stored in reader.messages(offset=offset, limit=_CHUNK):
            if origin_of(stored.message) == origin:
                return stored.index
    return _END


def _count_at(reader: SessionReader, moment: str) -> int:
    """How many messages a session had at a moment: it may have been gone on with since it was summarized."""
    end = reader.count()
    while moment and end:
        start = max(0, end - _CHUNK)
        for stored in reversed(reader.messages(offset=start, limit=end - start)):
            if stored.created_at <= moment:
                return stored.index + 1
        end = start
    return end


def is_prompt(stored: StoredMessage) -> bool:
    """Whether a message is what a person said, and no summary, result or stand-in for something lost."""
    message = stored.message
    if not begins_turn(message) or (stored.index == 0 and is_summary(message)):
        return False
    return said(stored) != LOST_REQUEST


async def prompts(reader: SessionReader) -> list[Prompt]:
    """Every prompt of a session, oldest first and numbered from 1. The loop gets a turn between the pages."""
    found: list[Prompt] = []
    for offset in range(0, reader.count(), _PROMPTS_CHUNK):
        for stored in reader.messages(offset=offset, limit=_PROMPTS_CHUNK):
            if is_prompt(stored):
                # A copy was said when its original was, which is not known here.
                at = "" if origin_of(stored.message) else stored.created_at
                found.append(Prompt(len(found) + 1, stored.index, one_line(said(stored)), at))
        await asyncio.sleep(0)
    return found


def numbered(prompts: Sequence[Prompt], number: int) -> Prompt:
    """The prompt of this number.

    Raises:
        UsageError: There is none.
    """
    if not prompts:
        raise UsageError("There is no message of yours in this session yet")
    if not 1 <= number <= len(prompts):
        raise UsageError(f"This session has your messages 1 to {len(prompts)}", "/rewind lists them")
    return prompts[number - 1]


def last_prompt(reader: SessionReader) -> StoredMessage | None:
    """The newest prompt of a session; None when there is none."""
    end = reader.count()
    while end > 0:
        start = max(0, end - _CHUNK)
        for stored in reversed(reader.messages(offset=start, limit=end - start)):
            if is_prompt(stored):
                return stored
        end = start
    return None


def said(stored: StoredMessage) -> str:
    """The text of a message, also of one whose content has not the shape it should have."""
    content = stored.message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _cut_reply(reader: SessionReader, last: StoredMessage) -> list[StoredMessage]:
    shown = reader.scratch()
    if not shown.strip():
        return []
    message = {"role": "assistant", "content": [{"text": cut_off(shown)}]}
    return [StoredMessage(index=last.index + 1, message=message, created_at=last.created_at)]
