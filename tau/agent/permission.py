"""Carries out what the gate decides about a call: runs it, puts it to a person, or refuses it, on record."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tau.agent import notices
from tau.agent.turn import Turn
from tau.events import AgentEvent, ApprovalAsked, ApprovalRecord, Decision, ErrorRecord, Notice
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
        if not isinstance(use["input"], Mapping):
            return notices.NO_ARGUMENTS
        verdict = await self._judged(tool, use, turn)
        if verdict.action != "ask":
            return self._settled(verdict, tool, use, turn)
        if self._ask is None:
            self._record_decision(use, "no", notices.NOBODY_TO_ASK)
            return self._denied(use, turn, notices.NOBODY_TO_ASK)
        async with self._asking:
            # An answer given meanwhile may have approved or denied just this.
            verdict = await self._judged(tool, use, turn)
            if verdict.action != "ask":
                return self._settled(verdict, tool, use, turn)
            return await self._asked(self._ask, verdict, tool, use, turn)

    def _settled(self, verdict: Verdict, tool: Any, use: Mapping[str, Any], turn: Turn) -> str:
        """A verdict that needs nobody."""
        if verdict.action == "deny":
            return self._denied(use, turn, verdict.reason)
        if verdict.action == "run" and int(getattr(tool, "tier", 2)) >= 2:
            turn.approvals[use["toolUseId"]] = "allowed"
            turn.rules[use["toolUseId"]] = verdict.rule
        return verdict.reason

    async def _judged(self, tool: Any, use: Mapping[str, Any], turn: Turn) -> Verdict:
        """The gate's verdict, to which the call is held when it runs. What cannot be judged does not run."""
        try:
            # A long command takes a while to parse, and paths are looked up on the disk.
            verdict = await asyncio.to_thread(self._gate.judge, tool, use["input"])
        except Exception as error:  # noqa: BLE001  # whatever fails, the call must not run
            return self._not_judged(tool, turn, error)
        self._gate.context.calls.begin(use["toolUseId"], verdict.real)
        return verdict

    def _not_judged(self, tool: Any, turn: Turn, error: Exception) -> Verdict:
        """Tell the person, the model, the record and the log why a call does not run."""
        reason = notices.not_judged(tool.tool_name, error)
        log.error("%s", reason, exc_info=error)
        self._record(ErrorRecord("tier_gate", reason))
        turn.emit(Notice(reason, "error"))
        return Verdict("deny", reason)

    async def _asked(self, ask: Ask, verdict: Verdict, tool: Any, use: Mapping[str, Any], turn: Turn) -> str:
        same = json.dumps([use["name"], use["input"]], sort_keys=True, default=str)
        if same in turn.denied or len(turn.denied) >= MOST_DENIED:
            return self._denied(use, turn, notices.DENIED_BEFORE)
        decision: Decision = "no"
        reason = ""
        if not turn.cancelled:
            try:
                preview = await self._preview(tool, use)
            except Refused as refused:
                return str(refused)  # it cannot be carried out, so there is nothing to ask
            except Exception as error:  # noqa: BLE001  # a preview may be another package's
                return self._settled(self._not_judged(tool, turn, error), tool, use, turn)
            # The model's ids repeat with some providers; an answer must not find another question.
            asked = ApprovalAsked(
                secrets.token_hex(8),
                use["name"],
                dict(use["input"]),
                verdict.offers,
                verdict.unclear,
                preview,
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

    async def _preview(self, tool: Any, use: Mapping[str, Any]) -> str:
        preview = getattr(tool, "preview", None)
        return "" if preview is None else str(await asyncio.to_thread(preview, use))

    def _denied(self, use: Mapping[str, Any], turn: Turn, reason: str) -> str:
        turn.approvals[use["toolUseId"]] = "denied"
        return reason

    def _record_decision(
        self, use: Mapping[str, Any], decision: Decision, reason: str, patterns: tuple[str, ...] = ()
    ) -> None:
        self._record(
            ApprovalRecord(
                use["name"],
                dict(use["input"]),
                decision,
                use["toolUseId"],
                reason=reason,
                patterns=list(patterns),
            )
        )
