"""Copies the messages of one session into another, each marked with where it was first recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tau.agent.window_state import carried_state
from tau.conversation.own_commands import copied, waiting
from tau.conversation.recorded_calls import NEWEST_EVENTS, RecordedCalls
from tau.events import from_line
from tau.sessions.records import AgentState, Message, StoredMessage, with_origin
from tau.sessions.store import SessionReader, SessionWriter

_CHUNK = 64
"""Messages that are read at once."""

_STRETCH = 0.008
"""Seconds of copying after which whatever else waits for the loop gets its turn."""

LOST_RESULT = "The result of this call could not be read."


async def copy_messages(
    source: SessionReader, writer: SessionWriter, *, end: int, start: int = 0
) -> list[int]:
    """Append messages of a session, from index `start` on and before `end`, to another one.

    Nothing is written to the source. A message that cannot be read is stood in for by one that says so.
    The events of the calls that are copied come along. When the copy goes to the end of the source, so does
    what mends an unfinished turn: results that are in no message yet, and the part of a reply that was never
    recorded.

    However long that takes, the loop is free again every few milliseconds, and the copy can be cancelled
    there. Nobody else may write to either session meanwhile but the source's own process.

    Returns:
        The indexes of the messages that could not be read.

    Raises:
        StoreError: The source cannot be read, or the writer not written.
    """
    lost: list[int] = []
    last: Message = {}
    asking: set[str] = set()
    at = writer.count() - start
    pace = _Pace()
    for offset in range(start, end, _CHUNK):
        upto = min(end, offset + _CHUNK)
        known = {item.index: item for item in source.messages(offset=offset, limit=upto - offset)}
        for index in range(offset, upto):
            last = _copy(known.get(index), last, source.session_id, index)
            if index not in known:
                lost.append(index)
            writer.append(at + index, last)
            if _calls(last) and isinstance(name := last.get("tracking_id"), str):
                asking.add(name)
            await pace.keep()
    for event in RecordedCalls().named(source, asking):
        writer.append_event(event)
        await pace.keep()
    if end == source.count():  # else more was said meanwhile, to which these belong
        _copy_unfinished(source, writer)
    return lost


def copy_cuts(
    window: Mapping[str, Any], writer: SessionWriter, *, name: str, end: int, start: int = 0
) -> None:
    """Have a model shown the copies that `copy_messages` has made cut as it was shown the originals.

    Args:
        window: The state of the window on the originals.
        writer: The session of the copies, which are its last messages.
        name: By which it remembers its kind of window.
        end: Index of the first message that was not copied.
        start: Index of the first one that was.

    Raises:
        StoreError: The writer cannot be written.
    """
    at = writer.count() - (end - start)
    state = carried_state(window, name=name, start=start, end=end, at=at)
    if state is not None:
        held = writer.agent_state() or AgentState()
        writer.write_agent_state(replace(held, conversation_manager_state=state))


class _Pace:
    """Gives the loop away every now and then."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def keep(self) -> None:
        """Let others have the loop, if it was kept for long enough."""
        if time.perf_counter() - self._began >= _STRETCH:
            await asyncio.sleep(0)
            self._began = time.perf_counter()


def _copy(stored: StoredMessage | None, before: Message, session_id: str, index: int) -> Message:
    message = stored.message if stored is not None else _stand_in(before, session_id, index)
    return with_origin(message, session_id, index)


def _stand_in(before: Message, session_id: str, index: int) -> Message:
    """A message in place of one that cannot be read, of the kind that can follow the one before."""
    calls = _calls(before)
    if calls:
        content: list[dict[str, Any]] = [
            {"toolResult": {"toolUseId": call, "status": "error", "content": [{"text": LOST_RESULT}]}}
            for call in calls
        ]
    else:
        content = [{"text": f"[Message {index} of session {session_id} could not be read.]"}]
    return {"role": "assistant" if before.get("role") == "user" else "user", "content": content}


def _calls(message: Message) -> Sequence[str]:
    """The ids of the calls a message makes, whatever shape it has."""
    content = message.get("content")
    uses = [
        block.get("toolUse")
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict)
    ]
    return [
        use["toolUseId"] for use in uses if isinstance(use, dict) and isinstance(use.get("toolUseId"), str)
    ]


def _copy_unfinished(source: SessionReader, writer: SessionWriter) -> None:
    newest = [from_line(event) for event in source.events(limit=NEWEST_EVENTS)]
    for event in copied(waiting(source, newest), writer.count()):
        writer.append_event(event)
    for result in source.kept_results():
        writer.keep_result(result)
    if shown := source.scratch():
        writer.append_scratch(shown)
