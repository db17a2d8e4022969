"""Sessions written by another program: the layout of docs/sessions.md as plain files, without a store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

EPOCH = datetime(2026, 9, 1, tzinfo=UTC)


def at(minutes: float) -> str:
    """A time of the record, so many minutes after the first of September 2026."""
    return (EPOCH + timedelta(minutes=minutes)).isoformat(timespec="microseconds")


def plant(
    data: Path,
    session_id: str,
    *,
    minutes: float = 0,
    texts: Sequence[str] = ("hello",),
    meta: Mapping[str, Any] | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write a session below `data` and return its folder.

    Args:
        data: What `TAU_DATA_DIR` would be.
        session_id: The id.
        minutes: When it was last used, see `at`.
        texts: One text a message, roles alternating.
        meta: The content of ``meta.json``; by default directory ``/w``, channel ``tui`` and the title.
        messages: Whole messages, instead of `texts`.
    """
    folder = data / "sessions" / session_id
    place = folder / "agents" / "tau" / "messages"
    folder.mkdir(parents=True)
    given = messages or [
        {"role": ("user", "assistant")[index % 2], "content": [{"text": text}]}
        for index, text in enumerate(texts)
    ]
    if given:
        place.mkdir(parents=True)
    for index, message in enumerate(given):
        stored = {"message": message, "message_id": index, "redact_message": None, "created_at": at(minutes)}
        (place / f"{index:06}.json").write_text(json.dumps(stored))
    record = {
        "session_id": session_id,
        "session_type": "AGENT",
        "created_at": at(minutes),
        "updated_at": at(minutes),
        "format": 1,
    }
    (folder / "session.json").write_text(json.dumps(record))
    about = {"directory": "/w", "channel": "tui", "title": texts[0][:60] if texts else ""}
    (folder / "meta.json").write_text(json.dumps(about if meta is None else dict(meta)))
    return folder


def touch(folder: Path, minutes: float) -> None:
    """Rewrite when a planted session was last used."""
    record = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps({**record, "updated_at": at(minutes)}))
