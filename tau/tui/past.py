"""What was sent before from this directory, as the prompt goes through it: newest first, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.input.history import PromptHistory
    from tau.input.history_file import Entry

PAGE = 100
"""Texts that are read at a time."""

_NEAR_THE_END = 20


class Past:
    """The history as far as it was read. What this window sent stands in it as it was typed, not masked.

    Args:
        run: Runs what it reads beside the drawing.
        changed: Called when more of it is there.
        in_use: Whether one of it stands in the prompt: then nothing newer is added.

    Attributes:
        loaded: Whether it was read.
    """

    def __init__(
        self, run: Callable[..., object], changed: Callable[[], None], in_use: Callable[[], bool]
    ) -> None:
        self.loaded = False
        self._run = run
        self._changed = changed
        self._in_use = in_use
        self._kept: PromptHistory | None = None
        self._texts: list[Entry | str] = []
        self._own: dict[tuple[str, int], str] = {}
        self._added: list[str] = []
        self._count = 0
        self._oldest: Entry | None = None
        self._reading = False

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, back: int) -> Entry | str:
        """The text so far back; 0 is the newest."""
        return self._texts[-1 - back]

    def add(self, text: str) -> None:
        """A text was sent, or put away."""
        if not text.strip():
            return
        if not self._texts or self._texts[-1] != text:
            self._texts.append(text)
        self._added.append(text)
        self._count += 1
        if self._kept is not None:
            self._kept.add(text)

    def use(self, kept: PromptHistory) -> None:
        """Keep texts there from now on, those that were sent already, too, and read what is there."""
        self._kept = kept
        for text in self._added:
            kept.add(text)
        self.refresh()

    def refresh(self) -> None:
        """Read anew: another window may have sent something."""
        if self._kept is not None and not self._reading:
            self._reading = True
            self._run(self._read())

    def reach(self, back: int) -> None:
        """Have more of it read when a text so far back is near the end of what is there."""
        if back > len(self._texts) - _NEAR_THE_END and self._oldest is not None and not self._reading:
            self._reading = True
            self._run(self._read_on(self._oldest))

    async def whole(self, entry: Entry) -> str:
        """The whole of a large text.

        Raises:
            TauError: It is gone.
        """
        assert self._kept is not None
        return await asyncio.to_thread(self._kept.whole, entry)

    async def _read(self) -> None:
        assert self._kept is not None
        try:
            while True:
                count, added = self._count, self._added
                self._added = []
                self._own.update(await asyncio.to_thread(_masked, added))
                found = await asyncio.to_thread(self._kept.latest, max(PAGE, len(self._texts)))
                if count == self._count:
                    break
            if not self._in_use():
                self._texts = [self._as_typed(entry) for entry in reversed(found)]
                self._oldest = found[-1] if len(found) >= PAGE else None
        finally:
            self._reading = False
        self.loaded = True
        self._changed()

    async def _read_on(self, oldest: Entry) -> None:
        assert self._kept is not None
        try:
            found = await asyncio.to_thread(self._kept.latest, PAGE, oldest)
            self._texts[:0] = [self._as_typed(entry) for entry in reversed(found)]
            self._oldest = found[-1] if len(found) >= PAGE else None
        finally:
            self._reading = False
        self._changed()

    def _as_typed(self, entry: Entry) -> Entry | str:
        return self._own.get((entry.text, entry.characters), entry)


def _masked(texts: list[str]) -> dict[tuple[str, int], str]:
    """Texts as they were typed, by what a history has of them."""
    from tau.input.history_file import LARGE, SHOWN
    from tau.masking import mask_content

    found = {}
    for text in texts:
        masked = mask_content(text)
        found[masked if len(masked) <= LARGE else masked[:SHOWN], len(masked)] = text
    return found
