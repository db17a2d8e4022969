"""Says in a row of the session picker's list what a session is, and how it is linked to others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tau.display import one_line
from tau.input.fuzzy import fold
from tau.sessions.records import SearchHit
from tau.tui.fit import shorten_end, shorten_path
from tau.tui.widgets.row_list import Row
from tau.tui.widgets.start_page import when

if TYPE_CHECKING:
    from tau.conversation.state import ConversationState
    from tau.tui.known_session import Known
    from tau.tui.session_list import Entry, SessionList

NAME_WIDTH = 10
NAME_AT = 14
"""Where the name begins in a row, behind the mark of the cursor and the date."""
ROOM_FOR_WORDS = 90
"""Columns of the list from which on a row says in words what it otherwise marks."""
ROOM_FOR_IDS = 70
"""Columns from which on a row that says nothing else names a session by its id, where no name tells it."""
ID_WIDTH = 24


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows of a list as it is at the moment.

    Attributes:
        sessions: The list.
        state: The conversation that is open.
        width: Columns of the list.
        everywhere: Whether it has the sessions of every directory.
    """

    sessions: SessionList
    state: ConversationState
    width: int
    everywhere: bool

    def row(self, entry: Entry) -> Row:
        """The row of an entry."""
        if isinstance(entry, str):
            return Row(entry, heading=True)
        return self._hit(entry) if isinstance(entry, SearchHit) else self._session(entry)

    def _hit(self, hit: SearchHit) -> Row:
        known = self.sessions.known.get(hit.session_id)
        title = known.title if known else hit.session_id
        if hit.session_id == self.state.session_id:
            title = one_line(self.state.title) or title
        at = when(known.summary.updated_at) if known else ""
        text = one_line(hit.snippet)
        marks = [place for start, end in hit.marks for place in range(start, end)]
        right = shorten_end(title, 30 if self._in_words else 18)
        return Row(text, left=f"{at:<{NAME_AT}}", right=right, marks=marks if text == hit.snippet else ())

    def _session(self, known: Known) -> Row:
        summary, sought = known.summary, self.sessions.filter
        name = shorten_end(known.name, NAME_WIDTH - 1)
        mark = self._mark(known)
        right = str(summary.message_count)
        if not mark or self._in_words:
            right += f" message{'' if summary.message_count == 1 else 's'}"
        if self.everywhere:
            place = shorten_path(one_line(summary.text("directory"))).rpartition("/")[2]
            right = f"{shorten_end(place, 16)} · {right}"
        if mark:
            right = f"{mark} · {right}"
        title = f"└ {known.title}" if self.sessions.is_behind(known.session_id) else known.title
        found = sought.marks(known, known.folded)
        named = [place + NAME_AT for place in sought.marks(known, fold(name)) if place < len(name)]
        if not found and not named and sought.is_of_id(known):
            right = f"{shorten_end(one_line(known.session_id), ID_WIDTH)} · {right}"
        left = f"{when(summary.updated_at):<{NAME_AT}}{name:<{NAME_WIDTH}}"
        return Row(title, left=left, right=right, marks=found, left_marks=named)

    @property
    def _in_words(self) -> bool:
        return self.width >= ROOM_FOR_WORDS

    def _mark(self, known: Known) -> str:
        """How a session is linked to others, as short as the list is narrow; empty when it is not."""
        summary, sessions = known.summary, self.sessions
        parts: list[str] = []
        if earlier := len(sessions.earlier(known.session_id)):
            parts.append(f"↳ {'' if sessions.is_unfolded(known.session_id) else '+'}{earlier} earlier")
        elif (other := summary.text("compacted_from")) and not sessions.is_behind(known.session_id):
            name = self._other(other, known)
            parts.append(f"↳ {name}" if name and not self._in_words else f"continues {name}".rstrip())
        if other := summary.text("forked_from"):
            name = self._other(other, known)
            parts.append(f"from {name}" if name else "forked")
        if self.goes_on_here(known):
            parts.append("continued here")
        return " · ".join(parts)

    def goes_on_here(self, known: Known) -> bool:
        """Whether the open conversation continues a session."""
        return known.summary.text("compacted_to") == self.state.session_id

    def name_of(self, session_id: str) -> str:
        """The name of a session of the list, or of the open one; empty for any other."""
        known = self.sessions.known.get(session_id)
        if known is not None:
            return known.name
        return one_line(self.state.name) if session_id == self.state.session_id else ""

    def _other(self, session_id: str, known: Known) -> str:
        """Another session's name where it tells the two apart; else its id, where there is room for it."""
        name = self.name_of(session_id)
        if name and name != known.name:
            return shorten_end(name, NAME_WIDTH)
        says_more = self.everywhere or self.goes_on_here(known)
        room = self.width >= (ROOM_FOR_WORDS if says_more else ROOM_FOR_IDS)
        return shorten_end(one_line(session_id), ID_WIDTH) if room else ""
