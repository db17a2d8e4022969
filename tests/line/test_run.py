"""`tau run`: one prompt, as text or as JSON lines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TAU
from tests.line.test_json import check, lines

if TYPE_CHECKING:
    from tests.conftest import TauEnv


def sent_text(tau_env: TauEnv) -> str:
    text: str = tau_env.sent()[-1]["messages"][-1]["content"][0]["text"]
    return text


def test_text_comes_once(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "Four.", "chunks": 3})
    done = tau_env.run("run", "2+2")
    assert (done.returncode, done.stdout) == (0, "Four.\n")
    assert tau_env.run("sessions", "list").stdout == ""
    shown = tau_env.run("sessions", "show", tau_env.sessions()[0].name)
    assert "2+2" in shown.stdout


def test_json_gives_every_event_of_the_turn(tau_env: TauEnv) -> None:
    tau_env.scripted(
        {"tools": [{"name": "missing", "input": {"é": "漢"}, "id": "t1"}], "text": "Let me see."},
        {"reasoning": "hm", "text": "Four.", "usage": {"inputTokens": 100, "outputTokens": 10}},
    )
    done = tau_env.run("run", "--json", "2+2", environ={"LC_ALL": "C"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    found = lines(done.stdout)
    assert all(line["v"] == 1 for line in found)
    kinds = [line["type"] for line in found]
    assert kinds[0] == "session"
    assert kinds[1] == "turn_started"
    assert kinds[-1] == "turn_end"
    assert kinds.count("turn_end") == 1
    assert {"text_delta", "reasoning_delta", "message_end", "usage_reported", "tool_use_ended"} <= set(kinds)
    assert found[0]["session_id"] == tau_env.sessions()[0].name
    assert found[0]["provider"] == "scripted"
    assert "".join(line["text"] for line in found if line["type"] == "text_delta") == "Let me see.Four."
    for line in found:
        check(line)


def test_json_tells_a_failure(tau_env: TauEnv) -> None:
    tau_env.scripted({"error": "refused", "message": "no such account"})
    done = tau_env.run("run", "--json", "2+2")
    assert done.returncode == 1
    end = lines(done.stdout)[-1]
    assert (end["type"], end["stop_reason"]) == ("turn_end", "error")
    assert "no such account" in end["notice"]


def test_a_failure_leaves_stdout_empty(tau_env: TauEnv) -> None:
    tau_env.scripted({"error": "refused", "message": "no such account"})
    done = tau_env.run("run", "2+2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such account" in done.stderr


@pytest.mark.parametrize("arguments", [["run"], ["run", "-"]], ids=["nothing", "dash"])
def test_the_prompt_may_come_on_stdin(tau_env: TauEnv, arguments: list[str]) -> None:
    tau_env.scripted({"text": "Four."})
    done = tau_env.run(*arguments, stdin="what is\n2+2, caf\u00e9?\n".encode() + b"\xe9")
    assert (done.returncode, done.stdout) == (0, "Four.\n")
    assert sent_text(tau_env) == "what is\n2+2, café?\n\ufffd"


def test_what_is_piped_in_goes_below_the_prompt(tau_env: TauEnv, tmp_path: Path) -> None:
    tau_env.scripted({"text": "Fine."})
    assert tau_env.run("run", "Review this:", stdin=b"a line\n").returncode == 0
    assert sent_text(tau_env) == "Review this:\n\na line\n"
    file = tmp_path / "given.txt"
    file.write_text("from a file\n")
    with file.open() as given:
        done = subprocess.run(
            [TAU, "run", "Review this:"],
            stdin=given,
            cwd=tau_env.directory,
            env=tau_env.environ,
            check=False,
            capture_output=True,
        )
    assert done.returncode == 0
    assert sent_text(tau_env) == "Review this:\n\nfrom a file\n"


def test_a_silent_pipe_does_not_keep_it_waiting(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "Four."})
    process = tau_env.start("run", "2+2")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.wait(timeout=60) == 0
    assert process.stdout.read() == b"Four.\n"
    assert b"Nothing came on stdin" in process.stderr.read()
    assert sent_text(tau_env) == "2+2"
