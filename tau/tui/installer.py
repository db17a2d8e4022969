"""Offers the embedded model where there is none, installs it on a thread of its own, and hands it over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from tau.config.settings import Places
from tau.models.embedded.install import install
from tau.models.embedded.sources import InstallCancelled, Progress
from tau.models.embedded.weights import catalogue, folder, recommended
from tau.tui.widgets.offer import Offer


class Installer:
    """One installation at a time; the app stays usable meanwhile.

    Args:
        places: Where tau keeps things.
        panel: Shows the offer and the progress.
    """

    def __init__(self, places: Places, panel: Offer) -> None:
        self._places = places
        self._panel = panel
        self._cancelled = threading.Event()
        self._running = False
        self._thread: threading.Thread | None = None

    @property
    def pending(self) -> bool:
        """Whether the offer stands or is being carried out: messages wait for its end."""
        return self._running or bool(self._panel.offered)

    def accepts(self, place: int) -> bool:
        """Whether the weights at `place` of the offer can be installed now."""
        return place < len(self._panel.offered) and not self._running

    async def offer(self) -> None:
        """Show what can be installed: the recommended weights, then the smaller ones."""
        first = await asyncio.to_thread(recommended, self._places)
        smaller = [weights for weights in catalogue() if weights.chat and weights.size < first.size]
        self._panel.offer([first, *smaller], str(folder(self._places)))

    async def install(self, place: int) -> bool:
        """Install the weights at `place` of the offer; False when the person stopped it.

        When the app ends meanwhile, the download is told to stop.

        Raises:
            ModelError: It failed; the message names what was tried.
        """
        weights = self._panel.offered[place]
        self._cancelled.clear()
        self._running = True
        self._panel.begin(weights)
        loop = asyncio.get_running_loop()

        def report(now: Progress) -> None:
            with suppress(RuntimeError):  # the app has ended; the next step stops the download
                loop.call_soon_threadsafe(self._panel.progress, now)

        def work() -> None:
            install(weights, self._places, progress=report, cancelled=self._cancelled)

        try:
            await self._run(work)
        except InstallCancelled:
            self._running = False
            await self.offer()
            return False
        finally:
            self._running = False
            self._cancelled.set()
        self._panel.prepare()
        return True

    async def _run(self, work: Callable[[], None]) -> None:
        """Run it on a daemon thread: one of an executor would keep the process while a server is silent."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if over.cancelled():
                return
            if error is None:
                over.set_result(None)
            else:
                over.set_exception(error)

        def run() -> None:
            failure: BaseException | None = None
            try:
                work()
            except BaseException as error:  # noqa: BLE001  # raised again where it is awaited
                failure = error
            with suppress(RuntimeError):  # the app has ended; nobody waits
                loop.call_soon_threadsafe(settle, failure)

        self._thread = threading.Thread(target=run, name="tau-install", daemon=True)
        self._thread.start()
        await over

    def stop(self, seconds: float) -> None:
        """Stop the download as the app ends, and wait for that, but no longer than `seconds`."""
        self._cancelled.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def decline(self) -> bool:
        """Stop the download, keeping what was downloaded, or put the offer away (True)."""
        if self._running:
            self._cancelled.set()
            return False
        self._panel.close()
        return True

    def close(self) -> None:
        """Take the panel away."""
        self._panel.close()
