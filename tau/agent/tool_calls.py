"""The tool calls of a turn: judged before they run, told to the channel, and kept on record at their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from strands import Agent

from tau.agent import notices
from tau.agent.history import INTERRUPTED_RESULT, summary
from tau.agent.permission import Permission
from tau.agent.recorder import Recorder
from tau.agent.turn import Call, Turn
from tau.display import one_line
from tau.events import (
    AgentEvent,
    Notice,
    NoticeRecord,
    ToolCallRecord,
    ToolStatus,
    ToolUseEnded,
    ToolUseStarted,
)
from tau.tools.context import ToolContext
from tau.tools.subject import Subject


class ToolCalls:
    """Follows each call from its beginning to its end, in the turn that it is of.

    Args:
        agent: Whose calls they are.
        permission: Says of each whether it may run.
        recorder: Has what was said on the disk before a call with effects runs.
        record: Keeps an event of the session.
        context: What the tools share; None where they share nothing.
    """

    def __init__(
        self,
        agent: Agent,
        permission: Permission,
        recorder: Recorder,
        record: Callable[[AgentEvent], None],
        context: ToolContext | None,
    ) -> None:
        self._agent = agent
        self._permission = permission
        self._recorder = recorder
        self._record = record
        self._context = context

    async def refusal(self, turn: Turn | None, tool: Any, use: dict[str, Any]) -> str:
        """Why a call must not run, or the empty string. Before one with effects runs, it is on the disk.

        Args:
            turn: The running turn; without one no call runs.
            tool: The strands tool.
            use: The call: ``toolUseId``, ``name`` and ``input``.
        """
        if turn is None:
            return notices.CANCELLED
        refusal = await self._permission.refusal(tool, use, turn)
        if turn.cancelled:
            return notices.CANCELLED
        if not refusal and int(getattr(tool, "tier", 2)) >= 2 and not self._recorder.flush():
            return notices.not_recorded(self._recorder.unsaved)
        return refusal

    def begin(self, turn: Turn | None, use: dict[str, Any], tier: int) -> None:
        """A call begins, or is refused."""
        if turn is None:
            return
        arguments = dict(use["input"]) if isinstance(use["input"], Mapping) else {}
        turn.calls[use["toolUseId"]] = Call(use["name"], arguments, tier, time.monotonic())
        turn.emit(ToolUseStarted(use["toolUseId"], use["name"], arguments, tier))

    def heard(self, tool: Any, use: Mapping[str, Any]) -> None:
        """A tool has returned something, which may be anybody's words."""
        if self._context is None or bool(getattr(tool, "own_words", False)):
            return
        given = getattr(tool, "subject", None)
        value = use["input"].get(given.argument) if isinstance(given, Subject) else None
        about = f" {one_line(value, 120)}" if isinstance(value, str) else ""
        self._context.heard.note(f"{use['name']}{about}")

    def end(self, turn: Turn | None, use_id: str, status: ToolStatus, result: str, duration: float) -> None:
        """A call is over: tell the channel, and keep it on record."""
        call = turn.calls.pop(use_id, None) if turn is not None else None
        if turn is None or call is None:
            return
        approval = turn.approvals.get(use_id, "not_needed")
        rule = turn.rules.get(use_id, "")
        duration = round(duration, 4)  # once, so that what is shown now is what is shown of the record
        turn.emit(ToolUseEnded(use_id, call.name, status, result, duration, approval, rule))
        self._record(
            ToolCallRecord(
                tool=call.name,
                tier=call.tier,
                arguments=call.arguments,
                status=status,
                result=summary(result),
                approval=approval,
                duration=duration,
                tool_use_id=use_id,
                rule=rule,
                message=str(self._agent.messages[-1].get("tracking_id", "")),
            )
        )
        for line in self._context.take_news() if self._context is not None else ():
            turn.emit(Notice(line))
            self._record(NoticeRecord(line))

    def give_up(self) -> None:
        """Tell the calls that run that nobody waits for them any more."""
        if self._context is not None:
            self._context.calls.give_up()

    def end_open(self, turn: Turn) -> None:
        """End the calls that were running when the turn was stopped."""
        if turn.calls:
            self.give_up()
        for use_id, call in list(turn.calls.items()):
            self.end(turn, use_id, "cancelled", INTERRUPTED_RESULT, time.monotonic() - call.began)
