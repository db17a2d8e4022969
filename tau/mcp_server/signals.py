"""How a signal ends the server: in order, and if that takes too long, all the same."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from tau.ending import SIGNALS

GRACE_SECONDS = 3.0
"""How long an end in order may take, such as when nobody reads what is written."""


class Ending:
    """Watches for signals on a running loop.

    Args:
        end: Begins the end; called on the loop, once.

    Attributes:
        code: The exit code: 0 until a signal came, then 128 and its number.
    """

    def __init__(self, end: Callable[[], object]) -> None:
        self.code = 0
        self._end = end

    def watch(self) -> None:
        """Begin. A signal that whoever started the process has it ignore stays ignored."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._signalled, number)

    def _signalled(self, number: int) -> None:
        if self.code:
            os._exit(self.code)  # the person has asked twice
        self.code = 128 + number
        begin_the_end(self.code)
        self._end()


def begin_the_end(code: int) -> None:
    """From now on the process ends with this code after `GRACE_SECONDS`, if it has not by itself."""
    timer = threading.Timer(GRACE_SECONDS, os._exit, [code])
    timer.daemon = True
    timer.start()
