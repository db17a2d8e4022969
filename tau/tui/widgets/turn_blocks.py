"""The blocks that show a turn as it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.display import visible

if TYPE_CHECKING:
    from textual.widget import Widget

    from tau.sessions.attached import Attached
    from tau.tui.history import CallPart, Turn
    from tau.tui.widgets.block import Block
    from tau.tui.widgets.command_card import CommandCard
    from tau.tui.widgets.tool_card import ToolCard


def blocks_of(turn: Turn, *, fresh: bool = False) -> list[Widget]:
    """The widgets that show a stored turn; `fresh` opens a summary that was just written."""
    from tau.tui.history import ReasoningPart, ReplyPart, SummaryPart
    from tau.tui.widgets.blocks import ReasoningBlock, SummaryBlock, UserRow
    from tau.tui.widgets.images_row import ImagesRow
    from tau.tui.widgets.reply import Reply

    widgets: list[Widget] = [
        _at(_command_card(item), turn.first_index) for item in turn.along if item.kind == "command"
    ]
    if turn.said:
        widgets.append(_at(UserRow(turn.said), turn.first_index))
    if images := [item.text for item in turn.along if item.kind == "image"]:
        widgets.append(_at(ImagesRow("\n".join(images)), turn.first_index))
    for part in turn.parts:
        if isinstance(part, ReplyPart):
            block: Block = Reply(part.text)
        elif isinstance(part, ReasoningPart):
            block = ReasoningBlock(part.text)
        elif isinstance(part, SummaryPart):
            block = SummaryBlock(part.text, fresh=fresh)
        else:
            block = _card_of(part)
        widgets.append(_at(block, part.index))
    return widgets


async def read_ahead(turns: Sequence[Turn], container: Widget) -> None:
    """Read the long replies of stored turns on a thread, so that the screen need not wait for its widgets.

    Args:
        turns: The turns whose blocks are made next.
        container: What they are shown in.
    """
    from tau.tui.history import ReplyPart
    from tau.tui.widgets.reply import READ_AT_ONCE, READING_WIDTH, read_whole

    ansi = container.app.native_ansi_color
    width = min(container.scrollable_content_region.width - 1, READING_WIDTH)  # a reply has a margin of 1
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, ReplyPart) and len(source := visible(part.text)) > READ_AT_ONCE:
                await asyncio.to_thread(read_whole, source, width, ansi=ansi)


def _command_card(item: Attached) -> CommandCard:
    """The card of a command of the person's that went along with a message."""
    from tau.tui.widgets.command_card import CommandCard

    return CommandCard(item.command, status=item.status, result=item.text, seconds=item.seconds)


def _at(block: Block, index: int) -> Block:
    block.message_index = index
    return block


def _card_of(call: CallPart) -> ToolCard:
    """A tool card with the recorded duration, approval and result; a call that broke off says so."""
    from tau.agent.history import INTERRUPTED_RESULT
    from tau.tui.widgets.tool_card import ToolCard

    record = call.record
    if record is not None:
        return ToolCard(
            call.name,
            call.arguments,
            status=record.status,
            result=call.result if call.result is not None else record.result,
            seconds=record.duration,
            approval=record.approval,
        )
    if call.result in (None, INTERRUPTED_RESULT):  # the next turn answers a call that has no result with it
        return ToolCard(call.name, call.arguments, status="running" if call.running else "unknown")
    return ToolCard(
        call.name, call.arguments, status="error" if call.failed else "success", result=call.result
    )
