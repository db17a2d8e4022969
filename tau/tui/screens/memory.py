"""The memory screen: what is remembered and what of it is loaded, how it changed; undo, and the editor."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace
from textual import on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tau.conversation import memories
from tau.conversation.consent import WaitingChange
from tau.conversation.state import MemoryFile, MemoryListing
from tau.diff_reader import Diff, parse
from tau.display import one_line
from tau.errors import TauError
from tau.memory import entries
from tau.memory.entries import Entry
from tau.tui.key_line import action_line
from tau.tui.keys import bound, key_of, rebind
from tau.tui.messages import RowChosen, RowReached
from tau.tui.screens import memory_changing, memory_rows
from tau.tui.screens.memory_lines import (
    MemoryView,
    of_change,
    of_file,
    of_lines,
    of_waiting,
)
from tau.tui.screens.memory_rows import Found, Thing, Told, key_of_row
from tau.tui.screens.over import ScreenOver
from tau.tui.screens.picker import CSS, NOTHING
from tau.tui.widgets.filter_field import FilterField
from tau.tui.widgets.row_list import Row, RowList, Rows

if TYPE_CHECKING:
    from tau.memory.desk import Desk
    from tau.tui.screens.chat import ChatScreen

BESIDE_FROM_WIDTH = 100
"""Columns of the screen from which on the list and what is under the cursor stand beside each other."""

DIFF_LINES = 4_000
"""Lines of a diff that are shown."""

ACCEPT_HINT = "carries out what waits for your yes"
UNDO_HINT = "undoes this change; only the newest one can be undone"


class MemoryScreen(ScreenOver[None]):
    """Shows memory and changes it: files or changes in a list, and the one under the cursor beside it.

    Args:
        chat: The conversation's screen, where what was done is said as well.
        listing: What there is.
    """

    AUTO_FOCUS = "#memory-list"
    CSS_PATH: ClassVar[list[str | PurePath]] = [*CSS, "memory.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "back": "back",
                "interrupt": "app.interrupt",
                "memory": "leave",
                "other-side": "turn",
                "list-up": "move(-1)",
                "list-down": "move(1)",
                "memory-filter": "filter",
                "memory-edit": "edit",
                "memory-undo": "undo",
                "memory-accept": "accept",
            },
            priority=["back", "memory", "other-side", "memory-filter"],
        )
    ]

    def __init__(self, chat: ChatScreen, listing: MemoryListing) -> None:
        super().__init__()
        rebind(self, chat.keys)
        self._chat = chat
        self._listing = listing
        self._of_changes = False
        self._rows: Rows[Found | str] = Rows(self._row, [])
        self._column, self._in_groups = 0, True
        self._diffs: dict[str, Diff | None] = {}
        self._trouble: dict[str, Sequence[str | Diff]] = {}
        self._hint = self._hint_at = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        """The title, the list and what is under its cursor, and the keys."""
        with Vertical(id="memory"):
            yield Static("", id="memory-title", markup=False)
            yield FilterField("Type to filter", "memory-filter")
            with Container(id="memory-middle"):
                yield RowList(id="memory-list")
                yield MemoryView()
            yield Static("", id="memory-keys", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        self._show()

    def on_resize(self) -> None:
        """Put the two beside each other where there is room."""
        self._middle.set_class(self.size.width >= BESIDE_FROM_WIDTH, "-beside")
        self._fit()
        self._describe()
        self.call_after_refresh(self._list.show_cursor)

    # Showing -----------------------------------------------------------------------------------

    @property
    def _middle(self) -> Container:
        return self.query_one("#memory-middle", Container)

    @property
    def _list(self) -> RowList:
        return self.query_one("#memory-list", RowList)

    @property
    def _view(self) -> MemoryView:
        return self.query_one("#memory-view", MemoryView)

    @property
    def _field(self) -> Input:
        return self.query_one("#memory-filter", Input)

    @property
    def _filtering(self) -> bool:
        return self.query_one(FilterField).has_class("-open")

    @property
    def _reading(self) -> bool:
        return self._middle.has_class("-reading")

    @property
    def _thing(self) -> Thing | None:
        """What is under the cursor."""
        place, found = self._list.cursor, self._rows.entries
        entry = found[place] if 0 <= place < len(found) else NOTHING
        return None if isinstance(entry, str) else entry[0]

    @property
    def _newest(self) -> Entry | None:
        """The change that an undo takes back."""
        return next((entry for entry in self._listing.changes if not entry.undone), None)

    def _show(self, cursor: int | None = None) -> None:
        """Show the list as it is now; the cursor goes to the first unless it is given."""
        typed = self._field.value.strip() if self._filtering else ""
        of = memory_rows.changes if self._of_changes else memory_rows.files
        found = of(self._listing, typed) or [NOTHING]
        self._in_groups = not typed
        self._column = memory_rows.column(found, in_groups=self._in_groups)
        self._rows = Rows(self._row, found)
        self._fit()
        self._list.show(self._rows, cursor=cursor)

    def _row(self, found: Found | str) -> Row:
        if isinstance(found, str):
            return Row(found, heading=True)
        return memory_rows.row(found, self._column, in_groups=self._in_groups)

    def _fit(self) -> None:
        """Below each other, the list takes no more than it needs, and half at most."""
        if self._middle.has_class("-beside"):
            self._list.styles.height = "1fr"
        else:
            room = self.size.height - (8 if self._filtering else 6)
            self._list.styles.height = max(3, min(len(self._rows), room // 2))

    def _describe(self) -> None:
        """Say what is listed, and what the keys do."""
        listing = self._listing
        files = Content.assemble(("Files", "$quiet" if self._of_changes else "bold $accent"))
        changes = Content.assemble(("Changes", "bold $accent" if self._of_changes else "$quiet"))
        count = f"{len(listing.changes):,}{'+' if listing.more_changes else ''}"
        said = [f"{sum(bool(file.missing) for file in listing.files)} not loaded whole"]
        if listing.bare:
            said = ["nothing of it is loaded: tau runs with --bare"]
        elif not any(file.missing for file in listing.files):
            said = []
        title = Content.assemble(
            ("Memory   ", "bold"),
            files,
            (f" {len(listing.files):,}   ", "$quiet"),
            changes,
            (f" {count}", "$quiet"),
            (f"   {said[0]}" if said else "", "$quiet"),
        )
        self.query_one("#memory-title", Static).update(title)
        line = self.query_one("#memory-keys", Static)
        keys = action_line(self._chat.keys, self._keys(), self.size.width - 4)
        line.update(Content(self._hint) if self._hint else keys)

    def _keys(self) -> list[tuple[str, str]]:
        """The actions whose keys are named, and what they do."""
        if self._reading:
            return [("list-up list-down", "scroll"), *self._own_keys(), ("back", "to the list")]
        if self._filtering and self._field.has_focus:
            return [("choose", "to the list"), ("back", "all of them")]
        other = ("other-side", "files" if self._of_changes else "changes")
        keys = [*self._own_keys(), other, ("memory-filter", "filter")]
        return [*([("choose", "read")] if self._thing else []), *keys, ("back", "back")]

    def _own_keys(self) -> list[tuple[str, str]]:
        """The keys for what is under the cursor."""
        thing = self._thing
        if isinstance(thing, MemoryFile) and not thing.own:
            return [("memory-edit", "edit")]
        if isinstance(thing, WaitingChange):
            return [("memory-accept", "accept")]
        if isinstance(thing, Entry) and self._newest is not None and thing.id == self._newest.id:
            return [("memory-undo", "undo")]
        return []

    def _say(self, text: str) -> None:
        """Say something in place of the keys, until the cursor moves."""
        self._hint, self._hint_at = one_line(text, 1_000), key_of_row(self._thing)
        self._describe()

    @on(RowReached)
    def _row_reached(self) -> None:
        if key_of_row(self._thing) != self._hint_at:
            self._hint = ""
        self._describe()
        self._show_thing()

    def _show_thing(self) -> None:
        thing = self._thing
        if isinstance(thing, MemoryFile):
            self._view.show(of_file(thing))
        elif isinstance(thing, Entry):
            self._view.show(
                of_change(entries.log([thing]), self._diffs.get(thing.id), self._trouble.get(thing.id, ()))
            )
            if thing.id not in self._diffs:
                self._read_diff(thing)
        elif isinstance(thing, WaitingChange):
            self._view.show(of_waiting(thing, len(self._listing.waiting) - 1))
        else:
            self._view.show(of_lines(thing.lines if thing else ()))

    @work(group="diff", exclusive=True)
    async def _read_diff(self, entry: Entry) -> None:
        try:
            self._diffs[entry.id] = await self._chat.conversation.look_at_memory(
                lambda desk: _diff(desk, entry)
            )
        except TauError as error:
            self._say(error.line())
            return
        if self._thing == entry:
            self._show_thing()

    # Moving about ------------------------------------------------------------------------------

    def action_back(self) -> None:
        """Back to the list, to all of it, or to the conversation."""
        if self._reading:
            self._read(False)
        elif self._filtering:
            self._field.value = ""
            self.query_one(FilterField).remove_class("-open")
            self.set_focus(self._list)
            self._show()
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)

    def action_turn(self) -> None:
        """Show the changes, or the files again."""
        self._read(False)
        self._of_changes = not self._of_changes
        self._show()

    def action_move(self, step: int) -> None:
        """Move the cursor of the list while the filter has the keys."""
        self._list.action_move(step)

    def action_filter(self) -> None:
        """Open the line that filters; what comes at once behind the key is typed there, too."""
        if self.focused is self._field:
            raise SkipAction
        self._read(False)
        self.query_one(FilterField).add_class("-open")
        self._fit()
        self.set_focus(self._field)
        self.call_after_refresh(self._describe)

    @on(Input.Changed, "#memory-filter")
    def _typed(self) -> None:
        if self._filtering:
            self._show()

    @on(Input.Submitted, "#memory-filter")
    def _to_the_list(self) -> None:
        self.set_focus(self._list)
        self.call_after_refresh(self._describe)

    @on(RowChosen)
    def _row_chosen(self) -> None:
        self._read(self._thing is not None)

    def _read(self, reading: bool) -> None:
        """Give the keys to what is under the cursor, or to the list again."""
        if reading == self._reading:
            return
        self._middle.set_class(reading, "-reading")
        self.set_focus(self._view if reading else self._list)
        self._hint = ""
        self._describe()

    # Changing ----------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Undo the newest change when the cursor is on it; else bring the cursor there."""
        newest = self._newest
        if newest is None:
            self._say("There is no change to undo")
        elif self._thing != newest:
            self._of_changes = True
            self._read(False)
            if self._filtering:
                self.action_back()
            self._show(cursor=self._listing.changes.index(newest))
            self._say(f"{key_of(self._chat.keys, 'memory-undo')} {UNDO_HINT}")
        elif not self._busy:
            self._do(self._undo(newest))

    async def _undo(self, entry: Entry) -> str:
        said, trouble = await memory_changing.undo(self._chat, entry)
        if trouble:
            self._trouble[entry.id] = trouble
        else:
            self._trouble.pop(entry.id, None)
        return said

    def _do(self, work: Coroutine[Any, Any, str]) -> None:
        """Change memory, and show what there is then; it goes on when this screen is left."""

        async def do() -> None:
            self._busy = True
            try:
                said = await work
            finally:
                self._busy = False
            await self._look_again(said)

        self._chat.run_worker(do(), group="memory")

    def action_accept(self) -> None:
        """Carry out what waits for the person's yes, with the cursor on it; else bring the cursor there."""
        waiting = self._listing.waiting
        if not waiting:
            self._say("Nothing waits for your yes")
        elif not isinstance(self._thing, WaitingChange):
            self._of_changes = False
            self._read(False)
            if self._filtering:
                self.action_back()
            self._show(cursor=1)  # under its heading, which is the first one
            self._say(f"{key_of(self._chat.keys, 'memory-accept')} {ACCEPT_HINT}")
        elif not self._busy:
            self._do(memory_changing.accept(self._chat, waiting))

    def action_edit(self) -> None:
        """Open the file under the cursor in the person's editor."""
        thing = self._thing
        if isinstance(thing, MemoryFile) and thing.own:
            self._say(f"tau never writes {one_line(thing.title)}; change it as any file of the project")
        elif isinstance(thing, MemoryFile) and not self._busy:
            self._do(memory_changing.edit(self._chat, thing))
        elif isinstance(thing, Told) and not thing.needs_look:
            self._say("/goal TEXT sets another goal")

    async def _look_again(self, said: str) -> None:
        """Show what there is now, with the cursor where it was, and say what was done."""
        try:
            listing = await self._chat.conversation.look_at_memory(memories.overview)
            waiting = await self._chat.conversation.waiting_changes()
            self._listing = replace(listing, work_log=self._listing.work_log, waiting=waiting)
        except TauError as error:
            said = error.line()
        if not self.is_current:
            return
        thing, place = self._thing, self._list.cursor
        self._show()
        keys, wanted = [key_of_row(entry) for entry in self._rows.entries], key_of_row(thing)
        there = keys.index(wanted) if wanted in keys else min(place, len(keys) - 1)
        if self._rows[there].heading:
            there = next((n for n, row in enumerate(self._rows) if not row.heading), there)
        self._show(cursor=there)
        self.call_after_refresh(self._list.show_cursor)
        self._say(said)


def _diff(desk: Desk, entry: Entry) -> Diff | None:
    lines = memories.difference(desk, entry).split("\n")
    if len(lines) > DIFF_LINES:
        lines[DIFF_LINES:] = [f"… {len(lines) - DIFF_LINES:,} more lines"]
    text = "\n".join(lines)
    return parse(text) or Diff(text, (), "", 0, 0, 0, creates=False)
