"""What the tests of tools share: a working directory, a context, and a real agent that calls tools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from strands import Agent

from tau.config.settings import ContextSettings
from tau.testing.scripted import scripted_model
from tau.tools.context import ToolContext
from tau.tools.refusals import Watch

Call = Callable[..., dict[str, Any]]


def watch(seconds: float = 60) -> Watch:
    return Watch(threading.Event(), seconds)


def make_context(directory: Path, **more: Any) -> ToolContext:
    """A context whose state directory lies beside the working directory."""
    directory.mkdir(exist_ok=True)
    given = {
        "context": ContextSettings(),
        "session_id": "one",
        "state_dir": directory.parent / "state",
        **more,
    }
    return ToolContext(directory=directory.resolve(), **given)


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path.resolve() / "work")


def use(use_id: str = "t0", **arguments: Any) -> dict[str, Any]:
    """A call as a tool's preview gets it."""
    return {"toolUseId": use_id, "name": "tool", "input": arguments}


def agent_with(tools: Sequence[Any], *calls: tuple[str, dict[str, Any]], hooks: Sequence[Any] = ()) -> Agent:
    """A real agent whose model makes these calls, one after the other, and then says it is done."""
    steps = [
        {"tools": [{"name": name, "input": arguments, "id": f"t{number}"}]}
        for number, (name, arguments) in enumerate(calls)
    ]
    model = scripted_model(*steps, "done")
    return Agent(model=model, tools=list(tools), callback_handler=None, hooks=list(hooks))


def results(agent: Agent) -> list[dict[str, Any]]:
    """The tool results in an agent's history, in order."""
    return [
        dict(block["toolResult"])
        for message in agent.messages
        for block in message["content"]
        if "toolResult" in block
    ]


def called(tools: Sequence[Any], name: str, hooks: Sequence[Any] = (), **arguments: Any) -> dict[str, Any]:
    """The result of one call through a real agent."""
    agent = agent_with(tools, (name, arguments), hooks=hooks)
    agent("go")
    (result,) = results(agent)
    return result


def text(result: dict[str, Any]) -> str:
    """The text of a result that has nothing else."""
    (block,) = result["content"]
    return str(block["text"])
