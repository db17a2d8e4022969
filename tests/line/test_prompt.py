"""The prompt of `tau chat`: lines, pastes, history, completions, drafts, the editor, the line below."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tau.conversation.state import ConversationState
from tau.line.pastes import Pastes
from tau.line.toolbar import toolbar
from tau.models.info import ModelInfo
from tests.conversation.test_images import png
from tests.terminal import SECONDS

if TYPE_CHECKING:
    from tests.conftest import TauEnv
    from tests.terminal import Open, Terminal

pytestmark = pytest.mark.terminal

Chat = Callable[..., "Terminal"]


@pytest.fixture
def chat(tau_env: TauEnv, terminal: Open, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Opens `tau chat` in a terminal that says where its cursor is, and waits for its prompt.

    The model says yes to everything, unless a test gives it another script.
    """
    tau_env.scripted({"text": "Yes."})

    def open_one(*arguments: str) -> Terminal:
        opened = terminal("chat", *arguments)
        monkeypatch.setattr(opened.screen, "write_process_input", opened.send)
        opened.shows("ctx ")
        return opened

    return open_one


def said(tau_env: TauEnv) -> list[str]:
    """The messages that the model got, in order."""
    return [request["messages"][-1]["content"][0]["text"] for request in tau_env.sent()]


def below_prompt(opened: Terminal) -> str:
    """What stands at the prompt and below it."""
    return opened.text().rpartition("❯ ")[2]


def answers(opened: Terminal, count: int) -> None:
    """Wait until so many answers were given, and the prompt is back."""
    opened.until(lambda: opened.text().count("Yes.") == count and "ctx " in below_prompt(opened), "an answer")


