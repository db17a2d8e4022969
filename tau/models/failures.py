"""What strands and provider SDKs raise, as one plain line; and which of it means full, throttled or away.

Exceptions are told apart by what they carry, so that no SDK is imported to describe an error of another.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from tau.display import visible
from tau.errors import TauError
from tau.masking import mask

LONGEST_LINE = 600
"""Characters of a description; longer ones are cut in the middle."""

_LOOKED_AT = 4_000
"""Characters of a server's text that are looked through; it says what is wrong at its beginning."""

_OVERFLOW = re.compile(
    r"""
    (?:exceed|overflow|longer|larger|greater|too\ (?:long|large|big|many)|maximum|reached) .*
        context[\s_-]*(?:window|length|size|limit)
    | context[\s_-]*(?:window|length|size|limit) .* (?:exceed|overflow|too\ (?:long|large|small))
    | prompt\ is\ too\ long | prompt\ is\ longer\ than | input\ is\ too\ long | input\ length\ exceeds
    | too\ many\ (?:input\ )?tokens | exceeds?\ the\ maximum\ number\ of\ tokens | exceeds\ the\ max_model_len
    | reduce\ the\ length\ of\ the\ messages
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SDK_VERDICTS = ("ContextWindowOverflowException", "ModelThrottledException")
_BUSY_STATUS = {408, 429, 500, 502, 503, 504, 529}
_BUSY_TEXT = re.compile(r"overloaded|rate.?limit|too many requests|throttl|temporarily unavailable", re.I)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.I)


def describe(error: BaseException) -> str:
    """One plain line for a failed model call: the server's own words and its status.

    No header, no traceback; keys are masked, control characters made visible, long answers cut.
    """
    error = _original(error)
    if _is_named(error, *_SDK_VERDICTS) and error.__cause__ is not None:
        error = error.__cause__  # the SDK's verdict quotes the provider's error; that one has the parts
    if isinstance(error, TauError):
        return _one_line(error.line())
    text = _server_text(error)
    status = _status(error)
    if status is not None and str(status) not in text:
        phrase = _phrase(status)
        text = f"{text} (HTTP {status}{phrase and ' ' + phrase})" if text else f"HTTP {status} {phrase}"
    return _one_line(text or type(error).__name__)


def is_overflow(error: BaseException) -> bool:
    """Whether the conversation did not fit the model's context window."""
    error = _original(error)
    if _is_named(error, "ContextWindowOverflowException"):
        return True
    if _is_named(error, "ModelThrottledException") or isinstance(error, TauError):
        return False
    if _status(error) not in (None, 400, 413, 422, 500):
        return False
    words = [_server_text(error), *(str(getattr(error, name, "")) for name in ("code", "type"))]
    return any(_OVERFLOW.search(text[:_LOOKED_AT]) for text in words)


def is_throttle(error: BaseException) -> bool:
    """Whether the provider is throttling or briefly away, so that the same call may succeed later."""
    error = _original(error)
    if is_overflow(error) or is_out_of_quota(error):
        return False
    if _is_named(error, "ModelThrottledException"):
        return True
    status = _status(error)
    if status is not None:
        return status in _BUSY_STATUS
    return _is_named(error, "APIError", "ClientError", "EventStreamError") and bool(
        _BUSY_TEXT.search(f"{_server_text(error)} {getattr(error, 'type', '')}")
    )


def is_out_of_quota(error: BaseException) -> bool:
    """Whether the account is used up: the server answers as if throttling, but waiting does not help."""
    error = _original(error)
    code = getattr(error, "code", None)
    return bool(_NO_QUOTA.search(f"{_server_text(error)} {code if isinstance(code, str) else ''}"))


def _original(error: BaseException) -> BaseException:
    while True:
        original = getattr(error, "original_exception", None)
        if not isinstance(original, BaseException):
            return error
        error = original


def _is_named(error: BaseException, *names: str) -> bool:
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    candidates: list[Any] = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
    ]
    if isinstance(response, Mapping):
        candidates.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    for value in candidates:
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _server_text(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping) and isinstance(response.get("Error"), Mapping):
        detail = response["Error"]
        return ": ".join(str(detail[key]) for key in ("Code", "Message") if detail.get(key))
    for value in (getattr(error, "body", None), getattr(error, "details", None)):
        found = _message_in(value)
        if found:
            return found
    unreachable = _unreachable(error)
    if unreachable:
        return unreachable
    for value in (getattr(error, "message", None), str(error)):
        if isinstance(value, str) and value.strip():
            return _message_in(value) or value
    return ""


def _message_in(value: Any) -> str:
    """The message inside a server's answer: ``error.message``, ``error``, ``message`` or ``detail``."""
    if isinstance(value, str):
        if value.lstrip()[:1] == "<":
            title = re.search(r"<title>([^<]*)</title>", value, re.I)
            return title.group(1) if title else "the server answered with a web page"
        start = value.find("{")
        if start < 0:
            return ""
        try:
            value = json.loads(value[start:])
        except ValueError:
            return ""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, Mapping):
        return ""
    for key in ("error", "message", "detail"):
        inner = value.get(key)
        if isinstance(inner, Mapping):
            return _message_in(inner)
        if isinstance(inner, str) and inner.strip():
            return inner
    return ""


def _unreachable(error: BaseException) -> str:
    if not _is_named(error, "APIConnectionError", "TransportError"):
        return ""
    try:
        url = getattr(error, "request", None) and error.request.url  # type: ignore[attr-defined]  # httpx's and the SDKs' errors carry it
    except RuntimeError:
        url = None
    place = f"the server at {url.scheme}://{url.netloc.decode()}" if url else "the server"
    if _is_named(error, "APITimeoutError", "TimeoutException"):
        phase = "accept a connection" if _deepest_named(error, "ConnectTimeout") else "answer"
        return f"{place} did not {phase} in time"
    reason = _deepest(error)
    detail = str(reason).strip() if reason is not error or _is_named(error, "TransportError") else ""
    if isinstance(reason, OSError) and reason.errno:
        detail = os.strerror(reason.errno) if reason.errno > 0 else reason.strerror or detail
    if _deepest_named(error, "ConnectError") or not detail:
        return f"{place} cannot be reached" + (f": {detail}" if detail else "")
    return f"the connection to {place} broke off: {detail}"


def _deepest(error: BaseException) -> BaseException:
    seen = {id(error)}
    while (cause := error.__cause__ or error.__context__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        error = cause
    return error


def _deepest_named(error: BaseException | None, name: str) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if _is_named(error, name):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _one_line(text: str) -> str:
    line = " ".join(visible(mask(text)).split())
    if len(line) > LONGEST_LINE:
        half = LONGEST_LINE // 2
        line = f"{line[:half]} … {line[-half:]}"
    return line
