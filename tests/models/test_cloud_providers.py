"""Anthropic and Gemini, each against a server that speaks its wire protocol."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google.genai import errors as gemini_errors
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from tau.errors import ConfigError
from tau.models.failures import describe, is_throttle
from tests.models.calls import TOOLS, MakeSettings, events_of, heard, ready, stop_reason, text_in, tool_uses
from tests.models.stub_server import Answer, Exchange, Stub

KEY = "quail-key-123456"
MESSAGES = "/v1/messages"


def claude(*blocks: dict[str, Any], stop: str = "end_turn", pause: threading.Event | None = None) -> Answer:
    """A reply of text blocks (``{"text": …}``, a list of pieces) and tool blocks (``{"tool": …}``)."""

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()

        def send(name: str, **fields: Any) -> None:
            exchange.event({"type": name, **fields}, name)

        message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
        counts = {"input_tokens": 9, "output_tokens": 1}
        send(
            "message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": counts}
        )
        for index, block in enumerate(blocks):
            if "tool" in block:
                opened = {"type": "tool_use", "id": "t1", "name": block["tool"], "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in block["input"]]
            else:
                opened = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in block["text"]]
            send("content_block_start", index=index, content_block=opened)
            for number, delta in enumerate(deltas):
                if number == 1 and pause is not None:
                    assert pause.wait(10)
                send("content_block_delta", index=index, delta=delta)
            send("content_block_stop", index=index)
        send("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 5})
        send("message_stop")
        exchange.end_stream()

    return answer


def refuses(status: int, kind: str, message: str) -> Answer:
    return lambda exchange: exchange.json(
        {"type": "error", "error": {"type": kind, "message": message}}, status
    )


async def test_anthropic_streams_with_key_model_and_address(stub: Stub, make_settings: MakeSettings) -> None:
    first_was_heard = threading.Event()
    stub.answers[MESSAGES] = claude({"text": ["Hel", "lo"]}, pause=first_was_heard)
    settings = make_settings(
        provider="anthropic",
        model_id="claude-quail",
        base_url=stub.url,
        max_tokens=99,
        params={"temperature": 0.1, "quail_mode": "fast"},
    )
    prepared = await ready(settings, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": "other"})
    events = []
    async for event in heard(prepared.model, tool_specs=TOOLS, system_prompt="Be brief."):
        events.append(event)
        if "contentBlockDelta" in event:
            first_was_heard.set()
    assert text_in(events) == "Hello"
    assert stop_reason(events) == "end_turn"
    seen = stub.asked(MESSAGES)
    assert seen.headers["x-api-key"] == KEY
    assert "authorization" not in seen.headers
    assert (seen.body["model"], seen.body["max_tokens"], seen.body["temperature"]) == (
        "claude-quail",
        99,
        0.1,
    )
    assert seen.body["stream"] is True
    assert seen.body["quail_mode"] == "fast"
    assert "cache_control" in str(seen.body)


async def test_anthropic_calls_tools(stub: Stub, make_settings: MakeSettings) -> None:
    stub.answers[MESSAGES] = claude({"tool": "read_file", "input": ['{"path"', ': "a"}']}, stop="tool_use")
    settings = make_settings(provider="anthropic", base_url=stub.url)
    prepared = await ready(settings, {"ANTHROPIC_API_KEY": KEY})
    events = await events_of(prepared.model, tool_specs=TOOLS)
    assert tool_uses(events) == [{"name": "read_file", "id": "t1", "input": '{"path": "a"}'}]
    assert stop_reason(events) == "tool_use"


async def test_anthropics_defaults_have_a_known_window(make_settings: MakeSettings) -> None:
    prepared = await ready(make_settings(provider="anthropic"), {"ANTHROPIC_API_KEY": KEY})
    assert prepared.info.model_id == "claude-sonnet-5"
    assert prepared.info.context_window == 1_000_000
    assert prepared.side_model is prepared.model


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (refuses(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
         ContextWindowOverflowException),
        (refuses(413, "request_too_large", "Prompt is too long"), ContextWindowOverflowException),
        (refuses(429, "rate_limit_error", "slow down"), ModelThrottledException),
        (refuses(529, "overloaded_error", "Overloaded"), ModelThrottledException),
    ],
)  # fmt: skip
async def test_anthropics_errors_mean_what_they_say(
    stub: Stub, make_settings: MakeSettings, answer: Answer, raised: type[Exception]
) -> None:
    stub.answers[MESSAGES] = answer
    prepared = await ready(make_settings(provider="anthropic", base_url=stub.url), {"ANTHROPIC_API_KEY": KEY})
    with pytest.raises(raised) as caught:
        await events_of(prepared.model)
    assert "{" not in describe(caught.value)
    assert len(stub.seen) == 1


async def test_anthropic_refuses_in_its_own_words(stub: Stub, make_settings: MakeSettings) -> None:
    stub.answers[MESSAGES] = refuses(401, "authentication_error", f"invalid x-api-key {KEY}")
    prepared = await ready(make_settings(provider="anthropic", base_url=stub.url), {"ANTHROPIC_API_KEY": KEY})
    with pytest.raises(anthropic.AuthenticationError) as caught:
        await events_of(prepared.model)
    assert describe(caught.value) == "invalid x-api-key *** (HTTP 401 Unauthorized)"


async def test_anthropic_overloaded_in_the_middle_is_an_error(
    stub: Stub, make_settings: MakeSettings
) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        exchange.event(error, "error")
        exchange.end_stream()

    stub.answers[MESSAGES] = answer
    prepared = await ready(make_settings(provider="anthropic", base_url=stub.url), {"ANTHROPIC_API_KEY": KEY})
    with pytest.raises(ModelThrottledException, match="Overloaded"):
        await events_of(prepared.model)


GENERATE = "/v1beta/models/gemini-quail:streamGenerateContent"


def gemini(*parts: dict[str, Any], finish: str = "STOP", pause: threading.Event | None = None) -> Answer:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        for number, part in enumerate(parts):
            if number == 1 and pause is not None:
                assert pause.wait(10)
            candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if number == len(parts) - 1:
                candidate["finishReason"] = finish
            counts = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
            exchange.event({"candidates": [candidate], "usageMetadata": counts})
        exchange.end_stream()

    return answer


@pytest.fixture
def full_server() -> Iterator[str]:
    """The address of a server whose queue is full: connecting to it neither succeeds nor fails."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(8):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(address)
        yield f"http://127.0.0.1:{address[1]}"


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai"])
async def test_connecting_has_an_end(
    full_server: str, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    module = "openai_model" if provider == "openai" else provider
    monkeypatch.setattr(f"tau.models.{module}.CONNECT_SECONDS", 0.2)
    monkeypatch.setattr("tau.models.openai.PATIENCE_SECONDS", 0.2)
    settings = make_settings(
        provider=provider, model_id="quail", base_url=full_server, api_key_env="QUAIL_KEY"
    )
    prepared = await ready(settings, {"QUAIL_KEY": KEY})
    timed_out = (anthropic.APITimeoutError, openai.APITimeoutError, httpx.ConnectTimeout)
    with pytest.raises(timed_out) as caught:
        await asyncio.wait_for(events_of(prepared.model), 5)
    assert describe(caught.value) == f"the server at {full_server} did not accept a connection in time"


async def test_a_silent_server_is_left_at_once(stub: Stub, make_settings: MakeSettings) -> None:
    heard_of = asyncio.Event()
    loop = asyncio.get_running_loop()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        loop.call_soon_threadsafe(heard_of.set)
        stub.released.wait(30)

    stub.answers[MESSAGES] = answer
    prepared = await ready(make_settings(provider="anthropic", base_url=stub.url), {"ANTHROPIC_API_KEY": KEY})
    task = asyncio.create_task(events_of(prepared.model))
    await asyncio.wait_for(heard_of.wait(), 5)
    begun = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert time.perf_counter() - begun < 5


def gemini_settings(stub: Stub, make_settings: MakeSettings, **table: Any) -> Any:
    return make_settings(provider="gemini", model_id="gemini-quail", base_url=stub.url, **table)


async def test_gemini_streams_with_key_model_and_address(stub: Stub, make_settings: MakeSettings) -> None:
    first_was_heard = threading.Event()
    stub.answers[GENERATE] = gemini({"text": "Hel"}, {"text": "lo"}, pause=first_was_heard)
    settings = gemini_settings(stub, make_settings, max_tokens=99, params={"temperature": 0.1})
    prepared = await ready(settings, {"GOOGLE_API_KEY": KEY})
    events = []
    async for event in heard(prepared.model, tool_specs=TOOLS, system_prompt="Be brief."):
        events.append(event)
        if "contentBlockDelta" in event:
            first_was_heard.set()
    assert text_in(events) == "Hello"
    assert stop_reason(events) == "end_turn"
    seen = stub.asked(GENERATE)
    assert seen.headers["x-goog-api-key"] == KEY
    assert KEY not in seen.path
    assert seen.body["generationConfig"]["maxOutputTokens"] == 99
    assert seen.body["tools"][0]["functionDeclarations"][0]["name"] == "read_file"
    assert text_in(await events_of(prepared.model)) == "Hello"


async def test_geminis_params_are_checked_before_the_first_prompt(
    stub: Stub, make_settings: MakeSettings
) -> None:
    settings = gemini_settings(stub, make_settings, params={"temprature": 0.1})
    with pytest.raises(ConfigError, match="temprature"):
        await ready(settings, {"GEMINI_API_KEY": KEY})


async def test_gemini_calls_tools(stub: Stub, make_settings: MakeSettings) -> None:
    stub.answers[GENERATE] = gemini({"functionCall": {"name": "read_file", "args": {"path": "a"}}})
    prepared = await ready(gemini_settings(stub, make_settings), {"GEMINI_API_KEY": KEY})
    events = await events_of(prepared.model, tool_specs=TOOLS)
    (call,) = tool_uses(events)
    assert (call["name"], call["input"]) == ("read_file", '{"path": "a"}')
    assert stop_reason(events) == "tool_use"


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ({"code": 400, "status": "INVALID_ARGUMENT",
          "message": "The input token count of 9 exceeds the maximum number of tokens allowed of 8."},
         ContextWindowOverflowException),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Resource has been exhausted"},
         ModelThrottledException),
        ({"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."},
         ModelThrottledException),
    ],
)  # fmt: skip
async def test_geminis_errors_mean_what_they_say(
    stub: Stub, make_settings: MakeSettings, error: dict[str, Any], raised: type[Exception]
) -> None:
    stub.answers[GENERATE] = lambda exchange: exchange.json({"error": error}, error["code"])
    prepared = await ready(gemini_settings(stub, make_settings), {"GEMINI_API_KEY": KEY})
    with pytest.raises(raised, match=error["message"]):
        await events_of(prepared.model)
    assert len(stub.seen) == 1


async def test_gemini_refuses_in_its_own_words(stub: Stub, make_settings: MakeSettings) -> None:
    error = {"error": {"code": 400, "message": f"API key not valid: {KEY}", "status": "INVALID_ARGUMENT"}}
    stub.answers[GENERATE] = lambda exchange: exchange.json(error, 400)
    prepared = await ready(gemini_settings(stub, make_settings), {"GEMINI_API_KEY": KEY})
    with pytest.raises(gemini_errors.ClientError) as caught:
        await events_of(prepared.model)
    assert describe(caught.value) == "API key not valid: *** (HTTP 400 Bad Request)"
    assert not is_throttle(caught.value)
