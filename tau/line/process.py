"""Runs a line-mode coroutine so that signals end it in order: the turn is cancelled, the session saved."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class Signals:
    """What SIGINT, SIGTERM and SIGHUP do while a line-mode coroutine runs.

    The first of them cancels the coroutine's task, once, so that what follows (cancel the turn, save, let go
    of the session) is not itself interrupted.

    Args:
        task: The task to cancel.
    """

    def __init__(self, task: asyncio.Task[int]) -> None:
        self._task = task
        self._loop = task.get_loop()
        self._stopping = False
        self.exit_code: int | None = None

    def install(self) -> None:
        """Begin to listen."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self.stop, number)

    def stop(self, number: int) -> None:
        """End the run with the exit code of this signal, unless it is ending already."""
        if not self._stopping:
            self._stopping = True
            self.exit_code = self.exit_code or 128 + number
            self._task.cancel()

    @contextmanager
    def interrupt_calls(self, action: Callable[[], None]) -> Iterator[None]:
        """While this is open, SIGINT calls `action` and the run goes on."""
        self._loop.add_signal_handler(signal.SIGINT, action)
        try:
            yield
        finally:
            self._loop.add_signal_handler(signal.SIGINT, self.stop, signal.SIGINT)

    @contextmanager
    def ending_calls(self, action: Callable[[], None]) -> Iterator[None]:
        """While this is open, SIGTERM and SIGHUP call `action`; the run ends by itself, with their code."""

        def end(number: int) -> None:
            self.exit_code = self.exit_code or 128 + number
            action()

        numbers = (signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            self._loop.add_signal_handler(number, end, number)
        try:
            yield
        finally:
            for number in numbers:
                self._loop.add_signal_handler(number, self.stop, number)


def run(main: Callable[[Signals], Awaitable[int]]) -> int:
    """Run `main` on a new event loop.

    Returns:
        What `main` returned, or 128 plus the number of the signal that ended it.
    """

    async def supervised() -> int:
        task = asyncio.current_task()
        assert task is not None
        signals = Signals(task)
        signals.install()
        try:
            code = await main(signals)
        except asyncio.CancelledError:
            if signals.exit_code is None:
                raise
            return signals.exit_code
        return code if signals.exit_code is None else signals.exit_code

    return asyncio.run(supervised())
