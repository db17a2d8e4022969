"""The blocks that show a turn as it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def _command_card(item: Attached) -> CommandCard:
    """The card of a command of the person's that went along with a message."""
    from tau.tui.widgets.command_card import CommandCard

    return CommandCard(item.command, status=item.status, result=item.text, seconds=item.seconds)


def _at(block: Block, index: int) -> Block:
    block.message_index = index
    return block


def _card_of(call: CallPart) -> ToolCard:
    """A tool card with the recorded duration, approval and result; a call without a result says so."""
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
    if call.result is None:
        return ToolCard(call.name, call.arguments, status="running" if call.running else "unknown")
    return ToolCard(
        call.name, call.arguments, status="error" if call.failed else "success", result=call.result
    )
