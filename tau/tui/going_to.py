"""Goes to a message of the conversation on the screen, showing the turns above until it is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.tui.widgets.live_turn import PAGE_TURNS

if TYPE_CHECKING:
    from textual.widget import Widget

    from tau.tui.screens.chat import ChatScreen


async def load_earlier(screen: ChatScreen) -> bool:
    """Show the 20 turns above the first one shown, leaving what is in sight where it is.

    Returns:
        Whether there were some; when they cannot be read, a notice says why.
    """
    from tau.tui.history import turns_of

    chat = screen.chat
    while chat.reading:
        await asyncio.sleep(0.01)
    if (earlier := chat.earlier) is None:
        return False
    session_id, before = earlier
    chat.reading_earlier(True)
    try:
        page = await screen.conversation.earlier(before, PAGE_TURNS, session_id)
        if chat.earlier != earlier:  # another session is shown meanwhile
            return False
        await chat.show_earlier(turns_of(page.messages, page.events), page)
    except TauError as error:
        if chat.is_news(error.line()):
            await screen.notice(error.line(), "warning")
        return False
    finally:
        chat.reading_earlier(False)
    return True


async def reach(screen: ChatScreen, session_id: str, index: int) -> Widget | None:
    """The block that shows a message of the conversation, after the turns down to it were shown.

    Args:
        screen: Its screen; the session in hand, or one that it continues, holds the message.
        session_id: The session.
        index: Of the message in it.

    Returns:
        Its first block, or that of its turn; None when the conversation has no such message.
    """
    chat = screen.chat
    await chat.between.reach(session_id, index)
    while (block := chat.block_at(session_id, index)) is None:
        shown = chat.earlier
        if shown is None or (shown[0] == session_id and shown[1] <= index):
            return None
        if not await load_earlier(screen):
            return None
        await chat.between.fold()
    return block
