"""A conversation that is cut off after any write goes on: calls paired, roles alternating, no word lost."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strands import tool
from strands.types.session import decode_bytes_values

from tau.agent.history import INTERRUPTED_RESULT
from tau.agent.runner import AgentRunner
from tau.config.settings import AgentSettings, ApprovalSettings
from tau.errors import StoreWriteFailed
from tau.events import ApprovalAsked, Decision
from tau.gate.gate import Gate
from tau.models.script import read_script
from tau.models.scripted_model import Cursor, ScriptedModel
from tau.sessions.file import open_store as open_files
from tau.sessions.memory import open_store as open_memory
from tau.sessions.store import SessionStore, SessionWriter, StoreContext
from tau.tools.context import ToolContext
from tests.conversation.test_turns import check_request

WRITES = (
    "append",
    "append_scratch",
    "clear_scratch",
    "keep_result",
    "clear_kept_results",
    "write_agent_state",
    "patch_meta",
    "append_event",
)
PICTURE = b"\x89PNG\r\n" + bytes(range(256)) * 20


@dataclass
class Writes:
    """A real writer that keeps a list of what was written through it, and fails once where it is told to.

    Attributes:
        done: Each write that succeeded: its name, its arguments and options.
        fail_at: The number of the message append that fails, as on a full disk; None for none.
    """

    writer: SessionWriter
    fail_at: int | None = None
    done: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    appends: int = 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.writer, name)
        if name not in WRITES:
            return call

        def write(*arguments: Any, **options: Any) -> Any:
            kept = json.loads(json.dumps(arguments)) if name == "append" else arguments
            if name == "append":
                self.appends += 1
                if self.appends == self.fail_at:
                    raise StoreWriteFailed("The message could not be written: No space left on device")
            result = call(*arguments, **options)
            self.done.append((name, tuple(kept), options))
            return result

        return write


def replay(writes: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]], writer: SessionWriter) -> None:
    for name, arguments, options in writes:
        getattr(writer, name)(*arguments, **options)


def said(writes: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]], *, scratch_kept: bool) -> list[str]:
    """Every text that was acknowledged: of messages and results, and what streams, if that is kept."""
    texts: list[str] = []
    streamed = [""]
    for name, arguments, _ in writes:
        if name == "append":
            for block in arguments[1]["content"]:
                texts += [block["text"]] if "text" in block else []
                if "toolResult" in block:
                    texts += [item["text"] for item in block["toolResult"]["content"] if "text" in item]
        elif name == "append_scratch":
            streamed[-1] += arguments[0]
        elif name == "clear_scratch":
            streamed.append("")
    return [*texts, *streamed] if scratch_kept else texts


@tool
def look(word: str) -> str:
    """Say a word."""
    return f"saw {word}"


def long_text(word: str) -> str:
    """More than an event keeps of a result."""
    return f"{word} begins " + "a" * 15_000 + f" {word} in the middle " + "b" * 15_000 + f" {word} ends"


@tool
def show(word: str) -> dict[str, Any]:
    """Show a long text and a picture."""
    picture = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    return {"status": "success", "content": [{"text": long_text(word)}, picture]}


@tool
def fail(word: str) -> str:
    """Fail."""
    message = f"no {word} here"
    raise ValueError(message)


look.tier = show.tier = 0  # type: ignore[attr-defined]  # what the gate reads
# The other one has no tier, so that it waits for an answer.


def runner(
    place: Path, writer: Any, steps: Sequence[dict[str, Any]], answers: Sequence[Decision]
) -> AgentRunner:
    script = place / "script.json"
    script.write_text(json.dumps(steps))
    left = list(answers)
    made: list[AgentRunner] = []

    async def ask(asked: ApprovalAsked) -> tuple[Decision, str]:
        return (left.pop(0) if left else "yes"), ""

    @tool
    async def stop(word: str) -> str:
        """Cancel the turn from inside it."""
        stopping = asyncio.create_task(made[0].cancel())
        await asyncio.sleep(0)
        del stopping
        await asyncio.Event().wait()
        return word

    stop.tier = 0  # type: ignore[attr-defined]  # as above
    made.append(
        AgentRunner(
            model=ScriptedModel(
                Cursor(read_script(script)),
                model_id="s",
                context_window=None,
                record=place / "requests.jsonl",
            ),
            writer=writer,
            settings=AgentSettings(window_size=1_000, max_turns=4),
            system_prompt="You are tau.",
            tools=[look, show, fail, stop],
            gate=Gate(ApprovalSettings(), ToolContext(directory=place, state_dir=place, session_id="s")),
            ask=ask,
        )
    )
    return made[0]


WORDS = st.integers(0, 10_000).map("word{}".format)
CALLS = st.tuples(st.sampled_from(["look", "look", "show", "fail", "missing", "stop"]), WORDS)
STEPS = st.one_of(
    st.fixed_dictionaries({"text": WORDS}),
    st.fixed_dictionaries(
        {"text": st.sampled_from(["", "thinking"]), "calls": st.lists(CALLS, min_size=1, max_size=3)}
    ),
    st.sampled_from([{"error": "max_tokens", "text": "cut short"}, {"error": "refused"}]),
)


def scripted(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps as the script has them; every call has an id of its own."""
    made: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        step = dict(step)  # noqa: PLW2901  # the drawn value stays as Hypothesis prints it
        calls = step.pop("calls", None)
        if calls:
            step["tools"] = [
                {"name": name, "input": {"word": word}, "id": f"t{number}-{place}"}
                for place, (name, word) in enumerate(calls)
            ]
        made.append(step)
    return [*made, {"text": "the end"}]


