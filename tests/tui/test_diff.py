"""Diffs: read out of results, laid out for a width, drawn in every theme."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from tau.diff_reader import Diff, parse
from tau.tui.widgets.diff import DiffLines, changed_words, counts
from tests.tui.test_safe_text import unsafe


def diff_of(old: str, new: str, name: str = "a.py") -> str:
    """A diff as the tools write it."""
    rows: list[str] = []
    made = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    for row in made:
        rows.append(row.removesuffix("\n"))
        if not row.endswith("\n"):
            rows.append("\\ No newline at end of file")
    return "\n".join(rows)


def read(text: str) -> Diff:
    diff = parse(text)
    assert diff is not None
    return diff


def drawn(text: str, width: int = 60) -> list[str]:
    """The lines of a diff, as text."""
    lines = DiffLines(read(text), width)
    return [lines.line(number).plain.rstrip() for number in range(len(lines))]


OLD = "one\ntwo\nthree\nfour\n"
NEW = "one\n2\nthree\nfour\nfive\n"


def test_lines_have_their_numbers_and_signs() -> None:
    assert drawn(diff_of(OLD, NEW)) == [
        " 1   one",
        " 2 - two",
        " 2 + 2",
        " 3   three",
        " 4   four",
        " 5 + five",
    ]


def test_old_stands_beside_new_where_there_is_room() -> None:
    rows = drawn(diff_of(OLD, NEW), 121)
    assert [" ".join(row.split()) for row in rows] == [
        "1 one 1 one",
        "2 - two 2 + 2",
        "3 three 3 three",
        "4 four 4 four",
        "5 + five",
    ]
    assert rows[1].index("2 +") == rows[0].index("1   one", 10) == 62
    assert drawn(diff_of("", NEW), 121)[0] == " 1 + one", "nothing to compare: one column"


def test_lines_that_do_not_fit_go_on_and_keep_their_side() -> None:
    text = diff_of("a " * 60 + "\n", "b " * 60 + "\n")
    for width in (40, 160):
        rows = drawn(text, width)
        assert all(cell_len(row) <= width for row in rows)
        assert "".join(rows).count("a") == 60
        assert "".join(rows).count("b") == 60
        assert rows[1].startswith("     "), "a number stands only where a line begins"


def test_the_text_around_a_diff_is_kept() -> None:
    diff = read(f"Edited a.py: 1 edit.\n{diff_of(OLD, NEW)}\n\nThe file has CRLF.")
    assert (diff.before, diff.after) == ("Edited a.py: 1 edit.", "The file has CRLF.")
    assert (diff.added, diff.removed, diff.files, diff.creates) == (2, 1, 1, False)
    assert counts(diff).plain == "+2 −1"


def test_lines_that_look_like_the_head_of_a_diff_are_lines() -> None:
    old, new = "-- x\n++ y\n", "-- z\n@@ -1 +1 @@\n"
    assert drawn(diff_of(old, new)) == [" 1 - -- x", " 2 - ++ y", " 1 + -- z", " 2 + @@ -1 +1 @@"]


def test_a_diff_that_was_cut_counts_as_far_as_it_goes() -> None:
    whole = diff_of("".join(f"{n}\n" for n in range(400)), "".join(f"{n}x\n" for n in range(400)))
    cut = f"{whole[:1_000]}\n[… 3,000 characters are left out here …]\n{whole[-200:]}"
    diff = read(cut)
    assert diff.removed > 100
    assert diff.after.startswith("[… 3,000 characters")


def test_ends_of_lines() -> None:
    crlf = diff_of(OLD.replace("\n", "\r\n"), NEW.replace("\n", "\r\n"))
    assert drawn(crlf)[1] == " 2 - two", "the same everywhere: nothing to say"
    mixed = drawn(diff_of("one\r\n", "one\n"))
    assert mixed == [" 1 - one\\r", " 1 + one"]
    assert drawn(diff_of("one\n", "one")) == [" 1 - one", " 1 + one", "     No newline at end of file"]
    beside = drawn(diff_of("one\ntwo\n", "one\n2"), 121)
    assert beside[-1].endswith("No newline at end of file")
    assert beside[-1].index("No newline") > 60, "on the side of the file that has none"


def test_tabs_and_wide_characters_keep_the_columns() -> None:
    rows = drawn(diff_of("\tx\n漢\ty\n", "\tz\n漢字\ty\n"))
    assert rows == [" 1 -     x", " 2 - 漢  y", " 1 +     z", " 2 + 漢字    y"]
    for width in (8, 20, 41, 130):
        text = diff_of("漢字" * 30 + "\n", "字漢" * 30 + "\n")
        assert all(cell_len(row) <= width for row in drawn(text, width))


def test_the_words_that_changed_are_found() -> None:
    old, new = "from quail import rates", "from quail.money import rates, Rates"
    assert [new[start:end] for start, end in changed_words(new, old)] == [".money", ", Rates"]
    assert changed_words(old, new) == []
    assert changed_words("abc def", "something else entirely") == [], "little in common: all of it changed"
    lines = DiffLines(read(diff_of(f"{old}\n", f"{new}\n")), 60)
    assert [span.start for span in lines.line(1).spans if "word" in str(span.style)] == [15, 34]


def test_several_files() -> None:
    rows = drawn(f"{diff_of(OLD, NEW)}\ndiff --git a/b.py b/b.py\nindex 1..2\n{diff_of('x', 'y', 'b.py')}")
    assert rows[0] == "a.py"
    assert "b.py" in rows


@pytest.mark.parametrize("text", ["", "no diff", "--- a\n", "--- a\n+++ b\n", "\n" * 20 + diff_of(OLD, NEW)])
def test_what_is_no_diff(text: str) -> None:
    assert parse(text) is None


TEXTS = st.text(alphabet=st.characters(exclude_characters="\n\r"), max_size=30)


@given(st.lists(TEXTS, max_size=8), st.lists(TEXTS, max_size=8), st.sampled_from([20, 60, 130]))
def test_whatever_changes_is_shown_whole_and_safe(old: list[str], new: list[str], width: int) -> None:
    rows = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    text = f"--- a/x\n+++ b/x\n@@ -1,{len(old)} +1,{len(new)} @@\n" + "\n".join(rows)
    diff = parse(text)
    assert diff is not None
    assert (diff.removed, diff.added) == (len(old), len(new))
    lines = DiffLines(diff, width)
    shown: list[Content] = [lines.line(number) for number in range(len(lines))]
    assert all(unsafe(line.plain) == [] for line in shown)
    assert all(cell_len(line.plain) <= width for line in shown)


def test_a_long_diff_is_laid_out_at_once() -> None:
    old, new = "".join(f"line {n}\n" for n in range(20_000)), "".join(f"line {n}!\n" for n in range(20_000))
    rows = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    text = "--- a/x\n+++ b/x\n@@ -1,20000 +1,20000 @@\n" + "\n".join(rows)
    began = time.process_time()
    lines = DiffLines(read(text), 100)
    lines.line(39_999)
    assert len(lines) == 40_000
    assert time.process_time() - began < 2
