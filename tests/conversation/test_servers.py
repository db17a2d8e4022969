"""Servers of tools in a conversation: their tools are called like any other, and a broken one is named."""

from __future__ import annotations

import sys
from pathlib import Path

from tau.config.settings import McpSettings
from tau.events import ApprovalAsked, ToolUseEnded
from tests.conversation.conftest import Bench, say
from tests.conversation.test_approvals import answered, outcomes

SERVER = Path(__file__).parents[1] / "fixtures" / "mcp" / "server.py"


async def test_a_servers_tool_asks_unless_its_tier_is_lowered(bench: Bench) -> None:
    bench.mcp = {"docs": McpSettings(command=sys.executable, args=[str(SERVER)])}
    call = {"name": "docs_add", "input": {"a": 2, "b": 40}, "id": "t1"}
    bench.steps["default"] = [{"tools": [call]}, {"text": "done"}]
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go", ("yes", ""))
        (asked,) = [event for event in events if isinstance(event, ApprovalAsked)]
        assert asked.offers == ("docs_add",)
        assert outcomes(events) == [("success", "approved")]
        (ended,) = [event for event in events if isinstance(event, ToolUseEnded)]
        assert "42" in ended.result
    bench.mcp = {"docs": McpSettings(command=sys.executable, args=[str(SERVER)], tiers={"add": 0})}
    async with bench.open() as conversation:
        assert outcomes(await say(conversation, "go")) == [("success", "not_needed")]


async def test_a_server_that_cannot_be_started_is_named_and_the_rest_works(bench: Bench) -> None:
    bench.mcp = {
        "broken": McpSettings(command="no-such-command-here"),
        "docs": McpSettings(command=sys.executable, args=[str(SERVER)], tiers={"add": 0}),
    }
    call = {"name": "docs_add", "input": {"a": 2, "b": 40}, "id": "t1"}
    bench.steps["default"] = [{"tools": [call]}, {"text": "done"}]
    async with bench.open(channel="run") as conversation:
        assert outcomes(await say(conversation, "go")) == [("success", "not_needed")]
        (problem,) = conversation.state.tool_problems
        assert "[mcp.broken]" in problem
        assert "no-such-command-here" in problem
