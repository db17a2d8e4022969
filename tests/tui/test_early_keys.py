"""What is pressed and pasted before the app can take it is taken once it can, in the order it came."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual import events

from tau.config.settings import Settings
from tau.conversation import Conversation
from tau.conversation.state import Opening, OpenRequest
from tau.input.drafts import Drafts
from tau.tui import kept
from tau.tui.app import TauApp
from tau.tui.early import keys_of
from tau.tui.enter_key import BURST_SECONDS
from tests.terminal import Open, Terminal
from tests.tui.conftest import Running, Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv

QUESTION, SCREEN, TITLE, FRAME = b"\x1b]11;?\x1b\\", b"\x1b[?1049h", b"\x1b[22;2t", "❯".encode()
MOMENTS = {"exec": b"", "question": QUESTION, "screen": SCREEN, "mounted": TITLE, "frame": FRAME}
PASTE = "\x1b[200~pasted\ntext\x1b[201~"
AWAY, BACK = "\x1b[O", "\x1b[I"


class Late:
    """A session and a history that are there when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.opens, self.read = asyncio.Event(), asyncio.Event(), threading.Event()
        opened, made = Conversation.ready, kept._made

        async def ready(conversation: Conversation) -> Opening:
            self.asked.set()
            await self.opens.wait()
            return await opened(conversation)

        def read(state_dir: Path, directory: Path) -> Any:
            assert self.read.wait(20)
            return made(state_dir, directory)

        monkeypatch.setattr(Conversation, "ready", ready)
        monkeypatch.setattr(kept, "_made", read)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[Late]:
    late = Late(monkeypatch)
    yield late
    late.read.set()


def at(terminal: Open, moment: str) -> Terminal:
    """The app at a moment of its start."""
    app = terminal("tui")
    app.until(lambda: MOMENTS[moment] in app.bytes, moment)
    return app


@pytest.mark.terminal
@pytest.mark.parametrize("moment", MOMENTS)
def test_text_and_pastes_are_in_the_prompt(tau_env: TauEnv, terminal: Open, moment: str) -> None:
    tau_env.scripted({"text": "the answer"})
    app = at(terminal, moment)
    app.send(f"one two{PASTE}three")
    app.process.setwinsize(28, 90)
    app.screen.resize(28, 90)
    app.send(f"{AWAY}{BACK} four")
    app.ready()
    app.shows("textthree four")
    lines = [line.strip(" │") for line in app.screen.display]
    assert lines[lines.index("textthree four") - 1] == "❯ one twopasted"
    app.send("\x11")
    assert app.ended() == 0


@pytest.mark.terminal
@pytest.mark.parametrize("moment", ["screen", "mounted", "frame"])
def test_what_is_pasted_where_nobody_looks_is_in_the_prompt(
    tau_env: TauEnv, terminal: Open, moment: str
) -> None:
    tau_env.scripted({"text": "the answer"})
    app = at(terminal, moment)
    app.send(AWAY)
    app.ready()
    app.send("\x1b[200~dropped.png\x1b[201~")
    app.shows("❯ dropped.png")
    app.send("!")
    app.shows("❯ dropped.png!")


COMMANDS = {
    "help": ("/help\r", "↑↓ scroll   Esc back"),
    "command": ("!echo said it\r", "said it"),
    "message": ("a question\r", "the answer"),
    "Esc": ("draft\x1b", "❯ draft"),
    "F3": ("\x1bOR", "Model   scripted"),
    "Ctrl+F": ("\x06find", "find"),
    "editing": ("abc\x01X\x1b[C\x1b[CY", "❯ XabYc"),
    "sessions": ("/sessions\r", "Sessions"),
    "F2": ("\x1bOQ", "Sessions"),
    "Ctrl+P": ("\x10", "/compact [FOCUS]"),
    "Ctrl+R": ("\x12", "Search what was sent"),
}
"""What is typed, and what is on the screen once it was taken."""


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("moment", "name"),
    [
        *(("screen", name) for name in COMMANDS),
        *(("frame", name) for name in ("message", "editing", "F2", "F3")),
    ],
)
def test_keys_that_command_wait_for_who_takes_them(
    tau_env: TauEnv, terminal: Open, moment: str, name: str
) -> None:
    keys, shown = COMMANDS[name]
    tau_env.scripted({"text": "the answer"})
    app = at(terminal, moment)
    app.send(keys)
    app.shows(shown)
    assert "defect" not in app.text()
    app.send("\x11")
    assert app.ended() == 0


@pytest.mark.terminal
@pytest.mark.parametrize("moment", ["mounted", "frame"])
def test_the_key_that_leaves_waits_for_nothing(tau_env: TauEnv, terminal: Open, moment: str) -> None:
    tau_env.scripted({"text": "the answer"})
    app = at(terminal, moment)
    app.send("a draft\x1bOR\x11")
    assert app.ended() == 0
    assert app.is_restored()
    assert "Not sent: a draft\r\n" in app.tail()


HELD = "one\x1b\x1bOR two\x7f\x7fhree\r\x1b[200~pasted\x1b[201~"


