from __future__ import annotations

import threading
from typing import Any

import httpx
import openai
import pytest
from strands import Agent, tool
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from tau.errors import ConfigError, ModelNotReady
from tau.models.failures import describe, is_throttle
from tests.models.calls import TOOLS, MakeSettings, events_of, heard, ready, stop_reason, text_in
from tests.models.stub_server import Answer, Exchange, Stub, serving

KEY = "quail-key-123456"
CHAT = "/v1/chat/completions"


def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def usage(prompt: int, completion: int) -> dict[str, Any]:
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return {**piece({}), "choices": [], "usage": counts}


def says(*texts: str) -> Answer:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        for text in texts:
            exchange.event(piece({"content": text}))
        exchange.event(piece({}, "stop"))
        exchange.event(usage(9, 3))
        exchange.chunk("data: [DONE]\n\n")
        exchange.end_stream()

    return answer


def fails(status: int, error: Any) -> Answer:
    return lambda exchange: exchange.json({"error": error}, status)


@pytest.fixture
def server(stub: Stub) -> Stub:
    stub.answers["/v1/models"] = lambda exchange: exchange.json({"data": [{"id": "quail-7b"}]})
    stub.answers[CHAT] = says("Hel", "lo")
    return stub


async def test_the_request_has_key_model_and_settings(server: Stub, make_settings: MakeSettings) -> None:
    settings = make_settings(
        provider="openai",
        model_id="gpt-quail",
        base_url=f"{server.url}/v1/",
        api_key_env="QUAIL_KEY",
        max_tokens=77,
        params={"temperature": 0.5, "top_k": 20},
        context_window=4096,
    )
    prepared = await ready(settings, {"QUAIL_KEY": f" {KEY}\n", "OPENAI_API_KEY": "another"})
    events = await events_of(prepared.model, tool_specs=TOOLS, system_prompt="Be brief.")

    assert text_in(events) == "Hello"
    assert stop_reason(events) == "end_turn"
    assert events[-1]["metadata"]["usage"]["inputTokens"] == 9
    seen = server.asked(CHAT)
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["model"] == "gpt-quail"
    assert seen.body["max_tokens"] == 77
    assert seen.body["temperature"] == 0.5
    assert seen.body["top_k"] == 20
    assert seen.body["stream"] is True
    assert seen.body["messages"][0]["content"] == "Be brief."
    assert seen.body["tools"][0]["function"]["name"] == "read_file"
    assert (prepared.info.model_id, prepared.info.context_window) == ("gpt-quail", 4096)
    assert prepared.model.context_window_limit == 4096


async def test_pieces_arrive_while_the_server_is_still_writing(
    server: Stub, make_settings: MakeSettings
) -> None:
    first_was_heard = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(piece({"content": "first"}))
        assert first_was_heard.wait(10)
        exchange.event(piece({"content": " second"}))
        exchange.event(piece({}, "stop"))
        exchange.chunk("data: [DONE]\n\n")
        exchange.end_stream()

    server.answers[CHAT] = answer
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    texts: list[str] = []
    async for event in heard(prepared.model):
        if "contentBlockDelta" in event:
            texts.append(event["contentBlockDelta"]["delta"]["text"])
            first_was_heard.set()
    assert texts == ["first", " second"]


async def test_a_tool_call_runs_in_an_agent(server: Stub, make_settings: MakeSettings) -> None:
    def answer(exchange: Exchange) -> None:
        if any(message["role"] == "tool" for message in exchange.seen.body["messages"]):
            return says("done")(exchange)
        exchange.start_stream()
        for part in ({"id": "t1", "function": {"name": "count", "arguments": '{"to"'}},
                     {"function": {"arguments": ": 3}"}}):  # fmt: skip
            exchange.event(piece({"tool_calls": [{"index": 0, "type": "function", **part}]}))
        exchange.event(piece({}, "tool_calls"))
        exchange.chunk("data: [DONE]\n\n")
        return exchange.end_stream()

    server.answers[CHAT] = answer
    counted: list[int] = []

    @tool
    def count(to: int) -> str:
        """Count."""
        counted.append(to)
        return "counted"

    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    result = await Agent(model=prepared.model, tools=[count], callback_handler=None).invoke_async("count")
    assert str(result).strip() == "done"
    assert counted == [3]


