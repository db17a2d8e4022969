"""The sentences a person reads when a turn ends, one a stop reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tau.display import one_line
from tau.masking import mask

OVERFLOW = "The conversation no longer fits the model's context window; start a new session with /new."
COMPACT_FIRST = (
    "Before you begin anew, try /compact: it goes on from a summary of this conversation in a new session."
)
MAX_TOKENS = "The reply hit the length limit; say so if you want me to continue."
CANCELLED = "Turn cancelled."
INTERRUPT = "A tool asked for an interrupt this channel cannot answer; it was refused."
CLOSED = "The conversation is closed."
BUSY = "I am still answering the previous turn."


MASKED = (
    "Your message held what looks like a secret: it is sent and kept as ***. "
    "Put it into an environment variable and name that instead."
)

NOBODY_TO_ASK = (
    "Refused: this call needs a person's yes, and there is nobody to ask here. It is final for this turn; "
    "do not try it again."
)


NO_ARGUMENTS = "The arguments of a call are one JSON object; this call was not run."

DENIED_BEFORE = (
    "Refused: the person said no in this turn already and was not asked again. Stop calling tools that "
    "change anything; say what you wanted to do and why."
)


def not_judged(tool: str, error: Exception) -> str:
    """What person, model and record are told of a call that could not be judged or shown."""
    reason = one_line(f"{type(error).__name__}: {mask(str(error))}", 200)
    return f"The call of {tool} was not run, because it could not be judged ({reason}); tau.log has more."


def misfit(tool: str, faults: Sequence[tuple[str, str, Any]]) -> str:
    """What the model reads when the arguments of a call do not fit the tool; the call did nothing.

    Args:
        tool: Its name.
        faults: Of each wrong argument the name, what is wrong, and what was given, or None.
    """
    shown = [
        f"{name or 'all of them'}: {wrong}{'' if given is None else f', not {_given(given)}'}"
        for name, wrong, given in faults
    ]
    return one_line(f"{tool} was not run, because its arguments do not fit: {'; '.join(shown)}", 1_000)


def _given(value: Any) -> str:
    return one_line(mask(json.dumps(value, ensure_ascii=False, default=str)), 60)


def denied(reason: str) -> str:
    """What the model reads when a person said no; `reason` is what the person gave, or empty."""
    because = f" The person says: {reason}" if reason else ""
    return (
        f"Refused: the person said no to this call. It is final for this turn; do not try it again.{because}"
    )


def not_recorded(reason: str) -> str:
    """What the model reads when a call was allowed but could not be recorded before it ran."""
    return f"The call was not run, because it could not be recorded first: {reason}"


def turn_limit(turns: int) -> str:
    """For `limit_turns`, after `turns` model calls."""
    return (
        f"I reached the tool-call limit for this turn ({turns} turns). "
        "I stopped; tell me if you want me to continue."
    )


def token_limit() -> str:
    """For `limit_total_tokens`."""
    return "I reached the token budget for this turn. I stopped; tell me if you want me to continue."


def failed(reason: str) -> str:
    """For a model call that failed; `reason` is one line."""
    return f"Model call failed: {reason}"


def not_saved(reason: str) -> str:
    """While a message waits to be written; `reason` is the store's line."""
    return f"This turn is not saved yet: {reason}"


def lost(session_id: str, reason: str) -> str:
    """For a session that is left while something said in it is not saved."""
    return f"The end of session {session_id} could not be saved: {reason}"


def not_left(reason: str) -> str:
    """For a switch that is refused because it would leave words behind that are not saved."""
    return f"This session is not left, because its last turn is not saved yet: {reason}"


def refused_unsaved(reason: str) -> str:
    """For a turn that is not begun because what came before it is not saved."""
    return f"Nothing was sent, because the previous turn is still not saved: {reason}"
