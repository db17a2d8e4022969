"""Compaction in line mode: `/compact` in a pipe and on a terminal, and turns that compact by themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.line.test_json import check
from tests.line.test_terminal import Chats, chats, code

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["chats"]  # the fixture

NOTES = "Ada wants the nightly job fixed.\nIt fails since Tuesday."
ENDLESS = {"text": NOTES, "silent": 600}


def scripted(tau_env: TauEnv, steps: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    """A model with a window of 40,000 tokens, which compacts at 30,000, and this summary."""
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([summary]), encoding="utf-8")
    more = f'side_script = "{side}"\ncontext_window = 40000\n[compaction]\nanchors_tokens = 0\n'
    tau_env.scripted(*steps, more=more)


def usage(tokens: int) -> dict[str, Any]:
    return {"usage": {"inputTokens": tokens, "outputTokens": 10}}


FULL = [
    {"text": "one", **usage(1_000)},
    {
        "text": "I look.",
        "tools": [{"name": "list_files", "input": {"path": "."}, "id": "t1"}],
        **usage(35_000),
    },
    {"text": "done", **usage(6_000)},
]
"""The second turn fills the window in its middle."""


def linked(tau_env: TauEnv) -> tuple[str, str]:
    """The only session that was summarized, and the one that goes on from it."""
    metas = {folder.name: json.loads((folder / "meta.json").read_text()) for folder in tau_env.sessions()}
    ((new, old),) = [
        (name, meta["compacted_from"]) for name, meta in metas.items() if "compacted_from" in meta
    ]
    assert metas[old]["compacted_to"] == new
    return old, new


def notice(tau_env: TauEnv, count: int) -> str:
    """What is said of the only compaction there was, of so many messages."""
    old, new = linked(tau_env)
    return (
        f"Compacted {count} messages into a summary. New session {new}; the previous session {old} is kept."
    )


def test_in_a_pipe_it_is_said_on_stderr_and_the_next_line_goes_on(tau_env: TauEnv) -> None:
    scripted(tau_env, [{"text": "one"}, {"text": "two"}], {"text": NOTES})
    done = tau_env.run("chat", stdin=b"first\n/compact the job\n/status\nsecond\n")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    lines = done.stderr.splitlines()
    start = lines.index("✻ Summarizing… Ctrl-C cancels")
    assert lines[start + 1 : start + 4] == [notice(tau_env, 2), *NOTES.splitlines()]
    sent = tau_env.sent()[-1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert NOTES in sent[0]["content"][0]["text"]
    assert tau_env.sent()[1]["system"].endswith("Focus on: the job")


def test_a_kept_message_that_cannot_be_read_is_said(tau_env: TauEnv) -> None:
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": NOTES}]), encoding="utf-8")
    more = f'side_script = "{side}"\n[compaction]\nkeep_turns = 1\nanchors_tokens = 0\n'
    tau_env.scripted({"text": "never said"}, more=more)
    folder = tau_env.record("20260901-120000-abcd", "first", "one", "second", "two")
    (folder / "agents" / "tau" / "messages" / "000003.json").write_text("{")
    (folder / ".journal").unlink()  # its copy of the message would be used
    lines = tau_env.run("chat", "--session", folder.name, stdin=b"/compact\n").stderr.splitlines()
    told = f"Message 3 of session {folder.name} could not be read; "
    told += "a line in place of it says so in this session."
    start = lines.index(notice(tau_env, 2))
    assert lines[start + 1 : start + 4] == [*NOTES.splitlines(), told]


def test_one_that_fails_is_said_and_the_session_goes_on(tau_env: TauEnv) -> None:
    scripted(tau_env, [{"text": "one"}, {"text": "two"}], {"error": "refused", "message": "not today"})
    done = tau_env.run("chat", stdin=b"/compact\nfirst\n/compact\nsecond\n")
    assert done.stdout == "one\ntwo\n"
    assert done.returncode == 1
    assert "Compaction failed: there is nothing to summarize\n" in done.stderr
    assert "Compaction failed: " in done.stderr.partition("nothing to summarize")[2]
    assert "not today" in done.stderr
    assert len(tau_env.sessions()) == 1
    assert len(tau_env.sent()[-1]["messages"]) == 3


@pytest.mark.terminal
def test_on_a_terminal_ctrl_c_cancels_it_and_the_chat_goes_on(
    tau_env: TauEnv, chats: Chats
) -> None:  # the fixture
    scripted(tau_env, [{"text": "Hello."}, {"text": "Still here."}], ENDLESS)
    process = chats.at_prompt()
    for key in ("\x03", "\x1b"):
        process.send("talk\r")
        process.expect("Hello.|Still here.")
        process.expect("❯")
        process.send("/compact\r")
        process.expect_exact("✻ Summarizing… Ctrl-C cancels")
        process.send(key)
        process.expect_exact("Compaction cancelled; the session continues.")
        process.expect("❯")
    process.send("talk\r")
    process.expect_exact("Still here.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    (session,) = tau_env.sessions()
    assert "compacted_to" not in (session / "meta.json").read_text()
    assert len(tau_env.sent()[-1]["messages"]) == 5


def test_a_turn_of_tau_run_compacts_by_itself(tau_env: TauEnv) -> None:
    scripted(tau_env, FULL[:1], {"text": NOTES})
    assert tau_env.run("run", "--name", "quail", "first").stdout == "one\n"
    scripted(tau_env, FULL[1:], {"text": NOTES})
    done = tau_env.run("run", "look", "--resume", "quail")
    assert (done.returncode, done.stdout) == (0, "I look.\n\ndone\n")
    assert notice(tau_env, 2) in done.stderr.splitlines()
    again = tau_env.run("chat", "--resume", "quail", stdin=b"/session\n")
    assert f"Session: {linked(tau_env)[1]}\n" in again.stderr, "the name leads to the newer session"


def test_json_tells_of_it_in_an_event(tau_env: TauEnv) -> None:
    scripted(tau_env, FULL[:1], {"text": NOTES})
    tau_env.run("run", "--name", "quail", "first")
    scripted(tau_env, FULL[1:], {"text": NOTES, **usage(7_000)})
    done = tau_env.run("run", "--json", "look", "--resume", "quail")
    assert done.returncode == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for line in found:
        check(line)
    (event,) = [line for line in found if line["type"] == "compacted"]
    assert event["line"] == notice(tau_env, 2)
    assert (event["previous"], event["session_id"]) == linked(tau_env)
    assert event["summary"] == NOTES
    kinds = [line["type"] for line in found]
    assert kinds.index("tool_use_ended") < kinds.index("compacted") < len(kinds) - 1
    assert (found[-1]["type"], found[-1]["stop_reason"]) == ("turn_end", "end_turn")
    assert [line["usage"]["input_tokens"] for line in found if line.get("side")] == [7_000]
