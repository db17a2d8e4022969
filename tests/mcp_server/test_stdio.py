"""`tau mcp` over stdio, as clients see it: every tool, refusals, directories, many at once."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError

from tau.config.load import load_settings
from tau.tasks.desk import TaskDesk
from tests.mcp_server.clients import TOOLS, kept_tasks, on_stdio, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import TauEnv
    from tests.mcp_server.conftest import Recorded


async def test_a_recorded_conversation_is_found_and_read(recorded: Recorded) -> None:
    here = recorded.here
    async with on_stdio(recorded.env, FERRY_TOKEN="bluebird-7781") as client:
        found = await client.ask("search_sessions", query="gateway port")
        assert found.startswith(f"[session {here}, message 0, user] Which port does the gateway use?\n")
        assert re.search(rf"\n1\. {here} [\d: -]{{16}} run .*\(2 messages\)$", found)

        passages = await client.ask("recall", session=here, query="port of the gateway")
        assert "\nWhich port does the gateway use?\n" in passages
        assert "[2 messages in 1 session were searched." in passages

        whole = await client.ask("recall", session=here, range="0-1")
        assert "\nWhich port does the gateway use?\n[message 1, assistant, " in whole
        # A secret of the server's environment is masked, and what would steer a terminal is spelled out.
        assert "\nIt listens on 8443; the ferry is called ***.\\x1b[31m\n" in whole
        assert "It listens on 8443" in await client.ask("recall", session=here[:-1], range=1)
        for character in range(1, 53):  # wherever it is cut
            assert "7781" not in await client.ask("recall", session=here, range=f"1:{character}")
        assert "is no range" in await client.refused("recall", session=here, range="one")
        assert "there is no message 7" in await client.refused("recall", session=here, range=7)

        # What was recorded in another directory is not there.
        assert recorded.elsewhere not in await client.ask("search_sessions", query="gateway")
        assert "Nothing was found" in await client.ask("search_sessions", query="9999")
        for asked in ({"range": "0-1"}, {"query": "gateway"}):
            line = await client.refused("recall", session=recorded.elsewhere, **asked)
            assert line == (
                f"There is no session '{recorded.elsewhere}' in {recorded.env.directory} "
                "(give the id that search_sessions names)"
            )


async def test_a_secret_that_an_excerpt_would_cut_is_masked_before(tau_env: TauEnv) -> None:
    secret = "blue 7781 harbour 99 lights 4455 over 8822 the 3311 sea"
    around = f"{secret} or " * 9
    tau_env.scripted({"text": f"{around}needle, {around}"})
    assert tau_env.run("run", "hello").returncode == 0
    async with on_stdio(tau_env, FERRY_TOKEN=secret) as client:
        found = await client.ask("search_sessions", query="needle")
        session = re.findall(r"session (\S+?),", found)[0]
        passages = await client.ask("recall", session=session, query="needle")
    for told in (found, passages):
        assert "*** or needle, ***" in told
        assert not [number for number in ("7781", "99", "4455", "8822", "3311") if f" {number} " in told]


async def test_sessions_of_every_directory_where_it_is_asked_for(recorded: Recorded) -> None:
    task = _old_task(recorded.env, recorded.env.home, "long ago")
    elsewhere = _old_task(recorded.env, recorded.env.directory, "long ago elsewhere")
    async with on_stdio(recorded.env, "--all", "-C", str(recorded.env.home)) as client:
        found = await client.ask("search_sessions", query="gateway", limit=1)
        assert "\nThere are more: offset=1 goes on.\n" in found
        found += await client.ask("search_sessions", query="gateway", offset=1)
        assert recorded.here in found
        assert f" in {recorded.env.directory.with_name('other')}" in found
        assert "9999" in await client.ask("recall", session=recorded.elsewhere, range=1)
        # Old tasks of its directory are put away when it starts.
        await until(lambda: (task, "archived", None) in kept_tasks(recorded.env), "the collection")
    assert (elsewhere, "created", None) in kept_tasks(recorded.env)


def _old_task(env: TauEnv, directory: Path, name: str) -> str:
    """Make a task of a directory that nobody began for a long time; its name."""
    settings = load_settings(config=None, profile=None, directory=directory, environ=env.environ).settings
    desk = TaskDesk(settings)
    task = desk.create(name).task
    with contextlib.closing(sqlite3.connect(desk.path)) as connection, connection:
        connection.execute("UPDATE tasks SET updated_at = 1 WHERE id = ?", [task.id])
    assert (task.name, "created", None) in kept_tasks(env)
    return task.name


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("create_task", {}, "Object missing required field `name` (name)"),
    ("create_task", {"name": 7}, "takes: argument name: Expected `str`, got `int` (name)"),
    ("create_task", {"name": "x", "state": "active"}, "unknown field `state`"),
    ("create_task", {"name": "a\0b"}, "unlike 'a\\x00b'"),
    ("create_task", {"name": " "}, "needs a name"),
    ("mark_explored", {"task": "x", "path": "a.py"}, "create_task makes one"),
    ("mark_explored", {"task": "x", "path": "a\0.py"}, "cannot be the path of a file"),
    (
        "mark_explored",
        {"task": "x", "path": "a.py", "status": "seen"},
        "takes: argument status: Invalid enum value 'seen' (task,",
    ),
    ("mark_explored", {"task": "x", "path": "/etc/passwd"}, "/etc/passwd leads out of "),
    ("get_task_context", {"task": "a\0b"}, "There is no task 'a\\x00b'"),
    ("complete_task", {"task": "x" * 5_000}, "create_task makes one"),
    ("list_tasks", {"state": "active"}, "unknown field `state` (offset)"),
    ("search_sessions", {"query": "\n"}, "query is empty"),
    ("search_sessions", {"query": "x", "limit": 31}, "takes: argument limit: Expected `int` <= 30 (query,"),
    ("recall", {"session": "x", "range": "1"}, "There is no session 'x' in "),
    ("recall", {"session": "../x", "range": "1"}, "There is no session '../x' in "),
    ("recall", {"session": "a\0b", "query": "x"}, "There is no session 'a\\x00b' in "),
    ("recall", {"session": "", "query": "x"}, "There is no session '' in "),
    ("recall", {"session": "x"}, "either query or range"),
    ("recall", {"session": "x", "query": "y", "range": "1"}, "either query or range"),
]


async def test_tasks_and_what_cannot_be_done(tau_env: TauEnv) -> None:
    (tau_env.directory / "gateway.py").write_text("import rates\n")
    (tau_env.directory / "rates.py").write_text("")
    tau_env.scripted({"text": "noted"}, more='[approvals]\ndeny = ["read_file: hidden/**"]\n')
    (tau_env.directory / "hidden").mkdir()
    (tau_env.directory / "hidden" / "keys.py").write_text("import secrets_of_ours\n")
    (tau_env.directory / "hidden" / "secrets_of_ours.py").write_text("")
    async with on_stdio(tau_env) as client:
        listed = (await client.session.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        assert all(tool.input_schema["additionalProperties"] is False for tool in listed)
        looks = {tool.name for tool in listed if tool.annotations and tool.annotations.read_only_hint}
        assert looks == {"get_task_context", "search_sessions", "recall"}
        purges = {tool.name for tool in listed if tool.annotations and tool.annotations.destructive_hint}
        assert purges == {"create_task", "list_tasks"}

        for tool, arguments, words in REFUSED:
            assert words in await client.refused(tool, **arguments), (tool, arguments)
        nothing = await client.ask("search_sessions", query="any\0thing")
        assert nothing.startswith('Nothing was found for "any\\x00thing" in sessions of ')
        with pytest.raises(MCPError, match="There is no tool rm"):
            await client.session.call_tool("rm\x1b", {})

        assert "no tasks of this directory" in await client.ask("list_tasks")
        made = await client.ask("create_task", name="why it fails")
        identity = re.fullmatch(r"Created the task 'why it fails', id ([0-9a-f-]{36})\.", made)
        assert identity
        marked = await client.ask(
            "mark_explored", task="why it fails", path="gateway.py", notes="key sk-abcdefghij0123456789"
        )
        assert marked == "Marked gateway.py as explored in 'why it fails'. The task is active now."
        await client.ask(
            "mark_explored", task=identity[1], path="hidden/keys.py", status="explored", notes=None
        )
        context = await client.ask("get_task_context", task="why it fails")
        assert "- rates.py, imported by gateway.py\n" in context
        assert "- gateway.py: key ***" in context
        assert "hidden/keys.py: reading it waits for the person" in context
        assert re.fullmatch(
            rf"- 'why it fails', id {identity[1]}: active; 2 explored; 1 ahead; changed [\d: -]{{16}}",
            await client.ask("list_tasks"),
        ), "what may not be read counts for nothing here, too"
        assert await client.ask("complete_task", task=identity[1]) == "The task 'why it fails' is completed."
        assert "completed already" in await client.ask("complete_task", task="why it fails")
    ((name, state, session),) = kept_tasks(tau_env)
    assert (name, state) == ("why it fails", "completed")
    assert re.fullmatch("mcp-[0-9a-f]{32}", str(session))
    shown = tau_env.run("tasks", "show", "why it fails")
    assert shown.returncode == 0
    assert b"sk-abcdefghij" not in (tau_env.data / "tasks" / "tasks.sqlite").read_bytes()


async def test_two_clients_at_once_share_tasks(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "noted"})
    assert tau_env.run("tasks", "list").returncode == 0
    async with on_stdio(tau_env) as one, on_stdio(tau_env) as other:
        await asyncio.gather(
            *(
                client.ask("create_task", name=f"task {number}")
                for client in (one, other)
                for number in range(8)
            )
        )
        await one.ask("create_task", name="shared")
        await other.ask("mark_explored", task="shared", path="a.py", notes="seen by the other")
        assert "a.py: seen by the other" in await one.ask("get_task_context", task="shared")
        assert (await one.ask("list_tasks")).count("\n") == 16
    sessions = [session for name, _, session in kept_tasks(tau_env) if name != "shared"]
    assert sorted(map(sessions.count, set(sessions))) == [8, 8]
