"""`tau chat` without a terminal: one line, one message; replies alone on stdout."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tau.conversation.consent import LOST
from tests.line.waiting import read_until

if TYPE_CHECKING:
    from tests.conftest import TauEnv

TOOL = {"tools": [{"name": "nothing_of_this_name", "input": {"a": 1}, "id": "t1"}], "text": "Let me see."}


def test_no_input_is_no_turn(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never said"})
    for given in (b"", b"\n\n  \n"):
        done = tau_env.run("chat", stdin=given)
        assert (done.returncode, done.stdout) == (0, "")
    assert tau_env.sent() == []
    assert tau_env.run("sessions", "list").stdout == ""


def test_each_line_is_a_message_also_without_its_newline(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "one"}, {"text": "two"})
    done = tau_env.run("chat", stdin=b"first\r\n\nsecond")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    asked = [request["messages"][-1]["content"][0]["text"] for request in tau_env.sent()]
    assert asked == ["first", "second"]


def test_lines_are_answered_as_they_come(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "one"}, {"text": "two"})
    process = tau_env.start("chat")
    assert process.stdin is not None
    process.stdin.write(b"first\n")
    process.stdin.flush()
    read_until(process, b"one\n")
    process.stdin.write(b"second\n")
    process.stdin.flush()
    read_until(process, b"two\n")
    process.stdin.close()
    before = time.monotonic()
    assert process.wait(timeout=30) == 0
    assert time.monotonic() - before < 5


def test_a_prompt_is_answered_once_and_stdin_left_alone(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "4"})
    done = tau_env.run("chat", "2+2", stdin=b"not a message\n")
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert len(tau_env.sent()) == 1
    process = tau_env.start("chat", "2+2")  # a pipe that stays open
    assert process.wait(timeout=60) == 0


def test_stdout_holds_the_reply_once_and_no_escape(tau_env: TauEnv) -> None:
    tau_env.scripted(TOOL, {"text": "It is \x1b[2J4\x07.", "chunks": 5}, more="nonsense = 1\n")
    for environ in ({}, {"NO_COLOR": "1"}):
        done = tau_env.run("chat", "2+2", environ=environ)
        assert done.returncode == 0
        assert done.stdout == "Let me see.\n\nIt is \\x1b[2J4\\x07.\n"
        assert "\x1b" not in done.stderr
        assert "nonsense" in done.stderr
        assert "nothing_of_this_name" in done.stderr
        tau_env.requests.unlink()


def test_a_failed_turn_leaves_stdout_empty(tau_env: TauEnv) -> None:
    tau_env.scripted({"error": "refused", "message": "no such account"})
    done = tau_env.run("chat", "2+2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Model call failed: " in done.stderr
    assert "no such account" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failed_turn_does_not_stop_the_next(tau_env: TauEnv) -> None:
    tau_env.scripted({"error": "refused", "message": "not now"}, {"text": "better"})
    done = tau_env.run("chat", stdin=b"one\ntwo\n")
    assert (done.returncode, done.stdout) == (1, "better\n")


def test_a_missing_key_is_said_before_the_first_prompt(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[sessions]\nbackend = "file"\n[models.default]\nprovider = "anthropic"\nmodel_id = "m"\n'
    )
    done = tau_env.run("chat", stdin=b"hello\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert tau_env.run("sessions", "list").returncode == 0


def test_commands_answer_on_stderr(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    session = tau_env.record("20260901-120000-abcd", "a first question", "hello").name
    done = tau_env.run(
        "chat", stdin=b"/help\n/sessions\n/nonsense\n/etc/hosts is a file\n/quit\nnever sent\n"
    )
    assert done.returncode == 1
    assert done.stdout == "hello\n"
    lines = done.stderr.splitlines()
    assert any(line.startswith("/sessions  ") for line in lines)
    (listed,) = [line for line in lines if line.startswith("1. ")]
    number, session_id, _, _, channel, *title, count, unit = listed.split(" ")
    assert (number, session_id, channel, " ".join(title)) == ("1.", session, "terminal", "a first question")
    assert (count, unit) == ("(2", "messages)")
    assert any("/nonsense" in line for line in lines)
    assert len(tau_env.sent()) == 1


def test_resume_goes_on_with_the_newest_session(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "two"})
    tau_env.record("20260901-120000-abcd", "first", "one")
    done = tau_env.run("chat", "--resume", "--", "second")
    assert done.returncode == 0, done.stderr
    texts = [block["text"] for message in tau_env.sent()[-1]["messages"] for block in message["content"]]
    assert texts == ["first", "one", "second"]
    assert len(tau_env.sessions()) == 1


@pytest.mark.parametrize("target", ["../x", "..", "/etc", "a\x1b[2J"], ids=ascii)
def test_an_id_that_is_no_plain_name_is_refused(tau_env: TauEnv, target: str) -> None:
    tau_env.scripted({"text": "never said"})
    done = tau_env.run("chat", "--session", target, "hi")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tau: Not a session id")
    assert "\x1b" not in done.stderr
    assert tau_env.sent() == []


def test_a_session_that_is_held_is_refused_and_says_by_whom(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "mine"})
    first = tau_env.start("chat", "--session", "both")
    assert first.stdin is not None
    first.stdin.write(b"hello\n")
    first.stdin.flush()
    read_until(first, b"mine\n")
    done = tau_env.run("chat", "--session", "both", "mine too?")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"process {first.pid}" in done.stderr
    shown = tau_env.run("sessions", "show", "both")
    assert "hello" in shown.stdout
    assert f"process {first.pid}" in shown.stdout
    first.stdin.close()
    assert first.wait(timeout=30) == 0


def test_interrupt_cancels_the_turn_and_saves_it(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "word " * 4000, "chunks": 4000, "delay": 0.02})
    process = tau_env.start("run", "--json", "--name", "cut", "go on for ever", stdin=subprocess.DEVNULL)
    read_until(process, b'"text_delta"')
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b'"stop_reason": "cancelled"' in out
    assert b"Traceback" not in said
    listed = tau_env.run("sessions", "list").stdout
    assert "go on for ever" in listed
    assert "go on for ever" in tau_env.run("sessions", "show", "cut").stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"]
)
def test_a_signal_saves_lets_go_and_exits(tau_env: TauEnv, number: int, code: int) -> None:
    tau_env.scripted({"text": "word " * 4000, "chunks": 4000, "delay": 0.02}, {"text": "there you are"})
    process = tau_env.start(
        "run", "--json", "--session", "cut", "--name", "cut", "go on for ever", stdin=subprocess.DEVNULL
    )
    read_until(process, b'"text_delta"')
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in said
    tau_env.scripted({"text": "there you are"})
    done = tau_env.run("chat", "--resume", "cut", "and now?")
    assert (done.returncode, done.stdout) == (0, "there you are\n"), done.stderr
    roles = [message["role"] for message in tau_env.sent()[-1]["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


def test_a_signal_while_waiting_for_input_exits(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "one"})
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = tau_env.start("chat")
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        read_until(process, b"one\n")
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        assert process.returncode == code
        assert said == b""


def test_a_reader_that_goes_away_mid_turn_ends_the_run_quietly(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "word " * 4000, "chunks": 4000, "delay": 0.02})
    process = tau_env.start("run", "--json", "--name", "left", "go on for ever", stdin=subprocess.DEVNULL)
    read_until(process, b'"text_delta"')
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(timeout=30) == 0
    assert said == b""
    assert "go on for ever" in tau_env.run("sessions", "show", "left").stdout


def test_what_waited_for_a_yes_is_said_when_the_input_ends(tau_env: TauEnv) -> None:
    (tau_env.directory / "page.txt").write_text("Port 9")
    said = {"contexts": [{"context": "acme", "summary": "Read.", "facts": [{"text": "Port 9"}]}]}
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": json.dumps({"session_log": said})}]))
    call = {"name": "read_file", "input": {"path": "page.txt"}, "id": "t1"}
    tau_env.scripted({"tools": [call]}, {"text": "Read."}, more=f'side_script = "{side}"\n')
    (tau_env.directory / ".git").mkdir()
    assert tau_env.run("trust").returncode == 0
    done = tau_env.run("chat", stdin=b"read it\n/wrap acme\n/wrap yes\n")
    assert (
        "Not written, since tau ended before your /wrap yes, and kept nowhere:\n"
        "Waits for your yes, since content from outside was in this session (read_file):\n"
        "    acme: new fact: Port 9"
    ) in done.stderr


def test_a_change_of_memory_that_waited_is_said_when_the_input_ends(tau_env: TauEnv) -> None:
    mine = tau_env.home / "config" / "tau" / "memory" / "mine.md"
    mine.write_text("By hand.\n")
    operation = {"file": "global/mine.md", "action": "delete", "sentence": "no longer true"}
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": json.dumps({"operations": [operation]})}]))
    tau_env.scripted({"text": "understood"}, more=f'side_script = "{side}"\n')
    process = tau_env.start("chat", stderr=subprocess.STDOUT)
    assert process.stdin is not None
    process.stdin.write(b"hello\n/refine\n")
    process.stdin.flush()
    read_until(process, b"Waits for your yes: global/mine.md")
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert f"{LOST}\n    global/mine.md — no longer true\n" in said.decode()
    assert mine.exists()
