"""The line to one page: what it is sent waits here, so that a page that does not read holds nobody up."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiohttp import web

BEHIND_BYTES = 2_000_000
"""A page with more than this to come has fallen behind: it gets the screen as it is then instead."""


class Connection:
    """A page's websocket and what is still to be sent to it, in order.

    Args:
        socket: The page's.
        redraw: Asked for once a page that had fallen behind reads again; what it returns is sent first.
    """

    def __init__(self, socket: web.WebSocketResponse, redraw: Callable[[], Awaitable[bytes]]) -> None:
        self._socket = socket
        self._redraw = redraw
        self._waiting: deque[bytes | str] = deque()
        self._bytes = 0
        self._behind = False
        self._more = asyncio.Event()
        self._sending = asyncio.create_task(self._send())

    def frame(self, data: bytes) -> None:
        """Send what is to be drawn."""
        if self._behind:
            return
        if self._bytes > BEHIND_BYTES:
            self._behind = True
            self._waiting = deque(item for item in self._waiting if isinstance(item, str))
            return
        self._bytes += len(data)
        self._put(data)

    def say(self, kind: str, content: object) -> None:
        """Send a message to the page around the screen."""
        self._put(json.dumps([kind, content]))

    async def close(self, code: int) -> None:
        """Close it, when everything has been sent or a second has passed."""
        self._put("")
        await asyncio.wait([self._sending], timeout=1)
        self._sending.cancel()
        with suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self._socket.close(code=code), 2)

    def _put(self, item: bytes | str) -> None:
        self._waiting.append(item)
        self._more.set()

    async def _send(self) -> None:
        with suppress(ConnectionError, RuntimeError):  # the page is gone: its handler sees to that
            while True:
                await self._more.wait()
                while self._waiting:
                    item = self._waiting.popleft()
                    if item == "":
                        return
                    if isinstance(item, str):
                        await self._socket.send_str(item)
                    else:
                        await self._socket.send_bytes(item)
                        self._bytes -= len(item)
                if self._behind:
                    self._behind = False
                    self._bytes = 0
                    await self._socket.send_bytes(await self._redraw())
                self._more.clear()
