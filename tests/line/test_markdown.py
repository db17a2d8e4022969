"""Markdown as line mode writes it to a terminal: onwards only, the same however it comes, and safe."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.display import visible
from tau.line.markdown_stream import MarkdownStream

if TYPE_CHECKING:
    from tests.conftest import TauEnv
    from tests.terminal import Open

SEQUENCES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\|\r\x1b\[K|… table, -?\d+ rows")
LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\")

PIECES = st.sampled_from(
    ["a", "word ", "longer-word ", "*", "**", "_", "`", "``", "~~", "[", "](", "]", ")", "(", "\\", "&amp;",
     "<", ">", "http://x.y", "\n", "\n\n", "- ", "1. ", "  ", "    ", "> ", "# ", "```", "```py\n", "\n```\n",
     "| a | b |\n|---|---|\n| c | d |", "|", "---", "===", "漢", "🎉", "e\u0301", "!", ".", "+", "'''", ":"]
)  # fmt: skip


def written(*chunks: str, width: int = 60) -> str:
    out: list[str] = []
    stream = MarkdownStream(out.append, lambda: width)
    for chunk in chunks:
        stream.add(visible(chunk))
    stream.finish()
    return "".join(out)


def plain(text: str, width: int = 60) -> str:
    return SEQUENCES.sub("", written(text, width=width))


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from([14, 40]))
@example("\\\n\\word ", 14)
@example("a\\\n\\\n\\word *b* ", 14)
def test_it_is_the_same_however_it_comes(text: str, width: int) -> None:
    at_once, bit_by_bit = written(text, width=width), written(*text, width=width)
    assert SEQUENCES.sub("", bit_by_bit) == SEQUENCES.sub("", at_once)


def test_blocks_are_drawn() -> None:
    text = (
        "# Title\n\nSome **bold** `code` and\n*more*.\n\n- one\n- two\n  1. deep\n\n> said\n\n"
        "| a | right |\n|---|---:|\n| 漢字 | 1 |\n\n---\n```py\nx = 1\n```\n"
    )
    assert plain(text, width=40).split("\n") == [
        "Title",
        "",
        "Some bold code and more.",
        "",
        "• one",
        "• two",
        "  1. deep",
        "",
        "▎ said",
        "",
        "a      right",
        "────────────",
        "漢字       1",
        "",
        "─" * 39,
        "",
        "```py",
        "x = 1",
        "```",
        "",
    ]
    drawn = written(text)
    for piece in ("\x1b[1;4mTitle", "\x1b[1mbold", "\x1b[36mcode", "\x1b[3mmore", "\x1b[36m1\x1b[0m"):
        assert piece in drawn


def test_words_lines_and_rows_come_as_soon_as_they_are_settled() -> None:
    out: list[str] = []
    stream = MarkdownStream(out.append, lambda: 40)

    def after(text: str) -> str:
        stream.add(text)
        return SEQUENCES.sub("", "".join(out))

    assert after("Some wor") == "Some"
    assert after("ds and **bo") == "Some words and"
    assert after("ld** te") == "Some words and bold"
    assert after("xt\n\n") == "Some words and bold text\n"
    assert after("```\nfirst\nsec").endswith("```\nfirst\n")
    assert after("ond\n```\n").endswith("first\nsecond\n```\n")
    before = after("| a | b |\n|---|---|\n| c | d |\n")
    assert "… table, 1 rows" in "".join(out)
    assert after("\n") == before + "\na   b\n─────\nc   d\n"


@pytest.mark.parametrize("width", [20, 33, 80])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_drawn_twice(width: int) -> None:
    text = (
        "漢字" * 30 + " 🎉 and some words, then " + "x" * 90 + " e\u0301\u0301 end\n\n"
        "- " + "item words " * 9 + "\n\n| a | b |\n|---|---|\n| " + "cell " * 20 + "| 漢字漢字漢字 |\n"
    )
    screen = pyte.Screen(width, 60)
    stream = pyte.Stream(screen)
    stream.feed(written(*text, width=width).replace("\n", "\r\n"))
    rows = [row.rstrip() for row in screen.display]
    shown = "".join(rows).replace(" ", "")
    assert shown.count("漢") == 30 + 3
    assert shown.count("x") == 90
    assert shown.count("item") == 9
    assert rows[0].startswith("漢字漢字")
    assert screen.cursor.x == 0
    lines = SEQUENCES.sub("", written(text, width=width)).split("\n")
    assert len(lines) - 1 == screen.cursor.y  # no row that the terminal had to wrap


def test_a_resize_in_the_middle_disturbs_nothing() -> None:
    columns = 60
    out: list[str] = []
    stream = MarkdownStream(out.append, lambda: columns)
    words = [f"word{number}" for number in range(60)]
    stream.add(" ".join(words[:25]) + " ")
    first = "".join(out)
    columns = 24
    stream.add(" ".join(words[25:]))
    stream.finish()
    everything = "".join(out)
    assert everything.startswith(first)
    assert everything.split() == words
    assert all(len(row) < 24 for row in everything[len(first) :].split("\n")[1:])


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("[a](https://x.y/z)", "https://x.y/z"),
        ("<http://x.y>", "http://x.y"),
        ("[mail](mailto:a@b.c)", "mailto:a@b.c"),
        ("[a](ftp://x.y)", None),
        ("[a](/etc/passwd)", None),
        ("[file](file:///etc/passwd)", None),
        ("[a](src/main.py)", None),
        ("[a](javascript:alert(1))", None),
        ("![a](https://x.y/a.png)", None),
        ("<b>[a]</b>", None),
    ],
)
def test_only_what_is_safe_to_open_is_a_link(source: str, address: str | None) -> None:
    drawn = written(source)
    assert LINK.findall(drawn) == ([address] if address else [])
    if source.startswith("[a](") and "javascript" not in source:
        assert SEQUENCES.sub("", drawn) == f"a ({source[4:-1]})\n"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            PIECES,
            st.sampled_from(["\x1b]52;c;UFdO\x07", "\x1b[2J", "\x9b2J", "&#27;", "&#x202e;", "\u202e", "\r",
                             "\x00",
                             "[a](https://x\x1b]8;;y)", "[a](<https://x&#27;y>)", "[a](https://x%1b)", "\t"]),
        ),
        max_size=8,
    ).map("".join)
)  # fmt: skip
def test_no_control_of_the_text_reaches_the_terminal(text: str) -> None:
    drawn = SEQUENCES.sub("", written(*text))
    assert visible(drawn) == drawn
    assert "\x1b" not in drawn


def test_a_line_of_code_costs_the_same_however_long_the_code_is() -> None:
    out: list[str] = []
    stream = MarkdownStream(out.append, lambda: 80)
    stream.add("before\n\n```py\n")

    def seconds(first: int, count: int) -> float:
        begun = time.process_time()
        for number in range(first, first + count):
            stream.add(f"x{number} = {number}\n")
        return time.process_time() - begun

    seconds(0, 200)
    early = seconds(200, 100)
    stream.add("".join(f"x{number} = {number}\n" for number in range(300, 20_000)))
    assert seconds(20_000, 100) < 2 * early
    stream.add("```\nafter")
    stream.finish()
    code = "".join(f"x{number} = {number}\n" for number in range(20_100))
    assert SEQUENCES.sub("", "".join(out)) == f"before\n\n```py\n{code}```\n\nafter\n"


@pytest.mark.terminal
@pytest.mark.parametrize(
    "environ",
    [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}],
    ids=str,
)
def test_where_it_is_not_drawn_it_is_the_text_itself(
    tau_env: TauEnv, terminal: Open, environ: dict[str, str]
) -> None:
    text = "# T\n\n- **a**\n- [b](https://x.y)\n\n```py\nx = 1\n```"
    tau_env.scripted({"text": text, "chunks": 9})
    tau_env.environ |= environ
    opened = terminal("chat", "go")
    opened.until(lambda: opened.text().count("```") == 2 or "```\n\n" in opened.text(), "the reply")
    whole = text.replace("\n", "\r\n").encode()
    assert (whole in opened.bytes) == bool(environ)
    assert (b"\x1b]8;" in opened.bytes) == (not environ)
    assert tau_env.run("chat", "go").stdout == f"{text}\n"
