"""What a channel is told of tools, roles and other sessions' names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tau.config.settings import McpSettings
from tau.conversation.state import Switched, Themes, ToolListing
from tau.errors import UsageError
from tau.line.session import show_result
from tau.sessions.records import ListQuery
from tests.conversation.conftest import Bench, say

SERVER = Path(__file__).parents[1] / "fixtures" / "mcp" / "server.py"


async def test_tools_are_listed_with_what_they_may_do_and_their_servers(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.mcp = {
        "docs": McpSettings(command=sys.executable, args=[str(SERVER)], tiers={"add": 0}),
        "broken": McpSettings(command="no-such-command-here"),
    }
    async with bench.open(channel="run") as conversation:
        await say(conversation, "go")  # a single turn waits for every server
        result = await conversation.command("/tools")
    assert isinstance(result, ToolListing)
    assert result.settled
    tools = {tool.name: tool for tool in result.tools}
    assert (tools["read_file"].tier, tools["read_file"].package, tools["read_file"].server) == (0, "", "")
    assert (tools["docs_add"].tier, tools["docs_add"].server) == (0, "docs")
    states = {server.name: (server.state, bool(server.tools)) for server in result.servers}
    assert states == {"docs": ("connected", True), "broken": ("failed", False)}
    show_result(result)
    said = capsys.readouterr().err
    assert "write_file · changes things, asks first · built in" in said
    assert "docs_add · looks · MCP server docs" in said
    assert "MCP server broken: failed: no-such-command-here" in said


async def test_a_theme_is_for_channels_that_have_themes(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    async with bench.open() as conversation:
        result = await conversation.command("/theme nord")
    assert result == Themes("nord")
    show_result(result)
    assert "/theme is for tau tui" in capsys.readouterr().err


async def test_another_session_is_renamed_and_does_not_move(bench: Bench) -> None:
    async with bench.open(name="first") as conversation:
        await say(conversation, "one")
        first = conversation.state.session_id
        assert isinstance(await conversation.command("/new second"), Switched)
        await say(conversation, "two")
        second = conversation.state.session_id
        assert isinstance(await conversation.command("/new"), Switched)
        await conversation.rename_session(first, "kestrel")
        listed = await conversation.sessions(ListQuery(directory=conversation.state.directory))
        names = {summary.session_id: summary.text("name") for summary in listed}
        order = [summary.session_id for summary in listed]
        assert names[first] == "kestrel"
        assert order.index(second) < order.index(first)
        with pytest.raises(UsageError, match="is named kestrel"):
            await conversation.rename_session(second, "kestrel")
        await conversation.rename_session(conversation.state.session_id, "here")
        assert conversation.state.name == "here"
