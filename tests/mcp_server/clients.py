"""Clients of `tau mcp`, which is the installed command in a sealed home, and what they got."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SECONDS = 30.0
TOOLS = [
    "create_task",
    "get_task_context",
    "mark_explored",
    "complete_task",
    "list_tasks",
    "search_sessions",
    "recall",
]


class Client:
    """A connected client."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def ask(self, tool: str, **arguments: Any) -> str:
        """What a call answers that does what was asked."""
        text, failed = await self._call(tool, arguments)
        assert not failed, text
        return text

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The one line that says why a call does nothing."""
        text, failed = await self._call(tool, arguments)
        assert failed, text
        assert "\n" not in text
        return text

    async def _call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        result = await self.session.call_tool(tool, arguments)
        assert not hasattr(result, "input_requests"), "nothing is asked back"
        (block,) = result.content
        assert block.type == "text"
        return block.text, bool(result.is_error)


@contextlib.asynccontextmanager
async def on_stdio(tau_env: TauEnv, *arguments: str, **environ: str) -> AsyncIterator[Client]:
    """A client that starts `tau mcp`."""
    command = StdioServerParameters(
        command=TAU, args=["mcp", *arguments], env={**tau_env.environ, **environ}, cwd=tau_env.directory
    )
    async with (
        stdio_client(command) as (reading, writing),
        ClientSession(reading, writing, read_timeout_seconds=SECONDS) as session,
    ):
        await session.initialize()
        yield Client(session)


@contextlib.asynccontextmanager
async def on_http(url: str, token: str) -> AsyncIterator[Client]:
    """A client of a server that runs."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        streamable_http_client(url, http_client=http) as (reading, writing),
        ClientSession(reading, writing, read_timeout_seconds=SECONDS) as session,
    ):
        await session.initialize()
        yield Client(session)


def request(method: str, number: int | None = None, **params: Any) -> dict[str, Any]:
    """A message of the protocol, a notification without a number."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return message if number is None else {**message, "id": number}


HELLO = request(
    "initialize",
    1,
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "a client", "version": "1"},
)


class Piped:
    """`tau mcp` on pipes, with a client that writes lines by itself."""

    def __init__(self, tau_env: TauEnv, *arguments: str) -> None:
        self.process = tau_env.start("mcp", *arguments)

    def send(self, message: dict[str, Any]) -> None:
        """Write a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message; whatever stands on stdout has to be one."""
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def greet(self) -> None:
        """Begin a session."""
        self.send(HELLO)
        assert self.receive()["result"]["serverInfo"]["name"] == "tau"
        self.send(request("notifications/initialized"))


class Http:
    """`tau mcp --http`, and what it wrote."""

    def __init__(self, tau_env: TauEnv, *arguments: str) -> None:
        self.process = tau_env.start("mcp", "--http", *arguments, stdin=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().rstrip("\n")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", self.url), self.process.communicate()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send it a signal; its exit code, and what it wrote since its address to stdout, and to stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out.decode(), err.decode()


def kept_tasks(tau_env: TauEnv) -> list[tuple[str, str, str | None]]:
    """Name, state and session id of every task in the database."""
    with contextlib.closing(sqlite3.connect(tau_env.data / "tasks" / "tasks.sqlite")) as connection:
        return connection.execute("SELECT name, state, session_id FROM tasks ORDER BY rowid").fetchall()


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        await asyncio.sleep(0.02)
