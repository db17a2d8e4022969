"""The line of keys over the prompt while the cursor is on a block; it has the focus meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from textual.actions import SkipAction
from textual.binding import BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import Static

from tau.tui.fit import keep_what_fits
from tau.tui.key_line import BETWEEN, in_words, key_parts, ranked
from tau.tui.keys import bound, by_key, rebind

if TYPE_CHECKING:
    from tau.tui.block_cursor import BlockCursor
    from tau.tui.screens.chat import ChatScreen

DOES = {
    "block-copy": "copy",
    "block-code": "copy {code}",
    "block-resend": "edit and resend",
    "block-editor": "editor",
    "block-quote": "to prompt",
}
"""What is done with a block, by the names of actions, in a word or two."""

ALONE_SECONDS = 0.3
"""A letter does something only when no other one follows for so long: one that begins a word does not."""


class BlockBar(Static, can_focus=True):
    """What can be done with the block. Whatever else is typed goes to the prompt.

    Args:
        cursor: The cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "block-up": "step(-1)",
                "block-down": "step(1)",
                "list-up": "step(-1)",
                "list-down": "step(1)",
                "choose": "turn",
                "back": "leave",
                "interrupt": "copy",
            }
        )
    ]

    def __init__(self, cursor: BlockCursor) -> None:
        super().__init__("", id="block-bar", markup=False)
        self._cursor = cursor
        self._held: Key | None = None
        self._does: dict[str, str] = {}
        self._facts: list[tuple[int, Content]] = []
        self._lead = Content()

    @property
    def _chat_screen(self) -> ChatScreen:
        from tau.tui.screens.chat import ChatScreen

        assert isinstance(self.screen, ChatScreen)
        return self.screen

    def on_mount(self) -> None:
        """Take up the keys in force."""
        keys = self._chat_screen.keys
        rebind(self, keys)
        self._does = by_key(keys, DOES)

    def describe(self, name: str, code: str, *, opens: bool, is_open: bool, can: Collection[str]) -> None:
        """Say what can be done.

        Args:
            name: What the block is.
            code: The code that can be copied.
            opens: Whether it can be opened and closed.
            is_open: Whether it is open.
            can: The names of the actions that do something here.
        """
        actions = [("choose", "fold" if is_open else "open")] if opens else []
        actions += [(action, does.format(code=code)) for action, does in DOES.items() if action in can]
        parts = key_parts(in_words(self._chat_screen.keys, [*actions, ("back", "back")]))
        self._lead = Content.assemble((name, "$quiet"))
        self._facts = ranked(parts)
        self.refresh()

    def render(self) -> Content:
        """The name and as many keys as there is room for."""
        room = self.content_size.width - self._lead.cell_length - 3
        return Content.assemble(self._lead, BETWEEN, keep_what_fits(self._facts, room, BETWEEN))

    # Keys --------------------------------------------------------------------------------------

    async def on_key(self, event: Key) -> None:
        """Hold a letter that does something; what begins a word goes to the prompt."""
        held, self._held = self._held, None
        does = self._does.get(event.key, "")
        if not event.is_printable or not event.character:
            if held is not None and event.key != "backspace":
                self._cursor.do(self._does[held.key])
            if does in self._cursor.can:
                event.stop()
                event.prevent_default()
                self._cursor.do(does)
            return
        event.stop()
        event.prevent_default()
        if held is None and does in self._cursor.can:
            self._held = event
            self.set_timer(ALONE_SECONDS, lambda: self._stood_alone(event))
            return
        prompt = self._chat_screen.prompt
        if not prompt.focusable:
            return
        self._cursor.leave()
        for key in (held, event):
            if key is not None:
                await prompt.take(key)

    def _stood_alone(self, event: Key) -> None:
        if self._held is event:
            self._held = None
            self._cursor.do(self._does[event.key])

    async def on_paste(self, event: Paste) -> None:
        """A paste belongs to the draft."""
        event.stop()
        prompt = self._chat_screen.prompt
        if prompt.focusable:
            self._cursor.leave()
            await prompt.take(event)

    def on_blur(self) -> None:
        """Something else has the keys now, unless it is only the terminal that nobody looks at."""
        self._held = None
        if self.app.app_focus:
            self._cursor.leave()

    def action_step(self, step: int) -> None:
        """Go a block up or down."""
        self._cursor.step(step)

    def action_turn(self) -> None:
        """Open or close the block."""
        self._cursor.turn()

    def action_copy(self) -> None:
        """Copy the block, unless something is selected with the mouse."""
        if self.screen.get_selected_text():
            raise SkipAction
        self._cursor.copy()

    def action_leave(self) -> None:
        """Back to the prompt."""
        self._cursor.leave()
