"""The prompt: several lines, history at its edges, large pastes folded, one key to send."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Static, TextArea

from tau.display import visible
from tau.tui.keys import Keys, bound, rebind
from tau.tui.messages import ScrollChat, Submitted, TakeBack

FOLD_LINES = 8
FOLD_CHARACTERS = 1_000
BURST_SECONDS = 0.02
EDITED_CHARACTERS = 20_000
"""A text that was sent before and comes back to be edited is folded from this size on."""


def _is_joiner(character: str | None) -> bool:
    """Whether a key is a character that joins or parts its neighbours: part of Persian words and of emoji."""
    return character in ("\u200c", "\u200d")


class Prompt(TextArea):
    """The text being written.

    A large paste, or one with characters that cannot be shown, stands in the text as a marker and is
    written out again when it is sent. Enter sends unless more keys follow at once: those are a paste
    from a terminal that does not mark pastes, and Enter is then a line of it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound({"send": "send", "newline": "newline", "page-up": "chat(-1)", "page-down": "chat(1)"}),
        Binding("alt+d", "delete_word_right", "Delete the word to the right", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            placeholder="Ask, or type / for a command",
        )
        self.cursor_blink = False
        self._pastes: dict[str, str] = {}
        self._past: list[str] = []
        self._place: int | None = None
        self._draft = ""
        self._enter: Timer | None = None

    def use_keys(self, keys: Keys) -> None:
        """Take up the keys in force; what else the app has a key for gets past this widget."""
        newest = tuple(key for key in keys["newest"] if key != "end")  # which moves in the text here
        rebind(self, {**keys, "newest": newest}, also_taken=keys)

    # What others use ---------------------------------------------------------------------------

    def written_out(self) -> str:
        """The text with every paste in place of its marker."""
        return self._write_out(self.text)

    def unsent(self) -> list[str]:
        """What is being written, also while an earlier text is shown in its place."""
        texts = [self.written_out()]
        if self._place is not None:
            edited = [text for text in texts if text != self._past[self._place]]
            texts = [self._write_out(self._draft), *edited]
        return [text for text in texts if text.strip()]

    def remember(self, text: str) -> None:
        """Add a text to this run's history and leave the history."""
        if text.strip() and (not self._past or self._past[-1] != text):
            self._past.append(text)
        self._place = None

    def put(self, text: str) -> None:
        """Put a text before what is being written, so that neither is lost."""
        shown = self._fold(text)
        draft = self.text
        self.load_text(f"{shown}\n{draft}" if draft.strip() else shown)
        self.move_cursor(self.document.end)
        self._place = None

    def put_back(self, text: str) -> bool:
        """Put a text that was sent before here to be edited, unfolded where it can be shown.

        Returns:
            Whether something stood here; it is in the history now.
        """
        unsent = self.unsent()
        for draft in unsent:
            self.remember(draft)
        self.empty()
        self.load_text(text if len(text) <= EDITED_CHARACTERS and visible(text) == text else self._fold(text))
        self.move_cursor(self.document.end)
        return bool(unsent)

    def empty(self) -> None:
        """Begin a new text."""
        self.load_text("")
        self._pastes.clear()
        self._place = None

    # Keys --------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if _is_joiner(event.character):
            event.stop()
            event.prevent_default()
            self.insert(event.character or "")
            return
        if self._enter is not None and event.is_printable:
            self._enter_was_a_line()
        if not event.is_printable and await self._run_own_binding(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    async def _run_own_binding(self, key: str) -> bool:
        """Run what this widget binds to a key, at once.

        Textual runs bindings when the key has bubbled up to the app; letters that arrive in the same read
        would be inserted before, and what was typed would come out in another order.
        """
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, default_namespace=self):
                return True
        return False

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._insert_paste(event.text)
        self.focus()

    async def take(self, event: events.Key | events.Paste) -> None:
        """Go on with the text while something else has the focus."""
        if isinstance(event, events.Paste):
            self._insert_paste(event.text)
        elif event.key == "backspace":
            self.action_delete_left()
        else:
            await self._on_key(event)

    def action_send(self) -> None:
        """Send, unless more follows at once: then it was a line of a paste."""
        if self._enter is not None:
            self._enter_was_a_line()
        self._enter = self.set_timer(BURST_SECONDS, self._send)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_chat(self, pages: int) -> None:
        """Scroll the chat."""
        self.post_message(ScrollChat(pages))

    def action_cursor_up(self, select: bool = False) -> None:
        """Up a line; on the first one, take back a waiting message or go to an earlier text."""
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif not self.text:
            self.post_message(TakeBack())
        else:
            self.earlier()

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a line; on the last one, go to a later text."""
        at_the_end = self.navigator.is_last_wrapped_line(self.cursor_location)
        if self._place is None or select or not at_the_end:
            super().action_cursor_down(select)
        else:
            self._go(self._place + 1)

    def earlier(self) -> None:
        """Show the text sent before the one shown; what was being written waits below it."""
        self._go((len(self._past) if self._place is None else self._place) - 1)

    # Details -----------------------------------------------------------------------------------

    def _write_out(self, text: str) -> str:
        for marker, paste in self._pastes.items():
            text = text.replace(marker, paste)
        return text

    def _go(self, place: int) -> None:
        if place < 0 or not self._past:
            return
        if self._place is None:
            self._draft = self.text
        if place >= len(self._past):
            self._place = None
            self.load_text(self._draft)
        else:
            self._place = place
            self.load_text(self._fold(self._past[place]))
        self.move_cursor(self.document.end)

    def _insert_paste(self, text: str) -> None:
        if self._enter is not None:
            self._enter_was_a_line()
        self.insert(self._fold(text.replace("\r\n", "\n").replace("\r", "\n")))

    def _enter_was_a_line(self) -> None:
        if self._enter is not None:
            self._enter.stop()
            self._enter = None
        self.insert("\n")

    def _send(self) -> None:
        self._enter = None
        text = self.written_out()
        if text.strip():
            self.post_message(Submitted(text))

    def _fold(self, text: str) -> str:
        lines = text.count("\n") + 1
        hidden = visible(text) != text
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARACTERS and not hidden:
            return text
        amount = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        marker = f"[Pasted text #{len(self._pastes) + 1} · {amount}]"
        self._pastes[marker] = text
        return marker


class PromptBox(Horizontal):
    """The prompt in its frame, the only one on the screen."""

    def compose(self) -> ComposeResult:
        """The mark and the text."""
        yield Static("❯ ", id="prompt-mark", markup=False)
        yield Prompt(id="prompt")
