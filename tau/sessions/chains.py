"""Folds the sessions of a list into chains: a session stands for those that it continues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tau.sessions.records import SessionSummary


class Chains:
    """Which sessions of a list are behind which, from their metadata alone.

    A session that was continued stands behind the newest that continues it, but not when it was used again
    since: then it is nearer the top of the list, and stands for itself.
    """

    def __init__(self) -> None:
        self._front: dict[str, str] = {}
        self._behind: dict[str, list[str]] = {}

    def add(self, summary: SessionSummary) -> None:
        """Take in the next session of the list, which is the newest first."""
        session_id = summary.session_id
        front = self._front.get(summary.text("compacted_to"), session_id)
        self._front[session_id] = front
        if front != session_id:
            self._behind.setdefault(front, []).append(session_id)

    def front(self, session_id: str) -> str:
        """The session that stands for this one; itself, when it stands behind none."""
        return self._front.get(session_id, session_id)

    def behind(self, session_id: str) -> Sequence[str]:
        """The ids of those that stand behind this one, the newest first."""
        return self._behind.get(session_id, ())


def fronts(summaries: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
    """The sessions of a list, the newest first, without those that stand behind another one."""
    chains = Chains()
    for summary in summaries:
        chains.add(summary)
        if chains.front(summary.session_id) == summary.session_id:
            yield summary
