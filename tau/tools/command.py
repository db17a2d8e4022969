"""Runs one command on a thread of its own: reads what it writes, and ends it when it must end."""

from __future__ import annotations

import errno
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tau.tools import background, process_tree
from tau.tools.context import ToolContext
from tau.tools.names import shown
from tau.tools.output import Output
from tau.tools.process_tree import MARK, Process, ProcessTree, fresh_mark
from tau.tools.refusals import Refused, os_reason

MOST_OUTPUT = 64 << 20
"""Bytes of output after which a command is stopped."""

FLUSH = 0.05
"""Seconds that output is gathered before it is shown, and between looks at what may end the command."""

QUIET = 0.1
LINGER = 0.5
"""A command is over when its shell ends. What its processes still write then is read until they are quiet for
`QUIET` seconds, but for no longer than `LINGER`."""

MOST_SHOWN = 4_096
"""Characters shown of what was gathered at once; the newest."""

Why: TypeAlias = Literal["exit", "timeout", "cancelled", "output"]
"""What ended a command: it itself, or what it was stopped for."""

_CHUNK = 16 << 10
_FIRST_PAUSE = 0.001
_ENVIRONMENT = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_STEERS_BASH = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE")
"""Variables by which a command would do something else than it says, so that no reading of it were true."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a command ended.

    Attributes:
        why: What ended it.
        code: Its exit code, or minus the number of the signal that ended it; None when that is not known.
        seconds: How long it ran.
        output: What it wrote, as a result has it.
        remaining: Its processes that still run: in the background, or because they could not be stopped.
    """

    why: Why
    code: int | None
    seconds: float
    output: str
    remaining: Sequence[Process]


class Command:
    """A command that runs.

    Args:
        arguments: The program and its arguments.
        context: Where it runs, and where its output is kept.
        tool: The tool's name.
        timeout: Seconds after which it is stopped.
        cancelled: Stops it when it is set.
        show: Called on the command's thread with output as it comes.
        ended: Called on the command's thread with how it ended, last; or with what went wrong.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        context: ToolContext,
        tool: str,
        timeout: float,
        cancelled: threading.Event,
        show: Callable[[str], None],
        ended: Callable[[Ending | BaseException], None],
    ) -> None:
        self._arguments = arguments
        self._context = context
        self._timeout = timeout
        self._cancelled = cancelled
        self._abandoned = threading.Event()
        self._show = show
        self._ended = ended
        self._output = Output(tool=tool, context=context)
        self._gathered: list[str] = []
        self._flushed = 0.0

    def start(self) -> None:
        """Run it."""
        threading.Thread(target=self._run, name="tau-command", daemon=True).start()

    def abandon(self) -> None:
        """Nobody waits for it any more: it is stopped, without anybody being told."""
        self._abandoned.set()

    def _run(self) -> None:
        try:
            process, tree = self._begin()
            try:
                background.hold(self._context.session_id, tree)
                assert process.stdout is not None
                stream = process.stdout.fileno()
                ending = self._follow(tree, stream)
            except BaseException:
                process_tree.stop([tree])
                raise
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is waited for
            self._ended(error)
            return
        self._ended(ending)
        # What goes on in the background may write on; with nobody to read it, that would end it.
        while os.read(stream, _CHUNK):
            pass
        process.stdout.close()
        background.let_go_of_ended(self._context.session_id)

    def _begin(self) -> tuple[subprocess.Popen[bytes], ProcessTree]:
        mark = fresh_mark(os.environ)
        try:
            process = subprocess.Popen(
                self._arguments,
                cwd=self._context.directory,
                env={**_plain(os.environ), **_ENVIRONMENT, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise Refused(self._not_started(error)) from error
        return process, ProcessTree(process, mark)

    def _not_started(self, error: OSError) -> str:
        if not self._context.directory.is_dir():
            return f"The working directory {shown(str(self._context.directory))} is gone; no command can run"
        if error.errno == errno.E2BIG:
            return "The command is longer than the system takes; write it to a file and run that"
        return f"The command cannot be started: {os_reason(error)}"

    def _follow(self, tree: ProcessTree, stream: int) -> Ending:
        """Read what the command writes until it has ended, by itself or not."""
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            why: Why | None = None
            pause = _FIRST_PAUSE
            while not tree.has_ended():
                why = self._must_end(began)
                if why is not None:
                    break
                if selector.get_map():
                    idle = not self._read(selector, FLUSH)
                else:  # it has closed its output, which most do only by ending
                    idle = self._abandoned.wait(pause)
                    pause = min(pause * 2, FLUSH)
                self._flush(idle=idle)
            seconds = time.monotonic() - began
            if why is None:
                self._drain(selector, QUIET)
                why = "cancelled" if self._must_end(began) == "cancelled" else "exit"
            remaining = tree.members() if why == "exit" else process_tree.stop([tree])
            self._drain(selector, 0)
        self._gathered.append(self._output.finish())
        self._flush(idle=False, last=True)
        return Ending(
            why=why,
            code=tree.exit_code,
            seconds=seconds,
            output=self._output.text(),
            remaining=remaining,
        )

    def _drain(self, selector: selectors.BaseSelector, quiet: float) -> None:
        ends = time.monotonic() + LINGER
        while time.monotonic() < ends and self._read(selector, quiet):
            self._flush(idle=False)

    def _must_end(self, began: float) -> Why | None:
        if self._cancelled.is_set() or self._abandoned.is_set():
            return "cancelled"
        if self._output.size > MOST_OUTPUT:
            return "output"
        return "timeout" if time.monotonic() - began > self._timeout else None

    def _read(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Take what the command has written; False when nothing came, and at its end."""
        if not selector.get_map() or not (ready := selector.select(seconds)):
            return False
        data = os.read(ready[0][0].fd, _CHUNK)
        if not data:
            selector.unregister(ready[0][0].fd)
            return False
        self._gathered.append(self._output.feed(data))
        return True

    def _flush(self, *, idle: bool, last: bool = False) -> None:
        """Show what has gathered, unless something was shown just before."""
        now = time.monotonic()
        if now - self._flushed < FLUSH and not last:
            return
        if idle:
            self._gathered.append(self._output.settle())
        text = "".join(self._gathered)
        self._gathered.clear()
        if not text:
            return
        self._flushed = now
        if len(text) > MOST_SHOWN:
            text = f"[… {len(text) - MOST_SHOWN:,} characters …]\n{text[-MOST_SHOWN:]}"
        self._show(text)


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what changes the meaning of a command, functions of bash among it."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _STEERS_BASH and not name.startswith("BASH_FUNC_")
    }
