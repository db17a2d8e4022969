"""`tau mcp --http`: who is let in, the token, several clients at one server, and its end."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from mcp.client.client import Client as ModernClient
from mcp.client.streamable_http import streamable_http_client

from tau.config.settings import Places
from tau.errors import TauError
from tau.mcp_server.http import listen
from tau.mcp_server.token import find_token
from tests.conftest import TAU
from tests.mcp_server.clients import HELLO, TOOLS, kept_tasks, on_http, request

if TYPE_CHECKING:
    from tests.conftest import TauEnv
    from tests.mcp_server.conftest import Recorded, Start
    from tests.terminal import Open

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def _kept(env: TauEnv) -> str:
    return (env.state / "mcp" / "token").read_text().strip()


async def test_clients_with_the_token_share_memory(recorded: Recorded, serve: Start) -> None:
    env = recorded.env
    server = serve(env, "--verbose")
    token = _kept(env)
    async with on_http(server.url, token) as one, on_http(server.url, token) as other:
        assert [tool.name for tool in (await one.session.list_tools()).tools] == TOOLS
        await asyncio.gather(
            *(client.ask("create_task", name=f"over http {n}") for n in range(3) for client in (one, other))
        )
        assert recorded.here in await one.ask("search_sessions", query="gateway")
        assert "8443" in await other.ask("recall", session=recorded.here, range=1)
        assert "There is no session" in await other.refused("recall", session=recorded.elsewhere, range=1)
    sessions = [session for name, _, session in kept_tasks(env) if name.startswith("over http")]
    assert sorted(map(sessions.count, set(sessions))) == [3, 3]
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        ModernClient(streamable_http_client(server.url, http_client=http)) as modern,
    ):
        result = await modern.call_tool("list_tasks", {})
        assert "over http 2" in str(result.content)

    code, out, err = server.end()
    assert (code, out) == (143, "")
    for path in Path(env.home).parent.rglob("*"):
        if path.is_file() and path != env.state / "mcp" / "token":
            assert token.encode() not in path.read_bytes(), path
    assert token not in err
    assert str(env.state / "mcp" / "token") in err


async def test_nobody_else_is_let_in(tau_env: TauEnv, serve: Start) -> None:
    server = serve(tau_env)
    token = _kept(tau_env)
    right = {**ACCEPT, "Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient() as http:

        async def status(headers: dict[str, str], method: str = "POST", path: str = "") -> int:
            answer = await http.request(method, server.url + path, headers=headers, content=json.dumps(HELLO))
            assert token not in answer.text
            return answer.status_code

        assert await status(right) == 200
        for wrong in (
            ACCEPT,
            {**ACCEPT, "Authorization": "Bearer " + "A" * len(token)},
            {**ACCEPT, "Authorization": f"Bearer {token}x"},
            {**ACCEPT, "Authorization": f"Basic {token}"},
            {**ACCEPT, "Authorization": "Bearer"},
        ):
            for method in ("POST", "GET", "DELETE", "OPTIONS"):
                assert await status(wrong, method) == 401, (wrong, method)
        assert await status(ACCEPT, path=f"?token={token}") == 401
        port = server.url.rpartition(":")[2].partition("/")[0]
        for origin in (
            "http://evil.example",
            f"http://127.0.0.1.evil.example:{port}",
            "null",
            "http://127.0.0.1:1",
        ):
            assert await status({**right, "Origin": origin}) == 403, origin
        assert await status({**right, "Origin": f"http://127.0.0.1:{port}"}) == 200
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"):
            assert await status({**right, "Host": host}) == 421, host
        assert await status({**right, "Host": "localhost:9000"}) == 200  # a tunnel
        assert await status({**right, "Mcp-Session-Id": "f" * 32}) == 404
        modern = {
            **right,
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/list",
            "Origin": "http://evil.example",
        }
        assert (await http.post(server.url, headers=modern, json=request("tools/list", 1))).status_code == 403
    assert server.end(signal.SIGINT)[0] == 130


async def test_a_token_of_the_environment(tau_env: TauEnv, serve: Start) -> None:
    tau_env.environ["TAU_MCP_TOKEN"] = "wide-open-harbour-42"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = serve(tau_env, "--port", str(port))
    assert server.url == f"http://127.0.0.1:{port}/mcp"
    async with on_http(server.url, "wide-open-harbour-42") as client:
        assert "no tasks" in await client.ask("list_tasks")
        with pytest.raises(TauError) as taken:
            listen("127.0.0.1", port)
        assert taken.value.line() == (
            f"Port {port} of 127.0.0.1 is taken (give another with --port, or leave it out for a free one)"
        )
        # A client that stays connected does not keep it from ending.
        code, out, err = server.end()
    assert (code, out) == (143, "")
    assert err == "tau: clients bring the token of TAU_MCP_TOKEN\n"
    assert not (tau_env.state / "mcp").exists()


@pytest.mark.parametrize("given", ["short", "sixteen letters and spaces"])
def test_a_token_that_is_none(tau_env: TauEnv, given: str) -> None:
    done = tau_env.run("mcp", "--http", environ={"TAU_MCP_TOKEN": given})
    assert (done.returncode, done.stdout) == (2, "")
    assert "TAU_MCP_TOKEN is no token that can be used" in done.stderr
    assert given not in done.stderr


def test_the_token_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    places = Places(data=tmp_path / "data", state=tmp_path / "state", config=tmp_path / "config")
    token = find_token(places, {})
    assert token.path == tmp_path / "state" / "mcp" / "token"
    assert re.fullmatch(r"[\w-]{43}", token.value)
    assert stat.S_IMODE(token.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(token.path.parent.stat().st_mode) == 0o700
    assert find_token(places, {}) == token
    assert [path.name for path in token.path.parent.iterdir()] == ["token"]

    token.path.chmod(0o640)
    with pytest.raises(TauError, match="can be read by others"):
        find_token(places, {})
    token.path.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o600)
    token.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TauError, match="cannot be used"):
        find_token(places, {})
    token.path.unlink()
    token.path.touch(0o600)
    with pytest.raises(TauError, match="holds no token"):
        find_token(places, {})
    token.path.unlink()
    assert find_token(places, {}).value != token.value


def test_a_person_sees_the_token_and_how_to_end_it(terminal: Open, tau_env: TauEnv) -> None:
    server = terminal("mcp", "--http", command=TAU)
    server.until(lambda: b"/mcp\r\n" in server.bytes, "the address")
    assert f"clients bring the token {_kept(tau_env)}, which is kept in ".encode() in server.bytes
    server.send("\x03")
    assert server.ended() == 130
