"""The session picker: this directory or all, in chains, found as one types, searched, previewed, renamed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static

from tau.display import one_line
from tau.errors import TauError
from tau.input.fuzzy import Match, best, fold, match
from tau.sessions.listing import links
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.tui.chains import Chains
from tau.tui.fit import shorten_end, shorten_path
from tau.tui.history import turns_of
from tau.tui.keys import Keys, bound, rebind
from tau.tui.messages import RowChosen, RowReached
from tau.tui.screens.picker import LIST_BINDINGS, keys_line
from tau.tui.widgets.chat import blocks_of
from tau.tui.widgets.row_list import Row, RowList, Rows
from tau.tui.widgets.start_page import when

if TYPE_CHECKING:
    from tau.conversation import Conversation

FIRST_PAGE = 100
PAGE = 500
HITS = 20
NAME_WIDTH = 10
NAME_AT = 14
"""Where the name begins in a row, behind the mark of the cursor and the date."""
SEARCH_AFTER = 0.2
SIMILAR_AFTER = 0.04
SIMILAR = 30
"""Sessions that are shown in which the letters only stand in their order."""
LEAST_SIMILAR = 0.55
"""What share of the best score such a session has at least."""
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
        self.name = one_line(summary.text("name"))
        self.group = date_group(summary.updated_at, datetime.now().astimezone().date())
        self.folded = fold(self.title)
        self.words = f"{self.folded} {fold(self.name)} {fold(summary.session_id)}"


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


Entry = Known | SearchHit | str


def id_of(entry: Entry) -> str:
    """The session an entry stands for; empty for a heading."""
    return "" if isinstance(entry, str) else entry.session_id


class SessionPicker(ModalScreen[Chosen | None]):
    """Chooses a session, and a message of it where that was searched for; the result is that, or None.

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
        *LIST_BINDINGS,
        Binding("ctrl+r", "rename", "Rename", priority=True),
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
        self._similar: Sequence[tuple[Known, Match]] = ()
        self._renamed = ""
        self._rows: Rows[Entry] = Rows(self._row, [])
        self._search_timer: Timer | None = None
        self._preview_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The filter, the list and the preview."""
        with Vertical(id="picker"):
            yield Static("", id="picker-title", markup=False)
            yield Input(placeholder="Type to filter and search", id="filter", compact=True)
            with Horizontal(id="picker-middle"):
                with Container(id="session-pane"):
                    yield RowList(id="session-list")
                    rename = Input(id="rename", compact=True, max_length=60)
                    rename.display = False
                    yield rename
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
            made = await asyncio.to_thread(_known, page)
            for known in made:
                if known.session_id not in self._known:
                    self._known[known.session_id] = known
                    self._chains.add(known.summary)
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
        self._hits = self._similar = ()
        self._show_rows()
        self._find_similar()
        if self._search_timer is not None:
            self._search_timer.stop()
        self._search_timer = self.set_timer(SEARCH_AFTER, self._search)

    @work(group="search", exclusive=True)
    async def _search(self) -> None:
        words = self._typed().strip()
        if len(words) < 2:
            return
        try:
            query = ListQuery(directory=self._directory, limit=HITS)
            self._hits = await self._conversation.search(words, query)
        except TauError as error:
            self._hint(error.line())
            return
        self._show_rows(keep=True)

    @work(group="similar", exclusive=True)
    async def _find_similar(self) -> None:
        """Find the titles and names in which what is typed stands with other letters between."""
        await asyncio.sleep(SIMILAR_AFTER)
        typed, words = "".join(self._typed().split()), self._words()
        if len(typed) < 2:
            return
        others = [known for known in self._known.values() if not all(word in known.words for word in words)]
        found = await asyncio.to_thread(_similar, typed, others)
        if found:
            self._similar = found
            self._show_rows(keep=True)

    def _typed(self) -> str:
        return self.query_one("#filter", Input).value

    def _words(self) -> list[str]:
        return fold(self._typed()).split()

    # Showing -----------------------------------------------------------------------------------

    def _describe(self) -> None:
        where = "every directory" if self._directory is None else shorten_path(one_line(self._here))
        count = f"{len(self._known):,}" + ("" if self._complete else "+")
        title = Content.assemble(("Sessions", "bold"), (f"  {where} · {count}", "$quiet"))
        self.query_one("#picker-title", Static).update(title)
        other = "this directory" if self._directory is None else "all directories"
        keys = [("Enter", "resume"), ("Tab", other), ("Ctrl+R", "rename"), ("Esc", "back")]
        if fold_key := self._fold_key():
            keys.insert(1, fold_key)
        if self._renamed:
            keys = [("Enter", "keep the name"), ("Esc", "leave it as it was")]
        self.query_one("#picker-keys", Static).update(keys_line(keys))

    def _show_rows(self, *, keep: bool = False, cursor: int | None = None) -> None:
        chosen = self._entry() if keep else None
        words = self._words()
        entries: list[Entry] = []
        group = ""
        for known in self._fitting(words):
            if known.group != group:
                group = known.group
                entries.append(group)
            entries.append(known)
            if not words and known.session_id in self._unfolded:
                entries += [self._known[earlier] for earlier in self._chains.behind(known.session_id)]
        if self._similar:
            entries += ["Similar", *(known for known, _ in self._similar)]
        entries += self._grouped_hits()
        self._rows = Rows(self._row, entries or ["Nothing fits" if words else "No sessions yet"])
        place = next((n for n, entry in enumerate(entries) if chosen is not None and entry == chosen), None)
        self.query_one(RowList).show(self._rows, cursor=place if cursor is None else cursor)

    def _fitting(self, words: Sequence[str]) -> Sequence[Known]:
        """The sessions that have every word; without words those that stand for a chain."""
        if not words:
            front = self._chains.front
            return [known for known in self._known.values() if front(known.session_id) == known.session_id]
        fitting = list(self._known.values())
        for word in words:
            fitting = [known for known in fitting if word in known.words]
        return fitting

    def _grouped_hits(self) -> Sequence[Entry]:
        """The messages that were found, by when their sessions were last used; the best first."""
        if not self._hits:
            return ()
        groups: dict[str, list[Entry]] = {}
        order = {known.group: number for number, known in reversed(list(enumerate(self._known.values())))}
        words = self._words()
        for hit in self._hits:
            known = self._known.get(hit.session_id)
            if hit.role == "title" and known is not None and all(word in known.words for word in words):
                continue  # it has a row
            here = hit.session_id == self._conversation.state.session_id
            group = "this session" if here else known.group if known is not None else "elsewhere"
            groups.setdefault(group, []).append(hit)
        ordered = sorted(
            groups, key=lambda group: order.get(group, -1 if group == "this session" else len(order))
        )
        return [entry for group in ordered for entry in (f"In the text · {group}", *groups[group])]

    def _row(self, entry: Entry) -> Row:
        if isinstance(entry, str):
            return Row(entry, heading=True)
        if isinstance(entry, SearchHit):
            known = self._known.get(entry.session_id)
            title = known.title if known else entry.session_id
            if entry.session_id == self._conversation.state.session_id:
                title = one_line(self._conversation.state.title) or title
            at = when(known.summary.updated_at) if known else ""
            text = one_line(entry.snippet)
            marks = [place for start, end in entry.marks for place in range(start, end)]
            right = shorten_end(title, 30 if self._in_words() else 18)
            return Row(
                text, left=f"{at:<{NAME_AT}}", right=right, marks=marks if text == entry.snippet else ()
            )
        summary = entry.summary
        name = shorten_end(entry.name, NAME_WIDTH - 1)
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
        found = self._marks(entry, entry.folded)
        named = [place + NAME_AT for place in self._marks(entry, fold(name)) if place < len(name)]
        if (words := self._words()) and not found and not named and self._is_of_id(entry, words):
            right = f"{shorten_end(one_line(entry.session_id), ID_WIDTH)} · {right}"
        left = f"{when(summary.updated_at):<{NAME_AT}}{name:<{NAME_WIDTH}}"
        return Row(title, left=left, right=right, marks=found, left_marks=named)

    def _marks(self, known: Known, folded: str) -> Sequence[int]:
        """The places in a title or name, which was folded, of what was typed."""
        words = self._words()
        if not words:
            return ()
        if all(word in known.words for word in words):
            spans = [(folded.find(word), len(word)) for word in words]
            return sorted({place for at, count in spans if at >= 0 for place in range(at, at + count)})
        lies = match("".join(self._typed().split()), folded, folded)
        return lies.positions if lies is not None else ()

    def _is_of_id(self, known: Known, words: Sequence[str]) -> bool:
        folded = fold(known.session_id)
        return any(word in folded for word in words)

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

    def _entry(self) -> Entry | None:
        """What the cursor is on."""
        if not self._rows.entries:  # the list is not on the screen before there is something to show
            return None
        place = self.query_one(RowList).cursor
        return self._rows.entries[place] if 0 <= place < len(self._rows) else None

    def _chosen(self) -> str:
        entry = self._entry()
        return id_of(entry) if entry is not None else ""

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
        entry, session = self._entry(), self._chosen()
        preview = self.query_one("#preview", VerticalScroll)
        if not session or not self.query_one("#side").display:
            await preview.remove_children()
            return
        try:
            if isinstance(entry, SearchHit) and entry.role != "title":
                page = await self._conversation.earlier(entry.index + 1, PREVIEWED_TURNS, session)
            else:
                page = await self._conversation.preview(session, PREVIEWED_TURNS)
        except TauError as error:
            self._hint(error.line())
            return
        blocks = [block for turn in turns_of(page.messages, page.events) for block in blocks_of(turn)]
        with self.app.batch_update():
            await preview.remove_children()
            await preview.mount_all(blocks)
        preview.anchor()

    def _hint(self, text: str) -> None:
        self.query_one("#picker-keys", Static).update(Content(one_line(text)))

    # Keys --------------------------------------------------------------------------------------

    def action_dismiss_picker(self) -> None:
        """Back to the conversation, or to the list."""
        if self._renamed:
            self._end_renaming()
        else:
            self.dismiss(None)

    def action_widen(self) -> None:
        """Show the sessions of every directory, or of this one again."""
        self._directory = None if self._directory is not None else self._here
        self._hits = self._similar = ()
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
        """Left and right belong to the filter while something is typed, and all to a name that is changed."""
        if self._renamed:
            return action not in ("fold", "list", "widen", "rename")
        return action != "fold" or not self._typed()

    def _fold_key(self) -> tuple[str, str] | None:
        """The key that unfolds or folds what is under the cursor, and what it does."""
        chosen = self._chosen()
        front = self._chains.front(chosen)
        if self._words() or not self._chains.behind(front):
            return None
        return ("←", "fold") if front in self._unfolded else ("→", "earlier ones")

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
        """Resume the session under the cursor, at the message that was found; or keep the name."""
        if self._renamed:
            self._rename(self._renamed, self.query_one("#rename", Input).value.strip())
            return
        entry = self._entry()
        if isinstance(entry, SearchHit) and entry.role != "title":
            conversation = self._continued_by(entry.session_id)
            self.dismiss(Chosen(conversation, (entry.session_id, entry.index), self._typed().strip()))
        elif entry is not None and not isinstance(entry, str):
            self.dismiss(Chosen(entry.session_id))

    def _continued_by(self, session_id: str) -> str:
        """The session that a message of another one is seen in: the newest that continues that."""
        front = self._chains.front(session_id)
        known = self._known.get(front)
        return self._conversation.state.session_id if known and self._goes_on_here(known) else front

    @on(RowChosen)
    def _row_chosen(self) -> None:
        self.action_choose()

    # Renaming ----------------------------------------------------------------------------------

    def action_rename(self) -> None:
        """Change the name of the session under the cursor, where it stands."""
        known = self._entry()
        if not isinstance(known, Known):
            return
        rows = self.query_one(RowList)
        field = self.query_one("#rename", Input)
        self._renamed = known.session_id
        field.value = known.summary.text("name")
        field.styles.offset = (3 + NAME_AT - 1, rows.cursor - round(rows.scroll_y))
        field.styles.width = max(12, rows.size.width - 3 - NAME_AT + 1)
        field.display = True
        field.focus()
        field.action_end()
        self._describe()

    @work(group="rename", exclusive=True)
    async def _rename(self, session_id: str, name: str) -> None:
        known = self._known[session_id]
        if name != known.summary.text("name"):
            try:
                await self._conversation.rename_session(session_id, name)
            except TauError as error:
                self._hint(error.line())
                return
            summary = replace(known.summary, meta={**known.summary.meta, "name": name})
            self._known[session_id] = Known(summary)
        place = self.query_one(RowList).cursor
        self._end_renaming()
        self._show_rows(cursor=place)

    def _end_renaming(self) -> None:
        self._renamed = ""
        self.query_one("#rename", Input).display = False
        self.query_one("#filter", Input).focus()
        self._describe()


def _known(page: Sequence[SessionSummary]) -> list[Known]:
    return [Known(summary) for summary in page]


def _similar(typed: str, sessions: Sequence[Known]) -> list[tuple[Known, Match]]:
    """The sessions with the letters in their order in title or name, close together; the best first."""
    least = LEAST_SIMILAR * best(typed)
    found = []
    for known in sessions:
        lies = match(typed, known.title, known.folded) or match(typed, known.name)
        if lies is not None and lies.score >= least:
            found.append((known, lies))
    found.sort(key=lambda pair: -pair[1].score)
    return found[:SIMILAR]


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
