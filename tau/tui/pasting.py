"""Makes mentions of images that are dropped on the terminal, or pasted from the clipboard."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tau.errors import TauError

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen

NO_IMAGE = "There is no image in the clipboard"


async def mention_dropped(screen: ChatScreen, text: str) -> None:
    """Put mentions in place of a paste that is nothing but paths of images, as a terminal types them."""
    from tau.input.images import may_be_dropped, mentioned_instead

    if may_be_dropped(text):
        directory = Path(screen.settings.directory)
        if mentions := await asyncio.to_thread(mentioned_instead, text, directory):
            screen.prompt.mention_instead(text, mentions)


async def paste_image(screen: ChatScreen) -> None:
    """Mention the image of the clipboard; where there is none, paste what was copied here, or say so."""
    from tau.input.clipboard_image import clipboard_image, keep_image
    from tau.input.mentions import mention

    prompt = screen.prompt
    try:
        if screen.app.is_web:  # the clipboard is that of another machine
            data = None
        else:
            data = await asyncio.to_thread(clipboard_image, os.environ, sys.platform)
        if data is not None:
            path = await asyncio.to_thread(keep_image, data, screen.settings.places.state)
            prompt.mention(mention(str(path)), prompt.cursor_index, prompt.cursor_index)
            return
        why = NO_IMAGE
    except TauError as error:
        why = error.line()
    if not prompt.paste_copied():
        screen.status.say(why)
