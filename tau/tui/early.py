"""Keeps what is pressed and pasted before there is somebody to take it, in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from textual.events import Event, Key, Paste

Take = Callable[[Event], Awaitable[None]]
"""Gives an event to whoever has the focus."""


class Early:
    """What was pressed too early.

    Text waits for the prompt. Any other key waits for the session, which most of them are for, and so does
    what was pressed after it.

    Args:
        typed: What was typed before the app could see it.
        at_once: Keys that wait for nothing.
        line_ends: Keys behind which a text goes on in a new line.
    """

    def __init__(self, typed: str, at_once: Collection[str], line_ends: Collection[str]) -> None:
        self._held: list[Key | Paste] = keys_of(typed)
        self._at_once = at_once
        self._line_ends = line_ends
        self._has_prompt = False
        self._is_over = False
        self._giving = asyncio.Lock()

    @property
    def text(self) -> str:
        """The text among what is held, as the prompt would have it behind its own."""
        text = ""
        for event in self._held:
            if isinstance(event, Paste):
                text += event.text.replace("\r\n", "\n").replace("\r", "\n")
            elif event.key == "backspace":
                text = text[:-1]
            elif event.key in self._line_ends:
                text += "\n"
            elif event.is_printable:
                text += event.character or ""
        return text.rstrip("\n")

    def holds(self, event: Event) -> bool:
        """Whether an event is kept for later."""
        if self._is_over or not isinstance(event, Key | Paste):
            return False
        if isinstance(event, Key) and event.key in self._at_once:
            return False
        if self._has_prompt and not self._held and _is_text(event):
            return False
        self._held.append(event)
        return True

    async def prompt_is_there(self, take: Take) -> None:
        """Give it the text that came before any other key."""
        if not self._has_prompt:
            await self._give(take, _is_text)
            self._has_prompt = True

    async def session_is_there(self, take: Take) -> None:
        """Give everything there is; from now on nothing is kept."""
        await self._give(take, lambda event: True)
        self._is_over = True

    async def _give(self, take: Take, wanted: Callable[[Event], bool]) -> None:
        async with self._giving:
            while self._held and wanted(self._held[0]):
                await take(self._held[0])
                del self._held[0]  # only now: what comes meanwhile goes behind it


def keys_of(typed: str) -> list[Key | Paste]:
    """The keys that were pressed for these characters; what else a terminal reports is left out."""
    if not typed:
        return []
    from tau.tui.terminal_keys import TerminalKeys

    parser = TerminalKeys()
    return [event for part in (typed, "") for event in parser.feed(part) if isinstance(event, Key | Paste)]


def _is_text(event: Event) -> bool:
    """Whether an event is text for the prompt, and not a key that commands something."""
    return isinstance(event, Paste) or (
        isinstance(event, Key) and (event.is_printable or event.key == "backspace")
    )
