"""What is on record of the tool calls that messages of a session make, reading no more than it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tau.events import ToolCallRecord, from_line
from tau.sessions.records import StoredMessage
from tau.sessions.store import SessionReader

NEWEST_EVENTS = 200
"""So many of the newest events are read first, and four times as many each time that they fall short."""


class RecordedCalls:
    """The events of the calls of one session, from its newest back as far as pages were asked for.

    What was read for one page is there for those before it; another session takes its place.
    """

    def __init__(self) -> None:
        self._session_id = ""
        self._count = 0
        self._limit = 0
        self._whole = False
        self._calls: list[dict[str, Any]] = []

    def of(self, reader: SessionReader, messages: Sequence[StoredMessage]) -> list[ToolCallRecord]:
        """What is on record of the calls that messages make, in its order.

        Args:
            reader: The session.
            messages: A run of its messages, in order.
        """
        asking, ids = _asked(messages)
        if not asking and not ids:
            return []
        last = messages[-1].index
        if reader.session_id != self._session_id or last >= self._count:
            self._read(reader, NEWEST_EVENTS)
        newest = last >= self._count - 1
        found = self._find(reader, asking, ids, newest=newest)
        records = [from_line(event) for event in found]
        return [record for record in records if isinstance(record, ToolCallRecord)]

    def named(self, reader: SessionReader, asking: set[str]) -> list[dict[str, Any]]:
        """The events, as they are stored, of the calls of messages, in order.

        Args:
            reader: The session.
            asking: The ``tracking_id``s of a run of its messages. Ids of calls may repeat from turn to turn,
                so these tell.
        """
        if not asking:
            return []
        self._read(reader, NEWEST_EVENTS)
        return self._find(reader, asking, set(), newest=False)

    def _find(
        self, reader: SessionReader, asking: set[str], ids: set[str], *, newest: bool
    ) -> list[dict[str, Any]]:
        found = self._those_of(asking, ids, newest=newest)
        # Calls come in order: once one of an older message is there, nothing is missing before those found.
        while not self._whole and (not found or found[0] is self._calls[0]):
            self._read(reader, self._limit * 4)
            found = self._those_of(asking, ids, newest=newest)
        return found

    def _read(self, reader: SessionReader, limit: int) -> None:
        self._session_id, self._count, self._limit = reader.session_id, reader.count(), limit
        events = reader.events(limit=limit)
        self._whole = len(events) < limit
        self._calls = [event for event in events if event.get("kind") == "tool_call"]

    def _those_of(self, asking: set[str], ids: set[str], *, newest: bool) -> list[dict[str, Any]]:
        """The events of these messages, and older ones that name no message, where their id tells enough.

        Ids of calls may repeat: it does where it is there once, or no message is newer than these.
        """
        unnamed = Counter(_text(event, "tool_use_id") for event in self._calls if not event.get("message"))
        found = []
        for event in self._calls:
            use_id = _text(event, "tool_use_id")
            told = not event.get("message") and use_id in ids and (newest or unnamed[use_id] == 1)
            if told or _text(event, "message") in asking:
                found.append(event)
        return found


def _asked(messages: Sequence[StoredMessage]) -> tuple[set[str], set[str]]:
    """The ``tracking_id``s of the messages that make calls, and the ids of these calls."""
    asking: set[str] = set()
    ids: set[str] = set()
    for stored in messages:
        content = stored.message.get("content")
        blocks = content if isinstance(content, list) else ()
        uses = [block["toolUse"] for block in blocks if isinstance(block, dict) and "toolUse" in block]
        made = {use_id for use in uses if isinstance(use, dict) and (use_id := _text(use, "toolUseId"))}
        if made:
            ids |= made
            asking.add(_text(stored.message, "tracking_id"))
    return asking - {""}, ids


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
