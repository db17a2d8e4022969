"""`/rewind`, `/fork` and sessions of another window in line mode, with the installed command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.sessions.file import open_store
from tau.sessions.records import Message
from tau.sessions.store import StoreContext
from tests.line.test_terminal import Chats, chats, code

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["chats"]  # the fixture


def record(tau_env: TauEnv, session_id: str, *prompts: str, **links: str) -> None:
    """Write a session of these prompts, each answered."""
    store = open_store(StoreContext(data_dir=tau_env.data, state_dir=tau_env.state))
    meta = {"directory": str(tau_env.directory), "channel": "terminal", **links}
    with store.create(session_id, meta=meta) as writer:
        for number, prompt in enumerate(prompts):
            asked: Message = {"role": "user", "content": [{"text": prompt}]}
            answer: Message = {"role": "assistant", "content": [{"text": f"answer {number}"}]}
            writer.append(2 * number, asked)
            writer.append(2 * number + 1, answer)


def on_disk(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a session: its bytes, and when it was last written."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def prompts_sent(tau_env: TauEnv) -> list[str]:
    """What the person said in the newest request."""
    messages = tau_env.sent()[-1]["messages"]
    return [message["content"][0]["text"] for message in messages if message["role"] == "user"]


def test_the_newest_prompts_are_listed_one_line_each(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never said"})
    record(tau_env, "long", *(f"question {n}\nin \x1b[31mtwo lines\n" + "京都" * 60 for n in range(1, 26)))
    done = tau_env.run("chat", "--resume", "long", stdin=b"/rewind\n", environ={"COLUMNS": "60"})
    lines = done.stderr.splitlines()
    start = lines.index("… 5 earlier ones")
    listed = lines[start + 1 : start + 21]
    assert [line.split(".")[0] for line in listed] == [str(n) for n in range(6, 26)]
    assert all("question" in line and line.endswith("…") and len(line) < 60 for line in listed)
    assert "\\x1b[31m" in listed[0]
    assert lines[start + 21] == "/rewind N goes on from before message N, in a new session."
    assert len(tau_env.sessions()) == 1
    assert (done.returncode, done.stdout) == (0, "")


def test_in_a_pipe_the_prompt_is_printed_and_the_next_line_goes_on_before_it(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "so be it"})
    record(tau_env, "old", "first", "second\nof two lines", "third")
    before = on_disk(tau_env.data / "sessions" / "old" / "agents")
    done = tau_env.run("chat", "--resume", "old", stdin=b"/rewind 2\nanother second\n/fork\n/fork 9\n")
    assert (done.returncode, done.stdout) == (1, "so be it\n"), "there is no message 9"
    assert 'Went back before "second of two lines", in new session ' in done.stderr
    assert "Your message was:\n> second\n> of two lines\n" in done.stderr
    assert "This conversation has your messages 1 to 2 (/rewind lists them)" in done.stderr
    assert prompts_sent(tau_env) == ["first", "another second"]
    assert on_disk(tau_env.data / "sessions" / "old" / "agents") == before
    assert len(tau_env.sessions()) == 3


def test_prompts_before_the_summary_are_listed_with_their_session_and_gone_back_to(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "so be it"})
    record(tau_env, "old", *(f"question {n}" for n in range(1, 23)))
    summary = "Summary of the previous conversation (session old):\nNotes."
    record(tau_env, "new", summary, "question 23", "question 24", compacted_from="old")
    done = tau_env.run("chat", "--resume", "new", stdin=b"/rewind\n/rewind 2\nanother second\n")
    assert (done.returncode, done.stdout) == (0, "so be it\n")
    lines = [line.replace("\r", "") for line in done.stderr.splitlines()]
    start = lines.index("… 4 earlier ones")
    assert lines[start + 1] == "Before the summary, in session old:"
    assert [line.split(".")[0] for line in lines[start + 2 : start + 20]] == [str(n) for n in range(5, 23)]
    assert lines[start + 20] == "In this session:"
    assert [line.split(".")[0] for line in lines[start + 21 : start + 23]] == ["23", "24"]
    assert 'Went back before "question 2", which was said in session old, in new session ' in done.stderr
    assert "Your message was:\n> question 2\n" in done.stderr
    assert prompts_sent(tau_env) == ["question 1", "another second"]


def test_what_cannot_be_read_behind_a_summary_is_told(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never said"})
    summary = "Summary of the previous conversation (session gone):\nNotes."
    record(tau_env, "new", summary, "question", compacted_from="gone")
    done = tau_env.run("chat", "--resume", "new", stdin=b"/rewind\n")
    assert done.returncode == 0
    assert "What was said before cannot be read: " in done.stderr
    assert "1. " in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/nosuch", "There is no command /nosuch"),
        ("/undo", "There is no turn to go back before"),
        ("/resume nowhere", "nowhere"),
        ("/model nowhere", "nowhere"),
        ("/export a\x1b[31m\x07b.md", "only characters that can be shown, unlike a\\x1b[31m\\x07b.md"),
    ],
    ids=lambda value: value.split()[0],
)
def test_a_command_that_cannot_be_done_fails_the_pipe(tau_env: TauEnv, line: str, told: str) -> None:
    tau_env.scripted({"text": "hello"})
    done = tau_env.run("chat", stdin=f"hi\n{line}\nand on\n".encode() if line != "/undo" else b"/undo\n")
    assert done.returncode == 1
    assert told in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ("" if line == "/undo" else "hello\nhello\n"), (
        "what follows is answered all the same"
    )
    assert not list(tau_env.directory.glob("a*"))
    assert tau_env.run("chat", line, stdin=b"").returncode == 1


def test_commands_that_can_be_done_do_not(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    done = tau_env.run("chat", stdin=b"hi\n/status\n/export talk.md\n/clear\n/quit\n/nosuch\n")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "Tokens: unknown · 1 turn\n" in done.stderr
    assert (tau_env.directory / "talk.md").exists()


@pytest.mark.terminal
def test_on_a_terminal_the_prompt_stands_in_the_input(tau_env: TauEnv, chats: Chats) -> None:  # the fixture
    tau_env.scripted({"text": "Fine."}, {"text": "Well."})
    record(tau_env, "old", "first", "second\nof two lines", "third")
    process = chats.at_prompt("--resume", "old")
    process.send("/rewind 2\r")
    process.expect_exact("of two lines")  # in the notice
    process.expect("❯")
    process.send(", mended\r")
    process.expect_exact("Fine.")
    process.expect("❯")
    assert prompts_sent(tau_env) == ["first", "second\nof two lines, mended"]
    process.send("/undo\r")
    process.expect_exact("Went back before")
    process.expect("❯")
    process.send("\r")
    process.expect_exact("Well.")
    process.expect("❯")
    assert prompts_sent(tau_env) == ["first", "second\nof two lines, mended"]
    process.sendeof()
    assert code(process) == 0


@pytest.mark.terminal
def test_a_plain_terminal_prints_the_prompt(tau_env: TauEnv, chats: Chats) -> None:  # the fixture
    tau_env.scripted({"text": "Fine."})
    record(tau_env, "old", "first", "second")
    process = chats.start("--resume", "old", TERM="dumb")
    process.expect_exact("> ")
    process.send("/undo\r")
    process.expect("Your message was:\r\n> second\r\n> ")
    process.sendeof()
    assert code(process) == 0


@pytest.mark.parametrize("mode", ["sliding", "summarize"])
def test_a_session_of_another_window_is_refused_at_both_doors_and_forked(tau_env: TauEnv, mode: str) -> None:
    other = "summarize" if mode == "sliding" else "sliding"
    tau_env.scripted({"text": "well"}, more=f'[agent]\ncontext = "{mode}"\n')
    assert tau_env.run("chat", stdin=b"hi\n").returncode == 0
    (folder,) = tau_env.sessions()
    tau_env.scripted({"text": "well"}, more=f'[agent]\ncontext = "{other}"\n')
    before = on_disk(folder)
    sentence = (
        f"Session {folder.name} was recorded with a different [agent] context setting; "
        f"set it back to {mode} or start a new session"
    )
    done = tau_env.run("chat", "--resume", folder.name, stdin=b"not sent\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{sentence} (`tau chat`, then /fork {folder.name}, goes on with it" in done.stderr
    assert on_disk(folder) == before
    script = f"/resume {folder.name}\nstill here\n/fork {folder.name}\nand there\n"
    done = tau_env.run("chat", stdin=script.encode())
    assert (done.returncode, done.stdout) == (1, "well\nwell\n"), "/resume was refused"
    assert f"{sentence} (/fork {folder.name} goes on with it in a new session)\n" in done.stderr
    assert f"Forked session {folder.name} into new session " in done.stderr
    assert on_disk(folder) == before
    assert prompts_sent(tau_env) == ["hi", "and there"]
