"""Tells the person what tau has to say on a screen: sentences in the chat, hints in the status row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.tui.keys import cancelling, key_of
from tau.tui.taking_back import with_key

if TYPE_CHECKING:
    from tau.events import Level
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.blocks import NoticeRow

QUIT_SECONDS = 3.0
PUT_AWAY = "The draft is put away"


class Telling:
    """What is told on a screen, and how long it holds.

    That the same key leaves holds until something else comes; why something is not done, until the next thing
    is; that a draft is put away, until the next key.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._again = f"{key_of(screen.keys, 'interrupt')} again leaves"
        self._until_key = ""
        self._refusal: NoticeRow | None = None

    @property
    def leaves(self) -> bool:
        """Whether the press that is asked for leaves now: as long as that is said."""
        return self._screen.status.hint == self._again

    def ask_to_press_again(self) -> None:
        """Say for a moment that the same key leaves, unless something else comes between."""
        self._screen.status.say(self._again, QUIT_SECONDS)

    def stay(self) -> None:
        """Something else came: the same key does not leave."""
        self._screen.status.unsay(self._again)

    def draft_put_away(self) -> None:
        """Say until the next key that what was written is in the history."""
        screen = self._screen
        # What waits comes back first.
        waits = bool(len(screen.outbox) or screen.kept.offers)
        name, does = ("history", "finds it") if waits else ("earlier", "brings it back")
        key = key_of(screen.keys, name)
        self._until_key = f"{PUT_AWAY}; {key} {does}" if key else PUT_AWAY
        screen.status.say(self._until_key)

    def key_pressed(self, *, interrupts: bool) -> None:
        """A key was pressed; one that interrupts may be the same that leaves."""
        if self._until_key:
            self._screen.status.unsay(self._until_key)
            self._until_key = ""
        if not interrupts:
            self._screen.status.unsay(self._again)

    async def notice(self, text: str, level: Level) -> None:
        """Show a sentence in the chat."""
        from tau.tui.widgets.blocks import NoticeRow

        self.stay()
        await self._screen.chat.add(NoticeRow(with_key(text, self._screen.keys), level))

    async def refuse(self, text: str) -> None:
        """Say in the chat why something that was asked for is not done; it goes with what comes next."""
        from tau.conversation.compacting import SUMMARIZING
        from tau.conversation.own_commands import RUNS
        from tau.conversation.wrapping import WRAPS
        from tau.tui.widgets.blocks import NoticeRow

        ends = {RUNS: "stops it", SUMMARIZING: "cancels that", WRAPS: "cancels that"}
        cancel = cancelling(self._screen.keys)
        if text in ends and cancel:
            text = f"{text.removesuffix('.')}; {cancel} {ends[text]}."
        self.go_on()
        self._refusal = NoticeRow(text, "warning")
        await self._screen.chat.add(self._refusal)
        self._screen.chat.to_end()

    def go_on(self) -> None:
        """The next thing is done: neither does the same key leave, nor does a refusal stand."""
        self.stay()
        refusal, self._refusal = self._refusal, None
        if refusal is not None and refusal.is_attached:
            refusal.remove()
