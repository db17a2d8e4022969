"""Runs work that the person may stop, such as a summary or a long copy."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from tau.errors import TauError

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
