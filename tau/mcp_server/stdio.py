"""Serves one client on stdin and stdout, until either ends or a signal comes."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from tau.mcp_server.signals import Ending, begin_the_end

_PIECE = 65_536


def serve_stdio(server: Server[Any]) -> int:
    """Serve until the client is gone or a signal comes.

    Returns:
        The exit code: 0, or 128 and the number of the signal.
    """
    code = anyio.run(_serve, server)
    begin_the_end(code)  # a call that nobody waits for any more may still be at work
    return code


async def _serve(server: Server[Any]) -> int:
    incoming = _Input()
    scope = anyio.CancelScope()

    def end() -> None:
        incoming.close()
        scope.cancel()

    ending = Ending(end)
    ending.watch()
    with suppress(*_GONE), scope:
        try:
            async with stdio_server() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        except BaseExceptionGroup as group:
            _, others = group.split(_GONE)
            if others is not None:
                raise others from None
    return ending.code


_GONE = (BrokenPipeError, ConnectionResetError)
"""What writing to a client raises that is no more."""


class _Input:
    """Stands between the client and descriptor 0, so that reading from it can be ended.

    The library reads on a thread, and a read of a pipe cannot be interrupted; one that has no writer any more
    ends.
    """

    def __init__(self) -> None:
        self._source = os.dup(0)
        reading, self._writing = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)
        self._lock = threading.Lock()
        threading.Thread(target=self._pass_on, name="tau-mcp-input", daemon=True).start()

    def close(self) -> None:
        """Let the reader find the end. May be called twice."""
        with self._lock:
            writing, self._writing = self._writing, -1
            if writing >= 0:
                os.close(writing)

    def _pass_on(self) -> None:
        with suppress(OSError):  # closed here, or nobody reads any more
            while piece := os.read(self._source, _PIECE):
                while piece:
                    piece = piece[os.write(self._writing, piece) :]
        self.close()
