"""Ends the process by a signal while nothing is open that would have to be closed in order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndsAtOnce:
    """Until this is released, a signal ends the process without a word; the exit code is 128 and its number.

    Nothing is raised: an exception in the middle of an import may end up anywhere. A signal that whoever
    started the process has it ignore stays ignored.

    Attributes:
        undo: Called before the end; puts back what was changed outside of the process.
    """

    def __init__(self) -> None:
        self.undo: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> EndsAtOnce:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """From now on signals do again what they did before."""
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        for each in self._before:
            signal.signal(each, signal.SIG_IGN)
        try:
            if self.undo is not None:
                self.undo()
        finally:
            os._exit(128 + number)
