"""What streams of a reply before its message is recorded: reasoning and text, as the scratch holds both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tau.agent.history import CUT_MARK, cut_off
from tau.masking import mask_content
from tau.sessions.records import Message

Kind = Literal["text", "reasoning"]

_SHIFTS: dict[Kind, str] = {"reasoning": "\x0e", "text": "\x0f"}
"""Characters of the scratch behind which it goes on with the other kind; it begins with text."""

_PICTURES = str.maketrans({"\x0e": "\u240e", "\x0f": "\u240f"})


@dataclass(slots=True)
class Streamed:
    """What a person was shown of a reply.

    Attributes:
        text: Its text.
        reasoning: What the model thought.
        kind: What came last.
    """

    text: str = ""
    reasoning: str = ""
    kind: Kind = "text"

    def __bool__(self) -> bool:
        """Whether there was anything to read."""
        return bool(self.text.strip() or self.reasoning.strip())

    def add(self, kind: Kind, piece: str) -> None:
        """More of it has come."""
        self.kind = kind
        if kind == "text":
            self.text += piece
        else:
            self.reasoning += piece


def scratched(piece: str, kind: Kind, before: Kind) -> str:
    """A piece as it is added to the scratch, in which what came `before` is of that kind."""
    plain = piece.translate(_PICTURES)
    return plain if kind == before or not piece else _SHIFTS[kind] + plain


def read_scratch(scratch: str) -> Streamed:
    """What the scratch of a session holds."""
    first, *thoughts = scratch.split(_SHIFTS["reasoning"])
    shown = Streamed(first)
    for thought in thoughts:
        reasoning, shift, text = thought.partition(_SHIFTS["text"])
        shown.add("reasoning", reasoning)
        if shift:
            shown.add("text", text)
    return shown


def cut_message(shown: Streamed) -> Message:
    """The message that keeps a reply that was cut off."""
    return with_cut_reasoning(
        {"role": "assistant", "content": [{"text": cut_off(shown.text)}]}, shown.reasoning
    )


def with_cut_reasoning(message: Message, reasoning: str) -> Message:
    """A reply that was cut off as it is recorded: with what was shown of the reasoning before it."""
    if not reasoning.strip():
        return message
    block = {"reasoningContent": {"reasoningText": {"text": mask_content(reasoning)}}}
    return {**message, "content": [block, *message["content"]]}


def without_cut_reasoning(message: Message) -> Message:
    """A recorded message as a model is sent it: some refuse reasoning that was cut before they signed it."""
    content = message.get("content")
    last = content[-1] if isinstance(content, list) and content else None
    text = last.get("text") if isinstance(last, dict) else None
    if not isinstance(content, list) or not isinstance(text, str) or not text.endswith(CUT_MARK):
        return message
    return {**message, "content": [block for block in content if not _unsigned(block)]}


def _unsigned(block: Any) -> bool:
    reasoning = block.get("reasoningContent") if isinstance(block, dict) else None
    said = reasoning.get("reasoningText") if isinstance(reasoning, dict) else None
    return isinstance(said, dict) and not said.get("signature")
