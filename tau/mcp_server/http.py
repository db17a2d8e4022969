"""Serves many clients over streamable HTTP, to this machine alone and only to those that bring the token."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import socket as sockets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings

from tau.display import one_line
from tau.errors import TauError
from tau.mcp_server.signals import Ending, begin_the_end

PATH = "/mcp"
IDLE_SECONDS = 86_400.0
"""After so long without a request the session of a client is forgotten; it begins another."""

_NAMES = ("127.0.0.1", "localhost", "[::1]")


def listen(host: str, port: int) -> sockets.socket:
    """A socket that listens there.

    Args:
        host: An address of this machine that others cannot reach, or ``localhost``.
        port: 0 takes a free one.

    Raises:
        TauError: The port is taken or not allowed, or there is no such address.
    """
    place = one_line(host)
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    try:
        return sockets.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = "give another with --port, or leave it out for a free one"
            raise TauError(f"Port {port} of {place} is taken", hint) from error
        if error.errno == errno.EACCES:
            raise TauError(f"Port {port} may not be used by you", "take one above 1023") from error
        raise TauError(f"{place} cannot be listened on: {os.strerror(error.errno or 0)}") from error


def serve_http(
    server: Server[Any], listening: sockets.socket, *, host: str, token: str, say: Callable[[str], None]
) -> int:
    """Serve until a signal comes.

    Args:
        server: What is served.
        listening: Where; it is closed at the end.
        host: The address, as it was given.
        token: What clients bring as ``Authorization: Bearer TOKEN``.
        say: Is given the address that clients use, once they can.

    Returns:
        128 and the number of the signal.
    """
    with listening:
        code = asyncio.run(_serve(server, listening, host, token, say))
    begin_the_end(code)  # a call that nobody waits for any more may still be at work
    return code


async def _serve(
    server: Server[Any], listening: sockets.socket, host: str, token: str, say: Callable[[str], None]
) -> int:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    names = dict.fromkeys((*_NAMES, shown.lower()))
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:*" for name in names],  # the port may be that of a tunnel
            allowed_origins=[f"http://{name}:{port}" for name in names],
        ),
        auth=AuthSettings.model_validate(
            {"issuer_url": f"http://{shown}:{port}", "resource_server_url": None}  # no OAuth: one kept token
        ),
        token_verifier=_Holder(token),
    )
    server.session_manager.session_idle_timeout = IDLE_SECONDS
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=1,
    )
    serving = _Serving(config)
    ending = Ending(lambda: serving.handle_exit(signal.SIGTERM, None))
    ending.watch()
    say(f"http://{shown}:{port}{PATH}")
    await serving.serve(sockets=[listening])
    return ending.code


class _Serving(uvicorn.Server):
    """The server of uvicorn, without its way to handle signals: it would raise them again at the end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `Ending`."""
        yield


class _Holder:
    """Knows the one token; a `TokenVerifier` of the library."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who brings this token: the person, or None for a wrong one."""
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        return AccessToken(token=token, client_id="tau", scopes=[])