@pytest.mark.parametrize("end", ["key", "signal"])
async def test_text_that_nobody_took_is_not_sent_and_kept(
    work: Path, settings_for: Callable[..., Settings], late: Late, end: str
) -> None:
    app = TauApp(settings_for(), OpenRequest(channel="tui"), typed=HELD)
    async with app.run_test() as pilot:
        await Running(app, pilot).until(late.asked.is_set, "the session is being opened")
        if end == "key":
            await pilot.press("ctrl+q")
        else:
            app.end_by(signal.SIGTERM)
        await Running(app, pilot).until(lambda: app.unsent, "the end")
        late.read.set()
    assert app.unsent == ["one three\npasted"]
    assert app.close_kept()
    (draft,) = Drafts(settings_for().places.state, work).leftovers()
    assert draft.text == "one three\npasted"


@pytest.mark.parametrize("report", ["\x1b[I", "\x1b[O", "\x1b[<0;10;5M", "\x1b[<35;10;5m", "\x1b[M !!"])
async def test_what_a_terminal_reports_is_not_text(
    settings_for: Callable[..., Settings], late: Late, report: str
) -> None:
    app = TauApp(settings_for(), OpenRequest(channel="tui"), typed=f"one{report} two{report}")
    async with app.run_test() as pilot:
        tau = Running(app, pilot)
        await tau.until(late.asked.is_set, "the session is being opened")
        await pilot.press("!")
        assert tau.screen.prompt.text == "one two!"
        late.read.set()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "F3"])  # another model is shown here
async def test_keys_that_are_pressed_while_the_session_opens_wait_for_who_takes_them(
    settings_for: Callable[..., Settings], late: Late, name: str
) -> None:
    keys, shown = COMMANDS[name]
    app = TauApp(settings_for([{"text": "the answer"}]), OpenRequest(channel="tui"))
    async with app.run_test(size=(120, 40)) as pilot:
        tau = Running(app, pilot)
        await tau.until(late.asked.is_set, "the session is being opened")
        for key in keys_of(keys):
            app.post_message(key)
        await tau.rest()
        late.opens.set()
        late.read.set()
        await tau.shows(shown)
        assert "defect" not in tau.text()
    assert app.conversation is not None
    await app.conversation.close()
    app.close_kept()


@pytest.mark.parametrize("last", ["session", "history"])
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("/sessions\r", "Sessions"),
        ("\x1bOQ", "Sessions"),
        ("\x10", "/compact [FOCUS]"),
        ("\x12", "Search what was sent"),
    ],
    ids=["sessions", "F2", "Ctrl+P", "Ctrl+R"],
)
async def test_keys_wait_for_the_session_and_the_history(
    settings_for: Callable[..., Settings], late: Late, keys: str, shown: str, last: str
) -> None:
    app = TauApp(settings_for(), OpenRequest(channel="tui"), typed=keys)
    async with app.run_test(size=(120, 40)) as pilot:
        tau = Running(app, pilot)
        await tau.until(late.asked.is_set, "the session is being opened")
        first, then = (late.read, late.opens) if last == "session" else (late.opens, late.read)
        first.set()
        await tau.rest()
        then.set()
        await tau.shows(shown)
    assert app.conversation is not None
    await app.conversation.close()
    app.close_kept()


@pytest.mark.parametrize("later", ["b", "enter", "paste"])
async def test_keys_that_were_pressed_later_do_not_make_a_line_of_enter(start: Start, later: str) -> None:
    async with start([{"text": "the answer"}]) as tau:
        prompt = tau.screen.prompt
        prompt.insert("a question")
        enter = events.Key("enter", "\r")
        after = (
            events.Paste("b") if later == "paste" else events.Key(later, "\r" if later == "enter" else "b")
        )
        after.time = enter.time + 1
        prompt.post_message(enter)  # both are there before the app has the time to look
        prompt.post_message(after)
        await tau.shows("the answer")
        assert prompt.text == ("" if later == "enter" else "b")


async def test_what_is_on_its_way_to_the_prompt_is_not_lost_on_leaving(start: Start) -> None:
    async with start() as tau:
        for key, character in (("h", "h"), ("i", "i"), ("ctrl+q", "\x11")):
            tau.app.post_message(events.Key(key, character))  # all are there before the prompt has the time
        await tau.until(lambda: tau.app.unsent, "the end")
    assert tau.app.unsent == ["hi"]


async def test_keys_are_taken_in_their_order_where_one_puts_the_draft_away(
    settings_for: Callable[..., Settings], late: Late, tmp_path: Path
) -> None:
    app = TauApp(settings_for(), OpenRequest(channel="tui"))
    async with app.run_test(size=(120, 40)) as pilot:
        tau = Running(app, pilot)
        await tau.until(late.asked.is_set, "the session is being opened")
        for typed in ("abc", "\x03", "def", "\r"):
            for key in keys_of(typed):
                app.post_message(key)
            await pilot.pause(BURST_SECONDS * 2)  # as a person's keys come
        late.opens.set()
        late.read.set()
        requests = tmp_path / "requests.jsonl"
        await tau.until(requests.exists, "the message")
        await tau.idle()
        (line,) = requests.read_text("utf-8").splitlines()
        assert json.loads(line)["messages"][-1]["content"][-1]["text"] == "def"
        await pilot.press("up", "up")
        assert tau.screen.prompt.text == "abc"
    assert app.conversation is not None
    await app.conversation.close()
    app.close_kept()


async def test_keys_that_come_at_once_are_taken_in_their_order(start: Start) -> None:
    async with start() as tau:
        for key in keys_of("abc\x03def"):
            tau.app.post_message(key)
        await tau.until(lambda: tau.screen.prompt.text == "def", "what was typed last")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "abc"
