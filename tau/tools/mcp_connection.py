"""The connection to one server of tools: opened within its time, used, found dead, opened again, closed.

It is made with the MCP library itself: the client that comes with the agent's SDK waits without end for a
server that never answers, does not tell a server that has died from a tool that failed, and takes up to four
seconds to stop a command.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import (  # type: ignore[attr-defined]  # one is not declared as exported
    create_mcp_http_client,
    streamable_http_client,
)
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool

from tau import __version__
from tau.config.settings import McpSettings
from tau.display import one_line
from tau.masking import mask, remember
from tau.tools.mcp_process import Command, Streams, environment
from tau.tools.refusals import os_reason

SHORTEST_CALL_SECONDS = 120
"""The least time a call may take, whatever time the server has to come up."""

MOST_TOOLS = 500
_CLOSE_SECONDS = 1.8
_GOODBYE_SECONDS = 0.5
_FORBIDDEN = (401, 403)

_log = logging.getLogger(__name__)


class _Quiet(logging.Filter):
    """Keeps what the SDK reports of a broken connection for the log file: tau says it in its own words."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, as information."""
        if record.levelno > logging.INFO:
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
        return True


for _name in ("client.sse", "client.streamable_http", "client.session", "shared.jsonrpc_dispatcher"):
    logging.getLogger(f"mcp.{_name}").addFilter(_Quiet())


