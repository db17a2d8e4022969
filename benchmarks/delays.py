"""How late the running loop is while something goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

STEP = 0.002
"""Seconds between two looks."""


@asynccontextmanager
async def measured_delays() -> AsyncIterator[list[float]]:
    """The delays of the loop inside the block, in milliseconds, as they come."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(STEP)
            late.append((time.perf_counter() - begin - STEP) * 1e3)

    ticking = asyncio.create_task(tick())
    try:
        yield late
    finally:
        ticking.cancel()