def stores(kind: str, place: Path) -> SessionStore:
    context = StoreContext(data_dir=place / "data", state_dir=place / "state")
    return open_memory(context) if kind == "memory" else open_files(context)


@dataclass(frozen=True)
class Case:
    """A conversation and where it is cut.

    Attributes:
        steps: What the model does.
        turns: What the person says.
        answers: The answers to questions, in order; after them, yes.
        fail_at: The append that fails once; None for none.
        where: The part of all writes that is kept, from 0 to 1.
        kind: The store.
    """

    steps: list[dict[str, Any]]
    turns: list[str]
    answers: list[Decision]
    fail_at: int | None
    where: float
    kind: str


CASES = st.builds(
    Case,
    steps=st.lists(STEPS, min_size=1, max_size=6),
    turns=st.lists(WORDS, min_size=1, max_size=3),
    answers=st.lists(st.sampled_from(["yes", "no"]), max_size=4),
    fail_at=st.none() | st.integers(1, 8),
    where=st.floats(0, 1),
    kind=st.sampled_from(["memory", "memory", "memory", "file"]),
)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.agent.runner.CANCEL_GRACE", 0.02)
    monkeypatch.setattr("tau.agent.runner.MODEL_GRACE", 0.02)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(CASES)
def test_a_cut_after_any_write_is_gone_on_from(case: Case) -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(go_on(Path(name), case))


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_long_result_and_a_picture_survive_every_cut(kind: str) -> None:
    step = {"text": "", "calls": [("show", "word1"), ("show", "word2"), ("look", "word3")]}
    for part in range(25):
        with tempfile.TemporaryDirectory() as name:
            case = Case([step], ["word0"], [], None, part / 24, kind)
            asyncio.run(go_on(Path(name), case))


ROUND = [
    {
        "tools": [
            {"name": name, "input": {"word": word}, "id": f"t{number}"}
            for number, (name, word) in enumerate([("show", "first"), ("look", "second"), ("stop", "third")])
        ]
    }
]


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    store = stores(request.param, tmp_path)
    yield store
    store.close()


def results_in(writer: SessionWriter) -> list[dict[str, Any]]:
    """The results of the last message but two: behind it are the notice, the prompt and the reply."""
    message = decode_bytes_values(writer.messages()[-4].message)
    return [block["toolResult"] for block in message["content"]]


async def test_a_turn_that_is_cancelled_and_left_keeps_what_had_ended(
    tmp_path: Path, store: SessionStore
) -> None:
    """However often it is resumed before something is said; then nothing is kept beside the record."""
    writer = store.create("s", meta={})
    await runner(tmp_path, writer, ROUND, []).run("go", lambda event: None)
    kept = writer.kept_results()
    assert len(kept) == 1, "a short text is in its event already"
    for _ in range(3):
        writer.close()
        writer = store.hold("s")
        going = runner(tmp_path, writer, [{"text": "on"}], [])
        assert writer.kept_results() == kept
    await going.run("and now?", lambda event: None)
    shown, looked, stopped = results_in(writer)
    picture = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    assert shown["content"] == [{"text": long_text("first")}, picture]
    assert looked["content"] == [{"text": "saw second"}]
    assert stopped["content"] == [{"text": INTERRUPTED_RESULT}]
    assert writer.kept_results() == []
    assert writer.scratch() == ""


async def test_a_result_that_is_recorded_is_kept_no_longer(tmp_path: Path, store: SessionStore) -> None:
    writer = Writes(store.create("s", meta={}))
    steps = scripted([{"calls": [("show", "one")]}, {"calls": [("look", "two"), ("show", "three")]}])
    await runner(tmp_path, writer, steps, []).run("go", lambda event: None)
    names = [name for name, _, _ in writer.done if name in ("append", "keep_result", "clear_kept_results")]
    let_go = ["append", "clear_kept_results"]
    asked_and_kept = ["append", "keep_result", *let_go]
    assert names == [*let_go, *asked_and_kept, *asked_and_kept, "append"]
    assert writer.writer.kept_results() == []


