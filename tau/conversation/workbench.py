"""What the tools of each session work with: grants, files seen, approvals, servers of tools."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tau.config.settings import Settings
from tau.conversation.state import ServerInfo, ToolInfo
from tau.gate import patterns
from tau.gate.gate import Gate
from tau.journal.work_desk import WorkDesk
from tau.memory.desk import Desk
from tau.sessions.lineage import Read, Record
from tau.tasks.desk import TaskDesk
from tau.tools import backing
from tau.tools.background import stop_background
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools

if TYPE_CHECKING:
    from tau.tools.mcp import McpServers

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools of one session, what they share, and what judges their calls."""

    context: ToolContext
    gate: Gate
    tools: Sequence[Any]


class Workbench:
    """Keeps what was granted, read and approved in each session, as long as the conversation lives.

    Args:
        settings: Directory, places, sizes, approvals and servers.
        tell: Told what the person should know of the tools, a line each.
        read: Opens a session of the conversation's store for reading.
        desk: The memory of the directory.
        tasks: Its task memory.
        work: The work log of its checkout.
    """

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[str], None],
        *,
        read: Read,
        desk: Desk,
        tasks: TaskDesk,
        work: WorkDesk,
    ) -> None:
        self._settings = settings
        self._tell = tell
        self._read = read
        self._desk = desk
        self._tasks = tasks
        self._work = work
        self._kept: dict[str, tuple[ToolContext, Gate]] = {}
        self._servers: McpServers | None = None
        self._own_names: frozenset[str] = frozenset()
        self._own_tools: Sequence[Any] = ()
        self._origins: dict[str, str] = {}
        self._server_tools: list[Any] = []
        self._starting: asyncio.Task[None] | None = None
        self._started_at = 0.0

    def of(self, session_id: str) -> Bench:
        """The bench of a session. Imports the SDK.

        Raises:
            ConfigError: A pattern of ``[approvals]`` cannot be used.
        """
        if session_id not in self._kept:
            context = ToolContext(
                directory=self._settings.directory,
                state_dir=self._settings.places.state,
                session_id=session_id,
                context=self._settings.context,
                granted_hosts=patterns.named_hosts(
                    map(patterns.parse, self._settings.approvals.allow), "fetch_url"
                ),
                own=(self._settings.places.data, self._settings.places.config),
                closed=patterns.closed_to(self._settings.approvals, "read_file"),
                record=Record(self._read, session_id),
                desk=self._desk,
                tasks=self._tasks,
                work=self._work,
            )
            self._kept[session_id] = context, Gate(self._settings.approvals, context)
        context, gate = self._kept[session_id]
        if context.record is not None:  # the conversation may have gone on elsewhere meanwhile
            context.record.session_id = session_id
        self._work.backing = partial(backing.parted, context)
        tools = build_tools(context, disabled=self._settings.plugins.disabled, origins=self._origins)
        self._own_tools = tools
        if not self._own_names:
            for line in patterns.doubts(self._settings.approvals, tools, servers=list(self._settings.mcp)):
                self._tell(line)
        self._own_names = frozenset(tool.tool_name for tool in tools)
        return Bench(context, gate, [*tools, *self._server_tools])

    def offered(self) -> list[ToolInfo]:
        """The tools a model may use now, tau's own first, those of servers last."""
        servers = self._servers.states if self._servers is not None else {}
        of_server = {tool: name for name, server in servers.items() for tool in server.tools}
        return [
            ToolInfo(
                name=tool.tool_name,
                tier=int(getattr(tool, "tier", 2)),
                asks=bool(getattr(tool, "asks", False)),
                description=str(tool.tool_spec.get("description", "")),
                package=self._origins.get(tool.tool_name, ""),
                server=of_server.get(tool.tool_name, ""),
            )
            for tool in (*self._own_tools, *self._server_tools)
        ]

    def servers(self) -> list[ServerInfo]:
        """How the servers of ``[mcp]`` stand; they are started once there is an agent."""
        if self._servers is None:
            return [ServerInfo(name, "waiting") for name in self._settings.mcp]
        return [
            ServerInfo(name, server.state, server.reason, len(server.tools))
            for name, server in self._servers.states.items()
        ]

    def carry_over(self, source: str, session_id: str) -> None:
        """Let the session that continues another one have what was granted, read and approved in it."""
        if source in self._kept:
            self._kept[session_id] = self._kept[source]
            context, _ = self._kept[source]
            if context.record is not None:
                context.record.session_id = session_id

    def start_servers(self, on_tools: Callable[[Sequence[Any]], None]) -> None:
        """Begin to connect the servers of ``[mcp]``, once; nobody waits for them.

        Args:
            on_tools: Called with the tools of each server when it is ready.
        """
        if self._starting is not None or not self._settings.mcp:
            return
        from tau.tools.mcp import McpServers

        servers = McpServers(
            self._settings.mcp,
            directory=self._settings.directory,
            environ=dict(os.environ),
            taken=self._own_names,
        )
        self._servers = servers

        def ready(tools: Sequence[Any]) -> None:
            self._server_tools += tools
            on_tools(tools)

        async def start() -> None:
            for line in await servers.start(ready):
                log.info("%s", line)
                self._tell(line)

        self._started_at = asyncio.get_running_loop().time()
        self._starting = asyncio.create_task(start())

    async def servers_started(self, seconds: float | None) -> None:
        """Wait until every server is connected or has failed.

        Args:
            seconds: Since their start, after which nobody waits any more; None: as long as they need.
        """
        if self._starting is None or self._starting.done():
            return
        now = asyncio.get_running_loop().time()
        left = None if seconds is None else max(0.0, self._started_at + seconds - now)
        await asyncio.wait({self._starting}, timeout=left)

    async def close(self) -> None:
        """Let go of the servers, and stop what tools left running."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._servers is not None:
            await self._servers.close()
        left = await asyncio.to_thread(stop_background, list(self._kept))
        for process in left:
            log.warning("A process that a command started could not be stopped: %s", process)
