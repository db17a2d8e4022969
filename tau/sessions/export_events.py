"""The agent events of a session that belong to its first messages, told from those of what came later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from tau.sessions.records import StoredMessage


class KeptEvents:
    """Tells which events belong to the messages that an export has.

    The event of a call belongs to the message that made the call; any other, to the messages recorded by
    then. What cannot be told is left out where it is later than the last of them: it may be part of what
    was undone.
    """

    def __init__(self) -> None:
        self._messages: set[str] = set()
        self._calls: set[str] = set()
        self._count = 0
        self._until: datetime | None = None

    def saw(self, stored: StoredMessage) -> None:
        """A message is in the export, or stands there as a copy of one."""
        self._count += 1
        self._until = _moment(stored.created_at) or self._until
        name = stored.message.get("tracking_id")
        if isinstance(name, str) and name:
            self._messages.add(name)
        content = stored.message.get("content")
        for block in content if isinstance(content, list) else ():
            use = block.get("toolUse") if isinstance(block, dict) else None
            if isinstance(use, dict) and isinstance(use.get("toolUseId"), str):
                self._calls.add(use["toolUseId"])

    def of(self, events: Iterable[Mapping[str, Any]], end: int) -> list[Mapping[str, Any]]:
        """Those of the events that belong to the messages before index `end`, all of them seen or lost."""
        lost = self._count < end
        return [event for event in events if self._belongs(event, end, lost=lost)]

    def _belongs(self, event: Mapping[str, Any], end: int, *, lost: bool) -> bool:
        if event.get("kind") == "shared_command":  # the message behind so many others has it
            return isinstance(at := event.get("messages"), int) and at < end
        if "tool_use_id" in event:
            if message := event.get("message"):
                if message in self._messages:
                    return True
                if not lost:
                    return False
            elif event["tool_use_id"] not in self._calls and not lost:
                return False
            # ids of calls may repeat from turn to turn, so the time tells, too
        at = _moment(event.get("at"))
        return at is not None and self._until is not None and at <= self._until


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
