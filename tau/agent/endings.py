"""What the end of the SDK's loop means: why a turn stopped, what is told of it, and what is kept."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from strands.types.exceptions import (
    ContextWindowOverflowException,
    EventLoopException,
    MaxTokensReachedException,
)

from tau.agent import notices
from tau.config.settings import AgentSettings
from tau.events import AgentEvent, ErrorRecord, NoticeRecord, StopReason, TurnLimitRecord
from tau.models.failures import describe, is_overflow

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended.

    Attributes:
        stop_reason: Why it stopped.
        notice: What the person is told, or empty.
        error: What is kept of what went wrong, ahead of what the turn leaves behind; None where nothing did.
    """

    stop_reason: StopReason
    notice: str
    error: ErrorRecord | None = None


CANCELLED = Ending("cancelled", notices.CANCELLED)


def ending(task: asyncio.Task[str], settings: AgentSettings, *, cancelled: bool, session_id: str) -> Ending:
    """How the loop ended. A failure that nothing says more of is logged.

    Args:
        task: The loop, which is over; its result is the SDK's stop reason.
        settings: The limits.
        cancelled: Whether the person stopped the turn.
        session_id: The session, for the log.
    """
    if task.cancelled():
        return CANCELLED
    error = task.exception()
    if isinstance(error, EventLoopException):
        error = error.original_exception
    if isinstance(error, MaxTokensReachedException):
        return Ending("max_tokens", notices.MAX_TOKENS)
    if isinstance(error, ContextWindowOverflowException) or (error is not None and is_overflow(error)):
        return Ending("error", notices.OVERFLOW, ErrorRecord(where="context", message=notices.OVERFLOW))
    if error is not None:
        if cancelled:
            return CANCELLED
        log.error("The turn failed in session %s", session_id, exc_info=error)
        notice = notices.failed(describe(error))
        return Ending("error", notice, ErrorRecord(where="model", message=notice))
    return _stopped(task.result(), settings)


def _stopped(stop_reason: str, settings: AgentSettings) -> Ending:
    match stop_reason:
        case "cancelled":
            return CANCELLED
        case "limit_turns":
            return Ending("limit_turns", notices.turn_limit(settings.max_turns))
        case "limit_total_tokens":
            return Ending("limit_total_tokens", notices.token_limit())
        case "interrupt":
            record = ErrorRecord(where="interrupt", message=notices.INTERRUPT)
            return Ending("interrupt", notices.INTERRUPT, record)
        case _:
            return Ending("end_turn", "")


def end_record(ended: Ending, settings: AgentSettings) -> AgentEvent | None:
    """What is kept of the end itself; None where the answer, or the error, says it."""
    if ended.stop_reason == "limit_turns":
        return TurnLimitRecord(ended.stop_reason, settings.max_turns)
    if ended.stop_reason == "limit_total_tokens":
        return TurnLimitRecord(ended.stop_reason, settings.max_total_tokens or 0)
    if ended.notice and ended.stop_reason != "error":
        return NoticeRecord(ended.notice)
    return None