class ServerFailed(Exception):
    """A server that cannot be used.

    Args:
        reason: Why, a phrase.
        hint: What to do.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class Connection:
    """A server of tools. All methods run on the loop of the servers.

    Args:
        name: As in ``[mcp.NAME]``.
        settings: That table.
        directory: Where a command runs.
        environ: Where the variables that the table names are.
    """

    def __init__(
        self, name: str, settings: McpSettings, *, directory: Path, environ: Mapping[str, str]
    ) -> None:
        self.name = name
        self._settings = settings
        self._directory = directory
        self._environ = environ
        self._client: Client | None = None
        self._command: Command | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._is_held = False
        self._opening = asyncio.Lock()
        self._closed = False

    async def open(self) -> list[Tool]:
        """Connect, and ask for the tools.

        Raises:
            ServerFailed: It cannot be reached, or not in its time.
        """
        if self._closed:
            raise ServerFailed("it is closed", "nothing more can be called")
        opened: asyncio.Future[list[Tool]] = asyncio.get_running_loop().create_future()
        self._over, self._is_held = asyncio.Event(), False
        self._task = asyncio.create_task(self._hold(opened))
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await opened
        except TimeoutError as error:
            await self._end()
            raise ServerFailed(
                f"no answer within {self._settings.timeout} s{self._ending}",
                "see whether it runs by itself, or give it more with timeout",
            ) from error
        except Exception as error:
            raise self._failure(error) from error
        finally:
            if not self._is_held:
                await self._end()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool by the server's own name for it; a server that has ended is first started again.

        Raises:
            ServerFailed: It does not answer; the next call tries to connect again.
            MCPError: It refuses the call.
        """
        seconds = max(self._settings.timeout, SHORTEST_CALL_SECONDS)
        client = await self._connected()
        try:
            async with asyncio.timeout(seconds):
                return await client.call_tool(tool, dict(arguments))
        except TimeoutError as error:
            raise ServerFailed(
                f"no result within {seconds} s", "ask it for less, or raise timeout"
            ) from error
        except MCPError as error:
            if error.code != CONNECTION_CLOSED and not self._is_lost(error):
                raise
            raise await self._lost(error) from error
        except Exception as error:
            raise await self._lost(error) from error

    async def close(self) -> None:
        """End the connection, and the command with all it started. Takes less than two seconds."""
        self._closed = True
        await self._end()

    async def _connected(self) -> Client:
        async with self._opening:
            if self._client is None:
                await self.open()
            assert self._client is not None
            return self._client

    async def _lost(self, error: Exception) -> ServerFailed:
        """What to say of a connection that broke; it is given up, so that the next call makes a new one."""
        await self._end()
        return ServerFailed(f"it broke off: {self._failure(error).reason}", "the next call connects again")

    def _is_lost(self, error: MCPError) -> bool:
        """Whether an error says that a server at an address has forgotten this connection."""
        return self._command is None and error.message == "Session terminated"

    async def _end(self) -> None:
        """End the task that holds the connection; it is told once, since it then stops the command."""
        task = self._task
        if task is None:
            return
        if not self._over.is_set():
            self._over.set()
            if not self._is_held:
                task.cancel()
        patience = _CLOSE_SECONDS if self._command is not None else _GOODBYE_SECONDS
        _, left = await asyncio.wait({task}, timeout=patience)
        if left and self._command is None:
            task.cancel()
            await asyncio.wait({task}, timeout=_GOODBYE_SECONDS)

    async def _hold(self, opened: asyncio.Future[list[Tool]]) -> None:
        """Open the connection and keep it until it is over, in one task, as the SDK's scopes want it."""
        failed: BaseException | None = None
        try:
            for transport in self._transports():
                try:
                    await self._use(transport, opened)
                except Exception as error:  # noqa: BLE001 - a server and the SDK may raise anything
                    inner = _innermost(error)
                    if failed is None or _status(inner) in _FORBIDDEN:
                        failed = inner
                if self._is_held or not isinstance(failed, MCPError):
                    break
        except ServerFailed as error:
            failed = error
        finally:
            self._client = None
        if not opened.done():
            opened.set_exception(failed or EOFError("it ended"))
        elif failed is not None:
            _log.info("The connection to the MCP server %s ended: %s", self.name, _said(failed))

    async def _use(
        self, transport: AbstractAsyncContextManager[Streams], opened: asyncio.Future[Any]
    ) -> None:
        info = Implementation(name="tau", version=__version__)
        async with Client(transport, client_info=info, cache=None) as client:
            tools = await _all_tools(client)
            if not opened.done():
                self._client, self._is_held = client, True
                opened.set_result(tools)
                await self._until_over()

    async def _until_over(self) -> None:
        waits = [asyncio.ensure_future(self._over.wait())]
        if self._command is not None:
            waits.append(asyncio.ensure_future(self._command.gone.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _transports(self) -> Sequence[AbstractAsyncContextManager[Streams]]:
        """The ways to connect, in the order they are tried.

        Raises:
            ServerFailed: A variable is missing.
        """
        table = self._settings
        if table.command is not None:
            if missing := [name for name in table.env if name not in self._environ]:
                raise ServerFailed(f"{_variables(missing)} not set", "set it, or take it out of env")
            command = Command(
                self.name,
                [os.path.expanduser(table.command), *table.args],  # noqa: PTH111 - a name, perhaps of no path
                directory=self._directory,
                environ=environment(self._environ, table.env),
            )
            self._command = command
            return [command.streams()]
        headers = {}
        if table.token_env is not None:
            token = self._environ.get(table.token_env, "")
            if not token:
                raise ServerFailed(f"{_variables([table.token_env])} not set", "set it to the server's token")
            remember(token)
            headers["Authorization"] = f"Bearer {token}"
        url = table.url or ""
        return [_streamable(url, headers), sse_client(url, headers=headers)]

    @property
    def _ending(self) -> str:
        ending = self._command.ending if self._command is not None else ""
        return f" ({ending})" if ending else ""

    def _failure(self, error: BaseException) -> ServerFailed:
        """What a person or model can do something about, of any error."""
        error = _innermost(error)
        table = self._settings
        if isinstance(error, ServerFailed):
            return error
        if isinstance(error, OSError) and table.command is not None and error.filename is not None:
            shown = one_line(str(error.filename), 100)
            return ServerFailed(
                f"{shown} cannot be started: {os_reason(error)}", "install it, or correct command"
            )
        if self._command is not None:
            said = self._ending or f": {_said(error)}"
            return ServerFailed(f"its command ended{said}", "see whether it runs by itself")
        hint = "see whether it runs, and correct url"
        if _status(error) in _FORBIDDEN:
            hint = "name the variable with its token in token_env"
        return ServerFailed(f"{one_line(mask(table.url or ''), 100)}: {_said(error)}", hint)


@asynccontextmanager
async def _streamable(url: str, headers: dict[str, str]) -> AsyncGenerator[Streams, None]:
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


async def _all_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    while len(tools) < MOST_TOOLS:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools[:MOST_TOOLS]


def _innermost(error: BaseException) -> BaseException:
    """The first error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _status(error: BaseException) -> int:
    """The HTTP status behind an error, or 0."""
    with contextlib.suppress(AttributeError):
        return int(error.response.status_code)  # type: ignore[attr-defined]  # where it has one
    return 0


def _said(error: BaseException) -> str:
    """What an error says; for one of the network, what the system said first."""
    if status := _status(error):
        return f"HTTP {status}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return one_line(mask(str(error) or type(error).__name__), 200)


def _variables(names: Sequence[str]) -> str:
    listed = ", ".join(names)
    return f"the variable {listed} is" if len(names) == 1 else f"the variables {listed} are"
