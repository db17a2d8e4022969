"""One process of the app, and the packets that go between it and a page."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

log = logging.getLogger(__name__)

CLOSE_SECONDS = 25.0
"""How long an app may take to end once it was told to; it gives its session 20 seconds to close."""

UNCLEAR = (
    "tau web did not understand what the app sent and ended it; the log says more, and the session is kept"
)
"""Told in the page before what the app said as it ended."""

TEXT_SECONDS = 1.0
"""How long what it said last is waited for: a command that it left running may keep the pipe open."""

TEXT_BYTES = 8_000
"""So much of what it said is kept, the end of it."""

_PRELUDE = b"__GANGLION__\n"
_MODE = re.compile(rb"\x1b\[\?(\d+)([hl])")
_MOMENTARY = b"2026"  # a frame begins and ends


class View(NamedTuple):
    """The page's screen.

    Attributes:
        width: Columns.
        height: Rows.
        light: Whether the person prefers light colours.
    """

    width: int
    height: int
    light: bool


class Said(NamedTuple):
    """A message of the app to the page around it: its kind, and what it says."""

    kind: str
    content: dict[str, object]


class AppProcess(AppService):
    """The app as a process with pipes. textual-serve knows the packets; tau says how it starts and ends.

    It is started without a shell, in a session of its own, so that Ctrl-C at the server's terminal reaches
    the server alone, and ended by a signal, as by a terminal that is closed.

    Args:
        command: The program and its arguments.
        on_frame: Called with what is to be drawn.
        on_said: Called with what the page is told.

    Attributes:
        text: What the app wrote beside its screen, complete once `run` has ended.
    """

    def __init__(
        self, command: Sequence[str], on_frame: Callable[[bytes], None], on_said: Callable[[Said], None]
    ) -> None:
        super().__init__(
            "",
            write_bytes=_nowhere,
            write_str=_nowhere,
            close=_no_one,
            download_manager=DownloadManager(),
        )
        self.text = ""
        self._arguments = list(command)
        self._on_frame = on_frame
        self._on_said = on_said
        self._modes: dict[bytes, bytes] = {}
        self._running: asyncio.Task[int] | None = None

    async def begin(self, view: View) -> None:
        """Start the process.

        Raises:
            OSError: It cannot be started.
        """
        environment = {**os.environ, "COLORFGBG": "0;15" if view.light else "15;0"}
        self._process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        self._stdin = self._process.stdin
        self._running = asyncio.create_task(self._pass_on(self._process))

    async def ended(self) -> int:
        """Wait for the end of the process and of what it wrote; its exit code, negative for a signal."""
        assert self._running is not None
        return await asyncio.shield(self._running)

    def tell(self, number: int) -> None:
        """Send the process a signal, unless it has ended."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def end(self) -> None:
        """End the process in order, and if it does not end, by force."""
        self.tell(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.ended(), CLOSE_SECONDS)
        except TimeoutError:
            log.error("The app of a tab did not end and was killed")
            self.tell(signal.SIGKILL)
            await self.ended()

    async def show_again(self, view: View) -> bytes:
        """Have all of the screen drawn for a page that has none of it; the modes its terminal needs first."""
        await self.set_terminal_size(view.width, view.height)
        await self.send_meta({"type": "repaint"})
        return b"".join(b"\x1b[?%b%b" % mode for mode in self._modes.items())

    async def _pass_on(self, process: Process) -> int:
        assert process.stdout is not None
        assert process.stderr is not None
        text = asyncio.create_task(self._keep_text(process.stderr))
        unclear = False
        try:
            if await _is_app(process.stdout):
                await self._packets(process.stdout)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass  # the end
        except Exception:
            log.exception("What the app of a tab sent cannot be understood")
            self.tell(signal.SIGTERM)
            unclear = True
        code = await process.wait()
        await asyncio.wait([text], timeout=TEXT_SECONDS)
        text.cancel()
        if unclear:
            self.text = f"{UNCLEAR}\n{self.text}"
        return code

    async def _packets(self, stream: asyncio.StreamReader) -> None:
        while True:
            header = await stream.readexactly(5)
            payload = await stream.readexactly(int.from_bytes(header[1:], "big"))
            if header[:1] == b"D":
                self._modes.update(
                    {mode: state for mode, state in _MODE.findall(payload) if mode != _MOMENTARY}
                )
                self._on_frame(payload)
            elif header[:1] == b"M":
                content = json.loads(payload)
                self._on_said(Said(str(content.pop("type")), content))

    async def _keep_text(self, stream: asyncio.StreamReader) -> None:
        kept = b""
        while piece := await stream.read(4096):
            kept = (kept + piece)[-TEXT_BYTES:]
            self.text = kept.decode("utf-8", "replace")


async def _is_app(stream: asyncio.StreamReader) -> bool:
    """Read on to where the app begins to draw; False at the end."""
    try:
        while line := await stream.readline():
            if line == _PRELUDE:
                return True
    except ValueError:  # a line without end
        pass
    return False


async def _nowhere(data: bytes | str) -> None:
    """What textual-serve would send to the page by itself; tau sends it."""


async def _no_one() -> None:
    """As `_nowhere`."""
