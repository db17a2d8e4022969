"""Names the key that takes back what was just remembered, and does what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.tui.keys import Keys, key_of

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen

ACTION = "take-back"


def with_key(text: str, keys: Keys) -> str:
    """What is told of a change of memory, with the key in place of the command where there is one.

    Args:
        text: What is told; of anything else it is given back as it is.
        keys: The keys in force.
    """
    from tau.conversation.consent import UNDONE_BY as REFINED_UNDONE_BY
    from tau.memory.desk import UNDONE_BY

    key = key_of(keys, ACTION)
    for command in (UNDONE_BY, REFINED_UNDONE_BY):
        if key and text.endswith(command):
            return f"{text.removesuffix(command)}{key} takes it back"
    return text


async def take_back(screen: ChatScreen) -> None:
    """Take back the change of memory that was told last, and say so; where that fails, say why."""
    from tau.conversation.memories import not_undone
    from tau.errors import TauError
    from tau.journal import rules_file
    from tau.memory.desk import Desk

    try:
        undone = await screen.conversation.change_memory(Desk.take_back)
    except TauError as error:
        await screen.notice(not_undone(error), "warning")
    else:
        await screen.notice("\n".join(rules_file.told(undone)))
    screen.chat.to_end()
