"""Where a person types in line mode: what every kind of terminal offers, and the plainest kind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Protocol

from tau.line.input import piped_lines


class Terminal(Protocol):
    """Asks for messages, and listens for keys while a turn runs."""

    edits: bool
    """Whether `ask` can begin with a draft."""

    async def ask(self, draft: str = "") -> str:
        """The next message.

        Args:
            draft: What stands in it already; only where `edits`.

        Raises:
            EOFError: The person is done (Ctrl-D).
            KeyboardInterrupt: Ctrl-C.
        """

    def keys(self, cancel: Callable[[], None]) -> AbstractContextManager[None]:
        """While this is open, Esc and Ctrl-C call `cancel`."""

    async def answer(self, question: str, *, at_once: bool = False) -> str:
        """Ask a question on stderr while `keys` is open; the answer is a line.

        What was being typed when the question came is no answer: it is kept for the next message.

        Args:
            question: What is shown before the cursor.
            at_once: The person is answering already; what is typed now counts.

        Raises:
            EOFError: The person is done.
        """


QUIET_SECONDS = 0.35
"""Typing counts as an answer only after this long without any."""


class PlainTerminal:
    """A terminal that can do nothing but print, such as an editor's shell: lines as its driver edits them.

    There, Ctrl-C is a signal and Esc means nothing.
    """

    edits = False

    def __init__(self) -> None:
        self._lines = piped_lines()
        self._next: asyncio.Task[str | None] | None = None
        self._kept: deque[str] = deque()

    async def ask(self, draft: str = "") -> str:
        """See `Terminal`; Ctrl-C at the prompt ends the run as a signal does."""
        _write("> ")
        if self._kept:
            return self._kept.popleft()
        return await self._line()

    def keys(self, cancel: Callable[[], None]) -> AbstractContextManager[None]:
        """Nothing: the signal handler sees Ctrl-C."""
        return nullcontext()

    async def answer(self, question: str, *, at_once: bool = False) -> str:
        """See `Terminal`."""
        quiet_until = monotonic() + (0 if at_once else QUIET_SECONDS)
        _write(question)
        while True:
            line = await self._line()
            if monotonic() >= quiet_until:
                return line
            self._kept.append(line)
            quiet_until = monotonic() + QUIET_SECONDS

    async def _line(self) -> str:
        """The next line; a caller that stops waiting leaves it to the next one."""
        if self._next is None:
            self._next = asyncio.create_task(anext(self._lines, None))
        await asyncio.wait({self._next})
        done, self._next = self._next, None
        line = done.result()
        if line is None:
            _write("\n")
            raise EOFError
        return line


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def asking_terminal() -> Terminal | None:
    """Where a question can be put while nothing else is typed, or None where nobody would see it."""
    return PlainTerminal() if sys.stdin.isatty() and sys.stderr.isatty() else None


def terminal(state_dir: Path) -> Terminal:
    """The best this terminal allows.

    Raises:
        UsageError: It can be read from, but there is none to draw on.
    """
    if os.environ.get("TERM") in (None, "", "dumb"):
        return PlainTerminal()
    from tau.line.terminal import EditingTerminal

    return EditingTerminal(state_dir)
