"""What is said of a change of memory: the line that is new in it, on one line, and how much more there is."""

from __future__ import annotations

import pytest

from tau.memory.gist import LONGEST, gist

PLAN = "# Deploy\n\nmake deploy\nfrom main only\n\n## After\n\nwatch the log\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("make deploy\n", "make deploy"),
        ("# Deploy\n\nmake deploy\n", "make deploy"),
        (PLAN, "make deploy (+2 lines)"),
        ("make deploy\nfrom main only\n", "make deploy (+1 line)"),
        ("- make deploy\n- from main only\n", "make deploy (+1 line)"),
        ("-x is the flag - always\n", "-x is the flag - always"),
        ("# Deploy\n", "Deploy"),
        ("#deploy is the tag\n", "deploy is the tag"),
        ("---\nlane: red\n---\n\n---\nmake deploy\n", "make deploy"),
        ("", ""),
        ("\x1b[2Jrun\u202e it\n", "\\x1b[2Jrun\\u202e it"),
    ],
)
def test_of_a_new_file_the_first_line_that_says_something(text: str, said: str) -> None:
    assert gist(text.encode()) == said


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (PLAN.replace("only", "or hotfix"), "from main or hotfix"),
        (PLAN + "tell the others\n", "tell the others"),
        (PLAN + "tell the others\nand go home\n", "tell the others (+1 line)"),
        (PLAN.replace("make deploy\n", ""), "without “make deploy”"),
        ("# Deploy\n\nwatch the log\n", "without “make deploy” (−1 line)"),
        ("# Deploy\n\nship it\n", "ship it (−2 lines)"),
        (PLAN.replace("# Deploy\n", "# Release\n", 1), "Release"),
        ("# Release\n\nmake deploy\nfrom main only\n\n## After\n", "Release (−1 line)"),
        ("new\n" * 3_000, "new (+2,999 −2 lines)"),
        (PLAN.replace("\n\n", "\n"), "make deploy"),
    ],
)
def test_of_a_file_that_was_there_the_first_line_that_changed(after: str, said: str) -> None:
    assert gist(after.encode(), PLAN.encode()) == said


def test_of_many_lines_that_are_all_the_same_the_count_says_what_changed() -> None:
    same = "ship it\n" * 200
    assert gist(f"{same}ship it\nask first\n".encode(), same.encode()) == "ship it (+1 line)"


def test_a_long_line_is_cut_so_that_the_rest_is_still_counted() -> None:
    said = gist(("word " * 100 + "\nmore\n").encode())
    assert said.endswith("… (+1 line)")
    assert len(said) == LONGEST + len(" (+1 line)")
