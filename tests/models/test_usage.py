"""Tokens by each provider's own convention, known windows and prices, and what calls cost."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest

from tau.config.settings import PriceSettings
from tau.events import Usage
from tau.models.known import find
from tau.models.registry import look
from tau.models.usage import Price, counted
from tests.models.calls import MakeSettings, events_of, ready
from tests.models.stub_server import Answer, Exchange, Stub

KEY = "quail-key-123456"


def claude(exchange: Exchange) -> None:
    counts = {"input_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 15}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None,
                                              "usage": {**counts, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]  # fmt: skip
    exchange.start_stream()
    for event in events:
        exchange.event(event, event["type"])
    exchange.end_stream()


def gpt(details: dict[str, int] | None) -> Answer:
    def answer(exchange: Exchange) -> None:
        counts: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
        if details is not None:
            counts["prompt_tokens_details"] = details
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        exchange.start_stream()
        for delta, finish in (({"content": "hi"}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            exchange.event({**chunk, "choices": [choice]})
        exchange.event({**chunk, "choices": [], "usage": counts})
        exchange.chunk("data: [DONE]\n\n")
        exchange.end_stream()

    return answer


def gemini(exchange: Exchange) -> None:
    candidate = {"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP", "index": 0}
    counts = {
        "promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3, "totalTokenCount": 107,
    }  # fmt: skip
    exchange.start_stream()
    exchange.event({"candidates": [candidate], "usageMetadata": counts})
    exchange.end_stream()


def nova(exchange: Exchange) -> None:
    counts = {
        "inputTokens": 5, "outputTokens": 7, "totalTokens": 107,
        "cacheReadInputTokens": 80, "cacheWriteInputTokens": 15,
    }  # fmt: skip
    exchange.start_stream("application/vnd.amazon.eventstream")
    for name, payload in (
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "hi"}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": counts, "metrics": {"latencyMs": 1}}),
    ):
        exchange.chunk(_aws_event(name, payload))
    exchange.end_stream()


def _aws_event(name: str, payload: dict[str, Any]) -> bytes:
    """An event as AWS frames it: lengths and headers, each part with its checksum."""
    headers = b""
    for key, value in (
        (":event-type", name), (":content-type", "application/json"), (":message-type", "event"),
    ):  # fmt: skip
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    framed = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return framed + struct.pack(">I", zlib.crc32(framed))


def llama(exchange: Exchange) -> None:
    record = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    end = {"done_reason": "stop", "prompt_eval_count": 100, "eval_count": 7, "total_duration": 10**9}
    exchange.start_stream("application/x-ndjson")
    for text, done in (("hi", False), ("", True)):
        message = {"role": "assistant", "content": text}
        exchange.chunk(
            json.dumps({**record, "message": message, "done": done, **(end if done else {})}) + "\n"
        )
    exchange.end_stream()


CLAUDES = "/v1/messages"
CHAT = "/v1/chat/completions"
SPLIT = Usage(5, 7, cached_tokens=80, written_tokens=15)


@pytest.mark.parametrize(
    ("provider", "path", "answer", "usage"),
    [
        ("anthropic", CLAUDES, claude, SPLIT),
        ("bedrock", "/model/quail/converse-stream", nova, SPLIT),
        ("openai", CHAT, gpt({"cached_tokens": 80, "cache_write_tokens": 15}), SPLIT),
        ("openai", CHAT, gpt(None), Usage(100, 7)),
        ("gemini", "/v1beta/models/quail:streamGenerateContent", gemini, Usage(20, 7, cached_tokens=80)),
        ("llamacpp", CHAT, gpt({"cached_tokens": 80}), Usage(20, 7, cached_tokens=80)),
        ("ollama", "/api/chat", llama, Usage(100, 7)),
    ],
)
async def test_each_provider_counts_the_request_once(
    stub: Stub,
    make_settings: MakeSettings,
    monkeypatch: pytest.MonkeyPatch,
    *,
    provider: str,
    path: str,
    answer: Answer,
    usage: Usage,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "quail")
    stub.answers[path] = answer
    stub.answers["/v1/models"] = lambda exchange: exchange.json({"data": [{"id": "quail"}]})
    stub.answers["/props"] = lambda exchange: exchange.json({})
    stub.answers["/api/tags"] = lambda exchange: exchange.json({"models": [{"name": "quail:latest"}]})
    stub.answers["/api/show"] = lambda exchange: exchange.json({"capabilities": ["tools"]})
    url = stub.url + ("/v1" if provider == "openai" else "")
    table: dict[str, Any] = {"region": "eu-central-1"} if provider == "bedrock" else {}
    keys = {"ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY}
    prepared = await ready(make_settings(provider=provider, model_id="quail", base_url=url, **table), keys)
    reported = (await events_of(prepared.model))[-1]["metadata"]["usage"]
    assert prepared.count_usage(reported) == usage
    assert prepared.count_usage(reported).request_tokens == 100
    assert prepared.info.price is None, "nothing is known of a server at an address of one's own"


def test_a_count_that_contradicts_its_convention_is_read_the_other_way() -> None:
    raw = {"inputTokens": 5, "outputTokens": None, "cacheReadInputTokens": 80}
    assert counted(raw, cached_in_input=True) == Usage(5, 0, 80)
    assert counted({}) == Usage()


def test_a_call_costs_what_its_tokens_do() -> None:
    usage = Usage(1_000_000, 100_000, cached_tokens=2_000_000, written_tokens=400_000)
    assert Price(input=3, output=15, cached=0.3, written=3.75).cost(usage) == pytest.approx(6.6)
    assert Price(input=3, output=15).cost(usage) == pytest.approx(11.7)
    long = Price(input=6, output=20)
    assert Price(input=3, output=15, long=long, long_from=3_400_000).cost(usage) == pytest.approx(11.7)
    assert Price(input=3, output=15, long=long, long_from=3_399_999).cost(usage) == pytest.approx(22.4)


@pytest.mark.parametrize(
    ("provider", "model_id", "window", "dollars"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", 200_000, (3, 15, 0.3, 3.75)),
        ("anthropic", "claude-opus-4-1", 200_000, (15, 75, 1.5, 18.75)),
        ("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, (3.3, 16.5, 0.33, 4.125)),
        ("bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, (3, 15, 0.3, 3.75)),
        ("bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000, (3, 15, 0.3, 3.75)),
        (
            "bedrock",
            "arn:aws:bedrock:eu-central-1:1:inference-profile/us.amazon.nova-pro-v1:0",
            300_000,
            (0.8, 3.2, 0.2, None),
        ),
        ("bedrock", "eu.anthropic.claude-opus-5", 1_000_000, None),
        ("openai", "gpt-4o-mini-2024-07-18", 128_000, (0.15, 0.6, 0.075, None)),
        ("openai", "gpt-4o-2024-05-13", 128_000, (5, 15, None, None)),
        ("openai", "gpt-5-mini", 272_000, (0.25, 2, 0.025, None)),
        ("openai", "o4-mini", 200_000, (1.1, 4.4, 0.275, None)),
        ("gemini", "models/gemini-2.5-pro", 1_048_576, (1.25, 10, 0.125, None)),
        ("gemini", "gemini-flash-latest", 1_048_576, None),
    ],
)
def test_known_models_have_a_window_and_mostly_a_price(
    provider: str, model_id: str, window: int, dollars: tuple[float | None, ...] | None
) -> None:
    known = find(provider, model_id)
    assert known is not None
    assert known.context_window == window
    price = known.price
    assert (price and (price.input, price.output, price.cached, price.written)) == dollars


@pytest.mark.parametrize(
    ("provider", "model_id"),
    [
        ("openai", "gpt-5.4-pro"),
        ("openai", "gpt-4o-audio"),
        ("ollama", "gpt-4o"),
        ("bedrock", "claude-opus-5"),
        ("anthropic", "claude-quail"),
        ("scripted", "claude-sonnet-5"),
    ],
)
def test_another_model_is_not_taken_for_a_known_one(provider: str, model_id: str) -> None:
    assert find(provider, model_id) is None


@pytest.mark.parametrize(
    ("table", "environ", "window", "priced"),
    [
        ({}, {}, 200_000, True),
        ({"context_window": 50_000}, {}, 50_000, True),
        ({"base_url": "https://gateway.example"}, {}, 200_000, False),
        ({}, {"ANTHROPIC_BASE_URL": "https://gateway.example"}, 200_000, False),
    ],
)
async def test_a_declared_window_wins_and_another_server_has_prices_of_its_own(
    make_settings: MakeSettings, table: dict[str, Any], environ: dict[str, str], window: int, priced: bool
) -> None:
    settings = make_settings(provider="anthropic", model_id="claude-haiku-4-5", **table)
    environ = {"ANTHROPIC_API_KEY": KEY, **environ}
    prepared = await ready(settings, environ)
    assert prepared.info == look(settings, "default", environ=environ)
    assert prepared.info.context_window == prepared.model.context_window_limit == window
    assert (prepared.info.price is not None) == priced


def test_the_tables_price_wins(make_settings: MakeSettings) -> None:
    price = PriceSettings(input=1, output=2, cached=0.5)
    settings = make_settings(provider="anthropic", model_id="claude-haiku-4-5", price=price)
    info = look(settings, "default", environ={"ANTHROPIC_API_KEY": KEY})
    assert info.price == Price(input=1, output=2, cached=0.5)