async def test_a_server_without_a_key_is_never_sent_openais(
    server: Stub, make_settings: MakeSettings
) -> None:
    settings = make_settings(provider="openai", base_url=f"{server.url}/v1")
    await events_of((await ready(settings, {"OPENAI_API_KEY": KEY})).model)
    assert KEY not in str(server.asked(CHAT).headers)


async def test_the_environments_address_gets_the_environments_key(
    server: Stub, make_settings: MakeSettings
) -> None:
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.url}/v1"}
    await events_of((await ready(make_settings(provider="openai"), environ)).model)
    assert server.asked(CHAT).headers["authorization"] == f"Bearer {KEY}"


OVERFLOWS = [
    (400, {"code": 400, "type": "exceed_context_size_error", "n_ctx": 8192,
           "message": "request (9000 tokens) exceeds the available context size (8192 tokens)"}),
    (400, {"code": "context_length_exceeded", "message": "This model's maximum context length is 8192."}),
    (500, {"code": 500, "message": "the request exceeds the available context size. try increasing it"}),
    (413, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "error"), OVERFLOWS)
async def test_every_wording_of_overflow_is_recognised(
    server: Stub, make_settings: MakeSettings, status: int, error: dict[str, Any]
) -> None:
    server.answers[CHAT] = fails(status, error)
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(ContextWindowOverflowException) as caught:
        await events_of(prepared.model)
    assert describe(caught.value).startswith(f"{error['message']} (HTTP {status}")
    assert len([seen for seen in server.seen if seen.path == CHAT]) == 1


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_server_is_throttling(server: Stub, make_settings: MakeSettings, status: int) -> None:
    server.answers[CHAT] = fails(status, {"message": "slow down, please"})
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(ModelThrottledException) as caught:
        await events_of(prepared.model)
    assert describe(caught.value).startswith(f"slow down, please (HTTP {status}")
    assert len([seen for seen in server.seen if seen.path == CHAT]) == 1


async def test_a_used_up_account_is_not_throttling(server: Stub, make_settings: MakeSettings) -> None:
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota, check your plan."}
    server.answers[CHAT] = fails(429, error)
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(Exception, match="quota") as caught:
        await events_of(prepared.model)
    assert not isinstance(caught.value, ModelThrottledException)
    assert not is_throttle(caught.value)
    assert describe(caught.value).startswith("You exceeded your current quota")


async def test_the_servers_words_are_kept_and_its_echo_of_the_key_is_masked(
    server: Stub, make_settings: MakeSettings
) -> None:
    server.answers[CHAT] = fails(
        401, {"message": f"Wrong key {KEY}; header was 'Authorization: Bearer {KEY}'"}
    )
    settings = make_settings(provider="openai", base_url=f"{server.url}/v1", api_key_env="QUAIL_KEY")
    with pytest.raises(Exception, match="Wrong key") as caught:
        await events_of((await ready(settings, {"QUAIL_KEY": KEY})).model)
    line = describe(caught.value)
    assert line == "Wrong key ***; header was 'Authorization: Bearer ***' (HTTP 401 Unauthorized)"


async def test_a_web_page_from_a_proxy_becomes_its_title(server: Stub, make_settings: MakeSettings) -> None:
    page = "<html><head><title>Gateway away</title></head><body>\x1b[31mlong\nlong</body></html>"
    server.answers[CHAT] = lambda exchange: exchange.text(page, 403)
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(openai.PermissionDeniedError) as caught:
        await events_of(prepared.model)
    assert describe(caught.value) == "Gateway away (HTTP 403 Forbidden)"


async def test_an_error_in_the_middle_of_a_stream_is_an_error(
    server: Stub, make_settings: MakeSettings
) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(piece({"content": "half"}))
        exchange.event({"error": {"message": "the worker was overloaded", "type": "server_error"}})
        exchange.end_stream()

    server.answers[CHAT] = answer
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(Exception, match="overloaded") as caught:
        await events_of(prepared.model)
    assert not isinstance(caught.value, ModelThrottledException)
    assert describe(caught.value) == "the worker was overloaded"


