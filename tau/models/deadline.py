"""Work of others (a server that drips, a credential helper that hangs) held to a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, run on a thread that is left to itself when the time is over.

    Raises:
        TimeoutError: It was not done in time.
        Exception: Whatever `work` raised.
    """
    results: list[T] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - handed to the caller below
            failures.append(error)

    thread = threading.Thread(target=run, name="tau-deadline", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not results:
        raise TimeoutError(f"not done within {seconds:g} s")
    return results[0]
