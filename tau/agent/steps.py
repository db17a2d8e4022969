"""Long work in small steps: done at once, or on threads in short runs between which it can be stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Work that pauses after each step and returns its result."""

RUN_SECONDS = 0.05
"""How long steps run on a thread until the loop is asked whether to go on."""


def at_once(steps: Steps[T]) -> T:
    """Do all of it here and now."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


async def aside(steps: Steps[T]) -> T:
    """Do it on threads, so that the loop stays free. A cancelled task stops with the step that runs."""
    results: list[T] = []
    while not results:
        await asyncio.to_thread(_run, steps, results)
    return results[0]


def _run(steps: Steps[T], results: list[T]) -> None:
    """Take steps for `RUN_SECONDS`. The result goes into `results`: no future holds a `StopIteration`."""
    until = time.monotonic() + RUN_SECONDS
    while time.monotonic() < until:
        try:
            next(steps)
        except StopIteration as done:
            results.append(done.value)
            return