async def test_a_stream_cut_off_without_an_end_is_an_error(server: Stub, make_settings: MakeSettings) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(piece({"content": "half"}))
        exchange.end_stream()

    server.answers[CHAT] = answer
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(Exception, match="before it was complete"):
        await events_of(prepared.model)


async def test_a_connection_that_breaks_is_said_plainly(server: Stub, make_settings: MakeSettings) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.event(piece({"content": "half"}))
        exchange.break_off()

    server.answers[CHAT] = answer
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(httpx.RemoteProtocolError) as caught:
        await events_of(prepared.model)
    assert describe(caught.value).startswith("the connection to the server")


async def test_a_server_that_is_gone_is_named(make_settings: MakeSettings) -> None:
    settings = make_settings(provider="openai", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelNotReady, match=r"no server at http://127.0.0.1:9/v1: connection refused"):
        await ready(settings)


async def test_a_server_that_goes_away_later_is_named(make_settings: MakeSettings) -> None:
    with serving() as server:
        server.answers["/v1/models"] = lambda exchange: exchange.json({"data": [{"id": "quail-7b"}]})
        prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    with pytest.raises(openai.APIConnectionError) as caught:
        await events_of(prepared.model)
    assert describe(caught.value) == f"the server at {server.url} cannot be reached: Connection refused"


async def test_the_only_model_of_a_server_is_taken(server: Stub, make_settings: MakeSettings) -> None:
    settings = make_settings(provider="openai", base_url=f"{server.url}/v1")
    prepared = await ready(settings)
    await events_of(prepared.model)
    assert prepared.info.model_id == "quail-7b"
    assert server.asked(CHAT).body["model"] == "quail-7b"
    server.answers["/v1/models"] = lambda exchange: exchange.json({"data": [{"id": "one"}, {"id": "two"}]})
    with pytest.raises(ModelNotReady, match="names no model_id") as caught:
        await ready(settings)
    assert caught.value.hint == "it has one, two"


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host/v1", "http://"])
async def test_an_address_that_is_none_is_refused(make_settings: MakeSettings, url: str) -> None:
    with pytest.raises(ConfigError, match="base_url is not an address"):
        await ready(make_settings(provider="openai", base_url=url))


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    server: Stub, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    prepared = await ready(make_settings(provider="openai", base_url=f"{server.url}/v1"))
    assert text_in(await events_of(prepared.model)) == "Hello"


async def test_llamacpp_streams_and_takes_name_and_window_from_the_server(
    server: Stub, make_settings: MakeSettings
) -> None:
    server.answers["/props"] = lambda exchange: exchange.json(
        {"default_generation_settings": {"n_ctx": 8192}, "model_path": "/models/quail-7b.gguf"}
    )
    prepared = await ready(make_settings(provider="llamacpp", base_url=server.url, max_tokens=5))
    assert prepared.info.model_id == "quail-7b.gguf"
    assert prepared.info.context_window == 8192
    assert text_in(await events_of(prepared.model)) == "Hello"
    assert server.asked(CHAT).body["max_tokens"] == 5
    status, error = OVERFLOWS[0]
    server.answers[CHAT] = fails(status, error)
    with pytest.raises(ContextWindowOverflowException, match="9000 tokens"):
        await events_of(prepared.model)


async def test_llamacpp_sends_the_key_that_is_named(server: Stub, make_settings: MakeSettings) -> None:
    server.answers["/props"] = lambda exchange: exchange.json({})
    settings = make_settings(provider="llamacpp", base_url=f"{server.url}/v1", api_key_env="QUAIL_KEY")
    prepared = await ready(settings, {"QUAIL_KEY": KEY})
    await events_of(prepared.model)
    for path in ("/props", CHAT):
        assert server.asked(path).headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "words"), [(503, "still loading"), (401, "wants an API key"), (None, "connection refused")]
)
async def test_llamacpp_says_what_its_server_lacks(
    server: Stub, make_settings: MakeSettings, status: int | None, words: str
) -> None:
    url = server.url if status else "http://127.0.0.1:9"
    server.answers["/props"] = lambda exchange: exchange.json({"error": {}}, status or 200)
    with pytest.raises(ModelNotReady, match=words) as caught:
        await ready(make_settings(provider="llamacpp", base_url=url))
    assert url in caught.value.line()
