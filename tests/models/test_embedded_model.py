"""The embedded model with real, small weights: it streams, stops when told, survives its process's death."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
from pydantic import BaseModel
from strands.types.content import Messages
from strands.types.exceptions import ContextWindowOverflowException
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolChoice, ToolSpec

from tau.config.settings import ModelSettings, Places, Settings
from tau.errors import ModelCallFailed, ModelNotReady
from tau.models import embedded
from tau.models.embedded.model import EmbeddedModel
from tau.models.embedded.process import Child, Lease
from tau.models.registry import prepare
from tau.models.shaped import shaped
from tau.models.translated import TranslatedModel
from tests.models.conftest import kept_weights

pytestmark = pytest.mark.embedded

WEIGHTS = "smollm2-135m"
LONG = "word " * 6_000
STOPS_WITHIN = 2.0
"""Seconds in which a cancelled call lets go, and its computation with it."""

SPECS: list[ToolSpec] = [
    {
        "name": "read_file",
        "description": "Read a text file.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {"path": {"type": "string", "maxLength": 40}, "limit": {"type": "integer"}},
                "required": ["path"],
                "additionalProperties": False,
            }
        },
    },
    {
        "name": "deploy",
        "description": "Deploy the site.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {
                    "where": {"enum": ["staging", "production"]},
                    "sure": {"type": "boolean"},
                    "hosts": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
                    "by": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "maxLength": 8}},
                        "required": ["name"],
                    },
                },
                "required": ["where", "sure", "by"],
                "additionalProperties": False,
            }
        },
    },
]


@pytest.fixture(scope="session")
def small_places() -> Places:
    """Where the test weights are kept between runs."""
    return kept_weights(WEIGHTS)


@pytest.fixture
async def model(small_places: Places) -> AsyncIterator[EmbeddedModel]:
    made = embedded.build(ModelSettings(weights=WEIGHTS, max_tokens=300), small_places, os.environ)
    yield made
    made.close()


@pytest.fixture(scope="module")
def lasting(small_places: Places) -> Iterator[EmbeddedModel]:
    """A model whose process serves several tests; its other window keeps it apart from that of `model`."""
    settings = ModelSettings(weights=WEIGHTS, context_window=4096, max_tokens=120)
    made = embedded.build(settings, small_places, os.environ)
    yield made
    made.close()


@pytest.fixture
def brief(lasting: EmbeddedModel) -> Iterator[EmbeddedModel]:
    """The lasting model, for answers in words of which the beginning is enough."""
    longer = lasting.get_config()["max_tokens"]
    lasting.update_config(max_tokens=20)
    yield lasting
    lasting.update_config(max_tokens=longer)


def said(text: str) -> Messages:
    return [{"role": "user", "content": [{"text": text}]}]


def stream(model: EmbeddedModel, text: str, **options: Any) -> AsyncGenerator[StreamEvent, None]:
    return model.stream(said(text), **options)


def delta(event: StreamEvent) -> str:
    return event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")


async def answer(model: EmbeddedModel, text: str = "Say hello.") -> str:
    return "".join([delta(event) async for event in stream(model, text)])


async def drain(events: AsyncGenerator[StreamEvent, None]) -> None:
    async for _ in events:
        continue


async def input_tokens(events: AsyncGenerator[StreamEvent, None]) -> int:
    last = [event async for event in events][-1]
    return last["metadata"]["usage"]["inputTokens"]


def child_of(model: EmbeddedModel) -> Child:
    return model._lease.child()


async def pid_of(model: EmbeddedModel) -> int:
    await until(lambda: child_of(model).pid is not None)
    return cast("int", child_of(model).pid)


def computed(pid: int) -> float:
    """Seconds of processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gone(pid: int) -> bool:
    """Whether a process is over; a zombie counts where nobody is there to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True


async def until(condition: Callable[[], bool], seconds: float = 20) -> float:
    """Wait for a condition and return how long it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "waited too long"
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def until_idle(pid: int) -> float:
    """Wait until a process computes nothing for a quarter of a second; seconds from now to that quiet."""
    started = quiet = time.monotonic()
    before = computed(pid)
    while time.monotonic() - quiet < 0.25:
        await asyncio.sleep(0.02)
        if computed(pid) - before > 0.02:
            before, quiet = computed(pid), time.monotonic()
        assert time.monotonic() - started < 20, "it never stopped"
    return quiet - started


