"""Turn events as JSON lines: versioned, one a line, ASCII only, described by ``events.schema.json``."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from tau.conversation.state import ConversationState
from tau.events import TurnEvent

VERSION = 1
"""Goes up when a field changes its meaning or goes away; new types and fields may come within a version."""

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def event_type(event: type[TurnEvent]) -> str:
    """The ``type`` an event has in JSON: its name in snake case, ``text_delta``."""
    return _WORD.sub("_", event.__name__).lower()


def event_line(event: TurnEvent) -> str:
    """One event as a line without its newline."""
    return _line(event_type(type(event)), asdict(event))


def session_line(state: ConversationState) -> str:
    """The first line of a stream: which session this is, and which model answers."""
    model = state.model
    return _line(
        "session",
        {
            "session_id": state.session_id,
            "name": state.name,
            "directory": state.directory,
            "role": state.role,
            "provider": model.provider if model else None,
            "model_id": model.model_id if model else None,
        },
    )


def _line(kind: str, fields: dict[str, Any]) -> str:
    # Tool arguments come from a model or a plugin: what JSON has no form for is shown as its text.
    return json.dumps({"v": VERSION, "type": kind, **fields}, ensure_ascii=True, default=str)
