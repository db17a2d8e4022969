"""A signal at any moment of the start ends `tau tui` in order, and leaves the terminal as it was."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.terminal import Open, Terminal

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BEGUN = b"begun"
QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
SCREEN, TITLE, TITLE_BACK = b"\x1b[?1049h", b"\x1b[22;2t", b"\x1b[23;2t"
MOMENTS = {
    "the command line": BEGUN,
    "the question for the colours": QUESTION,
    "the alternate screen": SCREEN,
    "the app is mounted": TITLE,
    "the first frame": "❯".encode(),
    "the session is open": b"Ready",
}
START = f"""
import os, sys
from tau.cli import main

def seen(event, given):
    if event == "import" and given[0] == "tau.cli.root":
        os.write(1, {BEGUN!r})

sys.addaudithook(seen)
sys.exit(main())
"""
STEPS, BEYOND = 9, 1.5
"""Ends that are spread evenly over the time until the first frame, and on to this many times of it."""


def begun(terminal: Open, *arguments: str) -> Terminal:
    """The command at the moment when it begins to import what it is made of."""
    app = terminal("-c", START, "tui", *arguments, command=sys.executable)
    app.until(lambda: BEGUN in app.bytes, "the beginning")
    return app


def end(app: Terminal, number: signal.Signals) -> list[str]:
    """End it by a signal, and check what it leaves of the terminal; the lines that it says."""
    os.kill(app.process.pid, number)
    code = app.ended()
    said = app.bytes.decode("utf-8", "replace").partition(BEGUN.decode())[2]
    assert code == 128 + number, said[-2000:]
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert app.after[:4] == app.before[:4]
    assert app.bytes.count(TITLE) == app.bytes.count(TITLE_BACK)
    if SCREEN not in app.bytes:
        assert said in ("", QUESTION.decode())
        return []
    assert app.is_restored()
    last = "\x1b[23;2t" if TITLE in app.bytes else "\x1b[?1006l"
    return app.tail().rpartition(last)[2].split("\r\n")[:-1]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_at_every_moment_of_the_start(
    tau_env: TauEnv, terminal: Open, moment: str, number: signal.Signals
) -> None:
    tau_env.scripted({"text": "the answer"})
    app = begun(terminal)
    app.until(lambda: MOMENTS[moment] in app.bytes, moment)
    assert end(app, number) == []


def test_a_signal_at_any_time_of_the_start_leaves_the_session_whole(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "The quail nests in May."})
    session = tau_env.record("the-quail", "Where does it nest?", "The quail nests in May.")
    whole = begun(terminal, "--resume")
    began = time.monotonic()
    whole.until(lambda: MOMENTS["the first frame"] in whole.bytes, "the first frame")
    takes = (time.monotonic() - began) * BEYOND
    whole.ready()
    resume = f"Resume this session with: tau tui --resume {session.name}"
    assert end(whole, signal.SIGTERM) == [resume]
    for step in range(STEPS):
        app = begun(terminal, "--resume")
        app.quiet(takes * (step + 1) / STEPS)
        assert end(app, NUMBERS[step % 3]) in ([], [resume])
    assert tau_env.sessions() == [session]
    shown = tau_env.run("sessions", "show", session.name)
    assert shown.returncode == 0
    assert "The quail nests in May." in shown.stdout
    assert tau_env.run("doctor").stdout.count(session.name) == 0
