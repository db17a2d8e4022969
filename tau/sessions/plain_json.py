"""JSON as every store writes and reads it: one place for what UTF-8 cannot carry and for what JSON is not."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tau.sessions.records import AgentState, Meta, MetaValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ENCODER = msgspec.json.Encoder()


class NotJson(ValueError):
    """Bytes that hold no JSON. The message says why in a few words."""


def encode(value: Any) -> bytes:
    """The value as compact JSON on one line.

    A lone surrogate, which UTF-8 cannot carry, becomes U+FFFD; a float JSON has no word for becomes null.

    Raises:
        ValueError: The value is not plain JSON: something else than str, int, float, bool, None, list, tuple
            and dict with str keys, or it is nested too deeply.
    """
    try:
        _check(value)
        try:
            return _ENCODER.encode(value)
        except (UnicodeEncodeError, TypeError):
            return _ENCODER.encode(_cleaned(value))
    except RecursionError:
        raise ValueError("not plain JSON: nested too deeply") from None


def decode(data: bytes | memoryview) -> Any:
    """The value that JSON text stands for.

    Raises:
        NotJson: It is no JSON.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(bytes(data))


def decode_object(data: bytes | memoryview) -> dict[str, Any]:
    """The JSON object that the text stands for.

    Raises:
        NotJson: It is no JSON, or no object.
    """
    value = decode(data)
    if not isinstance(value, dict):
        raise NotJson("not a JSON object")
    return value


def plain_copy(value: Any) -> Any:
    """A copy that shares nothing with the value, as it would be read back from a record.

    Raises:
        ValueError: As `encode`.
    """
    return decode(encode(value))


def patched(meta: Mapping[str, MetaValue], changes: Mapping[str, MetaValue]) -> Meta:
    """The metadata with the changes made; a change to None removes the key.

    Raises:
        ValueError: A key is no text, or a value is none of str, int, float, bool and None.
    """
    result = dict(meta)
    for key, value in changes.items():
        if not isinstance(key, str) or not isinstance(value, str | int | float | bool | None):
            raise ValueError(f"metadata is flat: {key!r} holds {type(value).__name__}")
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return {key: value for key, value in plain_copy(result).items() if value is not None}


def is_flat(meta: Mapping[str, Any]) -> bool:
    """Whether an object that was read is usable as metadata."""
    return all(isinstance(value, str | int | float | bool | None) for value in meta.values())


def state_object(state: AgentState) -> dict[str, Any]:
    """An agent's state under strands' names."""
    return {
        "state": state.state,
        "conversation_manager_state": state.conversation_manager_state,
        "_internal_state": state.internal_state,
    }


def state_from(stored: Mapping[str, Any]) -> AgentState | None:
    """The agent's state from an object with strands' names, or None when a part of it is no object."""
    parts = (
        stored.get("state", {}),
        stored.get("conversation_manager_state", {}),
        stored.get("_internal_state", {}),
    )
    if not all(isinstance(part, dict) for part in parts):
        return None
    return AgentState(*parts)


def now_stamp() -> int:
    """The current time in microseconds since 1970, UTC."""
    return (datetime.now(UTC) - _EPOCH) // _MICROSECOND


def next_stamp(previous: int) -> int:
    """The current time in microseconds since 1970, but later than `previous` whatever the clock does."""
    return max(now_stamp(), previous + 1)


def stamp_text(stamp: int) -> str:
    """A stamp in microseconds as it is recorded: ISO 8601, UTC, always with six digits of fraction."""
    return (_EPOCH + timedelta(microseconds=stamp)).isoformat(timespec="microseconds")


def parse_stamp(text: object) -> int | None:
    """A recorded time as microseconds since 1970, or None when it is none. Without an offset it is UTC."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def _check(value: Any) -> None:
    if value is None or isinstance(value, str | int | float):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"not plain JSON: a key of type {type(key).__name__}")
            _check(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item)
    else:
        raise ValueError(f"not plain JSON: a value of type {type(value).__name__}")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _decode_leniently(data: bytes) -> Any:
    """What Python's own encoder writes and msgspec refuses: lone surrogates as escapes, NaN, huge floats."""
    try:
        return _cleaned(json.loads(data))
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:
        raise NotJson(_why_not_json(data)) from None


def _why_not_json(data: bytes) -> str:
    if not data:
        return "empty file"
    if not data.strip(b"\0"):
        return "nothing but NUL bytes"
    return "not JSON, or cut short"
