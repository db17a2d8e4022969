"""Opens the links of the transcript: web addresses, and nothing else that a reply may name."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from tau.display import visible

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen

IN_A_TERMINAL = {"browsh", "carbonyl", "elinks", "links", "links2", "lynx", "w3m", "www-browser"}
"""Browsers that draw in a terminal, which is tau's."""

STARTED_AFTER = 5.0
"""Seconds after which a browser that still runs, instead of handing the address to another one, is open."""

LAUNCHER = """
import sys, webbrowser
try:
    webbrowser.get("xdg-open")
except webbrowser.Error:
    pass
else:  # by itself it would not be waited for, and so never be known to have failed
    webbrowser.register("xdg-open", None, webbrowser.GenericBrowser("xdg-open"))
sys.exit(not webbrowser.open(sys.argv[1]))
"""


def open_link(screen: ChatScreen, address: str) -> None:
    """Open an address in the browser if it is one of the web; the status row says what became of it."""
    if not address.startswith(("https://", "http://", "mailto:")):
        screen.status.say(f"Not opened, because it is no web address: {visible(address)}")
    elif screen.app.is_web:  # the page is in a browser already, which opens it
        screen.app.open_url(address)
        screen.status.say(f"Opened {visible(address)}")
    else:
        screen.run_worker(_open(screen, address), group="link")


async def _open(screen: ChatScreen, address: str) -> None:
    if await opened_in_browser(address):
        screen.status.say(f"Opened {visible(address)}")
    else:
        screen.status.say(f"No browser could be opened: {visible(address)}")


async def opened_in_browser(address: str) -> bool:
    """Whether a browser took the address. It gets no terminal, neither tau's streams nor a way to its own."""
    launcher = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",  # no module of the directory that tau works in
        "-c",
        LAUNCHER,
        address,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=without_terminal(os.environ),
        start_new_session=True,
    )
    try:
        return await asyncio.wait_for(launcher.wait(), STARTED_AFTER) == 0
    except TimeoutError:
        return True


def without_terminal(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which no browser is chosen that draws in a terminal."""
    kept = {name: value for name, value in environment.items() if name not in ("TERM", "BROWSER")}
    chosen = [
        choice
        for choice in environment.get("BROWSER", "").split(os.pathsep)
        if choice.strip() and PurePath(_program(choice)).name.lower() not in IN_A_TERMINAL
    ]
    if chosen:
        kept["BROWSER"] = os.pathsep.join(chosen)
    return kept


def _program(choice: str) -> str:
    try:
        return shlex.split(choice)[0]
    except (ValueError, IndexError):
        return choice
