"""Markdown as lines: what it shows, that streaming ends as one document, that links are numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.tui.markdown import lay_out, parse


def lines(source: str, width: int = 40) -> list[str]:
    return [line.content.plain.rstrip() for line in lay_out(parse(source).blocks, width, begins=True)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Head\n\ntext", ["Head", "", "text"]),
        ("one\ntwo  \nthree", ["one two", "three"]),
        ("- a\n- b\n  - c\n\nend", ["• a", "• b", "  ◦ c", "", "end"]),
        ("3. a\n4. b", ["3. a", "4. b"]),
        ("1. a\n   - b\n2. c", ["1. a", "   ◦ b", "2. c"]),
        ("x\n\n> a\n>\n> b", ["x", "", "▎ a", "▎", "▎ b"]),
        ("- a\n\n- b", ["• a", "", "• b"]),
        ("> said\n> more", ["▎ said more"]),
        ("```python\nx = 1\n\ny\n```", [" x = 1", "", " y"]),
        ("a\n\n---\n\nb", ["a", "", "─" * 40, "", "b"]),
        ("|a|bb|\n|-|-|\n|ccc|d|", ["a     bb", "────────", "ccc   d"]),
        ("<b>x</b> [/] [red]y[/red]", ["<b>x</b> [/] [red]y[/red]"]),
        ("![alt](a.png) and <i>", ["[image: alt] and <i>"]),
        ("- a\n\n  ```\n  code\n  ```\n- b", ["• a", "", "   code", "", "• b"]),
    ],
)
def test_what_is_shown(source: str, expected: list[str]) -> None:
    assert lines(source) == expected


def test_long_text_wraps_under_its_mark() -> None:
    assert lines("- one two three four five", 12) == ["• one two", "  three four", "  five"]


def test_wide_characters_fit_the_width() -> None:
    laid = lay_out(parse("漢字" * 30 + "\n\n```\n" + "漢" * 50 + "\n```").blocks, 21, begins=True)
    assert all(line.content.cell_length <= 21 for line in laid)


def test_a_wide_table_is_wrapped_not_cut() -> None:
    shown = " ".join(lines("|head|other|\n|-|-|\n|" + "word " * 20 + "|" + "x " * 20 + "|", 40))
    assert shown.count("word") == 20
    assert shown.count("x") == 20


def test_links_are_numbers() -> None:
    parsed = parse("[a](https://a.example) [b](<'); quit(('>)", links_before=3)
    assert parsed.links[0] == "https://a.example"
    actions = [span.style.meta for span in parsed.blocks[0].text.spans if not isinstance(span.style, str)]
    assert [meta["@click"] for meta in actions] == ["link(3)", "link(4)"]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["a b", "- x", "1. y", "```", "> q", "|a|b|", "|-|-|", "", "# h", "  z"])))
def test_every_text_can_be_laid_out_at_every_width(parts: list[str]) -> None:
    for width in (1, 9, 80):
        assert isinstance(lines("\n".join(parts), width), list)
