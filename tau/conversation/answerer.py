"""Who answers in a conversation: the model in force, the agent on the session in hand, and its tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from tau.config.settings import Settings
from tau.conversation.opening import OpenSession
from tau.conversation.state import ServerInfo, ToolInfo
from tau.conversation.totals import Totals
from tau.conversation.workbench import Workbench
from tau.errors import UsageError
from tau.models.registry import PreparedModel, prepare
from tau.sessions.lineage import Read

if TYPE_CHECKING:
    from tau.agent.permission import Ask
    from tau.agent.runner import AgentRunner
    from tau.tools.context import ToolContext


SERVER_WAIT = 5.0
"""Seconds after their start that an interactive turn waits for servers of tools; later ones join in."""


class Answerer:
    """Holds the model and the agent; lives on the engine's loop.

    Args:
        settings: Models, limits and tools.
        one_shot: Whether the conversation is a single turn, which waits for every server of tools.
        bare: Whether files of the person and the project stay out of the prompt.
        ask: Puts a call to a person; None where there is nobody.
        make_room: Awaited before each model call: a conversation that gets too long may be compacted.
        on_unsaved: Told why what was said is not on disk, and with "" when it is again.
        tell: Told what the person should know of the tools, such as why a server cannot be used, a line each.
        read: Opens a session of the conversation's store for reading.

    Attributes:
        model: The model in force; None while there is none.
        runner: The agent; None while there is no model, or the session is open for reading only.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        bare: bool,
        one_shot: bool,
        ask: Ask | None,
        make_room: Callable[[], Awaitable[None]],
        on_unsaved: Callable[[str], None],
        tell: Callable[[str], None],
        read: Read,
    ) -> None:
        self.model: PreparedModel | None = None
        self.runner: AgentRunner | None = None
        self._settings = settings
        self._bare = bare
        self._server_wait = None if one_shot else SERVER_WAIT
        self._ask = ask
        self._make_room = make_room
        self._on_unsaved = on_unsaved
        self._workbench = Workbench(settings, tell, read=read)
        self._warming: asyncio.Task[None] | None = None

    async def prepare(self, role: str) -> PreparedModel:
        """Prepare the model of a role. The one in force stays in force.

        Raises:
            TauError: It cannot be used.
        """
        prepared = await prepare(self._settings, role, environ=os.environ)
        # The SDK takes the better part of a second to import; the loop stays free meanwhile.
        await asyncio.to_thread(_import_agent)
        return prepared

    def build(self, session: OpenSession | None, prepared: PreparedModel) -> AgentRunner | None:
        """The agent of a session; None where it is open for reading only.

        Raises:
            TauError: The directory is gone, or the session cannot be read.
        """
        from tau.agent.prompt import system_prompt
        from tau.agent.runner import AgentRunner

        if session is None or session.writer is None:
            return None
        bench = self._workbench.of(session.writer.session_id)
        totals = Totals(session.writer.meta())
        try:
            runner = AgentRunner(
                model=prepared.model,
                writer=session.writer,
                settings=self._settings.agent,
                anchors_tokens=self._settings.compaction.anchors_tokens,
                system_prompt=system_prompt(self._settings, bare=self._bare),
                tool_context=bench.context,
                tools=bench.tools,
                gate=bench.gate,
                ask=self._ask,
                on_unsaved=self._on_unsaved,
                tools_ready=self._tools_ready,
                make_room=self._make_room,
                side_model=prepared.side_model,
                context_tokens=totals.context
                if totals.context_at in (None, session.writer.count())
                else None,
                count_usage=prepared.count_usage,
            )
            if totals.chars_a_token:
                runner.reading.known(totals.chars_a_token)
            return runner
        except FileNotFoundError as error:  # the SDK looks at the process's directory
            raise UsageError(
                f"The directory {self._settings.directory} is gone", "start tau in another one"
            ) from error

    def context(self, session_id: str) -> ToolContext:
        """What the tools of a session share. Imports the SDK.

        Raises:
            ConfigError: A pattern of ``[approvals]`` cannot be used.
        """
        return self._workbench.of(session_id).context

    def carry_over(self, source: str, session_id: str) -> None:
        """Let the session that continues another one have what was granted, read and approved in it."""
        self._workbench.carry_over(source, session_id)

    def offered(self) -> tuple[list[ToolInfo], list[ServerInfo]]:
        """The tools that the model may use now, and how the servers of tools stand."""
        return self._workbench.offered(), self._workbench.servers()

    async def adopt(self, prepared: PreparedModel | None) -> None:
        """Take a prepared model over; what the one before holds is let go of."""
        before, self.model = self.model, prepared
        if before is not None and before is not prepared:
            await asyncio.to_thread(before.close)

    def use(self, runner: AgentRunner | None) -> None:
        """Make an agent the one that answers, and have its model prepare what it can."""
        self.runner = runner
        if runner is not None:
            self._workbench.start_servers(self._add_tools)
        if self._warming is not None:
            self._warming.cancel()
        self._warming = asyncio.create_task(runner.warm_up()) if runner is not None else None

    async def stop_warming(self) -> None:
        """Stop what the model prepares ahead of the first turn."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})

    async def close(self) -> None:
        """Let go of the model, the servers and what tools left running."""
        try:
            await self.adopt(None)
        finally:
            await self._workbench.close()

    async def _tools_ready(self) -> None:
        await self._workbench.servers_started(self._server_wait)

    def _add_tools(self, tools: Sequence[Any]) -> None:
        if self.runner is not None:
            self.runner.add_tools(tools)


def _import_agent() -> None:
    import tau.agent.runner  # noqa: F401  # imported for its weight, off the engine's loop
