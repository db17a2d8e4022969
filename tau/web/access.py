"""Who may talk to the server: an address that works once, and what a browser shows after it was used.

A one-time token opens the door. The browser that brings it gets two secrets: a cookie, which scripts cannot
read and other sites cannot send, and a key, which the page keeps in the storage of its origin. Browsers send
a cookie to every port of a host, and so to other people's servers on this machine; the key stays with this
one, and nothing runs without both.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Access:
    """The secrets of one run of the server, and the names under which it may be reached.

    Args:
        names: The names a ``Host`` header may have, in lower case.
        any_address: Whether it may be any IP address, too. A page of another site whose name was pointed at
            this machine has a name there, never an address.
    """

    def __init__(self, names: Iterable[str], *, any_address: bool = False) -> None:
        self.key = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._token = ""
        self._names = frozenset(names)
        self._any_address = any_address

    def new_token(self) -> str:
        """A token that works once; the one before it works no more."""
        self._token = secrets.token_urlsafe(32)
        return self._token

    @property
    def token_waits(self) -> bool:
        """Whether the newest token has not been used yet."""
        return bool(self._token)

    def trade(self, token: str) -> str | None:
        """The value of the cookie in exchange for the token, which is then used up; None when it is wrong."""
        if not self._token or not _same(token, self._token):
            return None
        self._token = ""
        return self._cookie

    def knows(self, cookie: str) -> bool:
        """Whether this is the cookie that was given for a token."""
        return _same(cookie, self._cookie)

    def fits(self, key: str) -> bool:
        """Whether this is the key of the page that a token opened."""
        return _same(key, self.key)

    def is_our_host(self, header: str) -> bool:
        """Whether a ``Host`` header names this server; the port may be that of a tunnel."""
        name, _, port = header.lower().rpartition(":") if _has_port(header) else (header.lower(), "", "")
        if port and not (port.isascii() and port.isdigit()):
            return False
        if name.startswith("[") and name.endswith("]"):
            name = name[1:-1]
        return name in self._names or (self._any_address and is_address(name))

    def is_our_page(self, origin: str, host: str) -> bool:
        """Whether an ``Origin`` header is that of the page that this server gave out under `host`."""
        return self.is_our_host(host) and origin.lower() == f"http://{host.lower()}"


def is_address(name: str) -> bool:
    """Whether this is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    return host.lower() == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def is_unspecified(host: str) -> bool:
    """Whether a host stands for every address of this machine."""
    return is_address(host) and ipaddress.ip_address(host).is_unspecified


def _has_port(header: str) -> bool:
    return ":" in header.rpartition("]")[2]


def _same(given: str, kept: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), kept.encode())
