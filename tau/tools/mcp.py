"""The servers of tools that ``[mcp.NAME]`` names, on a thread and loop of their own.

Nothing of the MCP library, which takes long to load, is imported before a server is to be started.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tau.config.settings import McpSettings
from tau.display import one_line

if TYPE_CHECKING:
    from mcp.types import Tool
    from strands.types.tools import AgentTool

    from tau.tools.mcp_connection import Connection

CLOSE_SECONDS = 2.0

_LONGEST_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")

_log = logging.getLogger(__name__)


class ServerState(NamedTuple):
    """How a server stands.

    Attributes:
        state: Whether it is being connected, is connected, or cannot be used.
        reason: Why it cannot be used, with what to do; else empty.
        tools: What models call its tools by.
    """

    state: Literal["connecting", "connected", "failed"]
    reason: str = ""
    tools: tuple[str, ...] = ()


class McpServers:
    """All servers of a run.

    Args:
        servers: The tables ``[mcp.NAME]``, by name.
        directory: Where commands run.
        environ: The environment; a command is given little of it.
        taken: Names of tools that a server's tool must not have.

    Attributes:
        states: How each server stands, by its name.
    """

    def __init__(
        self,
        servers: Mapping[str, McpSettings],
        *,
        directory: Path,
        environ: Mapping[str, str],
        taken: Collection[str] = (),
    ) -> None:
        self._servers = dict(servers)
        self.states = {name: ServerState("connecting") for name in servers}
        self._directory = directory
        self._environ = environ
        self._taken = frozenset(taken)
        self._connections: list[Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: Future[None] = Future()
        self._closing = threading.Event()

    async def start(self, on_ready: Callable[[Sequence[AgentTool]], None]) -> list[str]:
        """Start all servers at once, without blocking the caller's loop.

        Args:
            on_ready: Is given the tools of each server when it is ready, on the caller's loop.

        Returns:
            A line for each server that failed, and for what is wrong with the tools of one.
        """
        if not self._servers:
            return []
        threading.Thread(target=self._run, name="tau-mcp", daemon=True).start()
        try:
            await asyncio.wrap_future(self._ready)
        except Exception as error:  # noqa: BLE001 - a library that does not load may raise anything
            _log.exception("The MCP library does not load")
            said = one_line(f"{type(error).__name__}: {error}", 200)
            for name in self._servers:
                self.states[name] = ServerState("failed", f"the package mcp does not load: {said}")
            return [f"No MCP server is available: the package mcp does not load: {said} (install tau again)"]
        if self._closing.is_set():
            return []
        lines = await asyncio.gather(*(self._start(name, on_ready) for name in self._servers))
        return [line for some in lines for line in some]

    async def close(self) -> None:
        """End all connections, and each command with all it started, within two seconds."""
        self._closing.set()
        loop = self._loop
        if loop is None:
            return
        endings = [
            asyncio.wrap_future(asyncio.run_coroutine_threadsafe(connection.close(), loop))
            for connection in self._connections
        ]
        if endings:
            await asyncio.wait(endings, timeout=CLOSE_SECONDS)
        self._loop = None
        loop.call_soon_threadsafe(loop.stop)

    def _run(self) -> None:
        """The thread."""
        try:
            from tau.tools import mcp_tool  # noqa: F401 - takes seconds the first time, so it is done here
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self._ready.set_exception(error)
            return
        loop = asyncio.new_event_loop()
        self._loop = loop
        loop.call_soon(self._ready.set_result, None)
        if self._closing.is_set():
            loop.call_soon(loop.stop)
        try:
            loop.run_forever()
            if pending := asyncio.all_tasks(loop):
                for task in pending:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(pending))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    async def _start(self, name: str, on_ready: Callable[[Sequence[AgentTool]], None]) -> list[str]:
        from tau.tools.mcp_connection import Connection, ServerFailed

        connection = Connection(name, self._servers[name], directory=self._directory, environ=self._environ)
        self._connections.append(connection)
        try:
            offered = await self._on_loop(connection.open())
        except ServerFailed as error:
            self.states[name] = ServerState("failed", f"{error.reason} ({error.hint})")
            return [f"The MCP server {name} is not available: {error.reason} ([mcp.{name}]: {error.hint})"]
        tools, lines = self._tools(connection, offered)
        self.states[name] = ServerState("connected", "", tuple(tool.tool_name for tool in tools))
        on_ready(tools)
        return lines

    async def _on_loop(self, work: Any) -> Any:
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _tools(self, connection: Connection, offered: Sequence[Tool]) -> tuple[list[AgentTool], list[str]]:
        """The tools of a server that can be used, and a line for each thing that is wrong."""
        from tau.tools.mcp_tool import McpTool, UnfitTool

        server, tiers = connection.name, self._servers[connection.name].tiers
        tools: list[AgentTool] = []
        lines: list[str] = []
        names: set[str] = set()
        for tool in offered:
            shown = one_line(tool.name, 80)
            name = tool_name(server, tool.name, servers=list(self._servers), taken=self._taken)
            if name in names:
                lines.append(
                    f"The MCP server {server} has two tools {shown}; the second is not used ([mcp.{server}])"
                )
                continue
            try:
                made = McpTool(
                    server, tool, name=name, tier=tiers.get(tool.name, 2), run=self._caller(connection)
                )
            except UnfitTool as error:
                lines.append(
                    f"The tool {shown} of the MCP server {server} is not used: {error} ([mcp.{server}])"
                )
                continue
            names.add(name)
            tools.append(made)
        known = {tool.name for tool in offered}
        lines += [
            f"[mcp.{server}] tiers names {one_line(tool, 80)}, which the server does not have (correct it)"
            for tool in tiers
            if tool not in known
        ]
        return tools, lines

    def _caller(self, connection: Connection) -> Callable[[str, Mapping[str, Any]], Future[Any]]:
        def call(tool: str, arguments: Mapping[str, Any]) -> Future[Any]:
            from tau.tools.mcp_connection import ServerFailed

            if self._loop is None:
                closed: Future[Any] = Future()
                closed.set_exception(ServerFailed("it is closed", "nothing more can be called"))
                return closed
            return asyncio.run_coroutine_threadsafe(connection.call(tool, arguments), self._loop)

        return call


def tool_name(server: str, tool: str, *, servers: Sequence[str], taken: Collection[str]) -> str:
    """What models call a tool by: ``SERVER_TOOL``, with a few characters more where that is not plain.

    The name depends on nothing but the configuration and the tool's own name, so that a pattern which allows
    it never comes to mean another tool.

    Args:
        server: The server's name.
        tool: The server's name of the tool.
        servers: The names of all servers.
        taken: Names that are not to be used.
    """
    prefix = _NOT_IN_NAMES.sub("_", server)
    plain = f"{prefix}_{_NOT_IN_NAMES.sub('_', tool)}"
    could_be_anothers = any(
        other != server and plain.startswith(f"{theirs}_") and len(theirs) >= len(prefix)
        for other in servers
        for theirs in (_NOT_IN_NAMES.sub("_", other),)
    )
    is_plain = plain == f"{prefix}_{tool}" and len(plain) <= _LONGEST_NAME
    if is_plain and not could_be_anothers and plain not in taken:
        return plain
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9]}_{digest}"
