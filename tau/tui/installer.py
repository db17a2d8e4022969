"""Offers the embedded model where there is none, installs it and gets it ready on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tau.config.settings import Settings
from tau.errors import TauError
from tau.models.embedded.install import install
from tau.models.embedded.sources import InstallCancelled, Progress
from tau.models.embedded.weights import catalogue, folder, recommended
from tau.tui.widgets.offer import Offer

if TYPE_CHECKING:
    from tau.agent.first_reading import FirstReading


class Installer:
    """One installation at a time; the app stays usable meanwhile.

    Args:
        settings: What conversations are held with.
        panel: Shows the offer and the progress.
        bare: Whether conversations leave the person's own instructions out.
    """

    def __init__(self, settings: Settings, panel: Offer, *, bare: bool) -> None:
        self._settings = settings
        self._places = settings.places
        self._panel = panel
        self._bare = bare
        self._reading: FirstReading | None = None
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
        await self._settle()
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
            await self.offer()
            return False
        except BaseException:
            self._running = False
            self._cancelled.set()
            raise
        return True

    async def get_ready(self, role: str) -> str:
        """Have the installed model read what conversations begin with; the person may skip that.

        The model stays loaded for the conversation to take up, until `close`.

        Args:
            role: The role it will serve.

        Returns:
            Why it has not read all, as a sentence for the person, or the empty string.
        """
        name = self._panel.installing
        self._panel.get_ready()
        loop = asyncio.get_running_loop()

        def report(share: float) -> None:
            with suppress(RuntimeError):  # the app has ended; the reading is told to stop
                loop.call_soon_threadsafe(self._panel.get_ready, share)

        def work() -> None:
            from tau.agent.first_reading import FirstReading

            self._reading = FirstReading(self._settings, name, role=role, bare=self._bare)
            self._reading.run(report, self._cancelled)

        try:
            await self._run(work)
        except TauError as error:
            what = "was stopped" if self._cancelled.is_set() else f"failed: {error.message}"
            return f"{name} is installed and used, but its first answer takes longer: getting it ready {what}"
        finally:
            self._panel.prepare()
        return ""

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
        """Stop what runs as the app ends, and wait for that, but no longer than `seconds`."""
        self._cancelled.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def decline(self) -> bool:
        """Stop what runs, keeping what was downloaded, or put the offer away (True)."""
        if self._running:
            self._cancelled.set()
            return False
        self._panel.close()
        return True

    async def close(self) -> None:
        """Take the panel away, and leave the model to the conversation."""
        self._panel.close()
        await self._settle()

    async def _settle(self) -> None:
        """Nothing runs any more."""
        self._running = False
        self._cancelled.set()
        reading, self._reading = self._reading, None
        if reading is not None:
            await asyncio.to_thread(reading.close)  # it may have a process to end
