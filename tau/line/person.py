"""Where a person types in line mode: what every kind of terminal offers, and the plainest kind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from tau.line.input import piped_lines

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.conversation.state import CommandSpec, ConversationState
    from tau.input.completing import Option
    from tau.input.files import FileFinder


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

    def close(self) -> None:
        """Nothing is asked any more."""

    async def answer(self, question: str, *, at_once: bool = False) -> str:
        """Ask a question on stderr while `keys` is open; the answer is a line.

        What was being typed when the question came is no answer: it is kept for the next message.

        Args:
            question: What is shown before the cursor.
            at_once: The person is answering already; what is typed now counts.

        Raises:
            EOFError: The person is done.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a prompt is part of.

    Attributes:
        state_dir: Where what was typed is kept; when it cannot be written, it is not.
        directory: The working directory, which history, drafts and files are of.
        state: Gives the conversation as it is now.
        commands: The slash commands.
        arguments: By command: what can stand behind it.
        files: Finds the files of the directory.
    """

    state_dir: Path
    directory: Path
    state: Callable[[], ConversationState]
    commands: Sequence[CommandSpec]
    arguments: Mapping[str, Callable[[str], Iterable[Option]]]
    files: FileFinder


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

    def close(self) -> None:
        """Nothing is kept."""

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


def terminal(settings: Settings, conversation: Conversation) -> Terminal:
    """The best this terminal allows.

    Raises:
        UsageError: It can be read from, but there is none to draw on.
    """
    if os.environ.get("TERM") in (None, "", "dumb"):
        return PlainTerminal()
    from tau.conversation.commands import COMMANDS
    from tau.input.completing import Option
    from tau.input.files import FileFinder
    from tau.line.terminal import EditingTerminal
    from tau.models.registry import choices

    directory = Path(conversation.state.directory or settings.directory)
    roles = [Option(role, f"{provider} {model}".strip()) for role, provider, model in choices(settings)]
    made = EditingTerminal(
        Surroundings(
            state_dir=settings.places.state,
            directory=directory,
            state=lambda: conversation.state,
            commands=COMMANDS,
            arguments={"model": lambda typed: roles},
            files=FileFinder(directory),
        )
    )
    conversation.watch(lambda state: made.redraw())
    return made
