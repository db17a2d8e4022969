"""Waits for conditions."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 20.0


def until(condition: Callable[[], bool]) -> None:
    """Return when it holds; fail when it does not within the time."""
    ends = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends, "the condition never held"
        time.sleep(0.005)
