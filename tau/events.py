"""What happens in a conversation, as one closed union of frozen records.

Turn events are live: `Conversation.send` yields them and every channel renders the same ones; they are
not stored. Neither are those of a command of the person's, from `Conversation.run`. Agent events are stored:
one JSON object a line in a session's ``events.jsonl``.
Every turn yields exactly one `TurnEnd`, and it is the last event of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

StopReason: TypeAlias = Literal[
    "end_turn",
    "limit_turns",
    "limit_total_tokens",
    "max_tokens",
    "cancelled",
    "interrupt",
    "error",
    "busy",
]
"""Why a turn ended."""

Level: TypeAlias = Literal["info", "warning", "error"]
ToolStatus: TypeAlias = Literal["success", "error", "cancelled"]
Decision: TypeAlias = Literal["yes", "always", "no"]
"""A person's answer: yes once, yes to every call of this session that the shown patterns cover, or no."""

Approval: TypeAlias = Literal["", "not_needed", "allowed", "approved", "denied"]
"""How a call came to run or not: ``allowed`` by a pattern approved before, ``approved`` or ``denied`` by a
person (or for want of one)."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more model calls, as the provider counted them; each token is in one field only.

    Attributes:
        input_tokens: Sent, and neither read from nor written to the provider's cache.
        output_tokens: Answered, reasoning among them.
        cached_tokens: Sent, and read from the cache.
        written_tokens: Sent, and written to the cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0

    @property
    def request_tokens(self) -> int:
        """Everything that was sent."""
        return self.input_tokens + self.cached_tokens + self.written_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.written_tokens + other.written_tokens,
        )


# Turn events ------------------------------------------------------------------------------------


class TurnStarted(msgspec.Struct, frozen=True):
    """The person's message was accepted; it is the next message of the history.

    `images` are the labels of those that went along, such as ``[Image: a.png · 120 kB · 800×600]``.
    """

    text: str
    images: tuple[str, ...] = ()


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the reply. Neighbouring deltas may be merged on the way to a channel."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning. Neighbouring deltas may be merged."""

    text: str


class MessageEnd(msgspec.Struct, frozen=True):
    """One assistant message is complete; `text` is the whole of its text, for a final full render."""

    text: str


class ToolUseStarted(msgspec.Struct, frozen=True):
    """A tool call begins to run."""

    tool_use_id: str
    name: str
    arguments: Mapping[str, Any]
    tier: int = 0


class ToolOutputDelta(msgspec.Struct, frozen=True):
    """Output of a running tool, as it comes."""

    tool_use_id: str
    text: str


class ToolUseEnded(msgspec.Struct, frozen=True):
    """A tool call is over. `duration` is in seconds; `rule` names the pattern by which it was ``allowed``."""

    tool_use_id: str
    name: str
    status: ToolStatus
    result: str
    duration: float
    approval: Approval = ""
    rule: str = ""


class ApprovalAsked(msgspec.Struct, frozen=True):
    """A tool call waits for a person; answered through `Conversation.answer`.

    Attributes:
        approval_id: What the answer names.
        tool: The tool's name.
        arguments: The whole call, as it would run.
        offers: The patterns that ``always`` approves for the rest of the session; empty when the call can
            only be answered by itself.
        unclear: Why a person must look, a phrase each: what could not be judged, or what reaches further.
        preview: What would change, as a unified diff; empty where nothing can be shown ahead.
    """

    approval_id: str
    tool: str
    arguments: Mapping[str, Any]
    offers: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    preview: str = ""


class ApprovalClosed(msgspec.Struct, frozen=True):
    """A question needs no answer any more: it got one, or its turn was cancelled, which means no.

    `reason` is what the person said with a no, or empty.
    """

    approval_id: str
    decision: Decision
    reason: str = ""


class ModelRetrying(msgspec.Struct, frozen=True):
    """The provider is throttled or away; the call is made again after `delay` seconds."""

    attempt: int
    delay: float
    reason: str


class UsageReported(msgspec.Struct, frozen=True):
    """The provider's count for the model call that just ended.

    A `side` call, such as one for a summary, costs tokens and says nothing of the conversation's size.
    """

    usage: Usage
    side: bool = False


class Compacted(msgspec.Struct, frozen=True):
    """The conversation goes on in a new session, which begins with a summary of the one before.

    Attributes:
        previous: The session that was compacted; it is kept.
        session_id: The new one, which is in hand from now on.
        line: The sentence for the person.
        summary: The summary as the model reads it, markdown.
    """

    previous: str
    session_id: str
    line: str
    summary: str


class Notice(msgspec.Struct, frozen=True):
    """One sentence for the person: what happened, to what, and what to do."""

    text: str
    level: Level = "info"


