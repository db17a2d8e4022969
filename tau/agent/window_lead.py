"""What stands before a window: the summary of what it does not show, and facts of what left without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from strands.models import Model

from tau.agent.history import is_summary, text_of, without_secrets
from tau.agent.steps import Steps
from tau.agent.window_cuts import size
from tau.agent.window_state import index_or
from tau.agent.window_summary import ACKNOWLEDGED, INTRODUCTION, NOTED, note
from tau.sessions.records import SUMMARY_OPENING, Message

if TYPE_CHECKING:
    from tau.agent.anchors import Facts

FACTS_SHARE = 0.15
"""The share of a model's window that facts take at most, so that a small window is of use at all."""

SQUEEZES = 5
"""How often the room for facts is halved at most where a lead has to be short."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A text that a model is sent before the messages of its window. It is never on record.

    Attributes:
        text: What it says: the summary, then a note and the facts; empty while nothing has left.
        summary_chars: How much of it is the summary that stands for the first messages.
        left: How many messages have left without a summary since.
    """

    text: str = ""
    summary_chars: int = 0
    left: int = 0

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Lead:
        """The lead that a recorded `state` says; where it says no other, all of the text is a summary."""
        message = state.get("summary_message")
        content = message.get("content") if isinstance(message, dict) else None
        first = content[0] if isinstance(content, list) and content else None
        text = first.get("text") if isinstance(first, dict) else None
        text = text if isinstance(text, str) else ""
        chars = min(index_or(state.get("summary_chars"), len(text)), len(text))
        return cls(text, chars, index_or(state.get("left"), 0))

    @classmethod
    def beginning(cls, messages: Sequence[Message]) -> Lead:
        """The summary that a session begins with, of its first two messages; nothing where it has none."""
        if len(messages) < 2 or not is_summary(messages[0]) or len(messages[0]["content"]) > 1:
            return cls()
        if text_of(messages[1]) != ACKNOWLEDGED:  # a person may begin with the very words
            return cls()
        text = text_of(messages[0])
        return cls(text, len(text))

    @classmethod
    def summarizing(cls, summary: str, messages: Sequence[Message], *, tokens: int) -> Steps[Lead]:
        """A summary that a model wrote, and the facts of `messages` that it lacks.

        Args:
            summary: Shorter than the messages; the facts take at most half of what it saves.
            messages: What it stands for, an earlier lead among them.
            tokens: Room for the facts.
        """
        most = (size(messages) + len(summary)) // 2
        text = f"{INTRODUCTION}\n\n{summary}"
        found = yield from facts_of(messages)
        for budget in _budgets(tokens):
            listed = found.lacking(summary, tokens=budget)
            if listed and len(text) + len(listed) <= most:
                text = f"{text}\n\n{listed}"
                break
            yield
        return cls(text, len(text))

    @property
    def messages(self) -> list[Message]:
        """The text as a person's message, and the model's word that it has read it."""
        if not self.text:
            return []
        return [
            {"role": "user", "content": [{"text": self.text}]},
            {"role": "assistant", "content": [{"text": ACKNOWLEDGED if self.summary_chars else NOTED}]},
        ]

    @property
    def state(self) -> dict[str, Any]:
        """What `restored` needs, as plain JSON."""
        return {
            "summary_message": self.messages[0] if self.text else None,
            "summary_chars": self.summary_chars,
            "left": self.left,
        }

    @property
    def summary(self) -> str:
        """The summary alone."""
        return self.text[: self.summary_chars]

    @property
    def facts(self) -> str:
        """The list of facts of what has left since."""
        return self.text[self.summary_chars :].strip().partition("\n\n")[2]

    @property
    def on_record(self) -> bool:
        """Whether it stands in the place of the two messages that the session begins with."""
        return self.text.startswith(SUMMARY_OPENING)

    def alone(self) -> Lead:
        """The summary without what was added to it, for a window that shows every message again."""
        return Lead(self.summary, self.summary_chars)

    def grown(self, messages: Sequence[Message], *, tokens: int, growth: int | None = None) -> Steps[Lead]:
        """The lead after messages have left without a summary.

        Only these messages and the facts held so far are read, however long the conversation is.

        Args:
            messages: What leaves, oldest first.
            tokens: Room for all facts beside the summary; 0 adds nothing to it.
            growth: By how much the lead's `size` may grow. Facts give way to that, and then the note on them.
        """
        gone = replace(self, left=self.left + len(messages))
        most = None if growth is None else size(self.messages) + growth
        held: list[Message] = [{"role": "user", "content": [{"text": self.facts}]}] if self.facts else []
        found = yield from facts_of([*held, *messages] if tokens else [])
        for budget in _budgets(tokens):
            lead = gone._noting(found.lacking(self.summary, tokens=budget))
            if most is None or size(lead.messages) <= most:
                return lead
            yield
        return gone

    def awaiting(self, left: int) -> Lead:
        """The lead while the facts of the `left` messages that have left are still to be read."""
        return replace(self, left=self.left + left)._noting(self.facts)

    def _noting(self, facts: str) -> Lead:
        """The summary, the note on how many messages have left, and a list of their facts."""
        said = note(self.left, after_summary=bool(self.summary_chars), facts=bool(facts))
        return replace(self, text="\n\n".join(filter(None, (self.summary, said, facts))))


def facts_room(tokens: int, model: Model) -> int:
    """Tokens that facts may take beside a conversation: those configured, but a share of a declared window.

    Args:
        tokens: As ``[compaction] anchors_tokens`` says.
        model: That answers.
    """
    window = model.context_window_limit
    return min(tokens, int(window * FACTS_SHARE)) if window else tokens


def facts_of(messages: Sequence[Message]) -> Steps[Facts]:
    """The facts of messages in memory, with no secret among them."""
    from tau.agent.anchors import Facts  # what it takes to find them is for long conversations alone

    facts = Facts()
    for message in messages:
        # Only the recorded copy of what a model says is without secrets; half a key would match no shape.
        facts.read(without_secrets(message) if message["role"] == "assistant" else message)
        yield
    return facts


def _budgets(tokens: int) -> list[int]:
    return [tokens >> halved for halved in range(SQUEEZES)] if tokens else []
