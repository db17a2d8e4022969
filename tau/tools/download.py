"""One request for a page, over a connection to an address that was checked, and within bounds.

What leaves tau is a plain GET: no cookie, no credentials, no referrer. Redirects are reported, not followed.
"""

from __future__ import annotations

import asyncio
import os
import queue
import re
import ssl
import threading
import zlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies, proxy_bypass

from tau import __version__
from tau.display import one_line
from tau.tools import addresses
from tau.tools.addresses import Address, BadHost
from tau.tools.refusals import Refused, Watch

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 5_000_000
"""Of a body, as it is sent and as it is when unpacked."""

_CONNECT_SECONDS = 10.0
_POLL = 0.05
_LONGEST_TYPE = 1_000
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": f"tau/{__version__}",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Page:
    """What an address answered.

    Attributes:
        status: The HTTP status.
        reason: What the server calls it; may be empty.
        leads_to: Where a redirect leads, as the server wrote it; empty for any other answer.
        type: The media type in lower case, empty where none is given.
        charset: As the server named it, or the empty string.
        body: The content, unpacked; empty unless the status is 2xx and the type was wanted.
        wanted: Whether the type was wanted.
        size: The size of the content in bytes as the server announced it, or None.
    """

    status: int
    reason: str
    leads_to: str
    type: str
    charset: str
    body: bytes
    wanted: bool
    size: int | None


def get(
    url: httpx.URL, *, granted: Callable[[str, int], bool], wants: Callable[[str], bool], watch: Watch
) -> Page:
    """Ask for one page.

    Args:
        url: An http or https address without credentials.
        granted: Whether a host in normal form, on a port, may be asked although it is not public.
        wants: Whether content of a media type is to be downloaded.
        watch: When to stop.

    Raises:
        Refused: The host is not public, cannot be reached or sends too much, or the time is up.
        Cancelled: The turn was cancelled.
    """
    return asyncio.run(_watched(_get(url, granted, wants), watch))


def ascii_host(url: httpx.URL) -> str:
    """The host as it is looked up: international names in their ASCII form, IPv6 without brackets."""
    return url.raw_host.decode("ascii")


def port_of(url: httpx.URL) -> int:
    """The port, also where the address leaves it to the scheme."""
    return url.port or (443 if url.scheme == "https" else 80)


async def _watched(work: Coroutine[Any, Any, T], watch: Watch) -> T:
    """Await the work, but end it as soon as the turn is cancelled or the time is up."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            watch.check()
            if watch.over:
                raise Refused(f"No complete answer within {watch.seconds:g} s; the download was stopped")
            await asyncio.wait({task}, timeout=_POLL)
    except BaseException:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return await task


async def _get(url: httpx.URL, granted: Callable[[str, int], bool], wants: Callable[[str], bool]) -> Page:
    host, port = ascii_host(url), port_of(url)
    is_granted = granted(host, port)
    refuse_local(url, granted)
    proxy = _proxy(url)
    if proxy:
        # The proxy resolves the name, so that there is no address to check here.
        return await _ask(url, None, wants, proxy)
    found = await _resolved(host, port)
    if not is_granted and not all(map(addresses.is_public, found)):
        raise Refused(_private(host, "stands for an address that is not public"))
    failed: Refused | None = None
    for address in found:
        try:
            return await _ask(url, address, wants, "")
        except _NotConnected as error:
            failed = error
    raise failed or Refused(f"{host} has no address")


def refuse_local(url: httpx.URL, granted: Callable[[str, int], bool]) -> None:
    """Refuse what is not public by its spelling alone, and not granted; no name is looked up.

    Raises:
        Refused: It is not.
    """
    host = ascii_host(url)
    if granted(host, port_of(url)):
        return
    address = addresses.literal(host)
    if address is None and addresses.is_local_name(host):
        raise Refused(_private(host, "is a name of this machine or network"))
    if address is not None and not addresses.is_public(address):
        raise Refused(_private(host, "is an address that is not public"))


def _private(host: str, why: str) -> str:
    return (
        f"{host} {why}; nothing was sent. Only the person can open it, with an entry for fetch_url in"
        " [approvals] allow of their own tau.toml that names the host"
    )


def _proxy(url: httpx.URL) -> str:
    """The proxy that the environment names for an address, or the empty string."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(ascii_host(url)):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


async def _resolved(host: str, port: int) -> Sequence[Address]:
    """The addresses of a host; the wait can be cancelled, which the system's resolver itself cannot."""
    answer: queue.SimpleQueue[Sequence[Address] | BadHost] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answer.put(addresses.resolve(host, port))
        except BadHost as error:
            answer.put(error)

    if addresses.literal(host) is not None:
        look_up()
    else:
        threading.Thread(target=look_up, name="tau-resolve", daemon=True).start()
    while answer.empty():
        await asyncio.sleep(0.005)
    found = answer.get()
    if isinstance(found, BadHost):
        raise Refused(f"{host} {found}") from found
    return found


