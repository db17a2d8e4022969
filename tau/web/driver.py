"""The driver of an app whose screen is a browser's: packets on pipes, as textual-serve's page reads them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from textual.app import App
from textual.drivers import web_driver
from textual.events import AppBlur, ScreenResume

from tau.tui.app import TauApp
from tau.tui.terminal_keys import use

use(web_driver)

ANSI_BACKGROUND = "#000000"
"""Where a theme leaves the background to the terminal: what the page's terminal has."""


class TabDriver(web_driver.WebDriver):
    """Textual's driver for the web, which also tells the server how the page looks and what it can resume.

    Stdout is the app's own; what anything else in the process writes there, such as a native library, goes to
    stderr instead of into the middle of a packet. When the server is gone, the app ends as if its terminal
    had been closed.
    """

    first_size: ClassVar[tuple[int, int]] = (80, 24)
    """Columns and rows of the page when it was opened."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size or self.first_size)
        self.fileno = os.dup(self.fileno)
        os.dup2(2, 1)
        self._write = partial(_write_whole, self.fileno)
        self._theme = ""
        self._session = ("", False)
        self._has_focus = True  # a page that was just opened is looked at, until it says otherwise
        self._has_screen = False

    def start_application_mode(self) -> None:
        """Begin to draw; the mouse is left to the browser where it is not wanted."""
        super().start_application_mode()
        # Textual has the app begin without the focus, by a message that comes before this one.
        self._app.call_later(self._app.call_after_refresh, self._begin_focus)
        if not self._mouse:
            self._disable_mouse_support()

    def write(self, data: str) -> None:
        """Send what is to be drawn, and before it what has changed for the page around it."""
        self._tell_theme()
        self._tell_session()
        super().write(data)

    def run_input_thread(self) -> None:
        """Read until the app ends, or until the server is gone: then the app ends, too."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGHUP)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Do what the server asks for; ``repaint`` draws all of the screen for a page that has none of it."""
        if packet_type == "repaint":
            refresh: Callable[[], object] = self._app.refresh
            self._app.call_later(refresh)
            return
        if packet_type in ("focus", "blur"):
            self._has_focus = packet_type == "focus"
            if not self._has_screen:
                return
        super().on_meta(packet_type, payload)

    def _begin_focus(self) -> None:
        """Give the focus to the screen, as in a terminal, now that there is one; then as the page has it."""
        self._has_screen = True
        self._app.app_focus = True
        if self._app.screen.focused is None:
            self._app.screen.post_message(ScreenResume())
        if not self._has_focus:
            self._app.post_message(AppBlur())

    def _tell_theme(self) -> None:
        if self._app.theme != self._theme:
            self._theme = self._app.theme
            theme = self._app.current_theme
            background = "" if theme.ansi else self._app.theme_variables.get("background", "")
            self.write_meta({"type": "look", "background": background or ANSI_BACKGROUND, "dark": theme.dark})

    def _tell_session(self) -> None:
        conversation = self._app.conversation if isinstance(self._app, TauApp) else None
        if conversation is None:
            return
        state = conversation.state
        session = (state.session_id, bool(state.message_count and state.persistent))
        if session != self._session:
            self._session = session
            self.write_meta({"type": "session", "id": session[0], "lasts": session[1]})


def _write_whole(descriptor: int, data: bytes) -> int:
    """Write all of it; nothing when nobody reads any more, which the end of the input tells as well."""
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except BrokenPipeError:
        return 0
    return len(data)
