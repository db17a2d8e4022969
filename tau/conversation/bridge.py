"""Carries events from the engine's thread to a channel's loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from tau.events import CommandOutput, ReasoningDelta, TextDelta, ToolOutputDelta

E = TypeVar("E")


class Bridge(Generic[E]):
    """A queue between two threads that merges what may be merged.

    While the channel is busy, neighbouring deltas become one, so the queue stays as short as the number of
    things that happened, however fast a model streams. Nothing else is merged, and nothing is dropped.

    Args:
        loop: The channel's loop.
        last: What the last event is.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, last: type[E]) -> None:
        self._loop = loop
        self._last = last
        self._lock = threading.Lock()
        self._events: deque[E] = deque()
        self._ready = asyncio.Event()

    def put(self, event: E) -> None:
        """Hand an event over. Called on the engine's thread; never waits."""
        with self._lock:
            wake = not self._events
            merged = _merge(self._events[-1], event) if self._events else None
            if merged is not None:
                self._events[-1] = merged  # type: ignore[assignment]  # of the kind of both
            else:
                self._events.append(event)
        if wake:
            try:
                self._loop.call_soon_threadsafe(self._ready.set)
            except RuntimeError:  # the channel's loop has ended; nobody is left to tell
                return

    async def events(self) -> AsyncIterator[E]:
        """The events in order, until the last. Called on the channel's loop."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            while True:
                with self._lock:
                    if not self._events:
                        break
                    event = self._events.popleft()
                yield event
                if isinstance(event, self._last):
                    return


def _merge(last: object, event: object) -> object | None:
    if isinstance(last, TextDelta) and isinstance(event, TextDelta):
        return TextDelta(last.text + event.text)
    if isinstance(last, ReasoningDelta) and isinstance(event, ReasoningDelta):
        return ReasoningDelta(last.text + event.text)
    if isinstance(last, CommandOutput) and isinstance(event, CommandOutput):
        return CommandOutput(last.text + event.text)
    if (
        isinstance(last, ToolOutputDelta)
        and isinstance(event, ToolOutputDelta)
        and last.tool_use_id == event.tool_use_id
    ):
        return ToolOutputDelta(last.tool_use_id, last.text + event.text)
    return None