async def cancel(call: asyncio.Task[Any]) -> float:
    started = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    return time.monotonic() - started


async def test_an_answer_streams_and_is_counted(brief: EmbeddedModel) -> None:
    events = [event async for event in stream(brief, "Write a long story about the sea.")]

    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert len([event for event in events if delta(event)]) > 5
    [stop] = [event["messageStop"]["stopReason"] for event in events if "messageStop" in event]
    assert stop in ("end_turn", "max_tokens")
    usage = events[-1]["metadata"]["usage"]
    assert usage["inputTokens"] > 5
    assert usage["outputTokens"] > 5
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    assert brief.context_window_limit == 4096


async def test_what_the_cache_had_is_counted_once(small_places: Places, tmp_path: Path) -> None:
    table = ModelSettings(provider="embedded", weights=WEIGHTS, context_window=4096, max_tokens=5)
    settings = Settings(places=small_places, directory=tmp_path, models={"default": table})
    prepared = await prepare(settings, "default", environ=os.environ)
    try:
        for _ in range(2):
            events = [event async for event in prepared.model.stream(said("Count to three."))]
    finally:
        prepared.close()
    reported = events[-1]["metadata"]["usage"]
    usage = prepared.count_usage(reported)
    assert usage.cached_tokens > 0
    assert usage.request_tokens == reported["inputTokens"]


async def test_text_arrives_while_it_is_generated(model: EmbeddedModel) -> None:
    await model.prepare()
    model.update_config(max_tokens=60)
    started = time.monotonic()
    events = stream(model, "Write a long story about the sea.")
    times = [time.monotonic() - started async for event in events if delta(event)]

    assert len(times) > 20
    assert times[0] < times[-1] / 2


async def test_a_message_may_come_while_the_prompts_are_prepared(model: EmbeddedModel) -> None:
    model.update_config(max_tokens=30)
    preparing = asyncio.create_task(model.prepare(SPECS, "Working directory: /tmp"))
    events = [event async for event in stream(model, "Say hello.", tool_specs=SPECS)]
    await preparing

    assert "messageStop" in events[-2]


async def test_cancelling_while_it_loads(model: EmbeddedModel) -> None:
    call = asyncio.create_task(answer(model))
    pid = await pid_of(model)

    assert await cancel(call) < STOPS_WITHIN
    assert await answer(model)
    assert await pid_of(model) == pid


async def test_cancelling_while_it_reads_the_prompt(model: EmbeddedModel) -> None:
    await model.prepare()
    pid = await pid_of(model)
    before = computed(pid)
    call = asyncio.create_task(answer(model, LONG))
    await until(lambda: computed(pid) - before > 0.5)

    assert await cancel(call) + await until_idle(pid) < STOPS_WITHIN
    assert await answer(model)


@pytest.mark.parametrize("how", ["task", "aclose", "break"])
async def test_cancelling_while_it_generates(model: EmbeddedModel, how: str) -> None:
    await model.prepare()
    pid = await pid_of(model)
    generating = asyncio.Event()

    async def call() -> None:
        events = stream(model, "Write a long story about the sea.")
        async for event in events:
            if delta(event):
                generating.set()
                if how == "break":
                    break
                if how == "aclose":
                    await events.aclose()

    task = asyncio.create_task(call())
    await generating.wait()
    took = await cancel(task) if how == "task" else 0.0
    await asyncio.wait([task])

    assert took + await until_idle(pid) < STOPS_WITHIN


async def test_a_killed_process_costs_one_answer(model: EmbeddedModel) -> None:
    events = stream(model, "Write a long story about the sea.")
    async for event in events:
        if delta(event):
            break
    pid = await pid_of(model)
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(ModelCallFailed, match=r"stopped in the middle of the answer \(killed by SIGKILL\)$"):
        await drain(events)
    assert not Path(f"/proc/{pid}").exists()
    assert await answer(model)
    assert await pid_of(model) != pid


async def test_a_process_killed_while_it_loads(model: EmbeddedModel) -> None:
    call = asyncio.create_task(answer(model))
    os.kill(await pid_of(model), signal.SIGKILL)

    with pytest.raises(ModelCallFailed, match=r"ended while it loaded \(killed by SIGKILL\)"):
        await call
    assert await answer(model)


