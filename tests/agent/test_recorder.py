"""The recorder loses nothing when a write fails, and costs the disk at most two waits a turn."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strands import tool

from tau.agent.history import INTERRUPTED_RESULT
from tau.agent.permission import Ask
from tau.agent.runner import AgentRunner
from tau.config.settings import AgentSettings, ApprovalSettings
from tau.errors import StoreWriteFailed
from tau.events import ApprovalAsked, Decision, Notice, ToolUseEnded, TurnEnd, TurnEvent
from tau.gate.gate import Gate
from tau.models.script import read_script
from tau.models.scripted_model import Cursor, ScriptedModel
from tau.sessions.file import open_store
from tau.sessions.store import SessionWriter, StoreContext
from tau.tools.context import ToolContext

LIMITS = AgentSettings()
Fault = Callable[[str], None]


async def yes(asked: ApprovalAsked) -> tuple[Decision, str]:
    return "yes", ""


def runner(
    tmp_path: Path,
    writer: Any,
    *steps: dict[str, Any],
    tools: tuple[Any, ...] = (),
    ask: Ask | None = yes,
    limits: AgentSettings = LIMITS,
) -> AgentRunner:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(steps))
    model = ScriptedModel(
        Cursor(read_script(script)), model_id="s", context_window=None, record=tmp_path / "requests.jsonl"
    )
    return AgentRunner(
        model=model,
        writer=writer,
        settings=limits,
        system_prompt="You are tau.",
        tools=tools,
        gate=Gate(ApprovalSettings(), ToolContext(directory=tmp_path, state_dir=tmp_path, session_id="s")),
        ask=ask,
    )


async def turn(agent: AgentRunner, text: str) -> tuple[list[TurnEvent], TurnEnd]:
    events: list[TurnEvent] = []
    return events, await agent.run(text, events.append)


class Watched:
    """A real writer whose calls can be watched and made to fail as a full disk does."""

    def __init__(self, writer: SessionWriter) -> None:
        self._writer = writer
        self.calls: list[str] = []
        self.full = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._writer, name)
        if name not in ("append", "flush"):
            return real

        def watched(*arguments: Any) -> Any:
            self.calls.append(name)
            if self.full:
                raise StoreWriteFailed("No space left on the disk of s1") from OSError(errno.ENOSPC, "full")
            return real(*arguments)

        return watched


def words(writer: SessionWriter) -> list[str]:
    return [stored.message["content"][0]["text"] for stored in writer.messages()]


async def test_a_message_that_could_not_be_written_goes_first_next_time(
    tmp_path: Path, writer: SessionWriter
) -> None:
    watched = Watched(writer)
    agent = runner(tmp_path, watched, {"text": "one"}, {"text": "two"}, {"text": "three"})
    await turn(agent, "first")
    watched.full = True
    events, end = await turn(agent, "second")
    assert end.stop_reason == "end_turn"
    assert [event for event in events if isinstance(event, Notice) and "not saved" in event.text]
    assert "No space left" in agent.unsaved
    assert words(writer) == ["first", "one"]
    watched.full = False
    _, end = await turn(agent, "third")
    assert agent.unsaved == ""
    assert words(writer) == ["first", "one", "second", "two", "third", "three"]
    assert [stored.index for stored in writer.messages()] == list(range(6))


async def test_a_turn_is_refused_while_the_one_before_cannot_be_saved(
    tmp_path: Path, writer: SessionWriter
) -> None:
    watched = Watched(writer)
    agent = runner(tmp_path, watched, {"text": "one"}, {"text": "two"})
    watched.full = True
    await turn(agent, "first")
    _, end = await turn(agent, "second")
    assert end.stop_reason == "error"
    assert "Nothing was sent" in end.notice
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 1
    watched.full = False
    await turn(agent, "third")
    assert words(writer) == ["first", "one", "third", "two"]


def effects(runs: list[str]) -> Any:
    @tool
    def change(what: str) -> str:
        """Change something.

        Args:
            what: What to change.
        """
        runs.append(what)
        return "changed"

    return change


CALL = {"tools": [{"name": "change", "input": {"what": "a"}, "id": "t1"}]}


async def test_a_call_with_effects_is_on_disk_before_it_runs(tmp_path: Path, writer: SessionWriter) -> None:
    runs: list[str] = []
    watched = Watched(writer)
    agent = runner(tmp_path, watched, CALL, {"text": "done"}, tools=(effects(runs),))
    await turn(agent, "go")
    agent.flush()
    assert runs == ["a"]
    # Prompt and call are written, then the one wait before the effect, then result and reply, then the last.
    assert watched.calls == ["append", "append", "flush", "append", "append", "flush"]


async def test_a_call_with_effects_does_not_run_when_it_cannot_be_recorded(
    tmp_path: Path, writer: SessionWriter
) -> None:
    runs: list[str] = []
    watched = Watched(writer)
    watched.full = True
    agent = runner(tmp_path, watched, CALL, {"text": "done"}, tools=(effects(runs),))
    await turn(agent, "go")
    assert runs == []
    watched.full = False
    agent.flush()
    assert "not run" in str(writer.messages()[2].message)


async def test_the_window_is_restored_and_the_record_is_whole(tmp_path: Path, writer: SessionWriter) -> None:
    agent = runner(tmp_path, writer, {"text": "reply"})
    for number in range(40):
        await turn(agent, f"message {number}")
    assert agent.messages_in_memory <= 60
    again = runner(tmp_path, writer, {"text": "reply"})
    assert again.messages_in_memory == agent.messages_in_memory
    assert writer.count() == 80


async def test_binary_content_survives_a_resume(tmp_path: Path, writer: SessionWriter) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\0\xff"}}}

    @tool
    def look() -> dict[str, Any]:
        """Look at a picture."""
        return {"status": "success", "content": [image]}

    steps = ({"tools": [{"name": "look", "input": {}, "id": "t1"}]}, {"text": "seen"})
    await turn(runner(tmp_path, writer, *steps, tools=(look,)), "go")
    again = runner(tmp_path, writer, {"text": "still"})
    restored = again._agent.messages[2]["content"][0]["toolResult"]["content"][0]
    assert restored == image


async def test_a_flush_that_fails_is_told_until_one_succeeds(tmp_path: Path, writer: SessionWriter) -> None:
    watched = Watched(writer)
    agent = runner(tmp_path, watched, {"text": "one"}, {"text": "two"})
    await turn(agent, "first")
    watched.full = True
    assert not agent.flush()
    assert "No space left" in agent.unsaved
    watched.full = False
    await turn(agent, "second")
    assert "No space left" in agent.unsaved, "appends alone have made nothing durable"
    assert agent.flush()
    assert agent.unsaved == ""


async def test_a_message_file_from_elsewhere_is_said_and_nothing_is_lost(
    tmp_path: Path, writer: SessionWriter
) -> None:
    agent = runner(tmp_path, writer, {"text": "one"}, {"text": "two"})
    await turn(agent, "first")
    foreign = tmp_path / "data" / "sessions" / "s1" / "agents" / "tau" / "messages" / "000002.json"
    foreign.write_text("{}")
    events, end = await turn(agent, "second")
    assert end.stop_reason == "end_turn"
    assert [event for event in events if isinstance(event, Notice) and "000002.json" in event.text]
    assert foreign.read_text() == "{}"
    _, end = await turn(agent, "third")
    assert "Nothing was sent" in end.notice


async def test_a_call_is_refused_when_there_is_nobody_to_ask(tmp_path: Path, writer: SessionWriter) -> None:
    runs: list[str] = []
    agent = runner(tmp_path, writer, CALL, {"text": "I may not"}, tools=(effects(runs),), ask=None)
    events, _ = await turn(agent, "go")
    assert runs == []
    ended = [event for event in events if isinstance(event, ToolUseEnded)]
    assert [(event.status, event.approval) for event in ended] == [("error", "denied")]
    assert "nobody to ask" in ended[0].result
    assert [event["kind"] for event in writer.events()] == ["approval", "tool_call"]


async def test_a_no_reaches_the_model_with_its_reason(tmp_path: Path, writer: SessionWriter) -> None:
    asked: list[ApprovalAsked] = []

    async def no(question: ApprovalAsked) -> tuple[Decision, str]:
        asked.append(question)
        return "no", "not on a Friday"

    runs: list[str] = []
    agent = runner(tmp_path, writer, CALL, {"text": "as you say"}, tools=(effects(runs),), ask=no)
    await turn(agent, "go")
    assert runs == []
    assert [(question.tool, dict(question.arguments)) for question in asked] == [("change", {"what": "a"})]
    assert "not on a Friday" in str(writer.messages()[2].message)
    decisions = [(event["kind"], event.get("decision")) for event in writer.events()]
    assert decisions == [("approval", "no"), ("tool_call", None)]


async def test_a_cancelled_question_means_no_and_nothing_runs(tmp_path: Path, writer: SessionWriter) -> None:
    never: asyncio.Future[tuple[Decision, str]] = asyncio.get_running_loop().create_future()
    waiting = asyncio.Event()

    async def wait(question: ApprovalAsked) -> tuple[Decision, str]:
        waiting.set()
        return await never

    runs: list[str] = []
    agent = runner(tmp_path, writer, CALL, {"text": "after"}, tools=(effects(runs),), ask=wait)
    going = asyncio.create_task(turn(agent, "go"))
    await waiting.wait()
    await agent.cancel(lambda: never.set_result(("yes", "")))
    _, end = await going
    assert end.stop_reason == "cancelled"
    assert runs == [], "a yes that comes with the cancel comes too late"


async def test_a_call_that_was_running_is_on_record_as_cancelled(
    tmp_path: Path, writer: SessionWriter
) -> None:
    started = threading.Event()
    release = threading.Event()

    @tool
    def linger() -> str:
        """Wait."""
        started.set()
        release.wait(30)
        return "too late"

    steps = ({"tools": [{"name": "linger", "input": {}, "id": "t1"}]}, {"text": "after"})
    agent = runner(tmp_path, writer, *steps, tools=(linger,))
    going = asyncio.create_task(turn(agent, "go"))
    await asyncio.to_thread(started.wait, 30)
    await agent.cancel()
    release.set()
    events, end = await going
    assert end.stop_reason == "cancelled"
    assert [event.status for event in events if isinstance(event, ToolUseEnded)] == ["cancelled"]
    calls = [event for event in writer.events() if event["kind"] == "tool_call"]
    assert [(call["tool"], call["status"]) for call in calls] == [("linger", "cancelled")]
    await turn(agent, "and now?")
    results = str([stored.message for stored in writer.messages()])
    assert "may have had effects" in results
    assert "too late" not in results


async def test_what_streamed_before_a_kill_is_in_the_history(tmp_path: Path, writer: SessionWriter) -> None:
    agent = runner(tmp_path, writer, {"text": "one"})
    await turn(agent, "first")
    writer.append(2, {"role": "user", "content": [{"text": "second"}]})
    writer.append_scratch("half an ans")
    again = runner(tmp_path, writer, {"text": "three"})
    await turn(again, "third")
    assert words(writer) == ["first", "one", "second", "half an ans\n\n[interrupted]", "third", "three"]
    assert writer.scratch() == ""


async def test_a_window_that_hides_everything_recorded_is_not_believed(
    tmp_path: Path, writer: SessionWriter
) -> None:
    agent = runner(tmp_path, writer, {"text": "one"})
    await turn(agent, "first")
    state = writer.agent_state()
    assert state is not None
    for removed in (2, 7, -1, "x"):
        state.conversation_manager_state["removed_message_count"] = removed
        writer.write_agent_state(state)
        assert runner(tmp_path, writer, {"text": "one"}).messages_in_memory == 2


@pytest.mark.parametrize(
    "block", [{"toolUse": {}}, {"toolResult": "x"}, {"text": 5}, {"text": None}, {}, "x", {"toolResult": {}}]
)
async def test_a_message_of_an_odd_shape_hides_no_other(
    tmp_path: Path, writer: SessionWriter, block: Any
) -> None:
    writer.append(0, {"role": "user", "content": [{"text": "first"}]})
    writer.append(1, {"role": "assistant", "content": [block, {"text": "sound"}]})
    agent = runner(tmp_path, writer, {"text": "fine"})
    _, end = await turn(agent, "second")
    assert end.stop_reason == "end_turn"
    sent = (tmp_path / "requests.jsonl").read_text()
    assert all(word in sent for word in ("first", "sound", "second", "could not be read"))


def other(tmp_path: Path, *messages: dict[str, Any]) -> SessionWriter:
    """Another session, into which an agent moves."""
    store = open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state"))
    writer = store.create("s2", meta={})
    for index, message in enumerate(messages):
        writer.append(index, message)
    return writer


def sent(tmp_path: Path) -> list[str]:
    """The requests to the model, as they were recorded."""
    return (tmp_path / "requests.jsonl").read_text().splitlines()


async def test_what_mends_an_unfinished_turn_is_let_go_of_also_after_a_move(
    tmp_path: Path, writer: SessionWriter
) -> None:
    new = other(tmp_path, {"role": "user", "content": [{"text": "first"}]})
    left: list[str] = []

    @tool
    def look() -> str:
        """Look at what a kill would leave now."""
        left.append(new.scratch())
        return "seen"

    silent = {"tools": [{"name": "look", "input": {}, "id": "t2"}]}  # no text that streams
    agent = runner(tmp_path, writer, {"text": "one"}, silent, {"text": "two"}, tools=(look,))
    await turn(agent, "in the old session")
    new.append_scratch("half an ans")
    new.keep_result({"message": "m1", "result": {"toolUseId": "t1", "status": "success", "content": []}})
    agent.move_to(agent.read_back(new))
    await turn(agent, "go on")
    assert left == [""]
    assert new.scratch() == ""
    assert list(new.kept_results()) == []
    await turn(runner(tmp_path, new, {"text": "three"}), "and then?")
    assert "half an ans" not in sent(tmp_path)[-1]


async def test_a_result_of_the_session_before_answers_no_call_of_the_one_moved_to(
    tmp_path: Path, writer: SessionWriter
) -> None:
    call = {"toolUse": {"toolUseId": "t1", "name": "change", "input": {"what": "b"}}}
    new = other(
        tmp_path,
        {"role": "user", "content": [{"text": "first"}]},
        {"role": "assistant", "content": [call], "tracking_id": "m1"},
    )
    agent = runner(tmp_path, writer, {"text": "one"}, {"text": "two"})
    await turn(agent, "in the old session")
    agent.keep_result({"toolUseId": "t1", "status": "success", "content": [{"text": "of the old one"}]})
    agent.move_to(agent.read_back(new))
    await turn(agent, "go on")
    assert "of the old one" not in sent(tmp_path)[-1]
    assert "of the old one" not in str([stored.message for stored in new.messages()])
    assert INTERRUPTED_RESULT in str(new.messages()[2].message)


async def test_what_tools_keep_of_an_agent_goes_along_when_it_moves(
    tmp_path: Path, writer: SessionWriter
) -> None:
    @tool(context=True)
    def count(tool_context: Any) -> str:
        """Count one further."""
        counted = (tool_context.agent.state.get("counted") or 0) + 1
        tool_context.agent.state.set("counted", counted)
        return f"counted {counted}"

    steps = [
        step
        for number in range(2)
        for step in ({"tools": [{"name": "count", "input": {}, "id": f"t{number}"}]}, {"text": "done"})
    ]
    new = other(tmp_path)
    await turn(runner(tmp_path, new, {"text": "one"}), "a session with a state of its own")
    agent = runner(tmp_path, writer, *steps, tools=(count,))
    await turn(agent, "count")
    agent.move_to(agent.read_back(new))
    state = new.agent_state()
    assert state is not None
    assert state.state == {"counted": 1}, "on record before anything else is said"
    await turn(agent, "count")
    assert "counted 2" in str([stored.message for stored in new.messages()])
