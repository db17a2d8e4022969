"""Reads keys and pastes from the terminal of line mode, where prompt_toolkit mistakes them."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from tau.input.burst import GAP_SECONDS, Burst, is_pasted

_READ = 4096
_PASTE = "\x1b[200~"


class TerminalInput(Vt100Input):
    """prompt_toolkit's input, but that

    - a paste without marks is one paste, where it is too much at once for keys: each of its characters was a
      key, and each took as long as one;
    - a terminal that is gone is the end of the input: an error was read from it over and over.
    """

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        self.stdin_reader = _Reader(self.fileno(), encoding=stdin.encoding)
        self._burst = Burst()
        self._ready: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        """See `Input`; the callback is called as well when a paste is over."""
        return self._attached(super().attach(input_ready_callback), input_ready_callback)

    def read_keys(self) -> list[KeyPress]:
        """What was pressed and pasted since; nothing yet of a paste that still comes."""
        read = self.stdin_reader.read(_READ)
        if read and self._belongs_to_burst(read):
            self.vt100_parser.flush()  # nothing more comes to an escape before it
            self._burst.take(read)
        elif read:
            self.vt100_parser.feed(read)
        elif self._burst.is_over or (self._burst.is_open and self.closed):
            gathered = self._burst.end()
            self.vt100_parser.feed(gathered.reports)
            self._buffer.append(KeyPress(Keys.BracketedPaste, gathered.text))
            self.vt100_parser.feed(gathered.enter)
        self._wait_for_end()
        pressed, self._buffer = self._buffer, []
        return pressed

    def _belongs_to_burst(self, read: str) -> bool:
        """Whether these characters are of a paste without marks."""
        if self._burst.is_open:
            return True
        return not self.vt100_parser._in_bracketed_paste and is_pasted(read.partition(_PASTE)[0])

    @contextmanager
    def _attached(self, attached: AbstractContextManager[None], ready: Callable[[], None]) -> Iterator[None]:
        before, self._ready = self._ready, ready
        try:
            with attached:
                self._wait_for_end()
                yield
        finally:
            self._ready = before

    def _wait_for_end(self) -> None:
        """Have it looked at a moment later whether the paste that comes is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._burst.is_open:
            self._timer = asyncio.get_running_loop().call_later(GAP_SECONDS, self._look)

    def _look(self) -> None:
        if self._ready is not None:
            self._ready()


class _Reader(PosixStdinReader):
    """Reads what has come, until the terminal is gone."""

    def read(self, count: int = _READ) -> str:
        """What has come; empty also when it is no whole character yet, or `closed`."""
        if self.closed or not select.select([self.stdin_fd], [], [], 0)[0]:
            return ""
        try:
            data = os.read(self.stdin_fd, count)
        except OSError:
            data = b""
        self.closed = not data
        return self._stdin_decoder.decode(data)
