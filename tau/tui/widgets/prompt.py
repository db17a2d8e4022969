"""The prompt: several lines, history at its edges, large pastes folded, one key to send."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from tau.config.actions import GIVE_WAY, in_force_at
from tau.display import visible
from tau.tui.enter_key import EnterKey
from tau.tui.keys import Keys, bound, by_key, rebind
from tau.tui.messages import (
    EditDraft,
    Pasted,
    PasteImage,
    ScrollChat,
    SearchHistory,
    Submitted,
    TakeBack,
)
from tau.tui.way_back import WayBack
from tau.tui.widgets.placeholder_area import PlaceholderArea

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


class Prompt(PlaceholderArea):
    """The text being written.

    A large paste, or one with characters that cannot be shown, stands in the text as a marker and is
    written out again when it is sent.

    Attributes:
        past: What was sent before.
        completes: The list of completions, once there is one.
        enter_key: Knows what Enter means.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "send": "send",
                "newline": "newline",
                "complete": "complete",
                "history": "history",
                "earlier": "earlier",
                "later": "later",
                "editor": "editor",
                "paste": "paste",
                "page-up": "chat(-1)",
                "page-down": "chat(1)",
            }
        ),
        Binding("up", "cursor_up", "Up", show=False),
        Binding("down", "cursor_down", "Down", show=False),
        Binding("alt+d", "delete_word_right", "Delete the word to the right", show=False),
        Binding("ctrl+home", "edge(True)", "To the beginning of the text", show=False),
        Binding("ctrl+end", "edge(False)", "To the end of the text", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__("Ask, or type / for a command", id=id)
        self.completes: Completes | None = None
        self.enter_key = EnterKey(self, send=self._send, new_line=self.action_newline)
        self._way_back = WayBack(self)
        self.past = self._way_back.past
        self._given_back = ""
        self._in_list: dict[str, str] = {}
        self._at_edges: frozenset[str] = frozenset()

    def use_keys(self, keys: Keys) -> None:
        """Take up the keys in force; what else the app has a key for gets past this widget."""
        self._in_list = by_key(keys, ("list-up", "list-down", "back"))
        self._at_edges = frozenset(name for name in ("earlier", "later") if GIVE_WAY[name] in keys[name])
        own = {name: tuple(key for key in keys[name] if key != editors) for name, editors in GIVE_WAY.items()}
        rebind(self, {**keys, **own}, also_taken=in_force_at("prompt"))

    # What others use ---------------------------------------------------------------------------

    def unsent(self) -> list[str]:
        """What is being written, also while an earlier text is shown in its place."""
        written = map(self.placeholders.written_out, self._way_back.written())
        return [text for text in written if text.strip()]

    def remember(self, text: str) -> None:
        """Add a text to the history and leave it."""
        self.past.add(text)
        self._way_back.end()

    def put(self, text: str) -> None:
        """Put a text before what is being written, so that neither is lost."""
        shown = self.placeholders.folded(text)
        draft = "" if self._is_given_back else self.text
        self.load_text(f"{shown}\n\n{draft}" if draft.strip() else shown)
        self.move_cursor(self.document.end)
        self._way_back.end()

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

    def put_back(self, text: str) -> bool:
        """Put a text that was sent before here to be edited, unfolded where it can be shown.

        Returns:
            Whether something stood here; it is in the history now.
        """
        unsent = self.unsent()
        for draft in unsent:
            self.remember(draft)
        self.empty()
        self.load_text(self._to_edit(text))
        self.move_cursor(self.document.end)
        return bool(unsent)

    def empty(self) -> None:
        """Begin a new text."""
        self.load_text("")
        self.placeholders.clear()
        self._way_back.end()

    def replace_all(self, text: str) -> None:
        """Put a text in place of what stands here; Ctrl+Z undoes it."""
        self.replace(self._to_edit(text), (0, 0), self.document.end)
        self.is_typed = False
        self.move_cursor(self.document.end)

    def _to_edit(self, text: str) -> str:
        """A text as it stands here to be edited: unfolded where it can be shown."""
        if len(text) <= EDITED_CHARACTERS and visible(text) == text:
            return text
        return self.placeholders.folded(text)

    # Keys --------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if _is_joiner(event.character):
            event.stop()
            event.prevent_default()
            self.type_in(event.character or "")
            return
        self.enter_key.came(event)
        in_list = self._in_list.get(event.key)
        if in_list is not None and self.completes is not None and self.completes.is_open:
            event.stop()
            event.prevent_default()
            if in_list == "back":
                self.completes.close()
            else:
                self.completes.move(-1 if in_list == "list-up" else 1)
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
        if self.enter_key.is_alone and self.completes is not None and await self.completes.enter():
            return
        self.enter_key.press()

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
            self.type_in(self.placeholders.folded(self.app.clipboard))
        return bool(self.app.clipboard)

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
        """Up a line; on the first one as `action_earlier`, where that is its key."""
        at_the_edge = self.navigator.is_first_wrapped_line(self.cursor_location)
        if select or not at_the_edge or "earlier" not in self._at_edges:
            super().action_cursor_up(select)
        else:
            self.action_earlier()

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a line; on the last one as `action_later`, where that is its key."""
        at_the_edge = self.navigator.is_last_wrapped_line(self.cursor_location)
        if not self._way_back.begun or select or not at_the_edge or "later" not in self._at_edges:
            super().action_cursor_down(select)
        else:
            self.action_later()

    def action_earlier(self) -> None:
        """Take something back, or go to an earlier text."""
        if not self.text and not self._way_back.begun:
            self.post_message(TakeBack())
        else:
            self.earlier()

    def action_later(self) -> None:
        """Go to a later text, or the draft."""
        self._way_back.later()

    def earlier(self) -> None:
        """Show the text sent before the one shown; what was being written waits below it."""
        self._way_back.earlier()

    # Details -----------------------------------------------------------------------------------

    def _insert_paste(self, event: events.Paste) -> None:
        self.enter_key.came(event)
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.type_in(self.placeholders.folded(text))
        self.is_typed = False
        self.post_message(Pasted(text))

    def _send(self) -> None:
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
