"""The fuzzy scorer: what it finds, that it finds the best, and the order in which it puts things."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.input import fuzzy
from tau.input.fuzzy import fold, match, match_path, ranked

LETTERS = st.text(alphabet="abAB/_-. 1é", max_size=9)
QUERIES = st.text(alphabet="abB/_1e", min_size=1, max_size=4)


def worth(text: str, at: int) -> int:
    """The bonus of a place, as the module's text has it."""
    if at == 0 or text[at - 1] in "/ ":
        return fuzzy.STARTS_NAME
    before, here = text[at - 1], text[at]
    if not before.isalnum():
        return fuzzy.STARTS_WORD if here.isalnum() else 0
    hump = (here.isupper() and not before.isupper()) or (here.isdigit() and not before.isdigit())
    return fuzzy.STARTS_HUMP if hump else 0


def score(query: str, text: str, places: tuple[int, ...]) -> int:
    """The score of one way to lay a query over a text."""
    total = 0
    for number, at in enumerate(places):
        bonus = worth(text, at)
        total += fuzzy.LETTER
        if query != query.lower() and query[number] == text[at]:
            total += fuzzy.SAME_CASE
        if number == 0:
            total += 2 * bonus
        elif places[number - 1] == at - 1:
            total += max(fuzzy.NEXT, bonus)
        else:
            total += bonus - fuzzy.GAP - fuzzy.LONGER_GAP * (at - places[number - 1] - 2)
    return total


@given(QUERIES, LETTERS)
def test_it_finds_the_best_of_all_ways(query: str, text: str) -> None:
    wanted, where = fold(query), fold(text)
    ways = [
        places
        for places in combinations(range(len(text)), len(query))
        if all(where[at] == letter for at, letter in zip(places, wanted, strict=True))
    ]
    found = match(query, text)
    if not ways:
        assert found is None
        return
    assert found is not None
    assert found.positions in ways
    assert found.score == score(query, text, found.positions) == max(score(query, text, way) for way in ways)


@given(st.text())
def test_folding_keeps_every_place(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


@given(st.text(min_size=1, max_size=20))
def test_a_text_finds_itself_and_nothing_scores_higher(text: str) -> None:
    found = match(text, text)
    assert found is not None
    assert found.positions == tuple(range(len(text)))
    assert found.score <= fuzzy.best(text)


def test_an_empty_query_lies_over_everything() -> None:
    assert match("", "abc") == fuzzy.Match(0, ())
    assert match("a", "") is None


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("prompt", "tau/prompt.py", "tau/prompt/other_things.py"),  # the last name before the ones above it
        ("fb", "foo_bar.py", "xafyb.py"),  # the beginnings of words
        ("fb", "fooBar.py", "xafyb.py"),  # humps
        ("conf", "conf.py", "c_o_n_f.py"),  # a run
        ("conf", "src/conf.py", "src/my_conf.py"),  # that begins the name
        ("core", "controller_core", "controller"),
        ("README", "README", "readme"),  # the case that was typed
        ("tuichat", "tui/chat.py", "tau/unit/characters.py"),
        ("cafe", "café", "c-a-f-e"),
    ],
)
def test_which_of_two_is_better(query: str, better: str, worse: str) -> None:
    first, second = match_path(query, better), match_path(query, worse)
    assert first is not None
    assert second is not None
    assert first.score > second.score


def test_positions_in_a_path_are_those_of_its_last_name() -> None:
    found = match_path("main", "main/src/main.py")
    assert found is not None
    assert found.positions == (9, 10, 11, 12)
    above = match_path("msm", "main/src/main.py")
    assert above is not None
    assert above.positions == (0, 5, 9)


def test_what_begins_with_the_query_is_ranked_first_and_other_names_are_found() -> None:
    items = [("help", ["?"]), ("session", []), ("sessions", []), ("export", []), ("quit", ["exit", "q"])]

    def names(query: str) -> list[str]:
        found = ranked(query, items, lambda item: item[0], limit=10, others=lambda item: item[1])
        return [item[0] for item, _ in found]

    assert names("") == ["help", "session", "sessions", "export", "quit"]
    assert names("se") == ["session", "sessions"]
    assert names("ex") == ["export", "quit"]  # what is shown before its other names
    assert names("exi") == ["quit"]
    assert names("?") == ["help"]
    assert names("xt") == ["export", "quit"]
    assert len(ranked("s", items, lambda item: item[0], limit=1)) == 1
