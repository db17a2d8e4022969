"""A session's messages as plain lines for `tau sessions show`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tau.display import one_line
from tau.sessions.listing import links
from tau.sessions.records import SessionSummary, StoredMessage, summary_of

RESULT_LINES = 20
"""Lines of a tool's result that are shown; an export has all of them."""


def heading(summary: SessionSummary, held_by: str) -> Iterator[str]:
    """What a session is, ending in a blank line."""
    name = summary.text("name")
    yield f"Session {summary.session_id}" + (f" ({name})" if name else "")
    if title := summary.text("title"):
        yield title
    count = summary.message_count
    facts = [
        f"{count} message{'' if count == 1 else 's'}",
        f"last changed {summary.updated_at[:16].replace('T', ' ')} UTC",
        summary.text("channel"),
        summary.text("directory"),
    ]
    yield " · ".join(fact for fact in facts if fact)
    for phrase, other in links(summary):
        yield f"{phrase.capitalize()} {other}"
    if held_by:
        yield f"Open now in {held_by}"
    yield ""


def message_lines(stored: StoredMessage, compacted_from: str) -> Iterator[str]:
    """One message, ending in a blank line.

    Args:
        stored: The message.
        compacted_from: The session that its session continues after a summary; empty when it does not.
    """
    message = stored.message
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    who = {"user": "You", "assistant": "tau"}.get(str(message.get("role")), str(message.get("role")))
    if summarized := summary_of(stored, compacted_from):
        who = f"Summary of session {summarized}"
    elif blocks and all("toolResult" in block for block in blocks):
        who = "Tool results"
    redacted = " · redacted" if stored.redacted else ""
    yield f"── {who} · {stored.index} · {stored.created_at[:19].replace('T', ' ')}{redacted}"
    for block in blocks:
        yield from _block(block)
    yield ""


def _block(block: dict[str, Any]) -> Iterator[str]:
    match block:
        case {"text": str(text)}:
            yield from text.split("\n")
        case {"toolUse": {"name": name, "input": given}}:
            yield f"▸ {name} {one_line(json.dumps(given, ensure_ascii=False, default=str), 300)}"
        case {"toolResult": {"status": status, "content": list(parts)}}:
            yield f"◂ {status}"
            yield from _result(parts)
        case {"reasoningContent": _}:
            yield "(reasoning)"
        case _:
            yield f"({', '.join(str(key) for key in block)})"


def _result(parts: list[Any]) -> Iterator[str]:
    lines: list[str] = []
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            lines.extend(part["text"].split("\n"))
        else:
            lines.append(one_line(json.dumps(part, ensure_ascii=False, default=str), 300))
    for line in lines[:RESULT_LINES]:
        yield f"  {line}"
    if len(lines) > RESULT_LINES:
        yield f"  … {len(lines) - RESULT_LINES} more lines; tau sessions export has them"
