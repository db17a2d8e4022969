"""Short questions to a server before a model of it is built: no proxy, a time limit."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

LARGEST_ANSWER = 8_000_000
"""Bytes of an answer that are read; model descriptions of local servers are well under it."""


def ask(base_url: str, path: str, *, deadline: float, body: Any = None, key: str = "") -> tuple[int, Any]:
    """Ask a server and read its JSON answer.

    Args:
        base_url: Its address; the path of the address comes before `path`.
        path: What to ask for, starting with a slash.
        deadline: When to give up, on the clock of `time.monotonic`. A server that answers byte by byte can
            overstep it; `tau.models.deadline.within` holds that one, too.
        body: Sent as JSON with POST when given; otherwise the question is a GET.
        key: Sent as a bearer token when not empty.

    Returns:
        The status and the JSON of the answer, or None where it is not JSON.

    Raises:
        OSError: The server cannot be reached, speaks no HTTP, or is too slow (`TimeoutError`).
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    remaining = max(0.01, deadline - monotonic())
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=remaining, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=remaining)
    headers = {"Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    content = None
    if body is not None:
        content = json.dumps(body)
        headers["Content-Type"] = "application/json"
    try:
        connection.request("GET" if body is None else "POST", parts.path + path, content, headers)
        response = connection.getresponse()
        answer = response.read(LARGEST_ANSWER)
    except http.client.HTTPException as error:
        raise ConnectionError(f"no HTTP answer: {error!r}") from error
    finally:
        connection.close()
    try:
        return response.status, json.loads(answer)
    except ValueError:
        return response.status, None


def is_loopback(base_url: str) -> bool:
    """Whether an address is this machine's, so that no proxy has a part in reaching it."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reason(error: OSError) -> str:
    """Why a server did not answer, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror or str(error) or type(error).__name__).lower()
