"""One conversation: run a turn, cancel it, switch sessions, slash commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.conversation.conversation import Conversation

__all__ = ["Conversation"]


def __getattr__(name: str) -> object:
    """`Conversation`, imported when it is first asked for: command lines need only the records beside it."""
    if name == "Conversation":
        from tau.conversation.conversation import Conversation

        return Conversation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
