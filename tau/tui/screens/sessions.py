"""The session picker: this directory or all, in chains, found as one types, searched, previewed, renamed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from tau.display import one_line
from tau.errors import TauError
from tau.sessions.listing import links
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.tui.fit import shorten_path
from tau.tui.history import turns_of
from tau.tui.keys import Keys, bound, rebind
from tau.tui.known_session import Known
from tau.tui.messages import RowChosen, RowReached
from tau.tui.screens.over import ScreenOver
from tau.tui.screens.picker import CSS, LIST_ACTIONS, NOTHING
from tau.tui.session_list import Entry, SessionList, id_of
from tau.tui.session_rename import SessionRename
from tau.tui.session_rows import SessionRows
from tau.tui.session_search import SessionSearch
from tau.tui.widgets.filter_field import FilterField
from tau.tui.widgets.key_row import KeyRow
from tau.tui.widgets.row_list import Row, RowList, Rows
from tau.tui.widgets.turn_blocks import blocks_of, read_ahead

if TYPE_CHECKING:
    from tau.conversation import Conversation

ACTIONS: Mapping[str, str] = {
    "back": "dismiss_picker",
    "sessions": "dismiss_picker",
    "choose": "choose",
    "other-side": "widen",
    "rename": "rename",
    "unfold": "fold(False)",
    "fold": "fold(True)",
    **LIST_ACTIONS,
}
FIRST_PAGE = 100
PAGE = 500
PREVIEW_AFTER = 0.12
PREVIEW_FROM_WIDTH = 100
PREVIEWED_TURNS = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen.

    Attributes:
        session_id: The session to go on with.
        hit: The message to go to, and its session: that one, or one that it continues. None: the end.
        words: What was searched for.
    """

    session_id: str
    hit: tuple[str, int] | None = None
    words: str = ""


