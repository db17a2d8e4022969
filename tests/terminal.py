"""The installed command in a pseudo-terminal, with its screen and every byte it wrote."""

from __future__ import annotations

import contextlib
import os
import termios
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pexpect
import pyte

from tau.tui.widgets.letter_answers import HELD_SECONDS, QUIET_SECONDS
from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SECONDS = 60.0
RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?25h")


class Terminal:
    """The app in a terminal of 100 by 30 cells, with its screen and every byte it wrote."""

    def __init__(self, tau_env: TauEnv, *arguments: str, command: str = TAU) -> None:
        self.screen = pyte.Screen(100, 30)
        self.bytes = b""
        self._stream = pyte.ByteStream(self.screen)
        environ = {**tau_env.environ, "TEXTUAL_ANIMATIONS": "none"}
        self.process: pexpect.spawn[bytes] = pexpect.spawn(
            command, list(arguments), cwd=str(tau_env.directory), env=environ, dimensions=(30, 100), timeout=1
        )
        self.process.ptyproc.delayafterclose = 0  # its end is waited for
        self.after: list[Any] = []
        self.before: list[Any] = termios.tcgetattr(self.process.child_fd)

    def read(self) -> bool:
        """Take what has come; False at the end."""
        try:
            chunk = self.process.read_nonblocking(65_536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.bytes += chunk
        # pyte knows no private modes with ">" or "<"; the app asks for keys that way
        with contextlib.suppress(TypeError):
            self._stream.feed(chunk)
        return True

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert self.read(), f"ended before {what}:\n{self.text()}\n{self.bytes[-1500:]!r}"
            assert time.monotonic() < end, f"never came: {what}\n{self.text()}"

    def shows(self, text: str) -> None:
        self.until(lambda: text in self.text(), text)

    def ready(self) -> None:
        self.until(lambda: "Ready" in self.screen.display[-1], "Ready")

    def send(self, keys: str) -> None:
        self.process.send(keys.encode())

    def pour(self, keys: str, *, without_end: bool = False) -> threading.Event:
        """Have this typed as fast as it is taken, without end over and over; the event stops it."""
        fd = os.dup(self.process.child_fd)
        os.set_blocking(fd, False)
        stop = threading.Event()
        pours = threading.Thread(target=self._pour, args=(fd, keys.encode(), without_end, stop), daemon=True)
        pours.start()
        return stop

    def _pour(self, fd: int, keys: bytes, without_end: bool, stop: threading.Event) -> None:
        left = keys
        while left and not (stop.is_set() or self.process.closed):
            try:
                left = left[os.write(fd, left[:4096]) :]
            except BlockingIOError:
                time.sleep(0.001)
            if not left and without_end:
                left = keys
        os.close(fd)

    def press(self, key: str) -> None:
        """Answer the question on the screen: a key counts with a moment before and after it."""
        self.quiet(QUIET_SECONDS * 2)
        asked = self.text()
        self.send(key)
        self.quiet(HELD_SECONDS * 3)
        self.until(lambda: self.text() != asked, f"an answer to {key}")

    def quiet(self, seconds: float) -> None:
        """Read until nothing was typed for so long; what the app draws meanwhile is taken."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()

    def ended(self) -> int:
        """Wait for the end; the exit code, or minus the signal."""
        end = time.monotonic() + SECONDS
        while self.read():
            assert time.monotonic() < end, f"did not end\n{self.text()}"
        self.after = termios.tcgetattr(self.process.child_fd)
        self.process.wait()
        self.process.close()
        status = self.process.signalstatus
        return -status if status else int(self.process.exitstatus or 0)

    def is_restored(self) -> bool:
        last = self.bytes[self.bytes.rindex(b"\x1b[?1049l") - 2_000 :]
        return all(code in last for code in RESTORED) and self.after[:4] == self.before[:4]

    def tail(self) -> str:
        """What was written after the app's screen was left."""
        return self.bytes[self.bytes.rindex(b"\x1b[?1049l") :].decode("utf-8", "replace")


Open = Callable[..., Terminal]
"""Opens the command with arguments, in a terminal that is closed at the end of the test."""
