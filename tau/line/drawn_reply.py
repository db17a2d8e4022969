"""The reply on a terminal that shows colours: markdown, drawn as it comes and no faster than it can be."""

from __future__ import annotations

import asyncio
import os
import sys
from shutil import get_terminal_size
from time import monotonic

from tau.display import visible
from tau.line.markdown_stream import MarkdownStream

_PAUSE = 0.02
"""Seconds between two looks at a text that grows; more where a look takes long."""


class DrawnReply:
    """One message of the model on stdout. Made while an event loop runs."""

    def __init__(self) -> None:
        self._stream = MarkdownStream(self._take, _columns)
        self._drawn: list[str] = []
        self._waiting = ""
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0
        self._failure: OSError | None = None

    def add(self, text: str) -> None:
        """Take more of the text.

        Raises:
            OSError: stdout takes nothing any more.
        """
        if self._failure is not None:
            raise self._failure
        self._waiting += text
        if self._timer is None:
            if monotonic() >= self._not_before:
                self._draw()
            else:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self._not_before - monotonic(), self._draw_later)

    def finish(self) -> None:
        """Draw the rest; the cursor is then at the beginning of a line."""
        self._stop_waiting()
        self._stream.add(visible(self._taken(all_of_it=True)))
        self._stream.finish()
        self._flush()

    def break_line(self) -> None:
        """Let something else begin on a line of its own, below what has come."""
        self._stop_waiting()
        self._stream.add(visible(self._taken()))
        self._stream.break_line()
        self._flush()

    def _draw_later(self) -> None:
        self._timer = None
        try:
            self._draw()
        except OSError as error:
            self._failure = error

    def _draw(self) -> None:
        begun = monotonic()
        self._stream.add(visible(self._taken()))
        self._flush()
        ended = monotonic()
        self._not_before = ended + max(_PAUSE, 4 * (ended - begun))

    def _taken(self, *, all_of_it: bool = False) -> str:
        """What waits; the first half of a line's end, perhaps, stays."""
        end = len(self._waiting) - (self._waiting.endswith("\r") and not all_of_it)
        text, self._waiting = self._waiting[:end], self._waiting[end:]
        return text

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _take(self, text: str) -> None:
        self._drawn.append(text)

    def _flush(self) -> None:
        if self._drawn:
            text = "".join(self._drawn)
            self._drawn.clear()
            sys.stdout.write(text)
            sys.stdout.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return get_terminal_size((80, 24)).columns
