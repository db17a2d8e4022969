"""Reads a session's turns, newest first, at a cost that does not depend on its length, and its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tau.agent.history import LOST_REQUEST, begins_turn, cut_off, is_summary
from tau.conversation.state import HistoryPage, Prompt
from tau.display import one_line
from tau.errors import UsageError
from tau.sessions.records import StoredMessage, origin_of
from tau.sessions.store import SessionReader

_CHUNK = 64
_NOWHERE = 2**31
"""An index beyond every message: nothing of that session is shown yet."""

_MOST = 2_000
"""A page never holds more messages than this, whatever its turns are like."""

_PROMPTS_CHUNK = 512
"""Messages that are looked through for prompts at once."""


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
    return HistoryPage(
        messages=gathered,
        first_index=start,
        more=start > 0,
        session_id=reader.session_id,
        previous=None if start else _previous(reader, gathered),
    )


def _previous(reader: SessionReader, beginning: Sequence[StoredMessage]) -> tuple[str, int] | None:
    """The session that this one summarizes, and where its messages begin that are copied into this one."""
    source = reader.meta().get("compacted_from")
    if not isinstance(source, str) or not source:
        return None
    copied = next((origin_of(item.message) for item in beginning if item.index == 2), None)
    return source, copied[1] if copied is not None and copied[0] == source else _NOWHERE


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
