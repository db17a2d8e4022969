"""How a listing prints a session, the same in every place that lists."""

from __future__ import annotations

from tau.sessions.records import SessionSummary


def listed_line(number: int, summary: SessionSummary) -> str:
    """A session as ``/sessions`` prints it: ``n. id date channel title (N messages)``. The date is UTC."""
    date = summary.updated_at[:16].replace("T", " ")
    title = summary.text("title") or summary.text("name")
    count = summary.message_count
    return (
        f"{number}. {summary.session_id} {date} {summary.text('channel')} {title} "
        f"({count} message{'' if count == 1 else 's'})"
    )