PARENT = """
import asyncio, os, sys
from pathlib import Path
from tau.models.embedded.model import EmbeddedModel

async def main():
    weights = Path(sys.argv[1])
    model = EmbeddedModel(
        weights, model_id="x", window=8192, max_tokens=2000, params={}, environ=os.environ
    )
    child = model._lease.child()
    while child.pid is None:
        await asyncio.sleep(0.005)
    print(child.pid, flush=True)
    async for event in model.stream([{"role": "user", "content": [{"text": "Write a long story."}]}]):
        if "contentBlockDelta" in event:
            print("generating", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("phase", ["loading", "generating"])
async def test_the_process_dies_with_its_parent(small_places: Places, phase: str) -> None:
    weights = embedded.installed(WEIGHTS, small_places)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(weights)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(await asyncio.to_thread(parent.stdout.readline))
    if phase == "generating":
        assert await asyncio.to_thread(parent.stdout.readline) == "generating\n"
    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert await until(lambda: gone(pid)) < STOPS_WITHIN


async def test_closing_ends_the_process_and_a_later_call_starts_it_again(model: EmbeddedModel) -> None:
    assert await answer(model)
    pid = await pid_of(model)

    model.close()

    assert not Path(f"/proc/{pid}").exists()
    assert await answer(model)


async def test_models_of_the_same_weights_share_one_process(
    model: EmbeddedModel, small_places: Places
) -> None:
    other = embedded.build(ModelSettings(weights=WEIGHTS), small_places, os.environ)
    pid = await pid_of(model)
    assert await pid_of(other) == pid

    other.close()

    assert not gone(pid)
    assert await answer(model)


async def test_nobody_else_can_use_it_and_it_knows_no_secrets(small_places: Places) -> None:
    weights = embedded.installed(WEIGHTS, small_places)
    assert weights is not None
    lease = Lease(weights, 8192, None, {**os.environ, "SOME_API_KEY": "sesame"})
    try:
        child = lease.child()
        address = await asyncio.wrap_future(child.ready)
        request = urllib.request.Request(f"{address.url}/v1/chat/completions", b"{}")
        restoring = urllib.request.Request(f"{address.url}/slots/0?action=restore", b'{"filename": "x"}')
        for forbidden in (request, restoring):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                await asyncio.to_thread(urllib.request.urlopen, forbidden)
        assert address.url.startswith("http://127.0.0.1:")
        assert b"sesame" not in Path(f"/proc/{child.pid}/environ").read_bytes()
        assert address.key.encode() not in Path(f"/proc/{child.pid}/cmdline").read_bytes()
    finally:
        lease.close()


@pytest.mark.parametrize("name", ["read_file", "deploy"])
async def test_a_forced_call_is_valid_whatever_the_model_thinks(lasting: EmbeddedModel, name: str) -> None:
    choice = cast("ToolChoice", {"tool": {"name": name}})
    events = [event async for event in stream(lasting, "Hm?", tool_specs=SPECS, tool_choice=choice)]

    start, given = (cast("dict[str, Any]", event) for event in events[1:3])
    call = start["contentBlockStart"]["start"]["toolUse"]
    assert call["name"] == name
    assert call["toolUseId"]
    [spec] = [spec for spec in SPECS if spec["name"] == name]
    arguments = json.loads(given["contentBlockDelta"]["delta"]["toolUse"]["input"])
    jsonschema.validate(arguments, spec["inputSchema"]["json"])
    assert {"messageStop": {"stopReason": "tool_use"}} in events
    assert events[-1]["metadata"]["usage"]["outputTokens"] > 0


async def test_a_call_that_is_cut_off_is_an_error(model: EmbeddedModel) -> None:
    model.update_config(max_tokens=4)

    with pytest.raises(ModelCallFailed, match="longer than max_tokens = 4"):
        await drain(stream(model, "Hm?", tool_specs=SPECS, tool_choice=cast("ToolChoice", {"any": {}})))


async def test_after_a_result_it_answers_in_words(brief: EmbeddedModel) -> None:
    messages: Messages = [
        *said("What does a.txt say?"),
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "1", "name": "read_file", "input": {"path": "a.txt"}}}],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "1", "status": "success", "content": [{"text": "alpha"}]}}
            ],
        },
    ]
    events = [event async for event in brief.stream(messages, SPECS)]

    assert "".join(delta(event) for event in events)
    assert not [event for event in events if "toolUse" in event.get("contentBlockStart", {}).get("start", {})]


async def test_a_message_that_cannot_fit_is_an_overflow_and_an_old_one_is_left_out(
    brief: EmbeddedModel,
) -> None:
    with pytest.raises(ContextWindowOverflowException):
        await answer(brief, "word " * 9_000)
    history: Messages = [*said("word " * 9_000), {"role": "assistant", "content": [{"text": "ok"}]}]

    events = [event async for event in brief.stream([*history, *said("Say hello.")])]

    assert "".join(delta(event) for event in events)


async def test_long_calls_at_once_wait_for_each_other(small_places: Places) -> None:
    settings = ModelSettings(weights=WEIGHTS, context_window=512, max_tokens=5)
    model = embedded.build(settings, small_places, os.environ)
    try:
        calls = [stream(model, "cat " * 250), stream(model.aside(), "dog " * 250)]
        spent = await asyncio.gather(*(input_tokens(call) for call in calls))
    finally:
        model.close()

    assert min(spent) > 250  # both together are more than the window


async def test_a_side_call_leaves_nothing_out(brief: EmbeddedModel) -> None:
    history: Messages = [*said("word " * 9_000), {"role": "assistant", "content": [{"text": "ok"}]}]

    with pytest.raises(ContextWindowOverflowException):
        await drain(brief.aside().stream([*history, *said("Summarize.")], None, "You summarize."))
    assert await answer(brief.aside())


async def test_half_a_character_does_not_break_a_call(brief: EmbeddedModel) -> None:
    assert await answer(brief, "ok \ud83d end \u2028 🙂")


async def test_structured_output_is_of_the_type_asked_for(lasting: EmbeddedModel) -> None:
    class Person(BaseModel):
        age: int
        married: bool

    [found] = [event async for event in lasting.structured_output(Person, said("Ada is 36."))]

    assert isinstance(found["output"], Person)


async def test_damaged_weights_are_named(small_places: Places, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    weights = embedded.installed(WEIGHTS, small_places)
    assert weights is not None
    with weights.open("rb") as whole:
        damaged.write_bytes(whole.read(10_000_000))
    model = embedded.build(ModelSettings(weights=str(damaged)), small_places, os.environ)
    try:
        with pytest.raises(ModelNotReady, match=f"The weights at {damaged} cannot be loaded") as caught:
            await answer(model)
        assert "\n" not in caught.value.line()
    finally:
        model.close()


async def test_the_loop_is_never_held_up(brief: EmbeddedModel) -> None:
    """The processor of a busy machine may be away for a while, but not in each of three answers."""
    blocks = []
    for _ in range(3):
        longest, last = 0.0, time.monotonic()

        async def beat() -> None:
            nonlocal longest, last
            while True:
                await asyncio.sleep(0.005)
                now = time.monotonic()
                longest, last = max(longest, now - last), now

        beating = asyncio.create_task(beat())
        await answer(brief, "Count from one to ten.")
        beating.cancel()
        blocks.append(longest)
    assert min(blocks) < 0.25


async def test_an_answer_is_held_to_a_schema_and_those_of_the_model_itself_are_not(
    lasting: EmbeddedModel,
) -> None:
    kinds = ["rule", "task"]
    held = shaped(lasting.aside(), {"enum": kinds})
    assert isinstance(held, EmbeddedModel)
    for text in ("Say hello.", "Never use tabs."):
        assert json.loads(await answer(held, text)) in kinds
    assert await answer(lasting, "Say hello.") not in map(json.dumps, kinds)
    assert shaped(TranslatedModel(lasting), {"enum": kinds}).get_config() is lasting.get_config()


async def test_a_schema_with_bounds_inside_bounds_is_followed(lasting: EmbeddedModel) -> None:
    short = {"type": "string", "minLength": 1, "maxLength": 200}
    note = {"type": "object", "properties": {"note": short}, "required": ["note"]}
    schema = {"type": "array", "items": note, "minItems": 1, "maxItems": 20}
    lasting.update_config(max_tokens=200)  # more than one note takes, less than the twenty that it may write
    text = await answer(cast("EmbeddedModel", shaped(lasting.aside(), schema)), "Note: tabs.")
    whole = text if text.endswith("]") else text[: text.rindex('"}') + 2] + "]"
    jsonschema.validate(json.loads(whole), schema)
