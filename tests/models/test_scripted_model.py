from __future__ import annotations

import asyncio
import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool
from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
    ModelThrottledException,
)

from tau.config.settings import Settings
from tau.errors import ConfigError, ModelNotReady
from tau.models.failures import describe, is_overflow, is_throttle
from tau.testing.scripted import scripted_model
from tests.models.calls import HELLO, MakeSettings, events_of, heard, ready, text_in


class Scripts:
    """Writes scripts and reads what was recorded."""

    def __init__(self, folder: Path, make: MakeSettings) -> None:
        self.folder = folder
        self.make = make

    def settings(self, *steps: Any, side: Any = None, **table: Any) -> Settings:
        (self.folder / "script.json").write_text(json.dumps(steps))
        if side is not None:
            (self.folder / "side.json").write_text(json.dumps(side))
            table["side_script"] = "side.json"
        return self.make(provider="scripted", script="script.json", record="requests.jsonl", **table)

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "requests.jsonl").read_text().splitlines()]


@pytest.fixture
def scripts(tmp_path: Path, make_settings: MakeSettings) -> Scripts:
    return Scripts(tmp_path, make_settings)


def agent(model: Any, **options: Any) -> Agent:
    return Agent(model=model, callback_handler=None, retry_strategy=None, **options)


async def test_an_agent_runs_a_tool_and_every_request_is_recorded(scripts: Scripts) -> None:
    call = {"name": "read_file", "input": {"path": "a.txt"}, "id": "t1"}
    settings = scripts.settings({"text": "Looking.", "tools": [call]}, {"text": "It says hi."})
    prepared = await ready(settings)
    opened: list[str] = []

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        opened.append(path)
        return "hi"

    result = await agent(prepared.model, tools=[read_file], system_prompt="Be brief.").invoke_async("Read it")

    assert str(result).strip() == "It says hi."
    assert opened == ["a.txt"]
    first, second = scripts.sent()
    assert first == {
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"text": "Read it"}]}],
        "tools": ["read_file"],
        "side": False,
    }
    assert second["messages"][1]["content"] == [
        {"text": "Looking."},
        {"toolUse": {"toolUseId": "t1", "name": "read_file", "input": {"path": "a.txt"}}},
    ]
    assert second["messages"][2]["content"][0]["toolResult"]["content"] == [{"text": "hi"}]
    assert stat.S_IMODE((scripts.folder / "requests.jsonl").stat().st_mode) == 0o600
    assert prepared.info.provider == "scripted"


async def test_text_comes_in_the_pieces_asked_for_with_reasoning_first(scripts: Scripts) -> None:
    settings = scripts.settings({"reasoning": "hmm", "text": "one two three", "chunks": 4})
    events = await events_of((await ready(settings)).model)
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    reasoning = [delta["reasoningContent"]["text"] for delta in deltas if "reasoningContent" in delta]
    assert "".join(reasoning) == "hmm"
    assert len([delta for delta in deltas if "text" in delta]) == 4
    assert text_in(events) == "one two three"
    assert "reasoningContent" in deltas[0]


async def test_steps_follow_one_another_and_the_last_repeats(scripts: Scripts) -> None:
    settings = scripts.settings({"text": "1"}, {"text": "2"})
    model = (await ready(settings)).model
    assert [text_in(await events_of(model)) for _ in range(4)] == ["1", "2", "2", "2"]
    fresh = (await ready(settings)).model
    assert text_in(await events_of(fresh)) == "1"


async def test_tool_calls_without_an_id_get_different_ones(scripts: Scripts) -> None:
    model = (await ready(scripts.settings({"tools": [{"name": "a"}, {"name": "a"}]}))).model
    ids = {
        event["contentBlockStart"]["start"]["toolUse"]["toolUseId"]
        for _ in range(2)
        for event in await events_of(model)
        if event.get("contentBlockStart", {}).get("start")
    }
    assert len(ids) == 4


