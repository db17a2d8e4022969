"""What is pressed and pasted before the app can take it is taken once it can, in the order it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual import events

from tests.terminal import Open, Terminal
from tests.tui.conftest import Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv

QUESTION, SCREEN, TITLE, FRAME = b"\x1b]11;?\x1b\\", b"\x1b[?1049h", b"\x1b[22;2t", "❯".encode()
MOMENTS = {"exec": b"", "question": QUESTION, "screen": SCREEN, "mounted": TITLE, "frame": FRAME}
PASTE = "\x1b[200~pasted\ntext\x1b[201~"
AWAY, BACK = "\x1b[O", "\x1b[I"


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


@pytest.mark.terminal
@pytest.mark.parametrize("moment", ["screen", "frame"])
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("/help\r", "↑↓ scroll   Esc back"),
        ("!echo said it\r", "said it"),
        ("a question\r", "the answer"),
        ("draft\x1b", "❯ draft"),
        ("\x1bOR", "Model   scripted"),
        ("\x06find", "find"),
        ("abc\x01X\x1b[C\x1b[CY", "❯ XabYc"),
    ],
    ids=["help", "command", "message", "Esc", "F3", "Ctrl+F", "editing"],
)
def test_keys_that_command_wait_for_who_takes_them(
    tau_env: TauEnv, terminal: Open, moment: str, keys: str, shown: str
) -> None:
    tau_env.scripted({"text": "the answer"})
    app = at(terminal, moment)
    app.send(keys)
    app.ready()
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