class SessionPicker(ScreenOver[Chosen | None]):
    """Chooses a session, and a message of it where that was searched for; the result is that, or None.

    Args:
        conversation: Lists, searches and previews.
        directory: The directory whose sessions are shown first; None for all.
        here: The directory tau works in.
        keys: The keys in force.

    Attributes:
        conversation: That.
        directory: The directory whose sessions are shown now; None for all.
        sessions: The list.
    """

    AUTO_FOCUS = "#filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = [*CSS, "sessions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(ACTIONS, priority=ACTIONS),
        *bound({"interrupt": "app.interrupt"}),
    ]

    def __init__(self, conversation: Conversation, directory: str | None, here: str, keys: Keys) -> None:
        super().__init__()
        rebind(self, keys)
        self._keys = keys
        self.conversation = conversation
        self.directory = directory
        self.sessions = SessionList()
        self._here = here
        self._search = SessionSearch(self)
        self._rename = SessionRename(self)
        self._rows: Rows[Entry] = Rows(self._row, [])
        self._preview_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The filter, the list and the preview."""
        with Vertical(id="picker"):
            yield Static("", id="picker-title", markup=False)
            yield FilterField("Type to filter and search", "filter")
            with Horizontal(id="picker-middle"):
                with Container(id="session-pane"):
                    yield RowList(id="session-list")
                    yield self._rename.field
                with Vertical(id="side"):
                    yield Static("", id="lineage", markup=False)
                    yield VerticalScroll(id="preview", can_focus=False)
            yield KeyRow(self._keys, id="picker-keys")

    def on_mount(self) -> None:
        """Begin with the newest sessions."""
        self._load()

    def on_resize(self) -> None:
        """Preview only where there is room."""
        self.query_one("#side").display = self.size.width >= PREVIEW_FROM_WIDTH

    # Loading -----------------------------------------------------------------------------------

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        sessions = self.sessions
        sessions.clear()
        self.describe()
        size, read = FIRST_PAGE, 0
        while not sessions.complete:
            query = ListQuery(
                directory=self.directory,
                limit=size,
                offset=read,
                exclude=self.conversation.state.session_id,
            )
            try:
                page = await self.conversation.sessions(query)
            except TauError as error:
                self.query_one("#picker-title", Static).update(Content(one_line(error.line())))
                return
            first = not sessions.known
            sessions.add(await asyncio.to_thread(_known, page))
            read += len(page)
            sessions.complete = len(page) < size
            if first or sessions.filter.words:
                self.show_rows(keep=not first)
            elif sessions.complete:
                self.show_rows(keep=True)
            self.describe()
            size = PAGE

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        self.sessions.seek(event.value)
        self.show_rows()
        self._search.typed()

    # Showing -----------------------------------------------------------------------------------

    def describe(self) -> None:
        """Say which sessions these are, how many, and what the keys do."""
        sessions = self.sessions
        where = "every directory" if self.directory is None else shorten_path(one_line(self._here))
        count = f"{len(sessions.known):,}" + ("" if sessions.complete else "+")
        title = Content.assemble(("Sessions", "bold"), (f"  {where} · {count}", "$quiet"))
        self.query_one("#picker-title", Static).update(title)
        other = "this directory" if self.directory is None else "all directories"
        fold_key = self._fold_key()
        keys = [
            *([("choose", "resume")] if self._chosen() else []),
            *([fold_key] if fold_key else []),
            ("other-side", other),
            *([("rename", "rename")] if isinstance(self._entry(), Known) else []),
            ("back", "back"),
        ]
        if self._rename.under_way:
            keys = [("choose", "keep the name"), ("back", "back")]
        self.query_one(KeyRow).name_keys(keys)

    def show_rows(self, *, keep: bool = False, cursor: int | None = None) -> None:
        """Show the list as it is now.

        Args:
            keep: Whether the cursor stays on its entry; else it goes to the first one.
            cursor: The row that it goes to instead.
        """
        chosen = self._entry() if keep else None
        entries = self.sessions.entries(self.conversation.state.session_id)
        place = next((n for n, entry in enumerate(entries) if chosen is not None and entry == chosen), None)
        nothing = NOTHING if self.sessions.filter.words else "No sessions yet"
        self._rows = Rows(self._row, entries or [nothing])
        self.query_one(RowList).show(self._rows, cursor=place if cursor is None else cursor)
        self.describe()

    def _row(self, entry: Entry) -> Row:
        return self._present.row(entry)

    @property
    def _present(self) -> SessionRows:
        width = self.query_one(RowList).size.width
        return SessionRows(self.sessions, self.conversation.state, width, everywhere=self.directory is None)

    def _entry(self) -> Entry | None:
        """What the cursor is on."""
        if not self._rows.entries:  # the list is not on the screen before there is something to show
            return None
        place = self.query_one(RowList).cursor
        return self._rows.entries[place] if 0 <= place < len(self._rows) else None

    def _chosen(self) -> str:
        return id_of(self._entry())

    # Preview -----------------------------------------------------------------------------------

    @on(RowReached)
    def _row_reached(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(PREVIEW_AFTER, self._preview)
        self.describe()
        self._show_lineage()

    def _show_lineage(self) -> None:
        """The sessions that the one under the cursor is linked to, a line each."""
        known = self.sessions.known.get(self._chosen())
        lines: list[str] = []
        for phrase, other in links(known.summary) if known else ():
            name = self._present.name_of(other)
            lines.append(f"{phrase} {name + ' · ' if name else ''}{one_line(other)}")
        lineage = self.query_one("#lineage", Static)
        lineage.update(Content("\n").join(Content.styled(line, "$quiet") for line in lines))
        lineage.display = bool(lines)

    @work(group="preview", exclusive=True)
    async def _preview(self) -> None:
        entry, session = self._entry(), self._chosen()
        preview = self.query_one("#preview", VerticalScroll)
        if not session or not self.query_one("#side").display:
            await preview.remove_children()
            return
        try:
            if isinstance(entry, SearchHit) and entry.role != "title":
                page = await self.conversation.earlier(entry.index + 1, PREVIEWED_TURNS, session)
            else:
                page = await self.conversation.preview(session, PREVIEWED_TURNS)
        except TauError as error:
            self.hint(error.line())
            return
        turns = turns_of(page.messages, page.events)
        await read_ahead(turns, preview)
        blocks = [block for turn in turns for block in blocks_of(turn)]
        with self.app.batch_update():
            await preview.remove_children()
            await preview.mount_all(blocks)
        preview.scroll_end(animate=False)

    def hint(self, text: str) -> None:
        """Say something in place of the keys."""
        self.query_one(KeyRow).say(text)

    # Keys --------------------------------------------------------------------------------------

    def action_dismiss_picker(self) -> None:
        """Back to the conversation, or to the list."""
        if self._rename.under_way:
            self._rename.leave()
        else:
            self.dismiss(None)

    def action_widen(self) -> None:
        """Show the sessions of every directory, or of this one again."""
        self.directory = None if self.directory is not None else self._here
        self.sessions.hits = self.sessions.similar = ()
        self._load()
        self._search.begin()

    def action_list(self, what: str, step: int) -> None:
        """Move the cursor of the list while the filter keeps the keys."""
        rows = self.query_one(RowList)
        if what == "move":
            rows.action_move(step)
        else:
            rows.action_page(step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Left and right belong to the filter while something is typed, and all to a name that is changed."""
        if self._rename.under_way:
            return action not in ("fold", "list", "widen", "rename")
        return action != "fold" or not self.query_one("#filter", Input).value

    def _fold_key(self) -> tuple[str, str] | None:
        """The action that unfolds or folds what is under the cursor, and what its key does."""
        front = self.sessions.chains.front(self._chosen())
        if not self.sessions.earlier(front):
            return None
        return ("fold", "fold") if self.sessions.is_unfolded(front) else ("unfold", "earlier ones")

    def action_fold(self, fold: bool) -> None:
        """Show the sessions that the one under the cursor continues, or fold them under it again."""
        place = self.query_one(RowList).cursor
        sessions = self.sessions
        front = sessions.chains.front(self._chosen())
        if not sessions.chains.behind(front) or fold != sessions.is_unfolded(front):
            return
        sessions.fold(front, folded=fold)
        if fold:
            place = next(n for n, entry in enumerate(self._rows.entries) if id_of(entry) == front)
        self.show_rows(cursor=place)
        self.query_one(RowList).watch_cursor(place)

    def action_choose(self) -> None:
        """Resume the session under the cursor, at the message that was found; or keep the name."""
        if self._rename.under_way:
            self._rename.keep()
            return
        entry = self._entry()
        if isinstance(entry, SearchHit) and entry.role != "title":
            conversation = self._continued_by(entry.session_id)
            self.dismiss(
                Chosen(conversation, (entry.session_id, entry.index), self.sessions.filter.text.strip())
            )
        elif entry is not None and not isinstance(entry, str):
            self.dismiss(Chosen(entry.session_id))

    def _continued_by(self, session_id: str) -> str:
        """The session that a message of another one is seen in: the newest that continues that."""
        front = self.sessions.chains.front(session_id)
        known = self.sessions.known.get(front)
        return self.conversation.state.session_id if known and self._present.goes_on_here(known) else front

    @on(RowChosen)
    def _row_chosen(self) -> None:
        self.action_choose()

    def action_rename(self) -> None:
        """Change the name of the session under the cursor, where it stands."""
        known = self._entry()
        if isinstance(known, Known):
            self._rename.begin(known)


def _known(page: Sequence[SessionSummary]) -> list[Known]:
    return [Known(summary) for summary in page]
