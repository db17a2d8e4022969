"""Runs work that the person may stop: a summary, a long copy, a change of memory that has not begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tau.errors import TauError
from tau.memory.applying import MemoryChanged
from tau.memory.files import GivenUp

T = TypeVar("T")


class Stopping:
    """What may be stopped at present. Lives on the engine's loop."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T], stopped: TauError) -> T:
        """Run work until it is over or stopped. Nothing of it runs on when this returns, or is cancelled.

        Raises:
            TauError: What the work raises, or `stopped`.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._running.discard(task)
        if task.cancelled():
            raise stopped
        return task.result()

    async def stop(self) -> None:
        """Stop everything that runs; returns when it is over."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)


async def to_its_end(work: Callable[[Callable[[], bool]], T]) -> T:
    """Change memory on a thread: a change that has begun is ended, also when it is cancelled meanwhile.

    Args:
        work: The change. It is given what says that nobody waits any more for it to begin.

    Raises:
        asyncio.CancelledError: It was cancelled before it began.
    """
    left = threading.Event()
    working = asyncio.create_task(asyncio.to_thread(work, left.is_set))
    while True:
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            left.set()
            if working.cancelled():
                raise
        except (GivenUp, MemoryChanged):
            if left.is_set():
                raise asyncio.CancelledError from None
            raise
