"""Opens the links of the transcript: web addresses, and nothing else that a reply may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.display import visible

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen


def open_link(screen: ChatScreen, address: str) -> None:
    """Open an address in the browser if it is one of the web; the status row says what became of it."""
    if address.startswith(("https://", "http://", "mailto:")):
        screen.app.open_url(address)
        screen.status.say(f"Opened {visible(address)}")
    else:
        screen.status.say(f"Not opened, because it is no web address: {visible(address)}")
