"""Plain text of what was written for a terminal: the same, whatever the pieces it comes in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tau.tools.terminal_text import Ends, Overwritten, Unescaped

HEAD, TAIL = 12, 5

pieces = st.lists(st.text(alphabet="abé\r\n", max_size=9), max_size=9)
SEQUENCES = ["\x1b[31m", "\x1b[0;1;38:5:1m", "\x1b[?25l", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\",
             "\x1bP1$r\x1b\\", "\x1b(B", "\x1b7"]  # fmt: skip

written = st.lists(st.sampled_from([*SEQUENCES, "plain ", "é", "\n"]), max_size=12)


def shown(text: str) -> str:
    """What a terminal of endless width shows, if a written line hides all of the one below."""
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    return "\n".join(lines)


@given(pieces)
def test_of_each_line_what_stands_after_its_last_return(texts: list[str]) -> None:
    kept = Overwritten(HEAD, TAIL)
    for text in texts:
        kept.feed(text)
    ends = kept.text()
    whole = shown("".join(texts))
    assert (ends.length, ends.head, ends.tail) == (len(whole), whole[:HEAD], whole[-TAIL:])


@given(pieces)
def test_the_ends_of_a_text(texts: list[str]) -> None:
    added, joined = Ends(HEAD, TAIL), Ends(HEAD, TAIL)
    for text in texts:
        added.add(text)
        one = Ends(HEAD, TAIL)
        one.add(text)
        joined.join(one)
    whole = "".join(texts)
    for ends in (added, joined):
        assert (ends.length, ends.head, ends.tail) == (len(whole), whole[:HEAD], whole[-TAIL:])


@given(written, st.integers(1, 7))
def test_escape_sequences_are_taken_out_wherever_they_are_cut(parts: list[str], size: int) -> None:
    text = "".join(parts)
    plain = Unescaped()
    got = "".join(plain.feed(text[at : at + size]) for at in range(0, len(text), size)) + plain.rest()
    assert got == "".join(part for part in parts if "\x1b" not in part)


def test_a_sequence_that_never_ends_is_not_waited_for() -> None:
    plain = Unescaped()
    assert plain.feed("before \x1b]0;") == "before "
    assert "x" * 9_000 in plain.feed("x" * 9_000)
    assert plain.feed("after") == "after"
