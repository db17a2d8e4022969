"""The recorder loses nothing when a write fails, and costs the disk at most two waits a turn."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strands import tool

from tau.agent.runner import AgentRunner
from tau.config.settings import AgentSettings
from tau.errors import StoreWriteFailed
from tau.events import Notice, TurnEnd, TurnEvent
from tau.models.script import read_script
from tau.models.scripted_model import Cursor, ScriptedModel
from tau.sessions.file import open_store
from tau.sessions.store import SessionWriter, StoreContext

Fault = Callable[[str], None]


@pytest.fixture
def writer(tmp_path: Path) -> SessionWriter:
    return open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state")).create(
        "s1", meta={}
    )


def runner(tmp_path: Path, writer: Any, *steps: dict[str, Any], tools: tuple[Any, ...] = ()) -> AgentRunner:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(steps))
    model = ScriptedModel(
        Cursor(read_script(script)), model_id="s", context_window=None, record=tmp_path / "requests.jsonl"
    )
    return AgentRunner(
        model=model, writer=writer, settings=AgentSettings(), system_prompt="You are tau.", tools=tools
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
