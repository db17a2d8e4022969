"""Where a person types in line mode: what every kind of terminal offers, and the plainest kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from tau.line.input import piped_lines


class Terminal(Protocol):
    """Asks for messages, and listens for keys while a turn runs."""

    async def ask(self) -> str:
        """The next message.

        Raises:
            EOFError: The person is done (Ctrl-D).
            KeyboardInterrupt: Ctrl-C.
        """

    def keys(self, cancel: Callable[[], None]) -> AbstractContextManager[None]:
        """While this is open, Esc and Ctrl-C call `cancel`."""


class PlainTerminal:
    """A terminal that can do nothing but print, such as an editor's shell: lines as its driver edits them.

    There, Ctrl-C is a signal and Esc means nothing.
    """

    def __init__(self) -> None:
        self._lines = piped_lines()

    async def ask(self) -> str:
        """See `Terminal`; Ctrl-C at the prompt ends the run as a signal does."""
        sys.stderr.write("> ")
        sys.stderr.flush()
        async for line in self._lines:
            return line
        sys.stderr.write("\n")
        raise EOFError

    def keys(self, cancel: Callable[[], None]) -> AbstractContextManager[None]:
        """Nothing: the signal handler sees Ctrl-C."""
        return nullcontext()


def terminal(state_dir: Path) -> Terminal:
    """The best this terminal allows.

    Raises:
        UsageError: It can be read from, but there is none to draw on.
    """
    if os.environ.get("TERM") in (None, "", "dumb"):
        return PlainTerminal()
    from tau.line.terminal import EditingTerminal

    return EditingTerminal(state_dir)
