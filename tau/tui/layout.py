"""What Textual has to be told, or waited for, where widgets change their heights."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from textual.message_pump import MessagePump


async def laid_out(node: MessagePump) -> None:
    """Wait until what was mounted or opened on a screen or in a widget has its place."""
    done = asyncio.Event()
    node.call_after_refresh(done.set)
    await done.wait()


def forget_places(widget: Widget) -> None:
    """Have a widget laid out that asked for it, whatever was laid out while its message was under way.

    Textual forgets where a container has its widgets before it sends the message. A layout in between fills
    that in again, with the old height of this widget, and the message would change nothing.
    """
    for ancestor in widget.ancestors:
        if isinstance(ancestor, Widget):
            ancestor._clear_arrangement_cache()
            if not ancestor.styles.auto_dimensions:
                break
