"""The prompt: several lines, history at its edges, large pastes folded, one key to send."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.document._document import Document, EditResult, Location, Selection
from textual.document._edit import Edit
from textual.timer import Timer
from textual.widgets import Static, TextArea

from tau.display import visible
from tau.errors import TauError
from tau.tui.keys import Keys, bound, rebind
from tau.tui.messages import (
    EditDraft,
    Pasted,
    PasteImage,
    ScrollChat,
    SearchHistory,
    Submitted,
    TakeBack,
    Told,
)
from tau.tui.past import Past
from tau.tui.placeholders import Placeholders

if TYPE_CHECKING:
    from tau.input.history_file import Entry

BURST_SECONDS = 0.02
LATE_SECONDS = 0.05
"""A timer later than this means that the app was busy: what was typed meanwhile is still on its way."""

AT_ONCE_SECONDS = 0.005
"""Keys nearer to each other than this were not pressed by a person."""

EDITED_CHARACTERS = 20_000
"""A text that was sent before and comes back to be edited is folded from this size on."""


def _is_joiner(character: str | None) -> bool:
    """Whether a key is a character that joins or parts its neighbours: part of Persian words and of emoji."""
    return character in ("\u200c", "\u200d")


class Completes(Protocol):
    """The list of completions over the prompt."""

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""

    def move(self, step: int) -> None:
        """Choose another row."""

    def close(self) -> None:
        """Take the list away until something else begins to be typed."""

    async def enter(self) -> bool:
        """Take the chosen row, if one is; whether it did."""

    async def tab(self) -> bool:
        """Go on as far as can be: open the list, take a row, walk into a directory; whether it did."""


class Prompt(TextArea):
    """The text being written.

    A large paste, or one with characters that cannot be shown, stands in the text as a marker and is
    written out again when it is sent. Enter sends unless more keys follow at once: those are a paste
    from a terminal that does not mark pastes, and Enter is then a line of it, as is the one at its end.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "send": "send",
                "newline": "newline",
                "complete": "complete",
                "history": "history",
                "editor": "editor",
                "paste": "paste",
                "page-up": "chat(-1)",
                "page-down": "chat(1)",
            }
        ),
        Binding("alt+d", "delete_word_right", "Delete the word to the right", show=False),
        Binding("ctrl+home", "edge(True)", "To the beginning of the text", show=False),
        Binding("ctrl+end", "edge(False)", "To the end of the text", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        self._placeholders = Placeholders()
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            placeholder="Ask, or type / for a command",
        )
        self.cursor_blink = False
        self.past = Past(self.run_worker, self._past_read, lambda: self._back is not None)
        self.completes: Completes | None = None
        self.is_typed = False
        """Whether what was changed last came from keys, and not from a paste or the history."""

        self._back: int | None = None  # how far back the text is that is shown in place of the draft
        self._shown = ""
        self._draft = ""
        self._edits: dict[int, str] = {}
        self._wanted: str | None = None
        self._enter: Timer | None = None
        self._pressed_at = 0.0
        self._since = 0.0  # how long after the key before it the last one was pressed
        self._lines_at_once = False  # whether the keys that came at once so far hold the end of a line
        self._given_back = ""
        self._cancel_keys: tuple[str, ...] = ()

    def use_keys(self, keys: Keys) -> None:
        """Take up the keys in force; what else the app has a key for gets past this widget."""
        self._cancel_keys = keys["cancel"]
        newest = tuple(key for key in keys["newest"] if key != "end")  # which moves in the text here
        rebind(self, {**keys, "newest": newest}, also_taken=keys)

    # What others use ---------------------------------------------------------------------------

    def written_out(self) -> str:
        """The text with every paste in place of its marker."""
        return self._placeholders.written_out(self.text)

    def unsent(self) -> list[str]:
        """What is being written, also while an earlier text is shown in its place."""
        if self._back is None:
            texts = [self.text]
        else:
            here = [self.text] if self.text != self._shown else []
            kept = [text for back, text in self._edits.items() if back != self._back]
            texts = [self._draft, *kept, *here]
        return [text for text in map(self._placeholders.written_out, texts) if text.strip()]

    def remember(self, text: str) -> None:
        """Add a text to the history and leave it."""
        self.past.add(text)
        self._leave_past()

    def put(self, text: str) -> None:
        """Put a text before what is being written, so that neither is lost."""
        shown = self._placeholders.folded(text)
        draft = "" if self._is_given_back else self.text
        self.load_text(f"{shown}\n{draft}" if draft.strip() else shown)
        self.move_cursor(self.document.end)
        self._leave_past()

    def give_back(self, text: str) -> None:
        """Put a command that cannot run now back, selected: Enter tries again, what is typed replaces it.

        What is being written already is left alone; the command is in the history.
        """
        if not self.text:
            self.load_text(text)
            self.select_all()
            self._given_back = text

    @property
    def chosen_text(self) -> str:
        """What the person has selected."""
        return "" if self._is_given_back else self.selected_text

    @property
    def _is_given_back(self) -> bool:
        """Whether what stands here is a command as it was given back."""
        return self.text == self.selected_text == self._given_back

    def type_in(self, text: str) -> None:
        """Put a text where the cursor is, in place of what is selected."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def put_back(self, text: str) -> bool:
        """Put a text that was sent before here to be edited, unfolded where it can be shown.

        Returns:
            Whether something stood here; it is in the history now.
        """
        unsent = self.unsent()
        for draft in unsent:
            self.remember(draft)
        self.empty()
        self.load_text(
            text
            if len(text) <= EDITED_CHARACTERS and visible(text) == text
            else self._placeholders.folded(text)
        )
        self.move_cursor(self.document.end)
        return bool(unsent)

    def empty(self) -> None:
        """Begin a new text."""
        self.load_text("")
        self._placeholders.clear()
        self._leave_past()

    @property
    def cursor_index(self) -> int:
        """Where the cursor is, in characters of the text."""
        assert isinstance(self.document, Document)
        return self.document.get_index_from_location(self.cursor_location)

    def write(self, text: str, start: int, end: int) -> None:
        """Write a text in place of the characters from `start` to `end`, with the cursor behind it."""
        assert isinstance(self.document, Document)
        place = self.document.get_location_from_index
        result = self.replace(text, place(start), place(end))
        self.move_cursor(result.end_location)

    def replace_all(self, text: str) -> None:
        """Put a text in place of what stands here; Ctrl+Z undoes it."""
        shown = (
            text
            if len(text) <= EDITED_CHARACTERS and visible(text) == text
            else self._placeholders.folded(text)
        )
        self.replace(shown, (0, 0), self.document.end)
        self.is_typed = False
        self.move_cursor(self.document.end)

    def load_text(self, text: str) -> None:
        """Put a text here that nobody typed."""
        super().load_text(text)
        self.is_typed = False

    def edit(self, edit: Edit) -> EditResult:
        """Change the text; what touches a placeholder takes all of it."""
        self.is_typed = True
        first, last = self._around(edit.top)[0], self._around(edit.bottom)[1]
        edit.from_location, edit.to_location = last if edit.top == edit.bottom else first, last
        result = super().edit(edit)
        return EditResult(result.end_location, self._placeholders.written_out(result.replaced_text))

    @property
    def selected_text(self) -> str:
        """What is selected, with every paste in place of its marker."""
        return self._placeholders.written_out(super().selected_text)

    def validate_selection(self, selection: Selection) -> Selection:
        """Keep the cursor out of placeholders, which it goes over as over one character."""
        return Selection(*map(self._beside, selection))

    def _beside(self, place: Location) -> Location:
        """A place where the cursor may be: on its way over a placeholder, behind that."""
        first, last = self._around(place)
        row, column = self.selection.end
        if row == place[0]:
            return last if column < place[1] else first
        return first if place[1] - first[1] < last[1] - place[1] else last

    def _around(self, place: Location) -> tuple[Location, Location]:
        """The edges of the placeholder that a place is inside of; elsewhere twice the place."""
        row, column = place
        line = self.document[row] if row < self.document.line_count else ""
        found = self._placeholders.around(line, column)
        return ((row, found[0]), (row, found[1])) if found else (place, place)

    # Keys --------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if _is_joiner(event.character):
            event.stop()
            event.prevent_default()
            self.type_in(event.character or "")
            return
        self._pressed(event)
        if event.is_printable or self._since >= BURST_SECONDS:
            self._go_on()
        if event.key in self._cancel_keys and self.completes is not None and self.completes.is_open:
            event.stop()
            event.prevent_default()
            self.completes.close()
            return
        if not event.is_printable and await self._run_binding(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def on_blur(self) -> None:
        """Something else has the keys now, unless it is only the terminal that nobody looks at."""
        if self.completes is not None and self.app.app_focus:
            self.completes.close()

    async def _run_binding(self, key: str) -> bool:
        """Run what a key is bound to here or in what is around this, at once.

        Textual runs bindings when the key has bubbled up to the app; letters that arrive in the same read
        would be inserted before, and what was typed would come out in another order.
        """
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, default_namespace=self):
                return True
        return self.screen.focused is self and await self.app._check_bindings(key)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._insert_paste(event)
        self.focus()

    async def take(self, event: events.Key | events.Paste) -> None:
        """Go on with the text while something else has the focus."""
        if isinstance(event, events.Paste):
            self._insert_paste(event)
        elif event.key == "backspace":
            self.action_delete_left()
        else:
            await self._on_key(event)

    async def action_send(self) -> None:
        """Take the completion that is chosen; else send, unless more follows at once, as in a paste."""
        if self._enter is not None:
            self._go_on()
        elif self._since >= AT_ONCE_SECONDS and self.completes is not None and await self.completes.enter():
            return
        if self._lines_at_once:  # of a paste, whose last line ends here
            self.type_in("\n")
        else:
            self._wait_for_more()

    async def action_complete(self) -> None:
        """Complete what is being written; where there is nothing to complete the key is another's."""
        if self.completes is None or not await self.completes.tab():
            raise SkipAction

    def action_history(self) -> None:
        """Search what was sent before."""
        self.post_message(SearchHistory())

    def action_editor(self) -> None:
        """Go on in the person's editor."""
        self.post_message(EditDraft())

    def action_paste(self) -> None:
        """Put the image of the clipboard here, if there is one; else what was copied in the app."""
        self.post_message(PasteImage())

    def paste_copied(self) -> bool:
        """Put what was copied in the app here; whether there was something."""
        if self.app.clipboard:
            self.type_in(self._placeholders.folded(self.app.clipboard))
        return bool(self.app.clipboard)

    def mention_instead(self, text: str, mentions: str) -> None:
        """Put mentions in place of the text before the cursor, if that is still there."""
        end = self.cursor_index
        if self.text[:end].endswith(text):
            self.mention(mentions, end - len(text), end, behind=text[len(text.rstrip()) :])

    def mention(self, mentions: str, start: int, end: int, *, behind: str = "") -> None:
        """Put mentions in place of some characters, as words of their own that are moved over as one each."""
        before = " " if self.text[:start].strip() and not self.text[:start][-1:].isspace() else ""
        after = "" if behind or self.text[end : end + 1].isspace() else " "
        self._placeholders.add_mentions(mentions)
        self.write(f"{before}{mentions}{behind}{after}", start, end)
        self.is_typed = False

    def action_newline(self) -> None:
        """Begin a new line."""
        self.type_in("\n")

    def action_edge(self, beginning: bool) -> None:
        """To the beginning or the end of the text: PageUp and PageDown are the chat's."""
        self.move_cursor((0, 0) if beginning else self.document.end)

    def action_chat(self, pages: int) -> None:
        """Scroll the chat."""
        self.post_message(ScrollChat(pages))

    def action_cursor_up(self, select: bool = False) -> None:
        """Up a line or a row of the list; on the first one, take something back or go to an earlier text."""
        if not select and self.completes is not None and self.completes.is_open:
            self.completes.move(-1)
        elif select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif not self.text and self._back is None:
            self.post_message(TakeBack())
        else:
            self.earlier()

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a line or a row of the list; on the last one, go to a later text."""
        at_the_end = self.navigator.is_last_wrapped_line(self.cursor_location)
        if not select and self.completes is not None and self.completes.is_open:
            self.completes.move(1)
        elif self._back is None or select or not at_the_end:
            super().action_cursor_down(select)
        else:
            self._go(self._back - 1)

    def earlier(self) -> None:
        """Show the text sent before the one shown; what was being written waits below it."""
        if not self.past.loaded and not len(self.past):
            self._wanted = self.text
        self._go(0 if self._back is None else self._back + 1)

    # Details -----------------------------------------------------------------------------------

    def _past_read(self) -> None:
        """More of the history is there; somebody may have asked for it before it was."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None and wanted == self.text and self._back is None:
            self.earlier()

    def _leave_past(self) -> None:
        self._back = self._wanted = None
        self._edits.clear()

    def _go(self, back: int) -> None:
        """Show the text so far back, as it was left here; the draft before the newest one."""
        self.past.reach(back)
        if back >= len(self.past):
            return
        if self._back is None:
            self._draft = self.text
        elif self.text != self._shown:
            self._edits[self._back] = self.text
        if back < 0:
            self._back = None
            self._show(self._draft)
            return
        self._back = back
        item = self.past[back]
        if isinstance(item, str):
            self._show(self._edits.get(back, ""), self._placeholders.folded(item))
        elif item.is_large:
            self._shown = self.text  # until the whole of it is there
            self.run_worker(self._show_large(back, item), group="past", exclusive=True)
        else:
            self._show(self._edits.get(back, ""), self._placeholders.folded(item.text))

    async def _show_large(self, back: int, entry: Entry) -> None:
        try:
            text = await self.past.whole(entry)
        except TauError as error:
            self.post_message(Told(error.line()))
            text = entry.text
        if self._back == back and self.text == self._shown:
            self._show(self._edits.get(back, ""), self._placeholders.folded(text))

    def _show(self, text: str, original: str = "") -> None:
        self.load_text(text or original)
        self._shown = original
        self.move_cursor(self.document.end)

    def _insert_paste(self, event: events.Paste) -> None:
        self._pressed(event)
        self._go_on()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.type_in(self._placeholders.folded(text))
        self.is_typed = False
        self.post_message(Pasted(text))

    def _pressed(self, event: events.Key | events.Paste) -> None:
        self._since, self._pressed_at = event.time - self._pressed_at, event.time
        if self._since >= BURST_SECONDS:
            self._lines_at_once = False

    def _wait_for_more(self) -> None:
        """Send a moment later, if nothing came behind Enter by then."""
        latest = monotonic() + BURST_SECONDS + LATE_SECONDS
        self._enter = self.set_timer(BURST_SECONDS, lambda: self._waited(latest))

    def _waited(self, latest: float) -> None:
        if monotonic() > latest:
            self._wait_for_more()
        else:  # behind the keys that are on their way already
            self.app.call_later(self.call_later, self._send_after, self._enter)

    def _send_after(self, timer: Timer | None) -> None:
        if self._enter is timer and timer is not None:
            self._send()

    def _go_on(self) -> None:
        """More comes after Enter: at once, and Enter was a line of it; later, and Enter was meant.

        When keys were pressed counts, and not when there was time for them.
        """
        if self._enter is None:
            return
        self._enter.stop()
        self._enter = None
        if self._since < BURST_SECONDS:
            self._lines_at_once = True
            self.type_in("\n")
        else:
            self._send()

    def _send(self) -> None:
        self._enter = None
        text = self.written_out()
        if text.strip():
            self.remember(text)
            self.empty()
            self.post_message(Submitted(text))


class PromptBox(Horizontal):
    """The prompt in its frame, the only one on the screen."""

    def compose(self) -> ComposeResult:
        """The mark and the text."""
        yield Static("❯ ", id="prompt-mark", markup=False)
        yield Prompt(id="prompt")
