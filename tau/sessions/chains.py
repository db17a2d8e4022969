"""Which sessions of a list stand for a whole chain: the newest of those that continue each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tau.sessions.records import SessionSummary


def fronts(summaries: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
    """The sessions of a list, the newest first, without those that a newer one of them continues.

    One that was used again since it was continued is newer than what continues it, and stands for itself.
    """
    met: set[str] = set()
    for summary in summaries:
        if summary.text("compacted_to") not in met:
            yield summary
        met.add(summary.session_id)