async def test_usage_is_reported_as_scripted(scripts: Scripts) -> None:
    usage = {"inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 7}
    result = await agent((await ready(scripts.settings({"text": "x", "usage": usage}))).model).invoke_async(
        "hi"
    )
    counted = result.metrics.accumulated_usage
    assert counted["inputTokens"] == 100
    assert counted["totalTokens"] == 110
    assert counted["cacheReadInputTokens"] == 7


@pytest.mark.parametrize(
    ("kind", "raised"),
    [("throttled", ModelThrottledException), ("overflow", ContextWindowOverflowException)],
)
async def test_errors_are_those_a_provider_raises(
    scripts: Scripts, kind: str, raised: type[Exception]
) -> None:
    model = (await ready(scripts.settings({"error": kind, "message": "the server's words"}))).model
    with pytest.raises(raised) as caught:
        await events_of(model)
    assert describe(caught.value) == "the server's words"
    assert is_throttle(caught.value) is (kind == "throttled")
    assert is_overflow(caught.value) is (kind == "overflow")


async def test_refused_carries_the_servers_words_and_is_final(scripts: Scripts) -> None:
    model = (await ready(scripts.settings({"error": "refused", "message": "messages.3: bad block"}))).model
    with pytest.raises(Exception, match="bad block") as caught:
        await agent(model).invoke_async("hi")
    assert describe(caught.value) == "messages.3: bad block (HTTP 400 Bad Request)"
    assert not is_throttle(caught.value)
    assert not is_overflow(caught.value)


async def test_an_error_after_text_comes_after_that_text(scripts: Scripts) -> None:
    model = (
        await ready(scripts.settings({"text": "half an ans", "error": "refused", "message": "cut"}))
    ).model
    events: list[Any] = []

    async def listen() -> None:
        async for event in heard(model):
            events.append(event)  # noqa: PERF401  # a comprehension would go down with the error

    with pytest.raises(Exception, match="cut"):
        await listen()
    assert text_in(events) == "half an ans"


async def test_max_tokens_is_a_stop_reason_and_keeps_the_text(scripts: Scripts) -> None:
    owner = agent((await ready(scripts.settings({"text": "cut sho", "error": "max_tokens"}))).model)
    with pytest.raises(MaxTokensReachedException):
        await owner.invoke_async("hi")
    assert owner.messages[-1]["content"][0]["text"] == "cut sho"


async def test_when_looks_in_the_whole_request(scripts: Scripts) -> None:
    nested = {"when": 'say "so"', "then": {"text": "inner"}, "else": {"text": "outer"}}
    settings = scripts.settings({"when": "POISON", "then": {"text": "bad"}, "else": nested})
    model = (await ready(settings)).model
    result = {"toolUseId": "t", "status": "success", "content": [{"text": "xx POISON-7 xx"}]}
    poisoned = [*HELLO, {"role": "user", "content": [{"toolResult": result}]}]
    assert text_in(await events_of(model, poisoned)) == "bad"
    assert text_in(await events_of(model, system_prompt="POISON")) == "bad"
    assert text_in(await events_of(model, [{"role": "user", "content": [{"text": 'say "so"'}]}])) == "inner"
    assert text_in(await events_of(model)) == "outer"


async def test_side_calls_have_a_script_of_their_own(scripts: Scripts) -> None:
    settings = scripts.settings({"text": "m1"}, {"text": "m2"}, side=[{"text": "s1"}])
    prepared = await ready(settings)
    said = [
        text_in(await events_of(model)) for model in (prepared.model, prepared.side_model, prepared.model)
    ]
    assert said == ["m1", "s1", "m2"]
    assert [request["side"] for request in scripts.sent()] == [False, True, False]


async def test_without_a_side_script_side_calls_go_on_in_the_script(scripts: Scripts) -> None:
    prepared = await ready(scripts.settings({"text": "1"}, {"text": "2"}))
    assert text_in(await events_of(prepared.side_model)) == "1"
    assert text_in(await events_of(prepared.model)) == "2"
    assert [request["side"] for request in scripts.sent()] == [True, False]


@pytest.mark.parametrize("step", [{"text": "never", "delay": 3600}, {"text": "never", "silent": 3600}])
async def test_waiting_is_cancelled_at_once(scripts: Scripts, step: dict[str, Any]) -> None:
    model = (await ready(scripts.settings(step))).model
    started = asyncio.Event()

    async def listen() -> None:
        async for _ in heard(model):
            started.set()

    task = asyncio.create_task(listen())
    await asyncio.wait_for(started.wait(), 5)
    begun = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert time.perf_counter() - begun < 5


async def test_a_lone_surrogate_and_bytes_are_recorded(scripts: Scripts) -> None:
    (scripts.folder / "script.json").write_text('[{"text": "ok \\ud83d end"}]')
    settings = scripts.make(provider="scripted", script="script.json", record="requests.jsonl")
    model = (await ready(settings)).model
    assert text_in(await events_of(model)) == "ok \ud83d end"
    image = {"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}
    await events_of(model, [{"role": "user", "content": [image, {"text": "\ud83d"}]}])
    content = scripts.sent()[-1]["messages"][0]["content"]
    assert content[0]["image"]["source"]["bytes"] == {"__bytes_encoded__": True, "data": "AP8="}
    assert content[1]["text"] == "\ud83d"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("[{", "is not JSON: line 1, column 3"),
        ("{}", "must be a JSON array"),
        ("[]", "at least one step"),
        ('[{"text": "a"}, 7]', "step 2 is not an object"),
        ('[{"txt": "a"}]', "step 1 has an unknown key 'txt'"),
        ('[{"chunks": 2}]', "step 1 says nothing"),
        ('[{"text": 1}]', "step 1: text must be a text"),
        ('[{"text": "a", "chunks": true}]', "step 1: chunks must be a whole number"),
        ('[{"text": "a", "chunks": 0}]', "step 1: chunks must be at least 1"),
        ('[{"text": "a", "delay": -1}]', "step 1: delay must be a number of seconds"),
        ('[{"error": "boom"}]', "step 1: error must be one of throttled, overflow"),
        ('[{"error": "refused", "tools": [{"name": "a"}]}]', "keep from being called"),
        ('[{"tools": [{"input": {}}]}]', "step 1, tool 1 has no name"),
        ('[{"when": "a", "then": {"text": "b"}}]', "step 1 has 'when' without 'else'"),
        ('[{"when": "a", "then": {"text": "b"}, "else": {}}]', "step 1, 'else' says nothing"),
        ('[{"text": "a", "usage": {"inputTokens": "many"}}]', "usage.inputTokens must be a count"),
    ],
)
async def test_a_broken_script_is_named_with_its_step(
    tmp_path: Path, make_settings: MakeSettings, script: str, says: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(script)
    with pytest.raises(ConfigError) as caught:
        await ready(make_settings(provider="scripted", script="broken.json"))
    assert str(path) in caught.value.line()
    assert says in caught.value.line()


async def test_a_scripted_model_is_one_call_away_for_plugin_authors(tmp_path: Path) -> None:
    model = scripted_model("one", {"text": "two"}, record=tmp_path / "sent.jsonl")
    owner = agent(model)
    assert [str(await owner.invoke_async("hi")).strip() for _ in range(3)] == ["one", "two", "two"]
    assert len((tmp_path / "sent.jsonl").read_text().splitlines()) == 3
    with pytest.raises(ConfigError, match="The script, step 2 has an unknown key 'txt'"):
        scripted_model("one", {"txt": "two"})


async def test_what_is_missing_is_named(tmp_path: Path, make_settings: MakeSettings) -> None:
    with pytest.raises(ConfigError, match=r"\[models.default\].*no script"):
        await ready(make_settings(provider="scripted"))
    with pytest.raises(ModelNotReady, match=r"Script not found: .*/nowhere\.json"):
        await ready(make_settings(provider="scripted", script="nowhere.json"))
    (tmp_path / "ok.json").write_text('[{"text": "a"}]')
    with pytest.raises(ModelNotReady, match=r"record does not exist: .*/missing"):
        await ready(make_settings(provider="scripted", script="ok.json", record="missing/r.jsonl"))
