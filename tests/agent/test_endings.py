"""How turns end: the notice, the stop reason, and the event that stays on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strands import ToolContext, tool

from tau.config.settings import AgentSettings
from tau.sessions.store import SessionWriter
from tests.agent.test_recorder import runner, turn


@tool(context=True)
def ask_elsewhere(tool_context: ToolContext) -> str:
    """Ask something in a way that no channel can answer."""
    return str(tool_context.interrupt("approval", reason="may I?"))


ask_elsewhere.tier = 0  # type: ignore[attr-defined]  # what the gate reads


def kept(writer: SessionWriter, kind: str) -> list[dict[str, Any]]:
    return [event for event in writer.events() if event["kind"] == kind]


async def test_an_interrupt_is_refused_and_the_next_turn_goes_on(
    tmp_path: Path,
    writer: SessionWriter,
) -> None:
    steps = ({"tools": [{"name": "ask_elsewhere", "input": {}, "id": "t1"}]}, {"text": "went on"})
    agent = runner(tmp_path, writer, *steps, tools=(ask_elsewhere,))
    _, end = await turn(agent, "go")
    notice = "A tool asked for an interrupt this channel cannot answer; it was refused."
    assert (end.stop_reason, end.notice) == ("interrupt", notice)
    (error,) = kept(writer, "error")
    assert (error["where"], error["message"]) == ("interrupt", notice)
    _, end = await turn(agent, "and now?")
    assert end.stop_reason == "end_turn"


LIMITED = (
    "I reached the tool-call limit for this turn (2 turns). I stopped; tell me if you want me to continue."
)
BUDGET = "I reached the token budget for this turn. I stopped; tell me if you want me to continue."
OVERFLOW = "The conversation no longer fits the model's context window; start a new session with /new."


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (AgentSettings(max_turns=2), ("limit_turns", LIMITED, 2)),
        (AgentSettings(max_total_tokens=10), ("limit_total_tokens", BUDGET, 10)),
    ],
)
async def test_a_limit_is_on_record(
    tmp_path: Path,
    writer: SessionWriter,
    limits: AgentSettings,
    expected: tuple[str, str, int],
) -> None:
    step = {
        "tools": [{"name": "nothing", "input": {}}],
        "usage": {"inputTokens": 6, "outputTokens": 6},
    }
    agent = runner(tmp_path, writer, step, limits=limits)
    _, end = await turn(agent, "go")
    reason, notice, limit = expected
    assert (end.stop_reason, end.notice) == (reason, notice)
    (event,) = kept(writer, "turn_limit")
    assert (event["stop_reason"], event["limit"]) == (reason, limit)


async def test_an_overflow_is_on_record(
    tmp_path: Path,
    writer: SessionWriter,
) -> None:
    agent = runner(tmp_path, writer, {"error": "overflow"})
    _, end = await turn(agent, "go")
    assert (end.stop_reason, end.notice) == ("error", OVERFLOW)
    (error,) = kept(writer, "error")
    assert (error["where"], error["message"]) == ("context", OVERFLOW)
