"""Who answers in a conversation: the model in force, the agent on the session in hand, and its tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tau.config.settings import Settings
from tau.conversation.opening import OpenSession
from tau.conversation.standing import InForce
from tau.conversation.state import ServerInfo, ToolInfo
from tau.conversation.totals import Totals
from tau.conversation.workbench import Workbench
from tau.errors import UsageError
from tau.memory.desk import Standing
from tau.models.registry import PreparedModel, prepare
from tau.sessions.lineage import Read
from tau.tasks.standing import TASK_TOOLS

if TYPE_CHECKING:
    from tau.agent.permission import Ask
    from tau.agent.runner import AgentRunner
    from tau.tools.context import ToolContext


SERVER_WAIT = 5.0
"""Seconds after their start that an interactive turn waits for servers of tools; later ones join in."""

_NOTHING = Standing()
_OF_MEMORY = frozenset({"agent_info", "goal_progress", "record_lesson", "remember"}) | TASK_TOOLS
"""Tools that a model which reads no memory is not given either: each takes room of its short list."""

_NOT_READ = (
    "The model that runs here has no room for memory files, project files, goals and tasks: "
    "it reads none of them"
)


class Answerer:
    """Holds the model and the agent; lives on the engine's loop.

    Args:
        settings: Models, limits and tools.
        one_shot: Whether the conversation is a single turn, which waits for every server of tools.
        bare: Whether files of the person and the project stay out of the prompt.
        ask: Puts a call to a person; None where there is nobody.
        make_room: Awaited before each model call: a conversation that gets too long may be compacted.
        on_unsaved: Told why what was said is not on disk, and with "" when it is again.
        read: Opens a session of the conversation's store for reading.
        in_force: What stands in every prompt; tells the person what they should know of it and of the tools.

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
        read: Read,
        in_force: InForce,
    ) -> None:
        self.model: PreparedModel | None = None
        self.runner: AgentRunner | None = None
        self._settings = settings
        self._bare = bare
        self._server_wait = None if one_shot else SERVER_WAIT
        self._ask = ask
        self._make_room = make_room
        self._on_unsaved = on_unsaved
        self._workbench = Workbench(
            settings,
            in_force.tell,
            read=read,
            desk=in_force.desk,
            tasks=in_force.tasks,
            work=in_force.work,
        )
        self._in_force = in_force
        self._hands_over = not one_shot
        self._beginning: asyncio.Task[None] | None = None
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
                system_prompt=self._prompt(),
                tool_context=bench.context,
                tools=[
                    tool
                    for tool in bench.tools
                    if prepared.info.reads_memory or tool.tool_name not in _OF_MEMORY
                ],
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

    async def instruct(self) -> None:
        """Tell the model what stands in every prompt of the directory, as it is on the disk now.

        With the first call of an interactive conversation, what comes with tau is handed over and the
        project's folder made, where that is due.
        """
        if self._hands_over and self._beginning is None:
            self._beginning = asyncio.create_task(self._begin())
        if self._beginning is not None:
            await asyncio.shield(self._beginning)  # who waits may be cancelled; what is written is told
        standing = await asyncio.to_thread(self._in_force.read)
        if not self._reads_memory and standing.text:
            standing = replace(standing, notices=(*standing.notices, _NOT_READ))
        if self.runner is not None:
            self.runner.instruct(self._prompt(standing))
        self._in_force.desk.prompted(standing)
        self._in_force.take(standing)

    async def _begin(self) -> None:
        for notice in await self._in_force.begin():
            self._in_force.tell(notice.text, notice.level)

    def _prompt(self, standing: Standing = _NOTHING) -> str:
        from tau.agent.prompt import system_prompt

        text = standing.text if self._reads_memory else ""
        return system_prompt(self._settings, bare=self._bare, standing=text)

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
        self._warming = asyncio.create_task(self._warm(runner)) if runner is not None else None

    async def _warm(self, runner: AgentRunner) -> None:
        if not self._reads_memory:  # what stands in its prompt is known: it takes up its process at once
            await runner.warm_up()
        await self.instruct()
        if self._reads_memory:
            await runner.warm_up()

    @property
    def _reads_memory(self) -> bool:
        return self.model is None or self.model.info.reads_memory

    async def stop_warming(self) -> None:
        """Stop what the model prepares ahead of the first turn."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})

    async def close(self) -> None:
        """Let go of the model, the servers and what tools left running."""
        if self._beginning is not None:
            await asyncio.wait({self._beginning})
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
