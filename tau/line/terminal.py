"""A prompt with history, completion and drafts, drawn by prompt_toolkit, and Esc or Ctrl-C during a turn."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import localtime, monotonic, strftime

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import create_output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from tau.conversation.state import ConversationState
from tau.display import visible
from tau.errors import UsageError
from tau.input.completing import Context, starts_completion
from tau.input.drafts import Draft, Drafts
from tau.input.history import PromptHistory
from tau.line.output import note
from tau.line.pastes import Pastes
from tau.line.person import QUIET_SECONDS, Surroundings
from tau.line.prompt_completion import PromptCompleter
from tau.line.prompt_history import DirectoryHistory
from tau.line.prompt_keys import PromptKeys
from tau.line.terminal_input import TerminalInput
from tau.line.toolbar import toolbar

_ESCAPE_WAIT = 0.1
"""Seconds after which a lone escape byte is the Esc key and not the start of another key."""

_STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse dim",
        "completion-menu": "noreverse bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "reverse bg:default fg:default",
        "completion-menu.meta.completion": "dim bg:default fg:default",
        "completion-menu.meta.completion.current": "bg:default fg:default",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "reverse",
    }
)


class EditingTerminal:
    """A prompt on the terminal. It is drawn on stdout, or on stderr when the replies go elsewhere.

    Made while an event loop runs.

    Args:
        around: What it tells and completes, and where it keeps what was typed.
    """

    edits = True

    def __init__(self, around: Surroundings) -> None:
        self._input = TerminalInput(sys.stdin)
        drawn_on = sys.stdout if sys.stdout.isatty() else sys.stderr
        if not drawn_on.isatty():
            raise UsageError(
                "tau chat has a terminal to read from and none to show its prompt on", "pipe the messages in"
            )
        mark = "❯ " if (drawn_on.encoding or "").lower().startswith("utf") else "> "
        self._answer: _Answer | None = None
        self._state: Callable[[], ConversationState] = around.state
        self._files = around.files
        self._kept = PromptHistory(around.state_dir, around.directory)
        self._drafts = Drafts(around.state_dir, around.directory)
        self._attached = ""
        self._told = ""
        self._problems_told: set[str] = set()
        self._pastes = Pastes()
        self._history = DirectoryHistory(self._kept, self._pastes.whole)
        self._keys = PromptKeys(self._pastes, self._put_away, self._tell)
        self._session: PromptSession[str] = PromptSession(
            mark,
            input=self._input,
            output=create_output(drawn_on),
            history=self._history,
            multiline=True,
            prompt_continuation=" " * len(mark),
            completer=PromptCompleter(Context(around.commands, around.arguments, self._files)),
            complete_style=CompleteStyle.COLUMN,
            complete_while_typing=Condition(self._completes),
            key_bindings=self._keys.bindings,
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            include_default_pygments_style=False,
            enable_suspend=True,
        )
        self._session.default_buffer.on_text_changed += self._changed

    async def ask(self, draft: str = "") -> str:
        """The next message. A paste of several lines is one message.

        What stands at the prompt is kept until it is sent, whatever becomes of the process: it is there again
        in the next window of its session or directory.

        Args:
            draft: What stands in it already.

        Raises:
            EOFError: Ctrl-D on an empty line.
            KeyboardInterrupt: Ctrl-C, likewise.
        """
        await self._history.ready()
        left = await asyncio.to_thread(self._left)
        if left is not None:
            text = "\n\n".join([*left.queue, left.text]).strip("\n")
            if draft:
                self._history.append_string(text)
            else:
                draft = text
                written = strftime("%Y-%m-%d %H:%M", localtime(left.at))
                where = f" in session {left.session}" if left.session else ""
                note(f"What you had not sent{where} ({written}) is at the prompt again; Ctrl-C puts it away.")
            self._drafts.keep(draft)
            await asyncio.to_thread(self._drafts.release, left)
        self._files.refresh()
        typed = await self._session.prompt_async(default=self._pastes.folded(draft) if draft else "")
        self._drafts.keep("")
        return self._pastes.whole(typed)

    def redraw(self) -> None:
        """The state is another one: a model that took its time is ready."""
        self._session.app.invalidate()

    def close(self) -> None:
        """Write what waits to be written; what stands at the prompt stays for the next window."""
        self._kept.close()
        self._drafts.close()
        self._files.close()

    def _left(self) -> Draft | None:
        """A draft that another window left in this session or, at the first prompt, in this directory."""
        session, first = self._state().session_id, not self._attached
        if session == self._attached:
            return None
        self._attached = session
        if (draft := self._drafts.attach(session)) is not None:
            return draft
        found = self._drafts.leftovers() if first else []
        return next((draft for draft in found if self._drafts.take(draft)), None)

    def _changed(self, buffer: Buffer) -> None:
        self._told = ""
        self._drafts.keep(self._pastes.whole(buffer.text))

    def _put_away(self, buffer: Buffer) -> None:
        buffer.reset(append_to_history=True)
        self._drafts.keep("")
        self._tell("Put away: ↑ brings it back; Ctrl-C leaves")

    def _tell(self, line: str) -> None:
        self._told = line
        self._session.app.invalidate()

    def _completes(self) -> bool:
        document = self._session.default_buffer.document
        return bool(starts_completion(document.text, document.cursor_position))

    def _toolbar(self) -> StyleAndTextTuples:
        width = self._session.app.output.get_size().columns - 1
        problem = self._drafts.problem or self._kept.problem
        if problem and problem not in self._problems_told:
            self._problems_told.add(problem)
            self._told = problem
        line = visible(self._told) if self._told else toolbar(self._state(), width)
        return [("", line)]

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
            if self._input.closed:  # the terminal is gone, which not every process is told that it had
                signal.raise_signal(signal.SIGHUP)
            if flush is not None:
                flush.cancel()
            flush = loop.call_later(_ESCAPE_WAIT, lambda: take(self._input.flush_keys()))

        with self._input.raw_mode(), self._input.attach(read):
            try:
                yield
            finally:
                if flush is not None:
                    flush.cancel()
        self._keys.typed_ahead += sum(key.key == Keys.ControlM for key in early)
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
        elif pressed.key == Keys.BracketedPaste:  # nor does what comes right behind it answer
            self._quiet_until = monotonic() + QUIET_SECONDS
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
