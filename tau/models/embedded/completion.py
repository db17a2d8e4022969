"""Requests to the child process over loopback HTTP; closing a streamed completion stops its computation."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import httpx

from tau.models.embedded.process import Address

_OVERFLOW = "exceed_context_size_error"
_FULL = "Context size has been exceeded"
_STATE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a completion.

    Attributes:
        text: What was generated, possibly empty.
        finish: ``stop`` or ``length`` in the last piece with text, else empty.
        read: How much of the prompt is read, from 0 to 1; only where the body asks for ``return_progress``.
        prompt_tokens: Of the whole prompt, in the last piece of all.
        output_tokens: Generated, in the last piece of all.
        cached_tokens: Of the prompt and not computed again, in the last piece of all.
    """

    text: str = ""
    finish: str = ""
    read: float | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Overflow(Exception):
    """The prompt does not fit into the window."""


class Refused(Exception):
    """The child answered with an error. The text is its own."""


class Lost(Exception):
    """The connection broke: the child is gone."""


async def complete(address: Address, body: Mapping[str, Any]) -> AsyncGenerator[Piece, None]:
    """Stream a completion. Leaving the generator closes the connection, and the child stops computing.

    Raises:
        Overflow: The prompt does not fit.
        Refused: The child will not do what was asked.
        Lost: The child ended meanwhile.
    """
    request = {**body, "stream": True, "stream_options": {"include_usage": True}}
    try:
        async with (
            _client(
                address, None
            ) as client,  # a long prompt is read in silence; the child's end ends the wait
            client.stream("POST", f"{address.url}/v1/chat/completions", json=request) as response,
        ):
            if response.status_code != httpx.codes.OK:
                _refuse(await response.aread())
            async with aclosing(_events(response.aiter_bytes())) as events:
                async for event in events:
                    yield _piece(event)
    except httpx.TransportError as error:
        raise Lost(str(error)) from error


async def move_state(address: Address, slot: int, action: Literal["save", "restore"], name: str) -> int:
    """Save what a slot holds to a file in the child's folder, or restore it from there.

    Returns:
        Bytes written or read.

    Raises:
        Refused: It failed; the slot is empty after a restoration that did.
        Lost: The child ended meanwhile, or does not answer.
    """
    try:
        async with _client(address, _STATE_SECONDS) as client:
            url = f"{address.url}/slots/{slot}?action={action}"
            response = await client.post(url, json={"filename": name})
    except httpx.TransportError as error:
        raise Lost(str(error)) from error
    if response.status_code != httpx.codes.OK:
        _refuse(response.content)
    return int(response.json()["n_written" if action == "save" else "n_read"])


def _client(address: Address, read_seconds: float | None) -> httpx.AsyncClient:
    # No certificate is looked at on a loopback http address; loading the system's would cost 30 ms a call.
    return httpx.AsyncClient(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
        timeout=httpx.Timeout(10.0, read=read_seconds),
        headers={"Authorization": f"Bearer {address.key}"},
    )


async def _events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")  # not splitlines: the JSON may hold U+2028
        for line in lines:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                yield json.loads(line[6:].decode("utf-8", "replace"))


def _piece(event: Mapping[str, Any]) -> Piece:
    if "error" in event:
        _raise(event["error"])
    usage = event.get("usage") or {}
    choice = (event.get("choices") or [{}])[0]
    progress = event.get("prompt_progress")
    return Piece(
        text=(choice.get("delta") or {}).get("content") or "",
        finish=choice.get("finish_reason") or "",
        read=progress["processed"] / max(progress["total"], 1) if progress else None,
        prompt_tokens=usage.get("prompt_tokens", 0),
        output_tokens=usage.get("completion_tokens", 0),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
    )


def _refuse(answer: bytes) -> NoReturn:
    text = answer.decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        raise Refused(text) from None
    _raise(error)


def _raise(error: Mapping[str, Any]) -> NoReturn:
    message = str(error.get("message", error))
    if error.get("type") == _OVERFLOW or message.startswith(_FULL):
        raise Overflow(message)
    raise Refused(message)
