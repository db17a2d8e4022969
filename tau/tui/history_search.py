"""Finds what was sent before, letter by letter, in this directory or in all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widgets import Input, Static

from tau.display import one_line
from tau.errors import TauError
from tau.tui.fit import shorten_middle, shorten_path
from tau.tui.key_line import in_words
from tau.tui.keys import Keys, bound, rebind
from tau.tui.widgets.choices import NO_CHOICE, Choice, Choices
from tau.tui.widgets.start_page import when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.input.history import PromptHistory
    from tau.input.history_search import Found, Hit
    from tau.tui.screens.chat import ChatScreen

LIMIT = 200
"""Texts that are listed."""

BEFORE, LENGTH = 120, 500
"""Characters of a text that are looked at for its row: before the first letter that was found, and in all."""

_PLACE_CELLS = 32


class SearchField(Input):
    """What is searched for, in place of the draft."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "back": "leave",
                "choose": "take",
                "list-up": "move(-1)",
                "list-down": "move(1)",
                "history": "move(1)",
                "other-side": "widen",
            }
        )
    ]

    def __init__(self, search: HistorySearch, keys: Keys) -> None:
        super().__init__(id="search-field", select_on_focus=False)
        self._search = search
        rebind(self, keys)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for it."""
        event.stop()
        self._search.look()

    def on_blur(self) -> None:
        """Something else has the keys now, unless it is only the terminal that nobody looks at."""
        if self.app.app_focus:
            self._search.leave()

    def action_move(self, step: int) -> None:
        """An older or a newer one."""
        self._search.move(step)

    def action_widen(self) -> None:
        """Search in every directory, or in this one only."""
        self._search.widen()

    def action_take(self) -> None:
        """Put the chosen text into the prompt."""
        self._search.take()

    def action_leave(self) -> None:
        """Back to the draft."""
        self._search.leave()


class HistorySearch:
    """The search of a screen. The draft waits behind it and comes back as it was.

    Args:
        screen: Its screen.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._field: SearchField | None = None
        self._everywhere = False
        self._hits: Sequence[Hit] = ()
        self._wanted: tuple[bool, str] | None = None
        self._looking = False

    @property
    def is_open(self) -> bool:
        """Whether it has the keys."""
        return self._field is not None

    @property
    def _list(self) -> Choices:
        return self._screen.query_one("#choices", Choices)

    async def open(self, history: PromptHistory) -> None:
        """Begin a search."""
        if self._field is not None:
            return
        screen = self._screen
        self._field = field = SearchField(self, screen.keys)
        self._everywhere = False
        self._hits = ()
        if screen.prompt.completes is not None:
            screen.prompt.completes.close()
        screen.prompt.display = False
        screen.query_one("#prompt-mark", Static).update("⌕ ")
        self._say_where()
        await screen.query_one("#prompt-box").mount(field)
        field.focus()
        self._history = history
        self._searches = {False: history.search(), True: history.search(everywhere=True)}
        self.look()

    def leave(self) -> None:
        """Back to the draft, which is as it was."""
        field, self._field = self._field, None
        if field is None:
            return
        self._wanted = None
        self._list.hide()
        screen = self._screen
        screen.query_one("#prompt-mark", Static).update("❯ ")
        screen.prompt.display = True
        if screen.focused in (field, None) and screen.questions.panel is None:
            screen.prompt.focus()
        field.remove()

    def move(self, step: int) -> None:
        """Choose another text."""
        self._list.move(step)

    def widen(self) -> None:
        """Search in every directory, or in this one only."""
        self._everywhere = not self._everywhere
        self._say_where()
        self.look()

    def take(self) -> None:
        """Put the chosen text into the prompt; what stood there is in the history then."""
        place = self._list.cursor
        if 0 <= place < len(self._hits):
            self._screen.run_worker(self._take(self._hits[place]), group="search")

    def look(self) -> None:
        """Find what stands in the field."""
        if self._field is None:
            return
        self._wanted = (self._everywhere, self._field.value)
        if not self._looking:
            self._looking = True
            self._screen.run_worker(self._look(), group="search")

    async def _look(self) -> None:
        try:
            shown: tuple[bool, str] | None = None
            while (wanted := self._wanted) is not None and wanted != shown:
                everywhere, query = wanted
                search = self._searches[everywhere]
                found = await asyncio.to_thread(search.find, query, LIMIT)
                if wanted != self._wanted:
                    continue
                self._show(found, everywhere=everywhere)
                if found.complete or len(found.hits) >= LIMIT:
                    shown = wanted
        finally:
            self._looking = False

    async def _take(self, hit: Hit) -> None:
        screen = self._screen
        try:
            text = await asyncio.to_thread(self._history.whole, hit.entry)
        except TauError as error:
            screen.status.say(error.line())
            return
        if self._field is not None:
            self.leave()
            if screen.prompt.put_back(text):
                screen.draft_put_away()

    def _show(self, found: Found, *, everywhere: bool) -> None:
        before = self._hits[self._list.cursor] if 0 <= self._list.cursor < len(self._hits) else None
        self._hits = found.hits
        same = (place for place, hit in enumerate(found.hits) if before and hit.entry == before.entry)
        cursor = next(same, 0 if found.hits else NO_CHOICE)
        note = "Nothing found" if found.complete else "Searching…"
        rows = [_row(hit, everywhere=everywhere) for hit in found.hits]
        keys = [
            ("choose", "take"),
            ("list-up list-down", "older, newer"),
            ("other-side", "this directory" if everywhere else "all directories"),
            ("back", "back"),
        ]
        self._list.show(rows, cursor, in_words(self._screen.keys, keys), note)

    def _say_where(self) -> None:
        if self._field is not None:
            where = "everywhere" if self._everywhere else "from this directory"
            self._field.placeholder = f"Search what was sent {where}"


def _row(hit: Hit, *, everywhere: bool) -> Choice:
    """A text on one line: the part of it that was found."""
    text = hit.entry.text
    start = max(0, hit.positions[0] - BEFORE) if hit.positions else 0
    wanted = {place - start for place in hit.positions}
    shown: list[str] = []
    positions: list[int] = []
    length = 0
    for place, character in enumerate(text[start : start + LENGTH]):
        piece = " " if character.isspace() else character if character.isprintable() else one_line(character)
        if place in wanted:
            positions += range(length, length + len(piece))
        shown.append(piece)
        length += len(piece)
    begin = "…" if start else ""
    if everywhere:
        right = shorten_middle(shorten_path(one_line(hit.entry.directory)), _PLACE_CELLS)
    else:
        right = when(datetime.fromtimestamp(hit.entry.at, UTC).isoformat())
    return Choice(begin + "".join(shown), [place + len(begin) for place in positions], right=right)
