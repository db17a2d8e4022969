"""What stands before a window: the summary of what it does not show, and facts of what left without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strands.models import Model

from tau.agent.anchors import anchors
from tau.agent.history import is_summary, text_of, without_secrets
from tau.agent.window_cuts import size
from tau.agent.window_summary import ACKNOWLEDGED, INTRODUCTION, NOTED, note
from tau.sessions.records import SUMMARY_OPENING, Message

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
    def summarizing(cls, summary: str, messages: Sequence[Message], *, tokens: int) -> Lead:
        """A summary that a model wrote, and the facts of `messages` that it lacks.

        Args:
            summary: Shorter than the messages; the facts take at most half of what it saves.
            messages: What it stands for, an earlier lead among them.
            tokens: Room for the facts.
        """
        most = (size(messages) + len(summary)) // 2
        text = f"{INTRODUCTION}\n\n{summary}"
        for budget in _budgets(tokens):
            facts = facts_of(messages, summary, tokens=budget)
            if facts and len(text) + len(facts) <= most:
                text = f"{text}\n\n{facts}"
                break
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
    def on_record(self) -> bool:
        """Whether it stands in the place of the two messages that the session begins with."""
        return self.text.startswith(SUMMARY_OPENING)

    def alone(self) -> Lead:
        """The summary without what was added to it, for a window that shows every message again."""
        return Lead(self.summary, self.summary_chars)

    def grown(self, messages: Sequence[Message], *, tokens: int, most: int | None = None) -> Lead:
        """The lead after messages have left without a summary.

        Only these messages and the facts held so far are read, however long the conversation is.

        Args:
            messages: What leaves, oldest first.
            tokens: Room for all facts beside the summary; 0 adds nothing to it.
            most: What the lead may have as a `size`. Facts give way to that, and then the note on them.
        """
        gone = replace(self, left=self.left + len(messages))
        held = self.text[self.summary_chars :].strip().partition("\n\n")[2]
        listed: list[Message] = [{"role": "user", "content": [{"text": held}]}] if held else []
        for budget in _budgets(tokens):
            facts = facts_of([*listed, *messages], self.summary, tokens=budget)
            said = note(gone.left, after_summary=bool(self.summary_chars), facts=bool(facts))
            lead = replace(gone, text="\n\n".join(filter(None, (self.summary, said, facts))))
            if most is None or size(lead.messages) <= most:
                return lead
        return gone


def facts_room(tokens: int, model: Model) -> int:
    """Tokens that facts may take beside a conversation: those configured, but a share of a declared window.

    Args:
        tokens: As ``[compaction] anchors_tokens`` says.
        model: That answers.
    """
    window = model.context_window_limit
    return min(tokens, int(window * FACTS_SHARE)) if window else tokens


def facts_of(messages: Sequence[Message], summary: str, *, tokens: int) -> str:
    """The facts of messages in memory that a summary lacks, as a list, with no secret in it."""
    # Only the recorded copy of what a model says is without secrets; half a key would match no shape.
    masked = [without_secrets(each) if each["role"] == "assistant" else each for each in messages]
    return anchors(masked, summary, tokens=tokens)


def _budgets(tokens: int) -> list[int]:
    return [tokens >> halved for halved in range(SQUEEZES)] if tokens else []


def index_or(value: Any, default: int) -> int:
    """A count or an index as it was recorded, or `default` where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
