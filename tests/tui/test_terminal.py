"""`tau tui` as installed, in a pseudo-terminal: a turn, a cancel, every way out, a kill and what is left."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tau.tui.enter_key import BURST_SECONDS
from tau.tui.widgets.letter_answers import WRITING_SECONDS
from tests.conftest import TAU
from tests.terminal import SECONDS, Open, Terminal
from tests.tui.test_questions import at_a_question

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

SLOW = {"text": "word " * 2000, "chunks": 2000, "delay": 0.02}


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
    for said in ("first question", "the first answer", "second question", "word word word", "[interrupted]"):
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


@pytest.mark.parametrize("way", ["Ctrl+Q", "SIGTERM", "SIGHUP"])
def test_what_was_not_sent_is_printed(tau_env: TauEnv, terminal: Open, way: str) -> None:
    tau_env.scripted(SLOW)
    app = terminal("tui")
    app.ready()
    app.send("go on\r")
    app.shows("word word")
    app.send("a second\nmessage\r")
    app.shows("waiting  a second message")
    app.send("\x1b[200~a draft\u202e\nof two lines\x1b[201~")
    app.shows("[Pasted text #1")
    if way == "Ctrl+Q":
        app.send("\x11")
    else:
        os.kill(app.process.pid, getattr(signal, way))
    code = app.ended()
    assert code == (0 if way == "Ctrl+Q" else 128 + getattr(signal, way))
    printed = app.tail().replace("\r\n", "\n")
    assert "Not sent: a second\nmessage\nNot sent: a draft\\u202e\nof two lines\nResume this" in printed


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    server = socket.create_server(("127.0.0.1", 0))
    taken: list[socket.socket] = []

    def take() -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                taken.append(server.accept()[0])

    threading.Thread(target=take, daemon=True).start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}"
    server.close()
    for connection in taken:
        connection.close()


@pytest.mark.parametrize("way", ["Ctrl+Q", "SIGTERM"])
def test_a_download_that_went_silent_does_not_hold_the_end(
    tau_env: TauEnv, terminal: Open, silent_server: str, way: str
) -> None:
    tau_env.configure('[sessions]\nbackend = "file"\n')
    for name in ("http_proxy", "https_proxy"):
        tau_env.environ[name] = silent_server
    tau_env.environ["PIP_INDEX_URL"] = f"{silent_server}/simple"
    app = terminal("tui")
    app.shows("F5 download")
    app.send("\x1b[15~")
    app.shows("F9 stop")
    began = time.monotonic()
    if way == "Ctrl+Q":
        app.send("\x11")
    else:
        os.kill(app.process.pid, signal.SIGTERM)
    assert app.ended() == (0 if way == "Ctrl+Q" else 143)
    assert time.monotonic() - began < 10
    assert app.is_restored()


def stuck(tau_env: TauEnv, terminal: Open, seconds: float) -> Terminal:
    """The app in a turn that nothing can end: what the model writes its requests to is never read."""
    tau_env.scripted({"text": "the answer"})
    os.mkfifo(tau_env.requests)
    asked = tau_env.home / "asked"
    code = (
        f"import sys, tau.tui; tau.tui.CLOSE_SECONDS = {seconds}; from pathlib import Path\n"
        "def opens(event, arguments):\n"
        f"    if event == 'open' and str(arguments[0]) == {str(tau_env.requests)!r}:\n"
        f"        Path({str(asked)!r}).touch()\n"
        "sys.addaudithook(opens); from tau.cli import main; sys.exit(main())"
    )
    app = terminal("-c", code, "tui", command=sys.executable)
    app.ready()
    app.send("go on\r")
    app.shows("Esc cancels")
    app.until(asked.exists, "the model writes its request, which holds it")
    return app


def test_a_conversation_that_does_not_close_is_said_and_fails(tau_env: TauEnv, terminal: Open) -> None:
    app = stuck(tau_env, terminal, 1)
    app.send("\x11")
    assert app.ended() == 1
    assert app.is_restored()
    assert "did not close in time; the end of it may not be saved" in app.tail()


def test_a_signal_while_the_conversation_closes_ends_at_once(tau_env: TauEnv, terminal: Open) -> None:
    app = stuck(tau_env, terminal, 600)
    app.send("\x11")
    app.until(lambda: b"\x1b[?1049l" in app.bytes, "the screen is left")
    app.until(lambda: termios.tcgetattr(app.process.child_fd)[3] & termios.ISIG, "Ctrl+C is a signal again")
    app.send("\x03")
    assert app.ended() == 130
    assert "the end of it may not be saved" in app.tail()


def test_what_could_not_be_saved_is_said_and_fails(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    session = session_id(tau_env)
    shutil.rmtree(tau_env.sessions()[-1])
    app.send("hello\r")
    app.shows("not saved")
    app.send("\x11")
    assert app.ended() == 1
    told = app.tail().partition("Resume this session")[0]
    assert session in told


AT_ONCE = (
    ("ab\ncd\nef", "ab\ncd\nef"),
    ("abc\x7fd", "abd"),
    ("foo bar\x17baz", "foo baz"),
    ("abc\x01X", "Xabc"),
    ("abc\x1b[D\x1b[DZ", "aZbc"),
    ("one\x1b[13;2utwo", "one\ntwo"),
    (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ),
    ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
)
"""Keys, and what is sent of them."""


def test_keys_that_arrive_at_once_keep_their_order(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    got: list[str] = []
    for typed, sent in AT_ONCE:
        app.ready()
        app.send(typed)
        app.quiet(BURST_SECONDS * 2)  # as a person's Enter comes
        app.send("\r")
        app.until(lambda: len(tau_env.sent()) > len(got), "the request")
        got.append(tau_env.sent()[-1]["messages"][-1]["content"][-1]["text"])
        assert got[-1] == sent


UNMARKED = "".join(
    f"line {number:,} of a paste that the terminal does not mark\r" for number in range(20_000)
)


def test_a_large_paste_without_marks_folds_and_is_sent_whole(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    app.send("look: ")
    app.shows("look:")
    began = time.monotonic()
    app.pour(UNMARKED)
    app.shows("❯ look: [Pasted text #1 · 20,001\u00a0lines]")
    assert time.monotonic() - began < 10, "as keys it takes minutes"
    app.send("\r")
    app.shows("the answer")
    (request,) = tau_env.sent()
    assert request["messages"][-1]["content"][-1]["text"] == "look: " + UNMARKED.replace("\r", "\n")


def test_a_paste_without_marks_answers_no_question(tau_env: TauEnv, terminal: Open) -> None:
    app = at_a_question(tau_env, terminal)
    app.pour(UNMARKED + "y")
    app.shows("what you paste goes into the draft")
    app.quiet(WRITING_SECONDS)
    assert not (tau_env.directory / "made").exists()
    app.press("n")
    app.shows("All done.")
    app.shows("❯ [Pasted text #1 · 20,001\u00a0lines]")


@pytest.mark.parametrize("keys", ["\x1b[A\x1b[B", "\x1b[<35;10;10M\x1b[<35;40;12M", UNMARKED])
def test_a_signal_ends_the_app_while_keys_pour_in(tau_env: TauEnv, terminal: Open, keys: str) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    app.send("a draft")
    app.shows("❯ a draft")
    stop = app.pour(keys * (1 if keys == UNMARKED else 1_000), without_end=True)
    app.quiet(1)
    began = time.monotonic()
    os.kill(app.process.pid, signal.SIGTERM)
    app.until(lambda: b"\x1b[?1049l" in app.bytes, "the screen is left")
    assert time.monotonic() - began < 10, "what waits is little"
    stop.set()
    assert app.ended() == 143
    assert "Not sent: a draft" in app.tail()


@pytest.mark.parametrize("pours", [False, True])
def test_an_app_without_a_terminal_ends_although_no_signal_tells_it(tau_env: TauEnv, pours: bool) -> None:
    """As one does that is no child of the terminal's shell."""
    tau_env.scripted({"text": "the answer"})
    master, slave = pty.openpty()
    app = tau_env.start("tui", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    drawn = b""
    while b"Ready" not in drawn:
        drawn += os.read(master, 65_536)
    if pours:
        os.write(master, UNMARKED.encode()[:4_000])
    os.close(master)
    try:
        assert app.wait(SECONDS), "it failed, and is gone"
    finally:
        app.kill()


def test_a_second_window_reads_along_and_takes_over(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the first answer"}, {"text": "the second answer"})
    first = terminal("tui")
    first.ready()
    first.send("one\r")
    first.shows("the first answer")
    second = terminal("tui", "--resume")
    second.shows("Read-only")
    second.shows("the first answer")
    first.ready()
    first.send("two\r")
    first.shows("the second answer")
    second.shows("the second answer")
    os.kill(first.process.pid, signal.SIGKILL)
    first.ended()
    second.shows("has let go of this session")
    second.ready()
    second.send("three\r")
    second.until(lambda: second.text().count("the first answer") == 2, "an answer to the second window")
    assert len(tau_env.sessions()) == 1


def test_a_key_that_must_wait_leaves_the_draft_alone(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted(SLOW)
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    app.shows("word word")
    app.send("my draft")
    app.shows("my draft")
    app.send("\x1bOR")
    app.shows("I am still answering the previous turn.")
    assert "/new" not in app.text()
    assert "my draft" in app.text()
