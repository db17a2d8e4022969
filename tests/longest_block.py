"""How long the event loop's thread works without a turn for anything else."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_BETWEEN = 0.001
"""Seconds between two looks."""


@asynccontextmanager
async def longest_block() -> AsyncIterator[list[float]]:
    """Watch the running loop meanwhile.

    Counted is the time of the processor that the loop's thread takes between two looks, so that it makes no
    difference what else the machine does; and no search for garbage, of which other tests left much.

    Yields:
        One figure, in seconds: the longest so far.
    """
    longest = [0.0]

    async def watch() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(_BETWEEN)
            now = time.thread_time()
            longest[0] = max(longest[0], now - before)
            before = now

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    gc.disable()
    try:
        yield longest
    finally:
        gc.enable()
        watching.cancel()
