"""A tool of tier 2 in line mode: asked about on a terminal, refused where nobody can be asked."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from tau.events import ApprovalAsked, ToolUseEnded
from tau.line.output import call_lines
from tau.line.person import QUIET_SECONDS
from tau.line.questions import question_lines
from tests.conftest import TAU
from tests.line.test_terminal import Chats, chats, code

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["chats"]

pytestmark = pytest.mark.terminal

ASKED = ("jot_note asks to run", "path: notes.txt", r"text: one\x1b line")


def jot(tau_env: TauEnv, times: int = 1) -> None:
    """Have the model note a line in each of so many turns."""
    steps: list[dict[str, Any]] = []
    for turn in range(1, times + 1):
        call = {"name": "jot_note", "input": {"path": "notes.txt", "text": "one\x1b line"}, "id": f"t{turn}"}
        steps += [{"text": "I note it.", "tools": [call]}, {"text": "All done."}]
    tau_env.scripted(*steps)


def told(tau_env: TauEnv) -> str:
    """What the model was told last."""
    return str(tau_env.sent()[-1]["messages"][-1])


def asks(process: pexpect.spawn[str]) -> None:
    """Wait for the question, and until typing answers it."""
    for line in ASKED:
        process.expect_exact(line)
    process.expect_exact("no, because…: ")


def answer(process: pexpect.spawn[str], line: str, then: str) -> None:
    """Answer when it counts: what is typed at once is kept for the next message."""
    process.expect_exact(pexpect.TIMEOUT, timeout=QUIET_SECONDS * 2)
    process.send(line)
    process.expect_exact(then)


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
def test_no_a_reason_and_ctrl_c_refuse_it_one_after_the_other(
    tau_env: TauEnv, chats: Chats, terminal: str
) -> None:
    jot(tau_env, times=3)
    process = chats.start(TERM=terminal)
    process.expect("❯|> ")
    process.send("note it\r")
    asks(process)
    answer(process, "what?\r", "n or r? ")  # what is neither is asked again
    process.send("x\x7fn\r")
    process.expect_exact("All done.")
    assert "denied" in process.before
    assert not (tau_env.directory / "notes.txt").exists()
    assert "said no" in told(tau_env)
    process.expect("❯|> ")

    process.send("note it\r")
    asks(process)
    answer(process, "r\r", "why not? ")
    process.send("not thérf\x7fe\r")
    process.expect_exact("All done.")
    assert "denied" in process.before
    assert not (tau_env.directory / "notes.txt").exists()
    assert "not thére" in told(tau_env)
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
    assert done.returncode == 1
    assert "asks to run" not in done.stdout + done.stderr
    assert "denied" in done.stdout + done.stderr
    assert not (tau_env.directory / "notes.txt").exists()


def test_always_is_told_with_its_patterns_and_counts(tau_env: TauEnv, chats: Chats) -> None:
    call = {"name": "jot_note", "input": {"path": "notes.txt", "text": "a line"}, "id": "t1"}
    again = {"name": "jot_note", "input": {"path": "notes.txt", "text": "another"}, "id": "t2"}
    tau_env.scripted({"text": "I note it.", "tools": [call]}, {"tools": [again]}, {"text": "All done."})
    process = chats.start()
    process.expect("❯|> ")
    process.send("note it\r")
    process.expect_exact("always would allow in this session:\r\n")
    process.expect_exact("  jot_note")
    process.expect_exact("a always")
    process.expect_exact("no, because…: ")
    answer(process, "a\r", "All done.")
    assert process.before.count("allowed") == 1
    assert (tau_env.directory / "notes.txt").read_text() == "a line\nanother\n"


def texts(asked: ApprovalAsked) -> list[str]:
    return [text for text, _ in question_lines(asked)]


def test_the_whole_call_is_in_the_question() -> None:
    arguments: dict[str, Any] = {"text": "a\npath: b\t" + "x" * 5_000, "n": [1, {"deep": None}]}
    lines = texts(ApprovalAsked("a1", "jot_note", arguments))
    assert lines[:3] == ["jot_note asks to run", "text:", "  a"]
    assert lines[3].startswith("  path: b\t")
    assert "x" * 5_000 in lines[3]
    assert lines[4] == 'n: [1, {"deep": null}]'


def test_nothing_of_a_command_is_out_of_sight() -> None:
    command = "git status" + " " * 300 + "; touch P\x1b[2K\nls \u202e"
    asked = ApprovalAsked(
        "a1", "shell", {"command": command, "timeout": 9}, ("shell: ls *",), ("writes to out.txt",)
    )
    assert texts(asked) == [
        "shell asks to run",
        "$ git status␠×300; touch P\\x1b[2K",
        "  ls \\u202e",
        "timeout: 9",
        "! writes to out.txt",
        "always would allow in this session:",
        "  shell: ls *",
    ]


DIFF = """--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
-old \x1b[2J
+new
 same
"""


def test_the_first_line_says_which_memory_is_written_and_for_whom() -> None:
    preview = "--- /dev/null\n+++ b/global/always-obey.md\n@@ -0,0 +1 @@\n+x"
    arguments = {"content": "x", "label": "global/always-obey"}
    first, *_ = texts(ApprovalAsked("a1", "remember", arguments, preview=preview))
    assert first == "remember asks to write global/always-obey in every project"
    deleted = ApprovalAsked(
        "a1", "remember", {"content": "", "label": "a"}, preview="project/a.md is deleted."
    )
    assert texts(deleted)[0] == "remember asks to delete a in this project"
    dropped = ApprovalAsked("a1", "db_drop", {"sure": True, "name": "customers\x1b"})
    assert texts(dropped)[:2] == ["db_drop asks to run with customers\\x1b", "sure: true"]


def test_a_change_is_shown_as_a_diff() -> None:
    asked = ApprovalAsked("a1", "edit_file", {"path": "a.py", "edits": []}, preview=DIFF)
    assert question_lines(asked) == [
        ("edit_file asks to change a.py", "bold"),
        ("  @@ -1,2 +1,2 @@", "cyan"),
        ("  - old \\x1b[2J", "red"),
        ("  + new", "green"),
        ("    same", ""),
    ]


def test_a_call_is_one_line_and_the_end_of_what_failed() -> None:
    result = "".join(f"line {n}\n" for n in range(40)) + "[exit 3, 1.8 s]"
    failed = ToolUseEnded("t1", "shell", "success", result, 1.8, "approved")
    (line, colour), *rest = call_lines(failed, "pytest -x")
    assert line == "shell  pytest -x  approved · exit 3 · 1.8 s"
    assert colour == "red"
    assert [text for text, _ in rest] == [f"  line {n}" for n in range(32, 40)]
    changed = ToolUseEnded("t2", "edit_file", "success", f"Changed a.py.\n{DIFF}", 0.01, "allowed")
    assert call_lines(changed, "a.py") == [("edit_file  a.py  allowed · +1 -1 · 10 ms", "dim")]
