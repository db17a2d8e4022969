"""How a listing prints a session, the same in every place that lists."""

from __future__ import annotations

from tau.display import one_line
from tau.sessions.records import SessionSummary

_LINKS = (("compacted_from", "continues"), ("forked_from", "forked from"), ("compacted_to", "continued by"))


def links(summary: SessionSummary) -> list[tuple[str, str]]:
    """How a session is linked to others: ``continues``, ``forked from`` or ``continued by``, and the id."""
    return [(phrase, other) for key, phrase in _LINKS if (other := summary.text(key))]


def listed_line(number: int, summary: SessionSummary) -> str:
    """A session as ``/sessions`` prints it: ``n. id date channel title (N messages)``, then its links.

    The date is UTC. A link is ``· continues ID``, ``· forked from ID`` or ``· continued by ID``.
    """
    date = summary.updated_at[:16].replace("T", " ")
    title = one_line(summary.text("title") or summary.text("name"))
    channel = one_line(summary.text("channel"))
    linked = "".join(f" · {phrase} {one_line(other)}" for phrase, other in links(summary))
    count = summary.message_count
    return f"{number}. {summary.session_id} {date} {channel} {title} ({count} messages){linked}"
