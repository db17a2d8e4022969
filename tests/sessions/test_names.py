"""The generated words."""

from __future__ import annotations

import re

from tau.sessions.names import WORDS, pick


def test_words_are_short_plain_and_different() -> None:
    assert len(WORDS) > 150
    assert len(set(WORDS)) == len(WORDS)
    assert all(re.fullmatch("[a-z]{2,11}", word) for word in WORDS)
    assert WORDS[:3] == ("amber", "birch", "cedar")


def test_the_first_free_word_is_picked() -> None:
    assert pick([]) == "amber"
    assert pick({"amber", "cedar"}) == "birch"


def test_the_last_free_word_is_picked() -> None:
    assert all(pick(set(WORDS) - {word}) == word for word in WORDS)


def test_numbers_go_on_where_they_are_taken() -> None:
    assert pick(WORDS) == "amber-2"
    assert pick({*WORDS, "amber-2"}) == "birch-2"
    assert pick({*WORDS, *(f"{word}-2" for word in WORDS)}) == "amber-3"
