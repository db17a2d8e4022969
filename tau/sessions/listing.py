"""How a listing prints a session, the same in every place that lists."""

from __future__ import annotations

from tau.display import one_line
from tau.sessions.records import SessionSummary


def listed_line(number: int, summary: SessionSummary) -> str:
    """A session as ``/sessions`` prints it: ``n. id date channel title (N messages)``. The date is UTC."""
    date = summary.updated_at[:16].replace("T", " ")
    title = one_line(summary.text("title") or summary.text("name"))
    channel = one_line(summary.text("channel"))
    return f"{number}. {summary.session_id} {date} {channel} {title} ({summary.message_count} messages)"
