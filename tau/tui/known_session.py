"""A session of a list, with what the list is filtered and grouped by."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tau.display import one_line
from tau.input.fuzzy import fold

if TYPE_CHECKING:
    from tau.sessions.records import SessionSummary


class Known:
    """A session of the list.

    Attributes:
        summary: What is on record.
        session_id: Its id.
        title: Its title, on one line.
        name: Its name, or empty.
        group: The heading it belongs under.
        folded: The title as it is compared.
        words: All that it is found by, as it is compared.
    """

    def __init__(self, summary: SessionSummary) -> None:
        self.summary = summary
        self.session_id = summary.session_id
        self.title = one_line(summary.text("title") or "(no title)")
        self.name = one_line(summary.text("name"))
        self.group = date_group(summary.updated_at, datetime.now().astimezone().date())
        self.folded = fold(self.title)
        self.words = f"{self.folded} {fold(self.name)} {fold(summary.session_id)}"


def date_group(moment: str, today: date) -> str:
    """The heading a stored moment belongs under: Today, Yesterday, This week, or the month."""
    try:
        day = datetime.fromisoformat(moment).astimezone().date()
    except ValueError:
        return "Undated"
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - timedelta(days=7):
        return "This week"
    return day.strftime("%B %Y")
