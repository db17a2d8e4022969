"""The driver of the app in a terminal: it reads as fast as the app follows, until the terminal is gone."""

from __future__ import annotations

import asyncio
import io
import os
import select
import signal
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tau.tui.terminal_keys import TerminalKeys

if TYPE_CHECKING:
    from tau.tui.app import TauApp

_READ = 65_536
_WAIT_SECONDS = 0.05
"""How long input is waited for before it is looked at what time alone tells, as that a paste is over."""

_BEHIND = 200
"""With more keys than these waiting for the app it gets no more: they would keep from it what ends it."""

_CATCH_UP_SECONDS = 0.01


class TerminalDriver(LinuxDriver):
    """Textual's driver, but that

    - it reads no further than the app follows: what piled up kept a signal from being seen for minutes;
    - it ends the app when the terminal is gone, as SIGHUP does, which not every process of it gets: it read
      the end over and over, and waited for room for what nobody took;
    - bytes that are no UTF-8 are shown as such, instead of ending the app.
    """

    _app: TauApp

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._on_the_way: deque[Future[bool]] = deque()
        assert self._file is not None
        self._file = cast("io.TextIOWrapper", _Drawn(self._file))

    def run_input_thread(self) -> None:
        """Read until the app ends or gives the terminal away, or the terminal is gone."""
        parser = TerminalKeys(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            if self._app.told_to_end:  # what still comes would only keep it from that
                self.exit_event.wait(_WAIT_SECONDS)
                continue
            if select.select([self.fileno], [], [], _WAIT_SECONDS)[0]:
                data = self._read()
                if not data:
                    self._app.end_by(signal.SIGHUP)
                    return
                if text := decode(data):
                    self._hand_over(parser.feed(text))
            self._hand_over(parser.tick())
        self._hand_over(parser.feed(""))  # what came last, before the terminal is given away

    def send_message(self, message: Message) -> None:
        """Send it to the app, and know when it is there."""
        sent = asyncio.run_coroutine_threadsafe(self._app._post_message(message), loop=self._loop)
        self._on_the_way.append(sent)

    def _hand_over(self, messages: Iterable[Message]) -> None:
        """Give the app what was read, as fast as it deals with that."""
        for message in messages:
            while self._is_ahead() and not self.exit_event.wait(_CATCH_UP_SECONDS):
                pass
            self.process_message(message)

    def _read(self) -> bytes:
        """What has come; nothing when the terminal is gone."""
        try:
            return os.read(self.fileno, _READ)
        except OSError:
            return b""

    def _is_ahead(self) -> bool:
        """Whether the app has yet to deal with much of what was read."""
        while self._on_the_way and self._on_the_way[0].done():
            self._on_the_way.popleft()
        waiting = len(self._on_the_way) + self._app.message_queue_size
        for screen in self._app.screen_stack[-1:]:
            waiting += screen.message_queue_size
            if (focused := screen.focused) is not None:
                waiting += focused.message_queue_size
        return waiting > _BEHIND


class _Drawn(io.TextIOBase):
    """What the app is drawn on; when that is gone it takes everything and shows it to nobody.

    Textual's thread that writes ended there, and the app waited without end for it to go on.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._terminal.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._terminal.flush()

    def fileno(self) -> int:
        return self._terminal.fileno()
