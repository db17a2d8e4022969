"""The history of the directory as prompt_toolkit wants it: Up, Down and the search with Ctrl+R."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress

from prompt_toolkit.history import History

from tau.errors import TauError
from tau.input.history import PromptHistory

_READ = 1_000
"""Texts that are looked through."""

_LARGEST = 200_000
"""Characters of a text that is still brought back to the prompt."""


class DirectoryHistory(History):
    """Made while an event loop runs; reading begins at once, on a thread.

    Args:
        kept: Where it is kept.
        whole: Gives a text of the prompt as it goes out.
    """

    def __init__(self, kept: PromptHistory, whole: Callable[[str], str]) -> None:
        super().__init__()
        self._kept = kept
        self._whole = whole
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._read))

    async def ready(self) -> None:
        """Wait until it is read."""
        await self._reading

    async def load(self) -> AsyncGenerator[str, None]:
        """The texts, newest first."""
        if not self._loaded:
            found = await self._reading
            self._loaded_strings += found
            self._loaded = True
        for text in list(self._loaded_strings):
            yield text

    def load_history_strings(self) -> Iterable[str]:
        """The same; blocks."""
        return self._read()

    def append_string(self, string: str) -> None:
        """Remember a text, whole, however it is folded at the prompt."""
        super().append_string(self._whole(string))

    def store_string(self, string: str) -> None:
        """Keep a text."""
        self._kept.add(string)

    def _read(self) -> list[str]:
        found = []
        for entry in self._kept.latest(_READ):
            if not entry.is_large:
                found.append(entry.text)
            elif entry.characters <= _LARGEST:
                with suppress(TauError):  # its file is gone
                    found.append(self._kept.whole(entry))
        return found
