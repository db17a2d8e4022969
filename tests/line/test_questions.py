"""A tool of tier 2 in line mode: asked about on a terminal, refused where nobody can be asked."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from tau.events import ApprovalAsked
from tau.line.questions import call_line
from tests.conftest import TAU
from tests.line.test_terminal import Chats, chats, code

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["chats"]

pytestmark = pytest.mark.terminal

ASKED = r'jot_note {"path": "notes.txt", "text": "one\u001b line"}'


def jot(tau_env: TauEnv) -> None:
    call = {"name": "jot_note", "input": {"path": "notes.txt", "text": "one\x1b line"}, "id": "t1"}
    tau_env.scripted({"text": "I note it.", "tools": [call]}, {"text": "All done."})


def told(tau_env: TauEnv) -> str:
    """What the model was told last."""
    return str(tau_env.sent()[-1]["messages"][-1])


def asks(process: pexpect.spawn[str]) -> None:
    """Wait for the question, and until typing answers it."""
    process.expect_exact(ASKED)
    process.expect_exact("Run it? y/n ")


def answer(process: pexpect.spawn[str], line: str, then: str) -> None:
    """Answer until it counts: what is typed at once is kept for the next message."""
    process.send(line)
    while process.expect_exact([then, pexpect.TIMEOUT], timeout=0.5):
        process.send(line)


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_yes_runs_it(tau_env: TauEnv, chats: Chats, terminal: str) -> None:
    jot(tau_env)
    process = chats.start(TERM=terminal)
    process.expect("❯|> ")
    process.send("note it\r")
    asks(process)
    answer(process, "y\r", "All done.")
    assert (tau_env.directory / "notes.txt").read_text() == "one\x1b line\n"
    assert "jot_note" in process.before
    assert "approved" in process.before
    process.kill(signal.SIGTERM)
    assert code(process) == 143


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_no_refuses_it_and_what_is_neither_is_asked_again(
    tau_env: TauEnv, chats: Chats, terminal: str
) -> None:
    jot(tau_env)
    process = chats.start(TERM=terminal)
    process.expect("❯|> ")
    process.send("note it\r")
    asks(process)
    answer(process, "what?\r", "y or n? ")
    process.send("x\x7fn\r")
    process.expect_exact("All done.")
    assert "denied" in process.before
    assert not (tau_env.directory / "notes.txt").exists()
    assert "said no" in told(tau_env)


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_ctrl_c_at_a_question_cancels_the_turn(tau_env: TauEnv, chats: Chats, terminal: str) -> None:
    jot(tau_env)
    process = chats.start(TERM=terminal)
    process.expect("❯|> ")
    process.send("note it\r")
    asks(process)
    process.sendcontrol("c")
    process.expect_exact("Turn cancelled.")
    process.expect("❯|> ")
    assert not (tau_env.directory / "notes.txt").exists()
    process.sendeof()
    assert code(process) == 0


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_what_is_being_typed_is_the_next_message_and_no_answer(
    tau_env: TauEnv, chats: Chats, terminal: str
) -> None:
    call = {"name": "jot_note", "input": {"path": "notes.txt", "text": "one\x1b line"}, "id": "t1"}
    tau_env.scripted(
        {"text": "word " * 20, "chunks": 20, "delay": 0.02, "tools": [call]}, {"text": "All done."}
    )
    process = chats.start(TERM=terminal)
    process.expect("❯|> ")
    process.send("note it\r")
    process.expect_exact("word word")
    process.send("y\r")
    asks(process)
    answer(process, "n\r", "All done.")
    process.expect_exact("All done.")
    assert not (tau_env.directory / "notes.txt").exists()
    assert tau_env.sent()[2]["messages"][-1]["content"][0]["text"] == "y"


@pytest.mark.parametrize("command", [["run", "note it"], ["chat", "note it"]], ids=["run", "chat"])
def test_one_prompt_on_a_terminal_asks_too(tau_env: TauEnv, command: list[str]) -> None:
    jot(tau_env)
    line = " ".join([TAU, command[0], f"'{command[1]}'", ">out.txt"])
    process = pexpect.spawn(
        "/bin/sh", ["-c", line], cwd=str(tau_env.directory), env=tau_env.environ, encoding="utf-8", timeout=60
    )
    asks(process)
    answer(process, "yes\r", "approved")
    assert code(process) == 0
    assert (tau_env.directory / "out.txt").read_text() == "I note it.\n\nAll done.\n"
    assert (tau_env.directory / "notes.txt").exists()


@pytest.mark.parametrize("command", [["run", "note it"], ["run", "--json", "note it"], ["chat", "note it"]])
def test_in_a_pipe_nothing_is_asked_and_nothing_runs(tau_env: TauEnv, command: list[str]) -> None:
    jot(tau_env)
    done = tau_env.run(*command)
    assert done.returncode == 0
    assert "Run it?" not in done.stdout + done.stderr
    assert "denied" in done.stdout + done.stderr
    assert not (tau_env.directory / "notes.txt").exists()


def test_a_question_is_one_line_and_whole() -> None:
    arguments: dict[str, Any] = {"text": "a\nb\t" + "x" * 5_000, "n": [1, {"deep": None}]}
    line = call_line(ApprovalAsked("a1", "jot_note", arguments))
    assert "\n" not in line
    assert line.startswith('jot_note {"text": "a\\nb\\t')
    assert "x" * 5_000 in line
    assert line.endswith('"n": [1, {"deep": null}]}')
