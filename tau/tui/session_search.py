"""Finds, while one types in the session picker, the messages with the words and the sessions like them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.sessions.records import ListQuery

if TYPE_CHECKING:
    from textual.timer import Timer

    from tau.tui.screens.sessions import SessionPicker

HITS = 20
"""Messages that are shown."""
SEARCH_AFTER = 0.2
"""Seconds without a key after which messages are searched."""
SIMILAR_AFTER = 0.04
"""Seconds without a key after which similar sessions are."""
LEAST_LETTERS = 2
"""What is shorter finds too much."""


class SessionSearch:
    """The search of a picker, for what is typed in its filter; what it finds goes into its list."""

    def __init__(self, picker: SessionPicker) -> None:
        self._picker = picker
        self._timer: Timer | None = None

    def typed(self) -> None:
        """Something else is typed: search, as soon as nothing more is."""
        picker = self._picker
        picker.run_worker(self._find_similar(), group="similar", exclusive=True)
        if self._timer is not None:
            self._timer.stop()
        self._timer = picker.set_timer(SEARCH_AFTER, self.begin)

    def begin(self) -> None:
        """Search the messages."""
        self._picker.run_worker(self._search(), group="search", exclusive=True)

    async def _search(self) -> None:
        picker = self._picker
        sessions, sought = picker.sessions, picker.sessions.filter
        words = sought.text.strip()
        if len(words) < LEAST_LETTERS:
            return
        try:
            query = ListQuery(directory=picker.directory, limit=HITS)
            hits = await picker.conversation.search(words, query)
        except TauError as error:
            if sessions.filter is sought:
                picker.hint(error.line())
            return
        if sessions.filter is sought:  # else something else was typed meanwhile
            sessions.hits = hits
            picker.show_rows(keep=True)

    async def _find_similar(self) -> None:
        """Find the titles and names in which what is typed stands with other letters between."""
        await asyncio.sleep(SIMILAR_AFTER)
        sessions = self._picker.sessions
        sought = sessions.filter
        if len(sought.letters) < LEAST_LETTERS:
            return
        others = [known for known in sessions.known.values() if not sought.fits(known)]
        found = await asyncio.to_thread(sought.similar, others)
        if found:
            sessions.similar = found
            self._picker.show_rows(keep=True)
