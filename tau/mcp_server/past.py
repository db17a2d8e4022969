"""What other agents find and read of recorded sessions: of one directory, or of all. Nothing is changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tau.display import one_line
from tau.errors import InvalidSessionId, SessionNotFound, TauError, UsageError
from tau.sessions.catalog import Catalog
from tau.sessions.lineage import Behind, look_behind
from tau.sessions.listing import listed_line
from tau.sessions.records import ListQuery, SearchHit
from tau.sessions.store import SessionReader, SessionStore
from tau.tools import recalling
from tau.tools.refusals import Watch

MOST_HITS = 30
_SNIPPET = 300
_LISTED = 300


class Past:
    """Searches and reads sessions. Blocks; may be used from several threads.

    Args:
        store: The record.
        catalog: The catalog of it.
        directory: The real path whose sessions are served; None for those of every directory.
    """

    def __init__(self, store: SessionStore, catalog: Catalog, directory: str | None) -> None:
        self._store = store
        self._catalog = catalog
        self._directory = directory

    def search(self, query: str, *, limit: int, offset: int) -> str:
        """The messages that hold every word, the best first, and the sessions they are in.

        Args:
            query: What to look for.
            limit: At most so many messages, up to `MOST_HITS`.
            offset: Skip so many.

        Raises:
            UsageError: There is nothing to look for.
            TauError: The record cannot be read.
        """
        if not query.strip():
            raise UsageError("query is empty", "give a few words that were said, or an identifier")
        wanted = ListQuery(directory=self._directory, limit=limit + 1, offset=offset, one_shots=True)
        hits = self._catalog.search(query, wanted)
        shown = hits[:limit]
        if not shown:
            what = "Nothing more was found" if offset else "Nothing was found"
            return (
                f'{what} for "{one_line(query, 200)}" in sessions of {self._where()}. '
                "A message is found when it has all the words: try fewer, or others."
            )
        lines = [_hit_line(hit) for hit in shown]
        if len(hits) > limit:
            lines.append(f"There are more: offset={offset + limit} goes on.")
        return "\n".join([*lines, "", *self._listed(shown)])

    def recall(self, session: str, query: str, wanted: str, *, room: int, stopped: threading.Event) -> str:
        """Passages of a session and of those it continues, or a range of its messages, word for word.

        Args:
            session: An id or a name.
            query: What to look for; empty for a range.
            wanted: ``"12"`` or ``"12-20"``; empty for a search.
            room: Characters of messages in the result.
            stopped: Set when nobody waits for the result any more.

        Raises:
            UsageError: Nothing or both is asked for.
            SessionNotFound: There is no such session among those that are served.
            Refused: The range cannot be used, or the session not be read.
        """
        query, wanted = query.strip(), wanted.strip()
        if bool(query) == bool(wanted):
            raise UsageError(
                "recall takes either query or range",
                'query, such as "port of the gateway", searches; range, such as "12-20", reads messages',
            )
        session_id = self._find(session)
        watch = Watch(stopped, recalling.SECONDS)
        if wanted:
            return recalling.read_range(self._read, session_id, wanted, room=room, watch=watch)
        chain = look_behind(self._read, session_id)
        belonging = (session_id, *(found for found in chain.sessions if chain.ends.get(found) != 0))
        among = Behind(belonging, chain.unread, chain.ends)
        return recalling.search(self._read, query, among, room=room, watch=watch)

    def _find(self, session: str) -> str:
        """The id of a session that is served, by its id or name."""
        target = session.strip()
        try:
            if not target:
                raise SessionNotFound(target, "No session was named")
            session_id = self._catalog.resolve(target, directory=self._directory)
            self._read(session_id).close()
        except (SessionNotFound, InvalidSessionId) as error:
            raise SessionNotFound(
                target,
                f"There is no session '{one_line(target, 60)}' in {self._where()}",
                "give the id that search_sessions names",
            ) from error
        return session_id

    def _read(self, session_id: str) -> SessionReader:
        """Open a session, if it is one that is served: the one place that decides it."""
        reader = self._store.read(session_id)
        try:
            if self._directory in (None, reader.meta().get("directory")):
                return reader
        except BaseException:
            reader.close()
            raise
        reader.close()
        raise SessionNotFound(
            session_id, f"Session {session_id} is of another directory", "`tau mcp --all` serves it"
        )

    def _listed(self, hits: Sequence[SearchHit]) -> list[str]:
        lines = ["The sessions, with the time of the last change (UTC):"]
        for number, session_id in enumerate(dict.fromkeys(hit.session_id for hit in hits), 1):
            try:
                with self._read(session_id) as reader:
                    summary = reader.summary()
            except TauError:  # moved away or damaged since it was found
                continue
            line = one_line(listed_line(number, summary), _LISTED)
            if self._directory is None:
                line += f" in {one_line(summary.text('directory'))}"
            lines.append(line)
        return lines

    def _where(self) -> str:
        return "any directory" if self._directory is None else one_line(self._directory)


def _hit_line(hit: SearchHit) -> str:
    place = "its title" if hit.role == "title" else f"message {hit.index}, {one_line(hit.role, 20)}"
    return f"[session {hit.session_id}, {place}] {one_line(hit.snippet, _SNIPPET)}"
