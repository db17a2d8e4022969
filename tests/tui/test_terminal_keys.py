"""What a terminal's bytes mean: keys with Alt, and pastes whatever is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import AppBlur, AppFocus, Key, MouseMove, Paste
from textual.message import Message

from tau.input.burst import GAP_SECONDS
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
        self.happened: list[type[Message]] = []
        self.pasted: list[str] = []

    def read(self, data: str, after: float) -> None:
        self.now += after
        self._take(self.parser.feed(data))

    def end(self) -> list[str]:
        self._take(self.parser.feed(""))
        return self.keys

    def all_of(self, data: str) -> list[str]:
        self.read(data, after=0)
        return self.end()

    def wait(self, seconds: float) -> None:
        """As a driver does, which looks again although nothing came."""
        self.now += seconds
        self._take(self.parser.tick())

    def _take(self, events: Iterable[Message]) -> None:
        for event in events:
            self.happened.append(type(event))
            if isinstance(event, Paste):
                self.pasted.append(event.text)
            self.keys.append(event.key if isinstance(event, Key) else "paste")


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


LONG = "漢 and a word, " * 40
UNMARKED = "\r".join(f"line {number}" for number in range(40))


@given(PIECES.map("".join), st.data())
def test_what_comes_at_once_and_is_much_is_one_paste_wherever_the_reads_end(
    text: str, data: st.DataObject
) -> None:
    whole = f"{UNMARKED}\r{text}\rz"
    cuts = data.draw(st.lists(st.integers(len(UNMARKED), len(whole)), max_size=4).map(sorted))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    (paste,) = read(*filter(None, parts))
    assert isinstance(paste, Paste)
    assert paste.text == whole


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        ("\x1b[A" * 900, ["up"] * 900),
        ("\x7f" * 900, ["backspace"] * 900),
        ("\r" * 900, ["enter"] * 900),
        ("y" * 200, ["y"] * 200),
        ("\x1b[97;;97u" * 300, ["a"] * 300),
        ("\x1bOA\x1b[1;5C" * 200, ["up", "ctrl+right"] * 200),
        ("漢字仮名" * 20, list("漢字仮名" * 20)),
    ],
    ids=["arrows", "backspace", "enter", "a letter", "letters as codes", "two kinds", "a commit"],
)
def test_keys_that_pile_up_stay_keys(data: str, keys: list[str]) -> None:
    assert Typed().all_of(data) == keys


def test_the_mouse_is_no_paste_however_much_it_moves() -> None:
    parser = TerminalKeys()
    events = [event for part in ("\x1b[<35;10;10M\x1b[<35;40;12M" * 300, "") for event in parser.feed(part)]
    assert {type(event) for event in events} == {MouseMove}


def test_what_the_terminal_tells_around_a_paste_is_no_part_of_it() -> None:
    moved = "\x1b[<35;80;24M"
    typed = Typed()
    typed.read(f"\x1b[I{UNMARKED}{moved}\x1b[O{moved}", after=0)
    typed.wait(GAP_SECONDS)
    assert typed.happened == [AppFocus, AppBlur, Paste]
    assert typed.pasted == [UNMARKED]


@pytest.mark.parametrize(("typed", "text"), [(f"{LONG}\r", LONG), (f"{LONG}\r\n", LONG)])
def test_enter_behind_one_line_is_a_key(typed: str, text: str) -> None:
    """As where a program types a message and sends it."""
    paste, *keys = read(typed)
    assert isinstance(paste, Paste)
    assert paste.text == text
    assert keys
    assert isinstance(keys[0], Key)
    assert keys[0].key == "enter"


def test_a_paste_is_over_when_nothing_more_comes() -> None:
    typed = Typed()
    typed.read(UNMARKED, after=0)
    typed.read("\ry", after=GAP_SECONDS / 2)
    assert typed.keys == []
    typed.wait(GAP_SECONDS)
    assert typed.pasted == [f"{UNMARKED}\ry"]
    typed.read("y", after=0)
    assert typed.keys == ["paste", "y"]


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
