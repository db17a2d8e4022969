"""Holds what the session picker lists: the sessions that fit, in their chains, and the messages found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tau.sessions.chains import Chains
from tau.sessions.records import SearchHit
from tau.tui.known_session import Known
from tau.tui.session_filter import SessionFilter

Entry = Known | SearchHit | str
"""A session, a message that was found, or a heading."""


def id_of(entry: Entry | None) -> str:
    """The session an entry stands for; empty for a heading, and for none."""
    return "" if entry is None or isinstance(entry, str) else entry.session_id


class SessionList:
    """The list.

    Attributes:
        known: The sessions that were read, by their ids, the newest first.
        chains: Which of them continue each other.
        complete: Whether all were read.
        filter: What is typed.
        hits: The messages that were found, the best first.
        similar: The sessions in which what is typed stands with other letters between, the best first.
    """

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.chains = Chains()
        self.complete = False
        self.filter = SessionFilter()
        self.hits: Sequence[SearchHit] = ()
        self.similar: Sequence[Known] = ()
        self._unfolded: set[str] = set()

    def clear(self) -> None:
        """No session was read yet."""
        self.known, self.chains, self.complete = {}, Chains(), False

    def seek(self, text: str) -> None:
        """Something else is typed; nothing was found for it yet."""
        self.filter = SessionFilter(text)
        self.hits = self.similar = ()

    def add(self, sessions: Iterable[Known]) -> None:
        """Take in the next sessions, those that are known already left out."""
        for known in sessions:
            if known.session_id not in self.known:
                self.known[known.session_id] = known
                self.chains.add(known.summary)

    def rename(self, session_id: str, name: str) -> None:
        """A session has another name now."""
        summary = self.known[session_id].summary
        self.known[session_id] = Known(replace(summary, meta={**summary.meta, "name": name}))

    # Folding -----------------------------------------------------------------------------------

    def earlier(self, session_id: str) -> Sequence[str]:
        """The sessions that are folded into one, or below it; none of a list that is filtered."""
        return () if self.filter.words else self.chains.behind(session_id)

    def is_unfolded(self, session_id: str) -> bool:
        """Whether the sessions behind one are shown below it."""
        return session_id in self._unfolded

    def is_behind(self, session_id: str) -> bool:
        """Whether a session is shown below the one that stands for it."""
        return not self.filter.words and self.chains.front(session_id) != session_id

    def fold(self, front: str, *, folded: bool) -> None:
        """Fold the sessions behind one, or show them below it."""
        (self._unfolded.discard if folded else self._unfolded.add)(front)

    # What is shown -----------------------------------------------------------------------------

    def entries(self, here: str) -> list[Entry]:
        """What is listed, from the top, with the headings.

        Args:
            here: The session of the conversation that is open.
        """
        entries: list[Entry] = []
        group = ""
        for known in self._fitting():
            if known.group != group:
                group = known.group
                entries.append(group)
            entries.append(known)
            if self.is_unfolded(known.session_id):
                entries += [self.known[earlier] for earlier in self.earlier(known.session_id)]
        if self.similar:
            entries += ["Similar", *self.similar]
        return [*entries, *self._grouped_hits(here)]

    def _fitting(self) -> Sequence[Known]:
        """The sessions that have every word; without words those that stand for a chain."""
        if not self.filter.words:
            front = self.chains.front
            return [known for known in self.known.values() if front(known.session_id) == known.session_id]
        fitting = list(self.known.values())
        for word in self.filter.words:
            fitting = [known for known in fitting if word in known.words]
        return fitting

    def _grouped_hits(self, here: str) -> Sequence[Entry]:
        """The messages that were found, by when their sessions were last used; the best first."""
        if not self.hits:
            return ()
        groups: dict[str, list[Entry]] = {}
        order = {known.group: number for number, known in reversed(list(enumerate(self.known.values())))}
        for hit in self.hits:
            known = self.known.get(hit.session_id)
            if hit.role == "title" and known is not None and self.filter.fits(known):
                continue  # it has a row
            group = known.group if known is not None else "elsewhere"
            if hit.session_id == here:
                group = "this session"
            groups.setdefault(group, []).append(hit)
        ordered = sorted(
            groups, key=lambda group: order.get(group, -1 if group == "this session" else len(order))
        )
        return [entry for group in ordered for entry in (f"In the text · {group}", *groups[group])]
