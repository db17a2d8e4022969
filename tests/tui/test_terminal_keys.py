"""What a terminal's bytes mean: keys with Alt, and pastes whatever is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste
from textual.message import Message

from tau.tui.terminal_keys import TerminalKeys
from tests.terminal import Open

if TYPE_CHECKING:
    from tests.conftest import TauEnv

PIECES = st.lists(
    st.sampled_from(["\x1b", "\x1b[", "\x1b[20", "\x1b[31m", "\x11", "\x07", "\r", "a", "漢", "[201~"]),
    max_size=12,
)


def read(*data: str) -> list[Key | Paste]:
    parser = TerminalKeys()
    return [event for part in (*data, "") for event in parser.feed(part) if isinstance(event, Key | Paste)]


@given(PIECES.map("".join).filter(lambda text: "\x1b[201~" not in text + "\x1b[201"), st.data())
def test_a_paste_is_one_text_wherever_the_reads_end(text: str, data: st.DataObject) -> None:
    whole = f"\x1b[200~{text}\x1b[201~z"
    cuts = data.draw(st.lists(st.integers(3, len(whole)), max_size=4).map(sorted))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    paste, key = read(*filter(None, parts))
    assert isinstance(paste, Paste)
    assert paste.text == text
    assert isinstance(key, Key)
    assert key.key == "z"


@pytest.mark.parametrize(
    ("data", "key"), [("\x1bm", "alt+m"), ("\x1b\r", "alt+enter"), ("\x1b[109;3u", "alt+m"), ("\x1b[A", "up")]
)
def test_keys_that_are_no_text(data: str, key: str) -> None:
    (event,) = read(data)
    assert isinstance(event, Key)
    assert event.key == key
    assert not event.is_printable


class Typed:
    """Reads with some seconds before each, and what they were taken for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.parser = TerminalKeys(clock=lambda: self.now)
        self.keys: list[str] = []

    def read(self, data: str, after: float) -> None:
        self.now += after
        self._take(self.parser.feed(data))

    def end(self) -> list[str]:
        self._take(self.parser.feed(""))
        return self.keys

    def _take(self, events: Iterable[Message]) -> None:
        self.keys += [event.key if isinstance(event, Key) else "paste" for event in events]


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        (["\x1b", "h", "e"], ["escape", "h", "e"]),
        (["\x1b", "\x1b", "x"], ["escape", "escape", "x"]),
        (["\x1b", "漢"], ["escape", "漢"]),
        (["\x1b", "\r"], ["escape", "enter"]),
        (["\x1b", "\x03"], ["escape", "ctrl+c"]),
        (["\x1b", "\x1b[A"], ["escape", "up"]),
        (["\x1b", "[A"], ["up"]),
        (["\x1b", "OP"], ["f1"]),
        (["\x1b[", "A"], ["up"]),
        (["\x1b", "\x1b[200~a\x1b[201~"], ["escape", "paste"]),
        (["\x1b[200~a", "\x1b", "[201~", "b"], ["paste", "b"]),
    ],
)
def test_a_key_that_comes_later_is_no_part_of_an_escape(reads: list[str], keys: list[str]) -> None:
    typed = Typed()
    for data in reads:
        typed.read(data, after=0.03)
    assert typed.end() == keys


def test_what_comes_at_once_is_one_key() -> None:
    typed = Typed()
    typed.read("\x1b", after=0)
    typed.read("m", after=0.001)
    assert typed.end() == ["alt+m"]


def test_an_escape_before_a_paste_in_the_same_read_comes_first() -> None:
    typed = Typed()
    typed.read("\x1b\x1b[200~a\x1b[201~", after=0)
    assert typed.end() == ["escape", "paste"]


@pytest.mark.terminal
def test_alt_and_pastes_in_the_app(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the answer"})
    app = terminal("tui")
    app.ready()
    app.send("\x1bm")
    app.until(lambda: "Esc back" in app.text() and "Ask, or" not in app.text(), "the memory screen")
    app.send("\x1b")
    app.until(lambda: "Ask, or" in app.text() and "Esc back" not in app.text(), "the chat")
    app.send("one")
    app.shows("❯ one")
    app.send("\x1b\r")
    app.send("two")
    app.shows("  two")
    app.send("\x1b[200~ x\x1b[31my\x11 z\x1b[201~")
    app.shows("[Pasted text #1")
    app.send("\r")
    app.shows("the answer")
    (request,) = tau_env.sent()
    assert request["messages"][0]["content"][0]["text"] == "one\ntwo x\x1b[31my\x11 z"
    app.send("\x11")
    assert app.ended() == 0
