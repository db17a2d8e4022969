from __future__ import annotations

import json
import threading
from typing import Any

import ollama
import pytest
from strands.types.exceptions import ContextWindowOverflowException

from tau.errors import ConfigError, ModelNotReady
from tau.models.failures import describe
from tests.models.calls import TOOLS, MakeSettings, events_of, heard, ready, stop_reason, text_in, tool_uses
from tests.models.stub_server import Exchange, Stub


def holding(stub: Stub, **models: list[str]) -> Stub:
    """Make the stub an Ollama server with models of these capabilities, each holding 32,768 tokens."""
    stub.answers["/api/tags"] = lambda exchange: exchange.json(
        {"models": [{"name": f"{name}:latest"} for name in models]}
    )
    stub.answers["/api/show"] = lambda exchange: exchange.json(
        {
            "capabilities": models[exchange.seen.body["model"].removesuffix(":latest")],
            "model_info": {"quail.context_length": 32_768},
        }
    )
    return stub


def part(message: dict[str, Any], **more: Any) -> str:
    record = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": False}
    return json.dumps({**record, "message": {"role": "assistant", **message}, **more}) + "\n"


DONE: dict[str, Any] = {
    "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3, "total_duration": 10**9,
}  # fmt: skip


async def test_it_streams_from_the_newest_model_that_calls_tools(
    stub: Stub, make_settings: MakeSettings
) -> None:
    first_was_heard = threading.Event()

    def chat(exchange: Exchange) -> None:
        exchange.start_stream("application/x-ndjson")
        exchange.chunk(part({"content": "Hel"}))
        assert first_was_heard.wait(10)
        exchange.chunk(part({"content": "lo"}))
        exchange.chunk(part({"content": ""}, **DONE))
        exchange.end_stream()

    holding(stub, plain=["completion"], able=["completion", "tools"], older=["tools"])
    stub.answers["/api/chat"] = chat
    settings = make_settings(provider="ollama", base_url=stub.url, max_tokens=7, params={"top_k": 3})
    prepared = await ready(settings)
    assert prepared.info.model_id == "able:latest"
    assert prepared.info.context_window == 16_384

    events = []
    async for event in heard(prepared.model, tool_specs=TOOLS):
        events.append(event)
        if event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
            first_was_heard.set()
    assert text_in(events) == "Hello"
    assert stop_reason(events) == "end_turn"
    body = stub.asked("/api/chat").body
    assert body["model"] == "able:latest"
    assert body["options"] == {"num_ctx": 16_384, "top_k": 3, "num_predict": 7}
    assert body["tools"][0]["function"]["name"] == "read_file"


async def test_it_calls_tools(stub: Stub, make_settings: MakeSettings) -> None:
    def chat(exchange: Exchange) -> None:
        exchange.start_stream("application/x-ndjson")
        call = {"function": {"name": "read_file", "arguments": {"path": "a"}}}
        exchange.chunk(part({"content": "", "tool_calls": [call]}))
        exchange.chunk(part({"content": ""}, **DONE))
        exchange.end_stream()

    holding(stub, able=["tools"]).answers["/api/chat"] = chat
    prepared = await ready(make_settings(provider="ollama", base_url=stub.url, model_id="able"))
    events = await events_of(prepared.model, tool_specs=TOOLS)
    (call,) = tool_uses(events)
    assert (call["name"], json.loads(call["input"])) == ("read_file", {"path": "a"})
    assert stop_reason(events) == "tool_use"


async def test_the_window_of_the_table_is_asked_for(stub: Stub, make_settings: MakeSettings) -> None:
    holding(stub, able=["tools"])
    prepared = await ready(make_settings(provider="ollama", base_url=stub.url, context_window=20_000))
    assert prepared.info.context_window == 20_000
    assert prepared.model.context_window_limit == 20_000
    with pytest.raises(ConfigError, match=r"40000.*32768"):
        await ready(make_settings(provider="ollama", base_url=stub.url, context_window=40_000))


@pytest.mark.parametrize(
    ("message", "raised"),
    [
        ("the input length exceeds the context length", ContextWindowOverflowException),
        ("model runner has unexpectedly stopped", ollama.ResponseError),
    ],
)
async def test_the_servers_words_are_kept(
    stub: Stub, make_settings: MakeSettings, message: str, raised: type[Exception]
) -> None:
    holding(stub, able=["tools"])
    stub.answers["/api/chat"] = lambda exchange: exchange.json({"error": message}, 400)
    prepared = await ready(make_settings(provider="ollama", base_url=stub.url))
    with pytest.raises(raised) as caught:
        await events_of(prepared.model)
    assert message in describe(caught.value)


async def test_what_is_missing_is_named(stub: Stub, make_settings: MakeSettings) -> None:
    gone = "http://127.0.0.1:9"
    with pytest.raises(ModelNotReady, match=f"no Ollama server at {gone}: connection refused"):
        await ready(make_settings(provider="ollama", base_url=gone))
    with pytest.raises(ModelNotReady, match="does not answer as Ollama does"):
        await ready(make_settings(provider="ollama", base_url=stub.url))
    holding(stub, plain=["completion"])
    with pytest.raises(ModelNotReady, match="no model that can call tools"):
        await ready(make_settings(provider="ollama", base_url=stub.url))
    with pytest.raises(ModelNotReady, match="'plain:latest' cannot call tools"):
        await ready(make_settings(provider="ollama", base_url=stub.url, model_id="plain"))
    with pytest.raises(ModelNotReady, match="no model 'other'") as caught:
        await ready(make_settings(provider="ollama", base_url=stub.url, model_id="other"))
    assert caught.value.hint == "ollama pull other"


@pytest.mark.parametrize("form", ["127.0.0.1:{port}", ":{port}", "0.0.0.0:{port}", "http://127.0.0.1:{port}"])
async def test_ollama_host_is_understood_in_every_form(
    stub: Stub, make_settings: MakeSettings, form: str
) -> None:
    holding(stub, able=["tools"])
    environ = {"OLLAMA_HOST": form.format(port=stub.port)}
    assert (await ready(make_settings(provider="ollama"), environ)).info.model_id == "able:latest"