def test_enter_sends_and_other_keys_break_the_line(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("one\x1b\rtwo\nthree\x1b[27;2;13~four\x1b[13;2ufive")
    opened.shows("  five")
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == ["one\ntwo\nthree\nfour\nfive"]


def test_a_large_paste_folds_and_goes_out_whole_and_so_does_the_history(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    pasted = "\n".join(f"line {number} 漢字 🎉" for number in range(3_000))
    opened.send("look: ")
    opened.send(f"\x1b[200~{pasted}\x1b[201~")
    opened.shows("look: [Pasted text #1 · 3,000 lines]")
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == [f"look: {pasted}"]
    opened.send("\x1b[A")
    opened.shows("line 2999")
    opened.send("\r")
    opened.until(lambda: len(said(tau_env)) == 2, "the second message")
    assert said(tau_env)[1] == said(tau_env)[0]


def test_an_image_that_is_dropped_in_a_line_is_mentioned(tau_env: TauEnv, chat: Chat) -> None:
    (tau_env.directory / "my photo.png").write_bytes(png(4, 4))
    opened = chat()
    path = tau_env.directory / "my photo.png"
    opened.send(f"look at\x1b[200~'{path}' \x1b[201~now")
    opened.shows("now")
    opened.send("\r")
    answers(opened, 1)
    (request,) = tau_env.sent()
    assert request["messages"][-1]["content"][-1]["text"].startswith(f'look at @"{path}" now')


def test_lines_typed_by_a_terminal_that_marks_no_paste_are_one_message(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("first\rsecond\rthird\r")
    opened.shows("  third")
    opened.quiet(0.3)
    assert said(tau_env) == []
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == ["first\nsecond\nthird\n"]


UNMARKED = "".join(
    f"line {number:,} of a paste that the terminal does not mark\r" for number in range(20_000)
)


def test_a_large_paste_without_marks_folds_and_goes_out_whole(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("look: ")
    opened.shows("look:")
    began = time.monotonic()
    opened.pour(UNMARKED)
    opened.shows("look: [Pasted text #1 · 20,001 lines]")
    assert time.monotonic() - began < 10, "as keys it takes minutes"
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == ["look: " + UNMARKED.replace("\r", "\n")]


def test_keys_that_pile_up_are_no_paste(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("a long line " + "\x1b[D\x1b[C" * 300 + "\x7f" * 300 + "a short one\r")
    answers(opened, 1)
    assert said(tau_env) == ["a short one"]


def test_a_long_line_with_enter_behind_it_is_sent(tau_env: TauEnv, chat: Chat) -> None:
    """As where a program types a message and sends it."""
    opened = chat()
    opened.send("word " * 300 + "\r")
    answers(opened, 1)
    assert said(tau_env) == ["word " * 300]


def test_a_paste_without_marks_during_a_turn_is_in_the_next_prompt(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.scripted({"text": "word " * 200, "chunks": 200, "delay": 0.02}, {"text": "Yes."})
    opened = chat()
    opened.send("go\r")
    opened.shows("word word")
    opened.pour(UNMARKED)
    opened.shows("❯ [Pasted text #1 · 20,001 lines]")
    assert said(tau_env) == ["go"]


def test_a_signal_ends_the_chat_while_keys_pour_in(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    stop = opened.pour("\x1b[C\x1b[D" * 1_000, without_end=True)
    opened.quiet(1)
    opened.process.kill(signal.SIGTERM)
    opened.until(lambda: termios.tcgetattr(opened.process.child_fd)[3] & termios.ICANON, "the prompt is left")
    stop.set()
    assert opened.ended() == 143


def test_a_silent_turn_without_a_terminal_ends_although_no_signal_tells_it(tau_env: TauEnv) -> None:
    """As where it is no child of the terminal's shell."""
    tau_env.scripted({"text": "word word", "chunks": 2, "delay": 600})
    tau_env.environ["PROMPT_TOOLKIT_NO_CPR"] = "1"
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    chat = tau_env.start("chat", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    drawn = b""
    while "❯".encode() not in drawn:
        drawn += os.read(master, 65_536)
    os.write(master, b"go\r")
    end = time.monotonic() + SECONDS
    while not tau_env.requests.exists():
        assert time.monotonic() < end, "the turn"
        time.sleep(0.05)
    os.close(master)
    try:
        assert chat.wait(SECONDS), "it failed, and is gone"
    finally:
        chat.kill()


def test_messages_typed_during_a_turn_stay_messages(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.scripted({"text": "word " * 40, "chunks": 40, "delay": 0.02}, {"text": "Yes."})
    opened = chat()
    opened.send("go\r")
    opened.shows("word word")
    opened.send("second\rthird\rdraft")
    answers(opened, 2)
    opened.until(lambda: below_prompt(opened).startswith("draft"), "the draft")
    assert said(tau_env) == ["go", "second", "third"]


def test_history_is_of_the_directory_and_can_be_searched(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    for number, text in enumerate(["a question about quails", "another one"], 1):
        opened.send(f"{text}\r")
        answers(opened, number)
    opened.send("\x04")
    assert opened.ended() == 0

    opened = chat()
    opened.send("\x1b[A")
    opened.until(lambda: below_prompt(opened).startswith("another one"), "the newest")
    opened.send("\x15\x12quail")
    opened.shows("a question about quails")
    opened.send("\r\r")
    answers(opened, 1)
    assert said(tau_env)[-1] == "a question about quails"

    tau_env.directory = tau_env.home / "elsewhere"
    tau_env.directory.mkdir()
    opened = chat()
    opened.send("\x1b[Anew here\r")
    answers(opened, 1)
    assert said(tau_env)[-1] == "new here"


def test_commands_are_completed_with_their_help(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("/stat")
    opened.shows("show model, window, tokens and session")
    opened.send("\t")
    opened.until(lambda: below_prompt(opened).startswith("/status"), "the command")
    opened.send("\r")  # takes it
    opened.until(lambda: "show model, window" not in opened.text(), "the list to go")
    opened.send("\r")
    opened.shows("Model: default → ")
    opened.send("/model def")
    opened.shows(" default")
    assert said(tau_env) == []


def test_files_are_completed_fuzzily(tau_env: TauEnv, chat: Chat) -> None:
    (tau_env.directory / "src").mkdir()
    (tau_env.directory / "src" / "main window.py").touch()
    opened = chat()
    opened.send("see @srmw")
    opened.shows("src/main window.py")
    opened.send("\t")
    opened.shows('see @"src/main window.py"')
    opened.send("\r")
    opened.until(lambda: opened.text().count("main window.py") == 1, "the list to go")
    opened.send("ok\r")
    answers(opened, 1)
    assert said(tau_env) == ['see @"src/main window.py" ok']


def test_ctrl_c_puts_a_text_away_and_up_brings_it_back(tau_env: TauEnv, chat: Chat) -> None:
    opened = chat()
    opened.send("half a thought")
    opened.shows("half a thought")
    opened.send("\x03")
    opened.shows("Put away")
    assert "half a thought" not in opened.text()
    opened.send("\x1b[A")
    opened.shows("half a thought")
    opened.send("\r")
    answers(opened, 1)
    opened.send("\x03")
    assert opened.ended() == 130
    assert said(tau_env) == ["half a thought"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_what_was_not_sent_is_there_in_the_next_window(
    tau_env: TauEnv, chat: Chat, number: signal.Signals
) -> None:
    drafts = tau_env.state / "prompt" / "drafts"
    opened = chat()
    opened.send("half a\nthought")
    opened.shows("  thought")
    if number == signal.SIGKILL:  # the others write it before they end
        opened.until(lambda: drafts.is_dir() and list(drafts.glob("*.json")), "the draft on disk")
        opened.until(lambda: "thought" in next(drafts.glob("*.json")).read_text(), "all of it")
    opened.process.kill(number)
    opened.ended()

    opened = chat()
    opened.shows("What you had not sent in session")
    opened.until(lambda: below_prompt(opened).startswith("half a"), "the draft")
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == ["half a\nthought"]
    opened.send("\x04")
    assert opened.ended() == 0
    assert list(drafts.glob("*.json")) == []


@pytest.mark.parametrize("keys", ["\x07", "\x18\x05"], ids=["Ctrl+G", "Ctrl+X Ctrl+E"])
def test_the_text_can_be_edited_in_the_editor(tau_env: TauEnv, chat: Chat, tmp_path: Path, keys: str) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\nand from the editor\\n" >> "$1"\n')
    editor.chmod(stat.S_IRWXU)
    tau_env.environ["EDITOR"] = str(editor)
    opened = chat()
    opened.send("from the prompt")
    opened.shows("from the prompt")
    opened.send(keys)
    opened.shows("and from the editor")
    opened.send("\r")
    answers(opened, 1)
    assert said(tau_env) == ["from the prompt\nand from the editor"]


def test_without_an_editor_the_key_says_what_to_set(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.environ.pop("EDITOR", None)
    tau_env.environ.pop("VISUAL", None)
    opened = chat()
    opened.send("text\x07")
    opened.shows("$EDITOR")
    assert below_prompt(opened).startswith("text")


def test_the_line_below_tells_session_model_window_and_cost(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.scripted(
        {"text": "Yes.", "usage": {"inputTokens": 9_000, "outputTokens": 1_000}},
        more='model_id = "sonnet"\ncontext_window = 40000\nprice = { input = 3.0, output = 15.0 }\n',
    )
    opened = chat("--name", "quail")
    opened.shows("quail · default → sonnet · ctx empty")
    opened.send("hello\r")
    opened.shows("quail · default → sonnet · ctx 25 % · $0.04")


def test_the_line_below_tells_a_model_that_took_its_time(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.scripted({"text": "Yes."}, more='model_id = "sonnet"\n')
    script = tau_env.home / "script.json"
    steps = script.read_text("utf-8")
    script.unlink()
    os.mkfifo(script)
    opened = chat("--name", "quail")
    assert "sonnet" not in below_prompt(opened), "nobody has written the script yet"
    with script.open("w") as pipe:  # opened once it is read
        script.unlink()
        script.write_text(steps, "utf-8")
        pipe.write(steps)
    opened.shows("quail · default → sonnet")


def test_the_line_below_leaves_out_what_does_not_fit() -> None:
    model = ModelInfo(role="default", provider="p", model_id="漢字-model", context_window=1_000)
    state = ConversationState(session_id="s", name="quail", model=model, context_tokens=340, cost=0.12)
    assert toolbar(state, 80) == "quail · default → 漢字-model · ctx 34 % · $0.12"
    assert toolbar(state, 30) == "quail · ctx 34 % · $0.12"
    assert toolbar(state, 20) == "ctx 34 % · $0.12"
    assert toolbar(state, 10) == "ctx 34 %"
    assert toolbar(state, 3) == ""


def test_the_line_below_ends_with_the_goal_where_it_has_room() -> None:
    state = ConversationState(session_id="s", name="quail", context_tokens=340, cost=0.12)
    rest = toolbar(state, 80)
    assert rest == "quail · default · ctx 340 tokens · $0.12"
    state = replace(state, goal="goal (met?): 漢字漢字 in the docs")
    assert toolbar(state, 80) == f"{rest} · goal (met?): 漢字漢字 in the docs"
    assert toolbar(state, 74) == f"{rest} · goal (met?): 漢字漢字 in the d…"
    assert toolbar(state, 60) == f"{rest} · goal (met?): 漢…"
    assert toolbar(state, 59) == f"{rest} · goal (met?): 漢…"
    assert toolbar(state, 58) == rest
    assert toolbar(state, 30) == "quail · ctx 340 tokens · $0.12"
    assert toolbar(replace(state, goal="goal: x"), 50) == f"{rest} · goal: x"


def test_the_line_below_follows_the_goal(chat: Chat) -> None:
    opened = chat()
    opened.send("/goal ship 1.0\r")
    opened.shows(" · goal: ship 1.0")
    opened.send("/goal pause\r")
    opened.shows(" · goal (paused): ship 1.0")
    opened.send("/goal clear\r")
    opened.until(lambda: " · goal" not in opened.text(), "the goal is gone")


def test_no_colour_is_respected(tau_env: TauEnv, chat: Chat) -> None:
    tau_env.scripted({"text": "**Yes.** [a](https://x.y)", "chunks": 5})
    tau_env.environ["NO_COLOR"] = "1"
    opened = chat()
    opened.send("hello\r")
    opened.shows("**Yes.** [a](https://x.y)")
    assert b"\x1b]8" not in opened.bytes
    assert re.search(rb"\x1b\[[0-9;]*[349][0-7]m", opened.bytes) is None


def test_markers_stand_for_their_own_text_only() -> None:
    pastes = Pastes()
    first = pastes.folded("x" * 2_000)
    second = pastes.folded(f"{first}\n" * 20)
    assert pastes.folded("short\ntext") == "short\ntext"
    assert pastes.folded("\x1b[201~") != "\x1b[201~"
    assert pastes.whole(f"a {first} b {second}") == f"a {'x' * 2_000} b " + f"{first}\n" * 20


def test_the_prompt_does_not_wait_for_what_draws_replies() -> None:
    code = "import sys, tau.line.terminal; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"rich", "markdown_it", "pygments", "textual", "strands", "mcp", "pydantic"}
    assert "prompt_toolkit" in loaded
