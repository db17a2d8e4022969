"""The engine thread: an event loop of its own for the agent, the store and the model."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)
P = ParamSpec("P")

STOP_SECONDS = 10.0
"""How long the end of a conversation waits for the engine's thread."""


class _Abandonable(ThreadPoolExecutor):
    """Runs each call on a daemon thread of its own.

    Tools of other packages are called here, and nothing can end one that blocks. Its turn goes on without
    it; the threads of a pool, though, would be used up by such calls, and waited for when the process ends.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start the call."""
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  # it belongs to whoever awaits the call
                future.set_exception(error)

        threading.Thread(target=call, name="tau-call", daemon=True).start()
        return future


class Engine:
    """A daemon thread that runs one event loop until `stop`.

    A channel's loop hands coroutines over and awaits their results; nothing it does can be blocked by what
    runs here.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_Abandonable())
        self._thread = threading.Thread(target=self._run, name="tau-engine", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        if pending:
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine and await its result from the caller's loop.

        A caller that is cancelled cancels the work too.
        """
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine on the engine without waiting for it. Nothing happens once it has stopped."""
        try:
            begun = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
        else:
            begun.add_done_callback(_log_failure)

    async def stop(self) -> None:
        """End the loop and wait for the thread, without blocking the caller's loop.

        A thread that something blocks is left behind after `STOP_SECONDS`; it ends with the process.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
        caller = asyncio.get_running_loop()
        end = caller.time() + STOP_SECONDS
        while self._thread.is_alive() and caller.time() < end:
            await asyncio.sleep(0.005)


def _log_failure(work: Future[Any]) -> None:
    """Nobody awaits work that was only begun, so a defect in it would pass unseen."""
    if not work.cancelled() and (error := work.exception()) is not None:
        log.error("Work on the engine failed", exc_info=error)
