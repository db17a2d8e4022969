"""`tau chat` as a person meets it: the installed command in a pseudo-terminal."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.conftest import TAU
from tests.terminal import Open

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

SLOW = {"text": "word " * 4000, "chunks": 4000, "delay": 0.02}
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])")


class Chats:
    """Starts `tau chat` in pseudo-terminals and ends what is left."""

    def __init__(self, tau_env: TauEnv) -> None:
        self.tau_env = tau_env
        self.started: list[pexpect.spawn[str]] = []

    def start(self, *arguments: str, **environ: str) -> pexpect.spawn[str]:
        process = pexpect.spawn(
            TAU,
            ["chat", *arguments],
            cwd=str(self.tau_env.directory),
            env={**self.tau_env.environ, "PROMPT_TOOLKIT_NO_CPR": "1", **environ},
            encoding="utf-8",
            timeout=60,
            dimensions=(24, 80),
        )
        self.started.append(process)
        return process

    def at_prompt(self, *arguments: str, **environ: str) -> pexpect.spawn[str]:
        process = self.start(*arguments, **environ)
        process.expect("❯")
        return process


@pytest.fixture
def chats(tau_env: TauEnv) -> Iterator[Chats]:
    found = Chats(tau_env)
    yield found
    for process in found.started:
        process.close(force=True)


def code(process: pexpect.spawn[str]) -> int | None:
    process.expect(pexpect.EOF)
    process.wait()
    process.close()
    return process.exitstatus if process.exitstatus is not None else -(process.signalstatus or 0)


@pytest.mark.parametrize("command", ["chat", "tui"])
def test_the_way_back_has_the_name_that_was_given_and_the_configuration(
    tau_env: TauEnv, terminal: Open, command: str
) -> None:
    tau_env.scripted({"text": "It is four."}, more="[profiles.work.tui]\nmouse = false\n")
    tau_env.user_config.rename(tau_env.directory / "my tau.toml")
    options = ("--config", "my tau.toml", "--profile", "work")
    app = terminal(command, *options, "--name", "old sums")
    app.shows("❯")
    app.send("What is 2+2?\r")
    app.shows("It is four.")
    if command == "tui":
        app.ready()
    app.send("/name the sum's\r")
    app.shows("now named the sum's")
    app.send("/quit\r")
    assert app.ended() == 0
    way = """--resume 'the sum'"'"'s' --config 'my tau.toml' --profile work"""
    said = app.bytes.decode("utf-8", "replace")
    assert f"tau {command} {way}" in ESCAPES.sub("", said).replace("\r\n", "\n")
    asked = tau_env.run(*shlex.split(f"chat {way}"), stdin=b"/session\n")
    assert "Name: the sum's" in asked.stderr + asked.stdout
    assert "Messages: 2" in asked.stderr + asked.stdout


@pytest.mark.parametrize("command", ["chat", "tui"])
def test_the_way_back_leaves_instructions_out_where_they_were_left_out(
    tau_env: TauEnv, terminal: Open, command: str
) -> None:
    tau_env.scripted({"text": "It is four."})
    app = terminal(command, "--bare", "--name", "sums")
    app.shows("❯")
    app.send("What is 2+2?\r")
    app.shows("It is four.")
    if command == "tui":
        app.ready()
    app.send("/quit\r")
    assert app.ended() == 0
    said = app.bytes.decode("utf-8", "replace")
    assert f"tau {command} --resume sums --bare" in ESCAPES.sub("", said).replace("\r\n", "\n")


def test_the_way_back_is_by_id_where_the_name_belongs_to_another_directory(
    tau_env: TauEnv, chats: Chats
) -> None:
    tau_env.scripted({"text": "It is four."})
    other = tau_env.directory / "other"
    other.mkdir()
    session = tau_env.record(
        "20260901-120000-abcd", "What is 2+2?", "It is four.", name="sums", directory=str(other)
    )
    process = chats.at_prompt("--resume", session.name)
    process.sendeof()
    process.expect_exact(f"tau chat --resume {session.name}")
    assert code(process) == 0


def test_a_conversation_and_the_way_back_to_it(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "It is four.", "chunks": 3})
    process = chats.at_prompt()
    process.send("What is 2+2?\r")
    process.expect_exact("It is four.")
    process.expect("❯")
    process.sendeof()
    process.expect(r"tau chat --resume (\d{8}-\d{6}-[0-9a-f]{4})\b")
    name = ESCAPES.sub("", process.match.group(1))
    assert code(process) == 0

    process = chats.at_prompt("--resume", name)
    assert "2 messages" in process.before
    assert "> What is 2+2?" in process.before
    assert "It is four." in process.before
    process.send("And now?\r")
    process.expect_exact("It is four.")
    process.expect("❯")
    process.send("/quit\r")
    assert code(process) == 0
    assert len(tau_env.sent()[-1]["messages"]) == 3
    assert len(tau_env.sessions()) == 1


def test_a_first_message_may_stand_on_the_command_line(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "Four."}, {"text": "Five."})
    process = chats.start("2+2?")
    process.expect_exact("Four.")
    process.expect("❯")
    process.send("2+3?\r")
    process.expect_exact("Five.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0


def test_a_paste_of_several_lines_is_one_message(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "Two\r\n\r\nlines.", "chunks": 13})
    process = chats.at_prompt()
    process.send("\x1b[200~line one\nline two\x1b[201~\r")
    process.expect_exact("Two\r\n\r\nlines.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    assert tau_env.sent()[0]["messages"][0]["content"][0]["text"] == "line one\nline two"


@pytest.mark.parametrize("key", ["\x1b", "\x03"], ids=["Esc", "Ctrl-C"])
def test_a_key_cancels_the_turn_and_keeps_what_was_said(tau_env: TauEnv, chats: Chats, key: str) -> None:
    tau_env.scripted(SLOW, {"text": "Fine."})
    process = chats.at_prompt()
    process.send("go on for ever\r")
    process.expect_exact("word word")
    process.send(key)
    process.expect_exact("Turn cancelled.")
    process.expect("❯")
    process.send("and now?\r")
    process.expect_exact("Fine.")
    process.expect("❯")
    process.sendcontrol("c")
    assert code(process) == 130
    roles = [message["role"] for message in tau_env.sent()[-1]["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert "go on for ever" in tau_env.run("sessions", "list").stdout


def test_what_is_typed_during_a_turn_is_there_afterwards(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "word " * 40, "chunks": 40, "delay": 0.02}, {"text": "Second answer."})
    process = chats.at_prompt()
    process.send("first\r")
    process.expect_exact("word word")
    process.send("second\r")
    process.expect_exact("Second answer.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    assert tau_env.sent()[1]["messages"][-1]["content"][0]["text"] == "second"


@pytest.mark.parametrize("moment", ["at the prompt", "in a turn"])
def test_sigterm_leaves_the_terminal_as_it_was(tau_env: TauEnv, chats: Chats, moment: str) -> None:
    tau_env.scripted(SLOW)
    process = chats.at_prompt()
    if moment == "in a turn":
        process.send("go on for ever\r")
        process.expect_exact("word word")
    process.kill(signal.SIGTERM)
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 143


def test_killed_in_a_turn_it_goes_on_where_it_stopped(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "Noted."}, SLOW)
    process = chats.at_prompt("--name", "quail")
    process.send("remember the quail\r")
    process.expect_exact("Noted.")
    process.expect("❯")
    process.send("go on for ever\r")
    process.expect_exact("word word")
    process.kill(signal.SIGKILL)
    process.expect(pexpect.EOF)
    tau_env.scripted({"text": "The quail."})
    process = chats.at_prompt("--resume", "quail")
    process.send("what was it?\r")
    process.expect_exact("The quail.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    sent = str(tau_env.sent()[-1]["messages"])
    assert "remember the quail" in sent
    assert "Noted." in sent
    assert "go on for ever" in sent


def test_a_reply_cannot_steer_the_terminal(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "A\x1b[2J\x1b[?1049h\x1b]52;c;UFdO\x07\x1b]0;T\x07B\u202eC", "chunks": 4})
    process = chats.at_prompt()
    process.send("go\r")
    process.expect_exact("A\\x1b[2J\\x1b[?1049h\\x1b]52;c;UFdO\\x07\\x1b]0;T\\x07B\\u202eC")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0


def test_a_model_that_is_not_ready_is_said_and_the_prompt_is_there(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.configure(
        '[sessions]\nbackend = "file"\n[models.default]\nprovider = "anthropic"\nmodel_id = "m"\n'
    )
    process = chats.start()
    process.expect_exact("ANTHROPIC_API_KEY")
    process.expect("❯")
    process.send("/status\r")
    process.expect_exact("ANTHROPIC_API_KEY")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0


def test_what_was_typed_is_remembered_for_its_owner_only(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "Yes."})
    process = chats.at_prompt()
    process.send("a question to repeat\r")
    process.expect_exact("Yes.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    (history,) = (tau_env.state / "prompt" / "history").iterdir()
    assert history.stat().st_mode & 0o777 == 0o600
    process = chats.at_prompt()
    process.send("\x1b[A\r")
    process.expect_exact("Yes.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    assert tau_env.sent()[-1]["messages"][-1]["content"][0]["text"] == "a question to repeat"


def test_a_dumb_terminal_gets_plain_lines_and_no_escapes(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "Four."}, SLOW)
    process = chats.start(TERM="dumb")
    process.expect_exact("> ")
    process.send("2+2?\r")
    process.expect_exact("Four.")
    process.expect_exact("> ")
    process.send("go on for ever\r")
    process.expect_exact("word word")
    process.sendcontrol("c")
    process.expect_exact("Turn cancelled.")
    process.expect_exact("> ")
    assert "\x1b" not in process.before
    process.sendeof()
    assert code(process) == 0
