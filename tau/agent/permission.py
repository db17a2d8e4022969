"""Carries out what the gate decides about a call: runs it, puts it to a person, or refuses it, on record."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tau.agent import notices
from tau.agent.turn import Turn
from tau.events import AgentEvent, ApprovalAsked, ApprovalRecord, Decision, ErrorRecord
from tau.gate.gate import Gate, Verdict
from tau.tools.refusals import Refused

log = logging.getLogger(__name__)

MOST_DENIED = 5
"""After so many calls of a turn were denied, the rest of them is not even asked about."""

Ask = Callable[[ApprovalAsked], Awaitable[tuple[Decision, str]]]
"""Puts a question to a person; the answer is the decision and, for a no, the person's reason or ""."""


class Permission:
    """Says of each call whether it may run.

    Args:
        gate: Judges calls, and keeps what is approved for the session.
        ask: Puts a question to a person; None where there is nobody, and what needs one is refused at once.
        record: Keeps an event of the session.
    """

    def __init__(self, gate: Gate, ask: Ask | None, record: Callable[[AgentEvent], None]) -> None:
        self._gate = gate
        self._ask = ask
        self._record = record
        self._asking = asyncio.Lock()

    async def refusal(self, tool: Any, use: Mapping[str, Any], turn: Turn) -> str:
        """Why a call must not run, as the model reads it; the empty string when it may.

        How it was allowed is noted in `turn`. Questions are put one after the other, and none once the turn
        is cancelled. A call that was denied is not asked about again in the same turn.

        Args:
            tool: The strands tool.
            use: The call: ``toolUseId``, ``name`` and ``input``.
            turn: The running turn.
        """
        arguments = dict(use["input"] or {})
        verdict = await self._judged(tool, arguments)
        if verdict.action == "refuse":
            return self._denied(use, turn, verdict.reason) if verdict.rule else verdict.reason
        if verdict.action == "run":
            return self._allowed(tool, use, turn, verdict.rule)
        if self._ask is None:
            self._record_decision(use, "no", notices.NOBODY_TO_ASK)
            return self._denied(use, turn, notices.NOBODY_TO_ASK)
        async with self._asking:
            return await self._asked(self._ask, tool, use, turn)

    async def _judged(self, tool: Any, arguments: Mapping[str, Any]) -> Verdict:
        """The gate's verdict. What cannot be judged does not run."""
        try:
            # A long command takes a while to parse, and paths are looked up on the disk.
            return await asyncio.to_thread(self._gate.judge, tool, arguments)
        except Exception:
            log.exception("A call of %s could not be judged", tool.tool_name)
            self._record(ErrorRecord("tier_gate", notices.not_judged(tool.tool_name)))
            return Verdict("refuse", notices.not_judged(tool.tool_name))

    async def _asked(self, ask: Ask, tool: Any, use: Mapping[str, Any], turn: Turn) -> str:
        arguments = dict(use["input"] or {})
        same = _key(use)
        # An answer given meanwhile may have approved or denied just this.
        verdict = await self._judged(tool, arguments)
        if verdict.action == "run":
            return self._allowed(tool, use, turn, verdict.rule)
        if same in turn.denied or len(turn.denied) >= MOST_DENIED:
            return self._denied(use, turn, notices.DENIED_BEFORE)
        decision: Decision = "no"
        reason = ""
        preview = ""
        if not turn.cancelled:
            try:
                preview = await self._preview(tool, arguments)
            except Refused as refused:
                return str(refused)  # it cannot be carried out, so there is nothing to ask
            asked = ApprovalAsked(
                use["toolUseId"], use["name"], arguments, verdict.offers, verdict.unclear, preview
            )
            decision, reason = await ask(asked)
        if turn.cancelled:
            decision, reason = "no", notices.CANCELLED
        if decision == "always" and not verdict.offers:
            decision = "yes"
        self._record_decision(use, decision, reason, verdict.offers if decision == "always" else ())
        if decision == "no":
            turn.denied.add(same)
            return self._denied(use, turn, notices.denied(reason))
        if decision == "always":
            self._gate.approve(verdict.offers)
        turn.approvals[use["toolUseId"]] = "approved"
        return ""

    async def _preview(self, tool: Any, arguments: Mapping[str, Any]) -> str:
        preview = getattr(tool, "preview", None)
        return "" if preview is None else await asyncio.to_thread(preview, arguments)

    def _allowed(self, tool: Any, use: Mapping[str, Any], turn: Turn, rule: str) -> str:
        if int(getattr(tool, "tier", 2)) >= 2:
            turn.approvals[use["toolUseId"]] = "allowed"
            turn.rules[use["toolUseId"]] = rule
        return ""

    def _denied(self, use: Mapping[str, Any], turn: Turn, reason: str) -> str:
        turn.approvals[use["toolUseId"]] = "denied"
        return reason

    def _record_decision(
        self, use: Mapping[str, Any], decision: Decision, reason: str, patterns: tuple[str, ...] = ()
    ) -> None:
        arguments = dict(use["input"] or {})
        self._record(
            ApprovalRecord(
                use["name"], arguments, decision, use["toolUseId"], reason=reason, patterns=list(patterns)
            )
        )


def _key(use: Mapping[str, Any]) -> str:
    return json.dumps([use["name"], use["input"]], sort_keys=True, default=str)
