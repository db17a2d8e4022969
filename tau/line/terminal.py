"""A prompt with history and completion, drawn by prompt_toolkit, and Esc or Ctrl-C during a turn."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import create_output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.utils import get_cwidth

from tau.conversation.commands import COMMANDS
from tau.errors import UsageError
from tau.line.person import QUIET_SECONDS

_ESCAPE_WAIT = 0.1
"""Seconds after which a lone escape byte is the Esc key and not the start of another key."""


class _Commands(Completer):
    """Completes the names of slash commands."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed:
            return
        for command in COMMANDS:
            name = f"/{command.name}"
            if name.startswith(typed):
                yield Completion(name, start_position=-len(typed), display_meta=command.help)


class EditingTerminal:
    """A prompt on the terminal. It is drawn on stdout, or on stderr when the replies go elsewhere.

    Args:
        state_dir: Where what was typed is remembered; when it cannot be written, it is not.
    """

    edits = True

    def __init__(self, state_dir: Path) -> None:
        self._input = create_input(sys.stdin)
        drawn_on = sys.stdout if sys.stdout.isatty() else sys.stderr
        if not drawn_on.isatty():
            raise UsageError(
                "tau chat has a terminal to read from and none to show its prompt on", "pipe the messages in"
            )
        mark = "❯ " if (drawn_on.encoding or "").lower().startswith("utf") else "> "
        self._answer: _Answer | None = None
        self._session: PromptSession[str] = PromptSession(
            mark,
            input=self._input,
            output=create_output(drawn_on),
            history=_history(state_dir),
            completer=_Commands(),
            complete_style=CompleteStyle.READLINE_LIKE,
            enable_suspend=True,
        )

    async def ask(self, draft: str = "") -> str:
        """The next message. A paste of several lines is one message.

        Args:
            draft: What stands in it already.

        Raises:
            EOFError: Ctrl-D on an empty line.
            KeyboardInterrupt: Ctrl-C.
        """
        return await self._session.prompt_async(default=draft)

    @contextmanager
    def keys(self, cancel: Callable[[], None]) -> Iterator[None]:
        """While this is open, Esc and Ctrl-C call `cancel`; other keys are kept for the next prompt."""
        loop = asyncio.get_running_loop()
        self._answer = None
        early: list[KeyPress] = []
        flush: asyncio.TimerHandle | None = None

        def take(pressed: list[KeyPress]) -> None:
            for key in pressed:
                if key.key in (Keys.Escape, Keys.ControlC):
                    cancel()
                elif self._answer is None or not self._answer.take(key):
                    early.append(key)

        def read() -> None:
            nonlocal flush
            take(self._input.read_keys())
            if flush is not None:
                flush.cancel()
            flush = loop.call_later(_ESCAPE_WAIT, lambda: take(self._input.flush_keys()))

        with self._input.raw_mode(), self._input.attach(read):
            try:
                yield
            finally:
                if flush is not None:
                    flush.cancel()
        store_typeahead(self._input, early)

    async def answer(self, question: str, *, at_once: bool = False) -> str:
        """See `Terminal`."""
        sys.stderr.write(question)
        sys.stderr.flush()
        self._answer = _Answer(0 if at_once else QUIET_SECONDS)
        try:
            return await self._answer.given
        finally:
            self._answer = None
            sys.stderr.write("\n")


class _Answer:
    """The line that answers a question, key by key."""

    def __init__(self, quiet_seconds: float) -> None:
        self.given: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._typed = ""
        self._quiet_until = monotonic() + quiet_seconds

    def take(self, pressed: KeyPress) -> bool:
        """Take a key; False when it belongs to what was being typed."""
        if monotonic() < self._quiet_until:
            self._quiet_until = monotonic() + QUIET_SECONDS
            return False
        if self.given.done():
            return False
        if pressed.key == Keys.ControlM:
            self.given.set_result(self._typed)
        elif pressed.key == Keys.BracketedPaste:
            return False
        elif pressed.key == Keys.ControlH and self._typed:
            width = get_cwidth(self._typed[-1])
            self._typed = self._typed[:-1]
            sys.stderr.write("\b \b" * width)
        elif len(pressed.key) == 1 and pressed.key.isprintable():
            self._typed += pressed.key
            sys.stderr.write(pressed.key)
        sys.stderr.flush()
        return True


def _history(state_dir: Path) -> History:
    """What was typed before, in a file that only its owner reads."""
    path = state_dir / "line-history"
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
