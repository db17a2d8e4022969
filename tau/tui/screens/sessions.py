"""The session picker: this directory or all, in chains, filtered as one types, searched, previewed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static

from tau.display import one_line
from tau.errors import TauError
from tau.sessions.listing import links
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.tui.chains import Chains
from tau.tui.fit import shorten_end, shorten_path
from tau.tui.history import turns_of
from tau.tui.keys import Keys, bound, rebind
from tau.tui.messages import RowChosen, RowReached
from tau.tui.widgets.chat import blocks_of
from tau.tui.widgets.row_list import Row, RowList, Rows
from tau.tui.widgets.start_page import when

if TYPE_CHECKING:
    from tau.conversation import Conversation

FIRST_PAGE = 100
PAGE = 500
HITS = 20
NAME_WIDTH = 10
SEARCH_AFTER = 0.2
PREVIEW_AFTER = 0.12
PREVIEW_FROM_WIDTH = 100
PREVIEWED_TURNS = 3
ROOM_FOR_WORDS = 90
"""Columns of the list from which on a row says in words what it otherwise marks."""
ROOM_FOR_IDS = 70
"""Columns from which on a row that says nothing else names a session by its id, where no name tells it."""
ID_WIDTH = 24


class Known:
    """A session of the list, with what filtering and grouping look at."""

    def __init__(self, summary: SessionSummary) -> None:
        self.summary = summary
        self.session_id = summary.session_id
        self.title = one_line(summary.text("title") or "(no title)")
        self.group = date_group(summary.updated_at, datetime.now().astimezone().date())
        self.words = f"{self.title} {summary.text('name')} {summary.session_id}".casefold()


def id_of(entry: Known | SearchHit | str) -> str:
    """The session an entry stands for; empty for a heading."""
    return "" if isinstance(entry, str) else entry.session_id


class SessionPicker(ModalScreen[str | None]):
    """Chooses a session; the result is its id, or None.

    Args:
        conversation: Lists, searches and previews.
        directory: The directory whose sessions are shown first; None for all.
        here: The directory tau works in.
        keys: The keys in force.
    """

    AUTO_FOCUS = "#filter"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["sessions.tcss", "../widgets/row_list.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss_picker", "Back", priority=True),
        *bound({"sessions": "dismiss_picker"}, priority=["sessions"]),
        Binding("tab", "widen", "All directories", priority=True),
        Binding("up", "list('move', -1)", "Up", priority=True, show=False),
        Binding("down", "list('move', 1)", "Down", priority=True, show=False),
        Binding("pageup", "list('page', -1)", "Page up", priority=True, show=False),
        Binding("pagedown", "list('page', 1)", "Page down", priority=True, show=False),
        Binding("right", "fold(False)", "Earlier ones", priority=True, show=False),
        Binding("left", "fold(True)", "Fold", priority=True, show=False),
        Binding("enter", "choose", "Resume", priority=True),
    ]

    def __init__(self, conversation: Conversation, directory: str | None, here: str, keys: Keys) -> None:
        super().__init__()
        rebind(self, keys)
        self._conversation = conversation
        self._directory = directory
        self._here = here
        self._known: dict[str, Known] = {}
        self._chains = Chains()
        self._unfolded: set[str] = set()
        self._complete = False
        self._hits: Sequence[SearchHit] = ()
        self._rows: Rows[Known | SearchHit | str] = Rows(self._row, [])
        self._search_timer: Timer | None = None
        self._preview_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The filter, the list and the preview."""
        with Vertical(id="picker"):
            yield Static("", id="picker-title", markup=False)
            yield Input(placeholder="Type to filter and search", id="filter", compact=True)
            with Horizontal(id="picker-middle"):
                yield RowList(id="session-list")
                with Vertical(id="side"):
                    yield Static("", id="lineage", markup=False)
                    yield VerticalScroll(id="preview", can_focus=False)
            yield Static("", id="picker-keys", markup=False)

    def on_mount(self) -> None:
        """Begin with the newest sessions."""
        self._load()

    def on_resize(self) -> None:
        """Preview only where there is room."""
        self.query_one("#side").display = self.size.width >= PREVIEW_FROM_WIDTH

    # Loading -----------------------------------------------------------------------------------

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        self._known, self._chains, self._complete = {}, Chains(), False
        self._describe()
        size, read = FIRST_PAGE, 0
        while not self._complete:
            query = ListQuery(
                directory=self._directory,
                limit=size,
                offset=read,
                exclude=self._conversation.state.session_id,
            )
            try:
                page = await self._conversation.sessions(query)
            except TauError as error:
                self.query_one("#picker-title", Static).update(Content(one_line(error.line())))
                return
            first = not self._known
            for summary in page:
                if summary.session_id not in self._known:
                    self._known[summary.session_id] = Known(summary)
                    self._chains.add(summary)
            read += len(page)
            self._complete = len(page) < size
            if first or self._words():
                self._show_rows(keep=not first)
            elif self._complete:
                self._show_rows(keep=True)
            self._describe()
            size = PAGE

    @on(Input.Changed, "#filter")
    def _filter_changed(self) -> None:
        self._hits = ()
        self._show_rows()
        if self._search_timer is not None:
            self._search_timer.stop()
        self._search_timer = self.set_timer(SEARCH_AFTER, self._search)

    @work(group="search", exclusive=True)
    async def _search(self) -> None:
        words = self.query_one("#filter", Input).value.strip()
        if len(words) < 2:
            return
        try:
            query = ListQuery(directory=self._directory, limit=HITS)
            self._hits = await self._conversation.search(words, query)
        except TauError as error:
            self._hint(error.line())
            return
        self._show_rows(keep=True)

    def _words(self) -> list[str]:
        return self.query_one("#filter", Input).value.casefold().split()

    # Showing -----------------------------------------------------------------------------------

    def _describe(self) -> None:
        where = "every directory" if self._directory is None else shorten_path(one_line(self._here))
        count = f"{len(self._known):,}" + ("" if self._complete else "+")
        title = Content.assemble(("Sessions", "bold"), (f"  {where} · {count}", "$quiet"))
        self.query_one("#picker-title", Static).update(title)
        other = "this directory" if self._directory is None else "all directories"
        keys = [("Enter", " resume"), ("Tab", f" {other}"), ("Esc", " back")]
        if fold := self._fold_key():
            keys.insert(1, fold)
        parts: list[str | tuple[str, str]] = []
        for key, meaning in keys:
            parts += [(key, "$accent"), (meaning + "   ", "$quiet")]
        self.query_one("#picker-keys", Static).update(Content.assemble(*parts))

    def _show_rows(self, *, keep: bool = False, cursor: int | None = None) -> None:
        chosen = self._chosen() if keep else ""
        words = self._words()
        entries: list[Known | SearchHit | str] = []
        group = ""
        for known in self._known.values():
            front = self._chains.front(known.session_id) == known.session_id
            if all(word in known.words for word in words) if words else front:
                if known.group != group:
                    group = known.group
                    entries.append(group)
                entries.append(known)
                if not words and known.session_id in self._unfolded:
                    entries += [self._known[earlier] for earlier in self._chains.behind(known.session_id)]
        if self._hits:
            entries += ["In the text", *self._hits]
        self._rows = Rows(self._row, entries or ["Nothing fits" if words else "No sessions yet"])
        place = next((n for n, entry in enumerate(entries) if chosen and id_of(entry) == chosen), None)
        self.query_one(RowList).show(self._rows, cursor=place if cursor is None else cursor)

    def _row(self, entry: Known | SearchHit | str) -> Row:
        if isinstance(entry, str):
            return Row(entry, heading=True)
        if isinstance(entry, SearchHit):
            known = self._known.get(entry.session_id)
            title = known.title if known else entry.session_id
            right = f"{shorten_end(title, 30)} · message {entry.index + 1}"
            return Row(one_line(entry.snippet), right=right)
        summary = entry.summary
        name = shorten_end(one_line(summary.text("name")), NAME_WIDTH - 1)
        mark = self._mark(entry)
        right = str(summary.message_count)
        if not mark or self._in_words():
            right += f" message{'' if summary.message_count == 1 else 's'}"
        if self._directory is None:
            place = shorten_path(one_line(summary.text("directory"))).rpartition("/")[2]
            right = f"{shorten_end(place, 16)} · {right}"
        if mark:
            right = f"{mark} · {right}"
        title = f"└ {entry.title}" if self._stands_behind(entry) else entry.title
        return Row(title, left=f"{when(summary.updated_at):<13} {name:<{NAME_WIDTH}}", right=right)

    def _in_words(self) -> bool:
        return self.query_one(RowList).size.width >= ROOM_FOR_WORDS

    def _stands_behind(self, known: Known) -> bool:
        """Whether a session is shown below the one that stands for it."""
        return not self._words() and self._chains.front(known.session_id) != known.session_id

    def _mark(self, known: Known) -> str:
        """How a session is linked to others, as short as the list is narrow; empty when it is not."""
        summary = known.summary
        parts: list[str] = []
        earlier = 0 if self._words() else len(self._chains.behind(known.session_id))
        if earlier:
            parts.append(f"↳ {'' if known.session_id in self._unfolded else '+'}{earlier} earlier")
        elif (other := summary.text("compacted_from")) and not self._stands_behind(known):
            name = self._other(other, known)
            parts.append(f"↳ {name}" if name and not self._in_words() else f"continues {name}".rstrip())
        if other := summary.text("forked_from"):
            name = self._other(other, known)
            parts.append(f"from {name}" if name else "forked")
        if self._goes_on_here(known):
            parts.append("continued here")
        return " · ".join(parts)

    def _goes_on_here(self, known: Known) -> bool:
        """Whether the open conversation continues a session."""
        return known.summary.text("compacted_to") == self._conversation.state.session_id

    def _other(self, session_id: str, known: Known) -> str:
        """Another session's name where it tells the two apart; else its id, where there is room for it."""
        name = self._name_of(session_id)
        if name and name != one_line(known.summary.text("name")):
            return shorten_end(name, NAME_WIDTH)
        says_more = self._directory is None or self._goes_on_here(known)
        needed = ROOM_FOR_WORDS if says_more else ROOM_FOR_IDS
        room = self.query_one(RowList).size.width >= needed
        return shorten_end(one_line(session_id), ID_WIDTH) if room else ""

    def _name_of(self, session_id: str) -> str:
        known, state = self._known.get(session_id), self._conversation.state
        if known is not None:
            return one_line(known.summary.text("name"))
        return one_line(state.name) if session_id == state.session_id else ""

    def _chosen(self) -> str:
        if not self._rows.entries:  # the list is not on the screen before there is something to show
            return ""
        place = self.query_one(RowList).cursor
        return id_of(self._rows.entries[place]) if 0 <= place < len(self._rows) else ""

    # Preview -----------------------------------------------------------------------------------

    @on(RowReached)
    def _row_reached(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(PREVIEW_AFTER, self._preview)
        self._describe()
        self._show_lineage()

    def _show_lineage(self) -> None:
        """The sessions that the one under the cursor is linked to, a line each."""
        known = self._known.get(self._chosen())
        lines: list[str] = []
        for phrase, other in links(known.summary) if known else ():
            name = self._name_of(other)
            lines.append(f"{phrase} {name + ' · ' if name else ''}{one_line(other)}")
        lineage = self.query_one("#lineage", Static)
        lineage.update(Content("\n").join(Content.styled(line, "$quiet") for line in lines))
        lineage.display = bool(lines)

    @work(group="preview", exclusive=True)
    async def _preview(self) -> None:
        session = self._chosen()
        preview = self.query_one("#preview", VerticalScroll)
        if not session or not self.query_one("#side").display:
            await preview.remove_children()
            return
        try:
            page = await self._conversation.preview(session, PREVIEWED_TURNS)
        except TauError as error:
            self._hint(error.line())
            return
        blocks = [block for turn in turns_of(page.messages, ()) for block in blocks_of(turn)]
        with self.app.batch_update():
            await preview.remove_children()
            await preview.mount_all(blocks)
        preview.anchor()

    def _hint(self, text: str) -> None:
        self.query_one("#picker-keys", Static).update(Content(one_line(text)))

    # Keys --------------------------------------------------------------------------------------

    def action_dismiss_picker(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)

    def action_widen(self) -> None:
        """Show the sessions of every directory, or of this one again."""
        self._directory = None if self._directory is not None else self._here
        self._hits = ()
        self._load()
        self._search()

    def action_list(self, what: str, step: int) -> None:
        """Move the cursor of the list while the filter keeps the keys."""
        rows = self.query_one(RowList)
        if what == "move":
            rows.action_move(step)
        else:
            rows.action_page(step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Left and right belong to the filter while something is typed."""
        return action != "fold" or not self.query_one("#filter", Input).value

    def _fold_key(self) -> tuple[str, str] | None:
        """The key that unfolds or folds what is under the cursor, and what it does."""
        chosen = self._chosen()
        front = self._chains.front(chosen)
        if self._words() or not self._chains.behind(front):
            return None
        return ("←", " fold") if front in self._unfolded else ("→", " earlier ones")

    def action_fold(self, fold: bool) -> None:
        """Show the sessions that the one under the cursor continues, or fold them under it again."""
        place = self.query_one(RowList).cursor
        front = self._chains.front(self._chosen())
        if not self._chains.behind(front) or fold != (front in self._unfolded):
            return
        (self._unfolded.remove if fold else self._unfolded.add)(front)
        if fold:
            place = next(n for n, entry in enumerate(self._rows.entries) if id_of(entry) == front)
        self._show_rows(cursor=place)
        self.query_one(RowList).watch_cursor(place)

    def action_choose(self) -> None:
        """Resume the session under the cursor."""
        if chosen := self._chosen():
            self.dismiss(chosen)

    @on(RowChosen)
    def _row_chosen(self) -> None:
        self.action_choose()


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