async def test_a_result_of_an_earlier_message_answers_no_call_of_the_same_id(
    tmp_path: Path, store: SessionStore
) -> None:
    """Nor does one that is of another shape; some providers count their calls anew in every turn."""
    writer = store.create("s", meta={})
    await runner(tmp_path, writer, ROUND, []).run("go", lambda event: None)
    (kept,) = writer.kept_results()
    other = {**kept["result"], "content": [{"text": "another"}]}
    odd: list[dict[str, Any]] = [
        {"message": "another", "result": other},
        {"message": "", "result": other},
        {"result": other},
        {**kept, "result": {**other, "toolUseId": "t9"}},
        {**kept, "result": {**other, "status": None}},
        {**kept, "result": {**other, "content": "another"}},
        {**kept, "result": []},
        {"message": kept["message"]},
    ]
    for item in odd:
        writer.keep_result(item)
    await runner(tmp_path, writer, [{"text": "on"}], []).run("and now?", lambda event: None)
    assert results_in(writer)[0]["content"][0] == {"text": long_text("first")}

    await runner(tmp_path, writer, ROUND, []).run("again", lambda event: None)
    writer.keep_result({**kept, "result": {**other, "toolUseId": "t2"}})
    await runner(tmp_path, writer, [{"text": "on"}], []).run("and now?", lambda event: None)
    assert results_in(writer)[2]["content"] == [{"text": INTERRUPTED_RESULT}]


async def test_a_result_that_cannot_be_kept_is_recorded_all_the_same(
    tmp_path: Path, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = store.create("s", meta={})

    def full(result: Mapping[str, Any]) -> None:
        raise StoreWriteFailed("Cannot write .results: No space left on device")

    monkeypatch.setattr(writer, "keep_result", full)
    steps = scripted([{"calls": [("show", "one")]}])
    end = await runner(tmp_path, writer, steps, []).run("go", lambda event: None)
    assert end.stop_reason == "end_turn"
    recorded = decode_bytes_values(writer.messages()[2].message)["content"][0]["toolResult"]
    assert recorded["content"][0] == {"text": long_text("one")}


async def go_on(place: Path, case: Case) -> None:
    store = stores(case.kind, place)
    recorded = Writes(store.create("recorded", meta={}), case.fail_at)
    before = runner(place, recorded, scripted(case.steps), case.answers)
    for text in case.turns:
        await before.run(f"says {text}", lambda event: None)
        before.flush()
    cut = recorded.done[: round(case.where * len(recorded.done))]
    kept = [text for text in said(cut, scratch_kept=case.kind == "file") if text.strip()]

    after = store.create("after", meta={})
    replay(cut, after)
    (place / "requests.jsonl").unlink(missing_ok=True)
    history: list[dict[str, Any]] = []
    for number in range(3):
        going = runner(place, after, [{"text": f"reply {number}"}], [])
        remembered = going.messages_in_memory
        again = runner(place, after, [{"text": f"reply {number}"}], [])
        assert again.messages_in_memory == remembered, "looking at it changes nothing"
        end = await again.run(f"next {number}", lambda event: None)
        again.flush()
        assert end.stop_reason == "end_turn"
        requests = [json.loads(line) for line in (place / "requests.jsonl").read_text().splitlines()]
        sent = requests[-1]["messages"]
        check_request(sent)
        everything = json.dumps(sent)
        for text in kept:
            assert json.dumps(text)[1:-1].strip() in everything, f"{text!r} is gone"
        ended = {
            arguments[0]["tool_use_id"]: arguments[0]
            for name, arguments, _ in cut
            if name == "append_event"
            and arguments[0]["kind"] == "tool_call"
            and arguments[0]["status"] != "cancelled"
        }
        unanswered = calls_of(cut) - results_of(cut)
        for use_id in unanswered:
            (result,) = [
                block["toolResult"]
                for message in sent
                for block in message["content"]
                if block.get("toolResult", {}).get("toolUseId") == use_id
            ]
            event = ended.get(use_id)
            if event is not None and event["tool"] == "show":
                assert_whole(result, long_text(event["arguments"]["word"]))
            elif event is not None:
                assert result["content"][0]["text"] == event["result"], (
                    "a call that had ended keeps its result"
                )
            elif result["status"] == "success":  # killed between the call's end and its event
                assert_whole(result, result["content"][0]["text"])
                assert use_id in {
                    arguments[0]["result"]["toolUseId"] for name, arguments, _ in cut if name == "keep_result"
                }
            else:
                assert result["status"] == "error"
                assert INTERRUPTED_RESULT in result["content"][0]["text"]
        assert after.kept_results() == []
        assert sent[: len(history)] == history, "what was sent before is sent again as it was"
        history = [*sent, {"role": "assistant", "content": [{"text": f"reply {number}"}]}]
    after.close()
    recorded.writer.close()
    store.close()


def assert_whole(result: dict[str, Any], text: str) -> None:
    """Not even the middle of a long result is gone, nor its picture."""
    first, second = result["content"]
    assert first["text"] == text
    assert base64.b64decode(second["image"]["source"]["bytes"]["data"]) == PICTURE


def calls_of(writes: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> set[str]:
    return ids_of(writes, "toolUse")


def results_of(writes: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> set[str]:
    return ids_of(writes, "toolResult")


def ids_of(writes: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]], kind: str) -> set[str]:
    return {
        block[kind]["toolUseId"]
        for name, arguments, _ in writes
        if name == "append"
        for block in arguments[1]["content"]
        if kind in block
    }
