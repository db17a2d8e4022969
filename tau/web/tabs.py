"""The tabs of the browser, and the app behind each: it outlives a reload, and not a tab that was closed."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from aiohttp import web

from tau.web.app_process import AppProcess, Said, View
from tau.web.connection import Connection

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0
"""An app that no page shows ends once it has drawn nothing for so long; a running turn draws all the time."""

ENDED, TAKEN, LEAVING = 4001, 4002, 4003
"""Why a page's line is closed: the app ended, another page shows it now, the server ends."""

OPENED_BY_PAGES = ("http://", "https://", "mailto:")


class Launch(Protocol):
    """Says how the app is started for a tab."""

    def __call__(self, view: View, *, resume: str, fresh: bool) -> Sequence[str]:
        """The command.

        Args:
            view: The page's screen.
            resume: The session to go on with, or empty for what the command line of the server says.
            fresh: Whether a new session is asked for, whatever that says.
        """


class Tab:
    """One tab of a browser: at most one process of the app, and at most one page that shows it.

    Args:
        launch: How the app is started.
        tell: Says a line at the server's terminal.
    """

    def __init__(self, launch: Launch, tell: Callable[[str], None]) -> None:
        self._launch = launch
        self._tell = tell
        self._app: AppProcess | None = None
        self._page: Connection | None = None
        self._view = View(80, 24, light=False)
        self._session = ""
        self._look: dict[str, object] = {}
        self._drew = 0.0
        self._watching: asyncio.Task[None] | None = None
        self._ending = False
        self._opening = asyncio.Lock()

    @property
    def app(self) -> AppProcess | None:
        """The app, while there is one and a page can come back to it."""
        return None if self._ending else self._app

    async def open(self, socket: web.WebSocketResponse, view: View, *, fresh: bool) -> Connection:
        """Show the app in this page: the one that runs, or a new one. A page that showed it loses it.

        Args:
            socket: The page's.
            view: Its screen.
            fresh: Whether a new app begins a new session.
        """
        page = Connection(socket, self._show_again)
        before, self._page = self._page, None
        if before is not None:
            await before.close(TAKEN)
        async with self._opening:
            if self._ending and self._watching is not None:
                await asyncio.wait([self._watching])
            self._view, self._page = view, page
            if self._app is None:
                await self._start(page, fresh=fresh)
            else:
                page.say("look", self._look)
                page.frame(await self._app.show_again(view))
        return page

    def is_shown_by(self, page: Connection) -> bool:
        """Whether this page shows the app, and no other one."""
        return self._page is page

    def leave(self, page: Connection) -> bool:
        """This page is gone; the app stays for one that comes back. Returns whether the page showed it."""
        if self._page is not page:
            return False
        self._page = None
        self._drew = time.monotonic()
        return True

    async def resize(self, view: View) -> None:
        """The page has another size now."""
        self._view = view
        if self.app is not None:
            await self.app.set_terminal_size(view.width, view.height)

    def hurry(self) -> None:
        """Tell an app that is ending not to wait."""
        if self._app is not None:
            self._app.tell(signal.SIGTERM)

    async def end(self) -> None:
        """End the app; what it says last goes to the page and to the server's terminal."""
        self._ending = True
        if self._app is not None and self._watching is not None:
            await self._app.end()
            await asyncio.wait([self._watching])

    async def _start(self, page: Connection, *, fresh: bool) -> None:
        resume = "" if fresh else self._session
        self._session, self._look, self._drew, self._ending = "", {}, time.monotonic(), False
        command = self._launch(self._view, resume=resume, fresh=fresh)
        app = AppProcess(command, self._on_frame, self._on_said)
        try:
            await app.begin(self._view)
        except OSError as error:
            page.say("ended", {"text": f"The app cannot be started: {error.strerror}", "resumable": False})
            await page.close(ENDED)
            return
        self._app = app
        self._watching = asyncio.create_task(self._watch(app))

    async def _watch(self, app: AppProcess) -> None:
        """Wait for the end of the app, and bring it about when nobody has looked at it for long."""
        ended = asyncio.ensure_future(app.ended())
        leaving = False
        while not ended.done():
            if self._page is None and not self._ending and time.monotonic() - self._drew > QUIET_SECONDS:
                self._ending = leaving = True
                ending = asyncio.ensure_future(app.end())
                await asyncio.wait([ending])
            await asyncio.wait([ended], timeout=1)
        server_ends = self._ending and not leaving
        text = app.text.strip()
        self._app, page, self._page = None, self._page, None
        self._ending = server_ends
        if text and (page is None or server_ends):
            self._tell(text)
        if page is not None:
            page.say("ended", {"text": text, "resumable": bool(self._session), "code": ended.result()})
            await page.close(LEAVING if server_ends else ENDED)

    async def _show_again(self) -> bytes:
        return await self._app.show_again(self._view) if self._app is not None else b""

    def _on_frame(self, data: bytes) -> None:
        self._drew = time.monotonic()
        if self._page is not None:
            self._page.frame(data)

    def _on_said(self, said: Said) -> None:
        if said.kind == "session":
            self._session = str(said.content["id"]) if said.content["lasts"] else ""
        elif said.kind == "look":
            self._look = said.content
            if self._page is not None:
                self._page.say("look", self._look)
        elif said.kind == "open_url" and self._page is not None:
            if str(said.content["url"]).startswith(OPENED_BY_PAGES):
                self._page.say("open_url", said.content)
            else:
                log.warning("The app asked the page for an address that is none of the web")


class Tabs:
    """The tabs by their ids, which the pages make up and keep.

    Args:
        launch: How the app is started for one.
        tell: Says a line at the server's terminal.
    """

    def __init__(self, launch: Launch, tell: Callable[[str], None]) -> None:
        self._launch = launch
        self._tell = tell
        self._tabs: dict[str, Tab] = {}

    def tab(self, tab_id: str) -> Tab:
        """The tab of this id, new or known."""
        return self._tabs.setdefault(tab_id, Tab(self._launch, self._tell))

    async def end(self) -> None:
        """End every app, all at the same time."""
        await asyncio.gather(*(tab.end() for tab in self._tabs.values()))

    def hurry(self) -> None:
        """Tell the apps not to wait."""
        for tab in self._tabs.values():
            tab.hurry()
