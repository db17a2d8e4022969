"""How a summary of the older messages stands in a window of the kind ``summarize``."""

from __future__ import annotations

from tau.sessions.records import Message

INTRODUCTION = "Summary of the conversation so far:"
ACKNOWLEDGED = "Understood. I will continue from this summary."


def summary_messages(text: str) -> list[Message]:
    """How a summary stands in a window, before the first message that is kept."""
    return [
        {"role": "user", "content": [{"text": f"{INTRODUCTION}\n\n{text}"}]},
        {"role": "assistant", "content": [{"text": ACKNOWLEDGED}]},
    ]