class TurnEnd(msgspec.Struct, frozen=True):
    """The turn is over. `notice` is the sentence a channel shows for this stop reason, or empty.

    `duration` is in seconds; `usage` is the sum over the turn's model calls.
    """

    stop_reason: StopReason
    notice: str = ""
    usage: Usage = msgspec.field(default_factory=Usage)
    duration: float = 0.0


TurnEvent: TypeAlias = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | MessageEnd
    | ToolUseStarted
    | ToolOutputDelta
    | ToolUseEnded
    | ApprovalAsked
    | ApprovalClosed
    | ModelRetrying
    | UsageReported
    | Compacted
    | Notice
    | TurnEnd
)

# The person's own commands -------------------------------------------------------------------------


class CommandStarted(msgspec.Struct, frozen=True):
    """A command of the person's begins to run; `shared` says whether the model will be told of it."""

    command: str
    shared: bool


class CommandOutput(msgspec.Struct, frozen=True):
    """Output of the running command, as it comes. Neighbouring ones may be merged."""

    text: str


class CommandEnded(msgspec.Struct, frozen=True):
    """The command is over, or was not run; the last event of each.

    Attributes:
        output: All of its output as a tool's result has it, with how it ended in the last line.
        status: ``cancelled`` when the person stopped it; ``error`` as well for an exit code other than 0.
        duration: Seconds.
        notice: What the person is to know: why it was not run, or that its output is not saved; or empty.
        ran: Whether it was run.
    """

    output: str = ""
    status: ToolStatus = "success"
    duration: float = 0.0
    notice: str = ""
    ran: bool = True


CommandEvent: TypeAlias = CommandStarted | CommandOutput | CommandEnded

# Agent events -----------------------------------------------------------------------------------


def utc_now() -> str:
    """The current time as stored in records: ISO 8601, UTC, microseconds."""
    return datetime.now(UTC).isoformat()


class ToolCallRecord(msgspec.Struct, frozen=True):
    """A finished call of any tier.

    Attributes:
        rule: The pattern by which it was ``allowed``.
        message: The ``tracking_id`` of the message that made the call; ids of calls may repeat.
    """

    tool: str
    tier: int
    arguments: Mapping[str, Any]
    status: ToolStatus
    result: str
    approval: Approval
    duration: float
    tool_use_id: str
    rule: str = ""
    message: str = ""
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["tool_call"] = "tool_call"


class ApprovalRecord(msgspec.Struct, frozen=True):
    """A question about a call and its decision; `patterns` are those that ``always`` approved."""

    tool: str
    arguments: Mapping[str, Any]
    decision: Decision
    tool_use_id: str
    reason: str = ""
    patterns: Sequence[str] = ()
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["approval"] = "approval"


class TurnLimitRecord(msgspec.Struct, frozen=True):
    """A turn that ended at a limit of the configuration."""

    stop_reason: StopReason
    limit: int
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["turn_limit"] = "turn_limit"


class NoticeRecord(msgspec.Struct, frozen=True):
    """A sentence the person was shown."""

    text: str
    level: Level = "info"
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["notice"] = "notice"


class ErrorRecord(msgspec.Struct, frozen=True):
    """A failure, with the place it came from."""

    where: Literal["model", "context", "interrupt", "tier_gate"]
    message: str
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["error"] = "error"


class SharedCommandRecord(msgspec.Struct, frozen=True):
    """A command that the person ran, whose output goes along with their next message.

    Attributes:
        command: As it was typed.
        output: As a tool's result has it, with how it ended in the last line.
        status: How it ended; see `CommandEnded`.
        duration: Seconds.
        messages: Messages on record when it was over: the person's next one, which names `shared_id`, has it.
        shared_id: Tells it from others of the session.
    """

    command: str
    output: str
    status: ToolStatus
    duration: float
    messages: int
    shared_id: str
    at: str = msgspec.field(default_factory=utc_now)
    kind: Literal["shared_command"] = "shared_command"


AgentEvent: TypeAlias = (
    ToolCallRecord | ApprovalRecord | TurnLimitRecord | NoticeRecord | ErrorRecord | SharedCommandRecord
)

_KINDS: dict[str, type[AgentEvent]] = {
    "tool_call": ToolCallRecord,
    "approval": ApprovalRecord,
    "turn_limit": TurnLimitRecord,
    "notice": NoticeRecord,
    "error": ErrorRecord,
    "shared_command": SharedCommandRecord,
}


def to_line(event: AgentEvent) -> dict[str, Any]:
    """An agent event as the flat object that is stored; `kind` and `at` lead."""
    fields = msgspec.structs.asdict(event)
    return {"kind": fields.pop("kind"), "at": fields.pop("at"), **fields}


def from_line(line: Mapping[str, Any]) -> AgentEvent | None:
    """The stored object as an event, or None for a kind or shape this version does not know."""
    kind = _KINDS.get(str(line.get("kind")))
    if kind is None:
        return None
    names = kind.__struct_fields__
    try:
        return kind(**{key: value for key, value in line.items() if key in names})
    except TypeError:
        return None
