"""What the memory screen does: undo, accept, and the person's editor; each tells the conversation as well."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tau.conversation import memories
from tau.conversation.state import MemoryFile, Said
from tau.diff_reader import Diff
from tau.display import one_line
from tau.errors import TauError
from tau.memory.entries import Entry
from tau.tui.screens.memory_lines import why_not

if TYPE_CHECKING:
    from tau.conversation.consent import WaitingChange
    from tau.conversation.state import Refused
    from tau.tui.app import TauApp
    from tau.tui.screens.chat import ChatScreen


async def undo(chat: ChatScreen, entry: Entry) -> tuple[str, Sequence[str | Diff]]:
    """Take a change back. Returns what is said of it in a line, and why it could not be, if it could not."""
    from tau.journal import rules_file

    try:
        undone = await chat.conversation.change_memory(
            lambda desk, given_up: desk.undo(entry.id, given_up=given_up)
        )
    except TauError as error:
        await chat.notice(memories.not_undone(error), "warning")
        return error.message, why_not(error, memories.UNDO_ANYWAY)
    lines = rules_file.told(undone)
    await chat.notice("\n".join(lines))
    return f"Undone: {'; '.join(line.strip() for line in lines[1:])}", ()


async def accept(chat: ChatScreen, listed: Sequence[WaitingChange]) -> str:
    """Carry out what is listed as waiting for the person's yes. Returns what is said of it in a line."""
    result = await chat.conversation.accept_changes(listed)
    if isinstance(result, Said):
        await chat.notice("\n".join(result.lines))
        return "; ".join(line.strip() for line in result.lines)
    line = cast("Refused", result).line
    await chat.notice(line, "warning")
    return line


async def edit(chat: ChatScreen, file: MemoryFile) -> str:
    """Open a file in the person's editor. Returns what is said of it in a line."""
    from tau.tui.editor import edit_file

    conversation, said = chat.conversation, ""
    try:
        before = await conversation.look_at_memory(lambda desk: memories.on_disk(desk, file.title))
        try:
            await edit_file(cast("TauApp", chat.app), Path(file.path))
        except TauError as error:
            said = error.line()
        after = await conversation.change_memory(lambda desk, _: memories.on_disk(desk, file.title))
        if done := await asyncio.to_thread(memories.edited, file.title, before, after):
            await chat.notice(done)
    except TauError as error:
        return error.line()
    return said or done or f"{one_line(file.title)} is as it was"
