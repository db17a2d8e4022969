"""Addresses of the web: what one means whatever way it is spelled, and which hosts are public."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, TypeAlias

from tau.display import one_line
from tau.tools.refusals import Refused

if TYPE_CHECKING:
    import httpx

LONGEST_URL = 8_000

Address: TypeAlias = IPv4Address | IPv6Address

# Written out rather than asked of `ipaddress`, whose answers differ between versions of Python.
_NOT_PUBLIC_4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a carrier's customers; metadata of one cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # metadata of another cloud, in a public range
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
]
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")

_LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\Z")
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z")


_FOREIGN = re.compile(r"[\s\\\x00-\x1f\x7f]")
_CREDENTIALS = re.compile("[a-z]+://[^/?#]*@", re.IGNORECASE)
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_SLASHES = re.compile("/{2,}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class BadHost(ValueError):
    """A host that no address can be found for; the text says why."""


def parsed(url: str) -> httpx.URL:
    """An address as it is requested: one spelling for all that mean the same.

    The scheme and the host are in lower case, the host in ASCII without a dot at its end, an address of a
    machine in its usual form; the port is left out where it is the scheme's. In the path, characters that
    need no escape have none, escapes are in upper case, and ``.`` and ``..`` are resolved. There is no
    fragment.

    Raises:
        Refused: It is none that can be fetched, or has credentials in it.
    """
    import httpx

    given = url.strip()
    shown = one_line(given, 200)
    if len(given) > LONGEST_URL:
        raise Refused(f"The address is longer than {LONGEST_URL:,} characters")
    if _FOREIGN.search(given):
        raise Refused(f"{shown} is no address: it has white space, a control character or a backslash in it")
    try:
        read = httpx.URL(given)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise Refused(f"{shown} is no address: {one_line(str(error), 200)}") from error
    if read.scheme not in ("http", "https"):
        raise Refused(f"{shown} is not an http or https address; give one that begins with https://")
    if read.userinfo or _CREDENTIALS.match(given):
        raise Refused("The address has credentials in it, which fetch_url never sends; leave them out")
    try:
        host = normal(read.raw_host.decode("ascii"))
    except BadHost as error:
        raise Refused(f"{shown}: the host {error}") from error
    port = read.port
    if port is not None and not 1 <= port <= 65_535:
        raise Refused(f"{shown}: there is no port {port}")
    if port == {"http": 80, "https": 443}[read.scheme]:  # the library leaves it in for `HTTP://`
        port = None
    path = _unescaped(read.raw_path.decode("ascii").partition("?")[0])
    return read.copy_with(host=host, port=port, path=path, fragment=None)  # which resolves the dots


def judged_url(url: str) -> str:
    """An address as it is judged: as `parsed` gives it, with one slash where its path has several in a row.

    Raises:
        ValueError: It is none that can be fetched, or has credentials in it; the text says why.
    """
    read = parsed(url)
    return str(read.copy_with(path=_SLASHES.sub("/", read.raw_path.decode("ascii").partition("?")[0])))


def _unescaped(path: str) -> str:
    """A path in which only what has to be escaped is, and nothing looks like an escape that is none."""

    def plain(escape: re.Match[str]) -> str:
        character = chr(int(escape.group()[1:], 16))
        return character if character in _UNRESERVED else escape.group().upper()

    return _ESCAPE.sub(plain, _NO_ESCAPE.sub("%25", path))


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet.

    An IPv6 address that carries an IPv4 one (IPv4-mapped, NAT64, 6to4) is as public as that one.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    carried = _carried(address)
    if carried is not None:
        return is_public(carried)
    return address in _GLOBAL_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _carried(address: IPv6Address) -> IPv4Address | None:
    number = int(address)
    if address in _MAPPED or address in _NAT64:
        return IPv4Address(number & 0xFFFF_FFFF)
    if address in _6TO4:
        return IPv4Address(number >> 80 & 0xFFFF_FFFF)
    return None


def normal(host: str) -> str:
    """A host as it is compared and shown: lower case, no trailing dot, addresses in their usual form.

    IPv4 addresses are recognized in every spelling that the system's resolver takes: decimal, octal,
    hexadecimal, with fewer than four parts.

    Args:
        host: A name in ASCII, or an address, IPv6 without brackets.

    Raises:
        BadHost: It is neither.
    """
    host = host.lower().removesuffix(".")
    if ":" in host:
        try:
            address = IPv6Address(host)
        except ValueError as error:
            raise BadHost("is no IPv6 address") from error
        if address.scope_id is not None:
            raise BadHost("is an address of one network link")
        return str(address)
    if _NAME.match(host) is None:
        raise BadHost("is no host name")
    if _ENDS_IN_NUMBER.match(host):
        try:
            return str(IPv4Address(socket.inet_aton(host)))
        except OSError as error:
            raise BadHost("is no IPv4 address") from error
    return host


def literal(host: str) -> Address | None:
    """The address that a host in `normal` form is, or None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_local_name(host: str) -> bool:
    """Whether a name in `normal` form is one of this machine or its network, whatever it resolves to.

    A name without a dot is: no public site has one.
    """
    return "." not in host or any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES)


def resolve(host: str, port: int) -> Sequence[Address]:
    """Every address that a name or address in `normal` form stands for, the preferred one first.

    Raises:
        BadHost: There is none; the text says why.
    """
    address = literal(host)
    if address is not None:
        return [address]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadHost(f"cannot be found: {reason}") from error
    return list(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))
