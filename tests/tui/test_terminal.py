"""`tau tui` as installed, in a pseudo-terminal: a turn, a cancel, every way out, a kill and what is left."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pexpect
import pyte
import pytest

from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

SECONDS = 60.0
SLOW = {"text": "word " * 2000, "chunks": 2000, "delay": 0.02}
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

    def ended(self) -> int:
        """Wait for the end; the exit code, or minus the signal."""
        end = time.monotonic() + SECONDS
        while self.read():
            assert time.monotonic() < end, f"did not end\n{self.text()}"
        self.after = termios.tcgetattr(self.process.child_fd)
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


@pytest.fixture
def terminal(tau_env: TauEnv) -> Iterator[Open]:
    opened: list[Terminal] = []

    def open_one(*arguments: str, command: str = TAU) -> Terminal:
        opened.append(Terminal(tau_env, *arguments, command=command))
        return opened[-1]

    yield open_one
    for one in opened:
        with contextlib.suppress(OSError):  # its end of the terminal is closed already
            one.process.close(force=True)


def session_id(tau_env: TauEnv) -> str:
    return tau_env.sessions()[-1].name


def test_what_is_typed_before_the_prompt_is_there_is_kept(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.until(lambda: b"\x1b[?1049h" in app.bytes, "the alternate screen")
    app.send("a very early question\r")
    app.shows("the answer")
    assert "a very early question" in app.text()
    app.send("\x11")
    assert app.ended() == 0


def test_a_turn_a_cancel_and_the_way_out(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the **first** answer"}, SLOW)
    app = terminal("tui")
    app.until(lambda: "❯" in app.text(), "the prompt")
    app.send("early\r")  # before the agent is ready
    app.shows("the first answer")
    app.ready()
    app.send("go on\r")
    app.shows("word word word")
    app.shows("Esc cancels")
    app.send("\x1b")
    app.shows("Turn cancelled.")
    app.ready()
    app.send("\x11")
    assert app.ended() == 0
    assert app.is_restored()
    assert f"Resume this session with: tau tui --resume {session_id(tau_env)}" in app.tail()
    assert "Traceback" not in app.tail()


def test_a_kill_loses_nothing_that_was_acknowledged(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the first answer"}, SLOW)
    app = terminal("tui")
    app.ready()
    app.send("first question\r")
    app.shows("the first answer")
    app.ready()
    app.send("second question\r")
    app.shows("word word word")
    os.kill(app.process.pid, signal.SIGKILL)
    app.ended()
    again = terminal("tui", "--resume")
    again.ready()
    for said in ("first question", "the first answer", "second question"):
        again.shows(said)
    again.send("and now?\r")
    again.until(lambda: again.text().count("the first answer") == 2, "the script begins again")
    again.ready()
    again.send("\x11")
    assert again.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(tau_env: TauEnv, terminal: Open, number: signal.Signals) -> None:
    tau_env.scripted({"text": "the answer"}, SLOW)
    app = terminal("tui")
    app.ready()
    app.send("hello\r")
    app.shows("the answer")
    app.ready()
    app.send("more\r")
    app.shows("word word")
    os.kill(app.process.pid, number)
    assert app.ended() == 128 + number
    assert app.is_restored()
    assert session_id(tau_env) in app.tail()
    assert "Traceback" not in app.tail()


def test_nothing_from_a_model_reaches_the_terminal_raw(tau_env: TauEnv, terminal: Open) -> None:
    hostile = "A\x1b[2J\x1b[?1049h\x1b]52;c;UFdO\x07\x1b]0;T\x07\x1b[31;7;5mB"
    call = {"name": "nothing", "input": {"path": hostile}, "id": "t1"}
    tau_env.scripted({"text": hostile, "chunks": 9, "tools": [call]}, {"text": f"end {hostile}"})
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    app.until(lambda: app.text().count("A\\x1b[2J") >= 4 and "end" in app.text(), "all of it")
    app.ready()
    app.send("\x11")
    assert app.ended() == 0
    resumed = terminal("tui", "--resume")
    resumed.ready()
    resumed.until(lambda: resumed.text().count("A\\x1b[2J") >= 4, "all of it")
    resumed.send("\x1bOQ")  # F2
    resumed.shows("Sessions")
    resumed.send("\x1b")
    resumed.ready()
    resumed.send("\x11")
    assert resumed.ended() == 0
    for written in (app.bytes, resumed.bytes):
        for code in (b"\x1b[2J", b"\x1b]52", b"\x1b]0;", b"\x1b[31;7;5m"):
            assert code not in written
        assert written.count(b"\x1b[?1049h") == 1


def test_a_screen_that_is_no_terminal_is_refused(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "x"})
    app = terminal("-c", f"{TAU} tui 2>screen.txt; echo code $?; cat screen.txt", command="/bin/sh")
    app.ended()
    said = app.bytes.decode()
    assert "code 2" in said
    assert "\x1b" not in said
    assert "stderr" in said


def test_a_second_window_reads_along(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    first = terminal("tui")
    first.ready()
    first.send("hello\r")
    first.shows("the answer")
    first.ready()
    second = terminal("tui", "--resume")
    second.shows("the answer")
    second.shows(f"Read-only: this session is open in tau tui, process {first.process.pid}")
    second.send("\x11")
    assert second.ended() == 0
    first.send("still mine\r")
    first.shows("still mine")


def test_a_terminal_that_vanishes_ends_the_app(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    app.send("hello\r")
    app.shows("the answer")
    app.ready()
    os.close(app.process.child_fd)
    end = time.monotonic() + SECONDS
    while app.process.isalive():
        assert time.monotonic() < end, "the app goes on without its terminal"
    again = terminal("tui", "--resume")
    again.shows("the answer")
    again.ready()