class _NotConnected(Refused):
    """No connection to one address came about; another one may work."""


async def _ask(url: httpx.URL, address: Address | None, wants: Callable[[str], bool], proxy: str) -> Page:
    """Send the request to an address, or through a proxy, and read the answer."""
    import httpx

    try:
        transport = httpx.AsyncHTTPTransport(verify=httpx.create_ssl_context(), proxy=proxy or None)
    except (ImportError, ValueError) as error:
        raise Refused(f"The proxy that the environment names cannot be used: {error}") from error
    # The connection is made to the very address that was checked; a second look-up could give another one.
    # The Host header and the check of the certificate stay with the name.
    target = url if address is None else url.copy_with(host=str(address))
    headers = {"Host": url.netloc.decode("ascii"), **_HEADERS}
    extensions = {"timeout": {"connect": _CONNECT_SECONDS}, "sni_hostname": ascii_host(url)}
    request = httpx.Request("GET", target, headers=headers, extensions=extensions)
    try:
        async with transport:
            response = await transport.handle_async_request(request)
            try:
                return await _page(response, wants)
            finally:
                await response.aclose()
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise _NotConnected(_unreachable(url, error, proxy)) from error
    except httpx.HTTPError as error:
        raise Refused(f"{ascii_host(url)} broke off: {_said(error)}") from error


def _unreachable(url: httpx.URL, error: Exception, proxy: str) -> str:
    place = url.netloc.decode("ascii")
    said = _said(error)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        why = said.partition("certificate verify failed:")[2].partition("(_ssl")[0].strip() or said
        return f"{place} cannot be trusted: its certificate is not valid ({why}). Nothing was sent"
    through = " through the proxy that the environment names" if proxy else ""
    return f"{place} cannot be reached{through}: {said}"


def _said(error: Exception) -> str:
    """The reason behind an error of the HTTP library, which it hides, and whose own text may be empty."""
    said = ""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError):
            return os.strerror(cause.errno)
        said = str(cause) or said
        cause = cause.__cause__ or cause.__context__
    return one_line(said, 300) or "no answer in time"


async def _page(response: httpx.Response, wants: Callable[[str], bool]) -> Page:
    given = response.headers.get("Content-Type", "")[:_LONGEST_TYPE]
    kind = given.partition(";")[0].strip().lower()
    announced = response.headers.get("Content-Length", "")
    size = int(announced) if re.fullmatch("[0-9]{1,18}", announced) else None
    charset = _CHARSET.search(given)
    wanted = wants(kind)
    leads_to = response.headers.get("Location", "") if response.status_code in _REDIRECTS else ""
    body = b""
    if wanted and response.is_success:
        if size is not None and size > MOST_BYTES:
            raise Refused(f"The content has {size:,} bytes; at most {MOST_BYTES:,} are downloaded")
        body = await _body(response)
    return Page(
        status=response.status_code,
        reason=response.extensions.get("reason_phrase", b"").decode("ascii", "replace"),
        leads_to=leads_to,
        type=kind,
        charset=charset.group(1) if charset is not None else "",
        body=body,
        wanted=wanted,
        size=size,
    )


async def _body(response: httpx.Response) -> bytes:
    """The content, unpacked; neither what is sent nor what it unpacks to may be longer than `MOST_BYTES`."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip"):
        raise Refused(f"The content is packed as {coding[:40]!r}, which was not asked for")
    unpack = _Gzip() if "gzip" in coding else None
    body = bytearray()
    sent = 0
    async for chunk in response.aiter_raw():
        sent += len(chunk)
        body += chunk if unpack is None else unpack.feed(chunk, MOST_BYTES + 1 - len(body))
        if sent > MOST_BYTES or len(body) > MOST_BYTES:
            raise Refused(f"The content has more than {MOST_BYTES:,} bytes, the most that is downloaded")
    if unpack is not None and not unpack.is_complete:
        raise Refused("The content is packed with gzip and breaks off")
    return bytes(body)


class _Gzip:
    """Unpacks gzip, never more than asked for: a small body may unpack to gigabytes."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._began = False

    @property
    def is_complete(self) -> bool:
        """Whether the end of the data was reached, or there was none at all."""
        return not self._began or self._stream.eof

    def feed(self, data: bytes, most: int) -> bytes:
        """What the data unpacks to, at most so many bytes.

        Raises:
            Refused: It is not gzip.
        """
        out = b""
        while data and len(out) < most:
            if self._stream.eof:
                if not data.startswith(b"\x1f"):  # padding; a further member begins like this
                    return out
                self._stream = zlib.decompressobj(wbits=31)
            self._began = True
            try:
                out += self._stream.decompress(data, most - len(out))
            except zlib.error as error:
                raise Refused("The content is said to be packed with gzip, but is not") from error
            data = self._stream.unused_data or self._stream.unconsumed_tail
        return out
