"""An export as JSON, for programs: everything the sessions hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tau.sessions.export_parts import Beyond, Copies, Section, Writer, json_text
from tau.sessions.records import StoredMessage, origin_of

FORMAT = 1
"""Version of the form, see docs/sessions.md."""


class JsonForm:
    """Writes one JSON object, a line a message; see `tau.sessions.export_parts.Form`."""

    def __init__(self, writer: Writer, sessions: Collection[str]) -> None:
        self._writer = writer
        self._before = f'{{"format": {FORMAT},\n"sessions": ['

    def session(self, section: Section) -> int:
        """Write a session; damage to messages leaves gaps in the indexes."""
        write = self._writer.write
        write(f'{self._before}\n{{"session": {json_text(_about(section))},\n"messages": [')
        self._before = ","
        separator = "\n"
        copies: list[dict[str, Any]] = []
        beyond: list[int] = []
        for item in section:
            if isinstance(item, StoredMessage):
                write(f"{separator}{json_text(_message(section, item))}")
                separator = ",\n"
            elif isinstance(item, Copies):
                copies += [
                    {"index": index, "origin": _origin(item.session_id, item.origin + index - item.first)}
                    for index in range(item.first, item.last + 1)
                ]
            elif isinstance(item, Beyond):
                beyond += range(item.first, item.last + 1)
        state, events = section.agent_state(), section.events()
        write(f'\n],\n"copies": {json_text(copies)},\n"beyond": {json_text(beyond)},')
        write(f'\n"agent_state": {json_text(state)},\n"events": [')
        write(",".join(f"\n{json_text(event)}" for event in events))
        write(f'\n],\n"events_beyond": {section.events_beyond},\n"damage": {json_text(section.check())}}}')
        return len(events)

    def end(self) -> None:
        """Say that nothing is missing."""
        self._writer.write('\n],\n"complete": true}\n')


def _about(section: Section) -> dict[str, Any]:
    summary = section.summary
    return {
        "id": summary.session_id,
        "created_at": summary.created_at,
        "updated_at": summary.updated_at,
        "message_count": summary.message_count,
        "meta": dict(summary.meta),
    }


def _message(section: Section, stored: StoredMessage) -> dict[str, Any]:
    origin = origin_of(stored.message)
    return {
        "index": stored.index,
        "created_at": stored.created_at,
        "redacted": stored.redacted,
        "summary": section.is_summary(stored),
        "origin": _origin(*origin) if origin else None,
        "message": stored.message,
    }


def _origin(session_id: str, index: int) -> dict[str, Any]:
    return {"session": session_id, "index": index}
