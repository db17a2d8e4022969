"""The terminal is asked for its colours, and told how things stand while nobody looks."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.tui.attention import notification, notifier
from tau.tui.terminal_colours import Answer, understand
from tests.conftest import TAU
from tests.terminal import Open, Terminal

if TYPE_CHECKING:
    from tests.conftest import TauEnv

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
LIGHT = "\x1b]11;rgb:fafa/fafa/f8f8\x1b\\\x1b[?62;22c"
LIGHT_GROUND, DARK_GROUND = b"48;5;231", b"48;5;233"
SLOW = {"text": "word " * 400, "chunks": 400, "delay": 0.01}


@pytest.mark.parametrize(
    ("heard", "light", "typed"),
    [
        (b"\x1b]11;rgb:1515/1717/1b1b\x1b\\\x1b[?62;22c", False, ""),
        (b"\x1b]11;rgb:fb/fa/f8\x07\x1b[?1;2c", True, ""),
        (b"\x1b]11;rgba:ffff/ffff/ffff/8000\x1b\\\x1b[?6c", True, ""),
        (b"he\x1b]11;rgb:0/0/0\x1b\\l\x1b[?6clo", False, "hello"),
        (b"\x1b[?62c", None, ""),
        ("sch\u00f6n".encode(), None, "sch\u00f6n"),
        (b"", None, ""),
    ],
)
def test_answers_are_taken_out_of_what_was_typed(heard: bytes, light: bool | None, typed: str) -> None:
    assert understand(heard) == Answer(light, typed)


def bells(app: Terminal) -> int:
    """How often the bell rang; the sequences that end with one are no bells."""
    return re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", app.bytes).count(b"\x07")


def asked(terminal: Open, *arguments: str) -> Terminal:
    """The app at the moment when it has asked for the colours."""
    app = terminal(*arguments)
    app.until(lambda: QUESTION in app.bytes, "the question")
    return app


@pytest.mark.terminal
def test_the_app_is_light_in_a_light_terminal(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = asked(terminal, "tui")
    app.send(f"before {LIGHT}and after\r")
    app.shows("the answer")
    assert LIGHT_GROUND in app.bytes
    assert DARK_GROUND not in app.bytes
    assert "before and after" in app.text()
    app.send("\x11")
    assert app.ended() == 0
    assert app.is_restored()


@pytest.mark.terminal
def test_a_terminal_that_says_nothing_is_not_waited_for(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = asked(terminal, "tui")
    app.ready()
    assert DARK_GROUND in app.bytes
    app.send("\x11")
    assert app.ended() == 0


@pytest.mark.terminal
def test_an_answer_after_a_signal_is_not_typed_into_what_comes_next(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    tau_env.environ["SSH_CONNECTION"] = "far away"  # an answer may take its time
    tau = f"sh -c 'echo process $$ is tau; exec {TAU} tui'"
    app = terminal("-c", f'{tau}; echo "ended $?"; IFS= read -r line; echo "read <$line>"', command="/bin/sh")
    app.until(lambda: QUESTION in app.bytes, "the question")
    (process,) = re.findall(rb"process (\d+) is tau", app.bytes)
    os.kill(int(process), signal.SIGTERM)
    app.send(LIGHT)
    app.shows("ended 143")
    app.send("next\r")
    app.shows("read <next>")


@pytest.mark.terminal
def test_the_title_says_how_things_stand_and_comes_back(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted(SLOW)
    app = terminal("tui", "--name", "amber")
    app.ready()
    assert app.bytes.index(b"\x1b[22;2t") < app.bytes.index("\x1b]2;τ amber\x1b\\".encode())
    app.send("go\r")
    app.until(lambda: "\x1b]2;✻ τ amber\x1b\\".encode() in app.bytes, "the title of a working session")
    app.send("\x1b[O")  # the terminal has no focus any more
    app.until(lambda: "\x1b]2;● τ amber\x1b\\".encode() in app.bytes, "the title of one with news")
    assert not bells(app)
    seen = len(app.bytes)
    app.send("\x1b[I")
    app.until(lambda: "\x1b]2;τ amber\x1b\\".encode() in app.bytes[seen:], "the title of one that was seen")
    app.send("\x11")
    assert app.ended() == 0
    assert "\x1b[23;2t" in app.tail()


@pytest.mark.terminal
@pytest.mark.parametrize("focus", [False, True])
def test_a_bell_rings_for_who_does_not_look(tau_env: TauEnv, terminal: Open, focus: bool) -> None:
    tau_env.scripted(SLOW, more='[tui]\nnotify = "bell"\n')
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    app.shows("word word")
    if not focus:
        app.send("\x1b[O")
    app.ready()
    app.send("\x11")
    assert app.ended() == 0
    assert bells(app) == (0 if focus else 1)


@pytest.mark.terminal
def test_a_question_is_told_of_through_the_terminal(tau_env: TauEnv, terminal: Open) -> None:
    call = {"name": "shell", "input": {"command": "touch secret-name"}, "id": "t1"}
    tau_env.scripted(
        {"text": "word " * 100, "chunks": 100, "delay": 0.01, "tools": [call]},
        {"text": "done"},
        more='[tui]\nnotify = "desktop"\n',
    )
    tau_env.environ["KITTY_WINDOW_ID"] = "1"
    app = terminal("tui", "--name", "amber")
    app.ready()
    app.send("go\r\x1b[O")
    told = "\x1b]99;i=tau:d=1;tau · amber: a question waits for you\x1b\\".encode()
    app.until(lambda: told in app.bytes, "a notification")
    app.until(lambda: "\x1b]2;? τ amber\x1b\\".encode() in app.bytes, "the title of one that asks")
    app.send("\x1b")
    app.ready()
    app.send("\x11")
    assert app.ended() == 0


@pytest.mark.terminal
def test_a_desktop_is_told_by_its_program(tau_env: TauEnv, terminal: Open, tmp_path: Path) -> None:
    tau_env.scripted(SLOW, more='[tui]\nnotify = "desktop"\n')
    told = tmp_path / "told"
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{told}.part" && mv "{told}.part" "{told}"\n')
    program.chmod(0o755)
    tau_env.environ.update(DISPLAY=":9", PATH=f"{program.parent}:/usr/bin:/bin")
    app = terminal("tui", "--name", "amber")
    app.ready()
    app.send("go\r")
    app.shows("word word")
    app.send("\x1b[O")
    app.until(told.exists, "the program")
    assert told.read_text().splitlines()[-2:] == ["tau", "tau · amber: the turn is over"]
    app.send("\x11")
    assert app.ended() == 0


@pytest.mark.parametrize(
    ("environment", "begins"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b]99;"),
        ({"TERM": "foot"}, "\x1b]777;notify;"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "\x1b]9;tau"),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "ghostty"}, ""),
        ({"TERM": "xterm-256color"}, ""),
    ],
)
def test_every_terminal_is_told_in_its_own_way(environment: Mapping[str, str], begins: str) -> None:
    sequence = notification("tau · amber: the turn is over", environment)
    assert sequence.startswith(begins)
    assert bool(sequence) == bool(begins)


def test_programs_are_for_a_desktop_that_is_here() -> None:
    assert notifier("x", {"DISPLAY": ":0"}, "linux")[0] == "notify-send"
    assert notifier("x", {"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, "linux") == ()
    assert notifier("x", {}, "linux") == ()
    assert notifier("x", {}, "darwin")[-1] == "x"
