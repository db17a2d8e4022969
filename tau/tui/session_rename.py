"""Changes the name of a session where it stands in the list of the session picker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from tau.errors import TauError
from tau.tui.session_rows import NAME_AT
from tau.tui.widgets.filter_field import Field
from tau.tui.widgets.row_list import CURSOR, RowList

if TYPE_CHECKING:
    from tau.tui.known_session import Known
    from tau.tui.screens.sessions import SessionPicker

LONGEST = 60
"""Characters of a name."""
FRAME = len(CURSOR)
"""Columns before a row."""


class SessionRename:
    """The change of a name in a picker, if one is under way: then it has the keys."""

    def __init__(self, picker: SessionPicker) -> None:
        self._picker = picker
        self._session_id = ""
        self.field = Field(id="rename", compact=True, max_length=LONGEST)
        self.field.display = False

    @property
    def under_way(self) -> bool:
        """Whether a name is being changed."""
        return bool(self._session_id)

    def begin(self, known: Known) -> None:
        """Put the name of the session under the cursor into the field."""
        rows, field = self._picker.query_one(RowList), self.field
        self._session_id = known.session_id
        field.value = known.summary.text("name")
        field.styles.offset = (FRAME + NAME_AT - 1, rows.cursor - round(rows.scroll_y))
        field.styles.width = max(12, rows.size.width - FRAME - NAME_AT + 1)
        field.display = True
        self._picker.set_focus(field)
        field.action_end()
        self._picker.describe()

    def keep(self) -> None:
        """Give the session the name that is in the field."""
        work = self._rename(self._session_id, self.field.value.strip())
        self._picker.run_worker(work, group="rename", exclusive=True)

    def leave(self) -> None:
        """Leave the name as it is."""
        self._session_id = ""
        self.field.display = False
        self._picker.set_focus(self._picker.query_one("#filter", Input))
        self._picker.describe()

    async def _rename(self, session_id: str, name: str) -> None:
        picker = self._picker
        if name != picker.sessions.known[session_id].summary.text("name"):
            try:
                await picker.conversation.rename_session(session_id, name)
            except TauError as error:
                picker.hint(error.line())
                return
            picker.sessions.rename(session_id, name)
        place = picker.query_one(RowList).cursor
        self.leave()
        picker.show_rows(cursor=place)
