"""The server: checks who asks, hands out the page, and joins each page to its tab, until a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
import signal
import socket as sockets
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

from aiohttp import WSMsgType, web

from tau.display import one_line
from tau.errors import TauError
from tau.web.access import LOOPBACK_NAMES, Access, is_loopback, is_unspecified
from tau.web.app_process import View
from tau.web.browser import Opener
from tau.web.connection import Connection
from tau.web.pages import HEADERS, app_page, key_page, refusal_page, static_file
from tau.web.tabs import LEAVING, Launch, Tab, Tabs

log = logging.getLogger(__name__)

MESSAGE_BYTES = 16_000_000
"""A longer message of a page, that is a longer paste, is not taken."""

HEARTBEAT_SECONDS = 20.0
MOST_CELLS = 1000
_TAB_ID = re.compile(r"[0-9a-f-]{16,40}")
_PROTOCOL = "tau"
_NO_DOOR = (
    "This browser has not been let in. Open the address that tau web printed; it works once. "
    "Enter in that terminal prints another."
)


class Address(NamedTuple):
    """Where the server listens.

    Attributes:
        host: An address or name of this machine.
        port: 0 takes a free one.
    """

    host: str
    port: int


def serve(
    address: Address,
    launch: Launch,
    *,
    opener: Opener | None,
    say: Callable[[str], None],
    tell: Callable[[str], None],
) -> int:
    """Serve the app until a signal comes, then end every app.

    Args:
        address: Where.
        launch: How the app is started for a tab.
        opener: Opens the person's browser, where that is asked for.
        say: Writes a line to stdout: the address to open.
        tell: Writes a line to stderr.

    Raises:
        TauError: The address cannot be used.

    Returns:
        128 and the number of the signal.
    """
    listening = _listen(address)
    with listening:
        return asyncio.run(Server(address, launch, opener, say, tell).run(listening))


class Server:
    """One run of the server. See `serve` for the arguments."""

    def __init__(
        self,
        address: Address,
        launch: Launch,
        opener: Opener | None,
        say: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        names = {*LOOPBACK_NAMES, address.host.lower()}
        if not is_loopback(address.host):
            names |= {sockets.gethostname().lower(), sockets.getfqdn().lower()}
        self._access = Access(names, any_address=not is_loopback(address.host))
        self._host = address.host
        self._tabs = Tabs(launch, tell)
        self._opener = opener
        self._say = say
        self._tell = tell
        self._ending = False
        self._port = 0

    async def run(self, listening: sockets.socket) -> int:
        """Serve on this socket until a signal comes."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()

        def signalled(number: int) -> None:
            if ended.done():
                self._tabs.hurry()
            else:
                ended.set_result(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, signalled, number)
        self._port = listening.getsockname()[1]
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            self._offer_door()
            self._listen_for_enter()
            return 128 + await ended
        finally:
            self._ending = True
            await self._tabs.end()
            await runner.cleanup()
            if self._opener is not None:
                self._opener.forget()

    # The way in --------------------------------------------------------------------------------

    def _offer_door(self) -> None:
        """Print an address that works once, and open it where that was asked for."""
        shown = f"[{self._host}]" if ":" in self._host else self._host
        if is_unspecified(self._host):  # every address of this machine
            shown = sockets.gethostname()
        url = f"http://{shown}:{self._port}/?token={self._access.new_token()}"
        self._say(url)
        if self._opener is not None:
            self._opener.open(url)

    def _listen_for_enter(self) -> None:
        """Print another address when the person presses Enter."""
        if sys.stdin.isatty():
            self._tell("the address works once; Enter prints another, Ctrl+C ends")
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._enter)

    def _enter(self) -> None:
        descriptor = sys.stdin.fileno()
        in_front = False
        with suppress(OSError):
            in_front = os.tcgetpgrp(descriptor) == os.getpgrp()
        try:
            more = in_front and os.read(descriptor, 1024)
        except OSError:
            more = b""
        if more:
            self._offer_door()
        else:
            asyncio.get_running_loop().remove_reader(descriptor)

    # What is served ----------------------------------------------------------------------------

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._check])
        application.on_response_prepare.append(_add_headers)
        application.router.add_get("/", self._index)
        application.router.add_get("/alive", self._alive)
        application.router.add_get("/static/{name}", self._static)
        application.router.add_get("/ws", self._websocket, allow_head=False)
        return application

    @web.middleware
    async def _check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse who names another host, and everyone without the cookie, but for the door itself."""
        if not self._access.is_our_host(request.headers.get("Host", "")):
            return refusal_page("tau web does not answer to this name.", 421)
        at_the_door = request.path == "/" and "token" in request.query
        if not at_the_door and not self._access.knows(request.cookies.get(self._cookie_name, "")):
            return refusal_page(_NO_DOOR)
        try:
            return await handler(request)
        except web.HTTPException as refused:
            return refusal_page(refused.reason, refused.status)

    @property
    def _cookie_name(self) -> str:
        return f"tau-{self._port}"

    async def _index(self, request: web.Request) -> web.StreamResponse:
        token = request.query.get("token")
        if token is None:
            return app_page(request.headers["Host"])
        cookie = self._access.trade(token)
        if cookie is None:
            if self._access.knows(request.cookies.get(self._cookie_name, "")):
                return web.Response(status=303, headers={"Location": "/"})
            return refusal_page(_NO_DOOR)
        if self._opener is not None:
            self._opener.forget()
        response = key_page(self._access.key)
        response.set_cookie(self._cookie_name, cookie, httponly=True, samesite="Strict", path="/")
        return response

    async def _alive(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        return static_file(request.match_info["name"])

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        protocols = [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        tab_id = request.query.get("tab", "")
        if not self._access.is_our_page(request.headers.get("Origin", ""), request.headers["Host"]):
            raise web.HTTPForbidden(reason="Another site's page")
        if _PROTOCOL not in protocols or not any(self._access.fits(part) for part in protocols):
            raise web.HTTPForbidden(reason="The page has no key")
        if not _TAB_ID.fullmatch(tab_id):
            raise web.HTTPBadRequest(reason="The page has no name")
        page = web.WebSocketResponse(
            heartbeat=HEARTBEAT_SECONDS, protocols=(_PROTOCOL,), max_msg_size=MESSAGE_BYTES
        )
        await page.prepare(request)
        if self._ending:
            await page.close(code=LEAVING)
            return page
        view = _view(request.query.get("width"), request.query.get("height"), request.query.get("light"))
        tab = self._tabs.tab(tab_id)
        connection = await tab.open(page, view, fresh=request.query.get("fresh") == "1")
        try:
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    view = await _take(message.data, tab, connection, view)
        finally:
            if tab.leave(connection) and tab.app is not None:
                await tab.app.blur()
        return page


async def _take(data: str, tab: Tab, connection: Connection, view: View) -> View:
    """Do what a page asks for; what is no message of the page's is let go.

    Returns:
        The page's screen from now on.
    """
    try:
        kind, *rest = json.loads(data)
        content: Any = rest[0] if rest else None
        if kind == "resize":
            width, height = int(content["width"]), int(content["height"])
            view = _view(width, height, "1" if view.light else "0")
            await tab.resize(view)
        elif kind == "ping":
            connection.say("pong", str(content))
        elif tab.app is None or not tab.is_shown_by(connection):
            pass
        elif kind == "stdin":
            await tab.app.send_bytes(content.encode("utf-8", "replace"))
        elif kind == "focus":
            await tab.app.focus()
        elif kind == "blur":
            await tab.app.blur()
    except (ValueError, TypeError, KeyError, AttributeError):
        log.warning("A page sent what is no message")
    return view


def _view(width: object, height: object, light: object) -> View:
    return View(_cells(width, 80), _cells(height, 24), light == "1")


def _cells(given: object, default: int) -> int:
    """A count of columns or rows from outside."""
    try:
        return min(max(int(str(given)), 1), MOST_CELLS)
    except ValueError:
        return default


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        if name == "Server":
            response.headers[name] = value  # in place of the version of Python
        else:
            response.headers.setdefault(name, value)


def _listen(address: Address) -> sockets.socket:
    """A socket that listens there.

    Raises:
        TauError: It cannot: the port is taken or not allowed, or the host is none of this machine's.
    """
    place = one_line(address.host)
    try:
        found = sockets.getaddrinfo(address.host, address.port, type=sockets.SOCK_STREAM)
        family, _, _, _, where = min(found, key=lambda entry: entry[0] != sockets.AF_INET)
        return sockets.create_server((str(where[0]), address.port), family=family)
    except sockets.gaierror as error:
        raise TauError(f"{place} is no address of this machine: {error.strerror}") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = "give another with --port, or leave it out for a free one"
            raise TauError(f"Port {address.port} of {place} is taken", hint) from error
        if error.errno == errno.EACCES:
            raise TauError(f"Port {address.port} may not be used by you", "take one above 1023") from error
        raise TauError(f"{place} cannot be listened on: {os.strerror(error.errno or 0)}") from error
