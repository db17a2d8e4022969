"""The excerpt of a hit holds what was searched for, marked, in whole characters and safe for a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.display import visible
from tau.sessions.excerpts import excerpt
from tau.sessions.searching import fold, occurrences, parse

FAR = "filler " * 60


def marked(text: str, words: str) -> list[str]:
    found = excerpt(text, parse(words))
    return [found.text[begin:end] for begin, end in found.marks]


@pytest.mark.parametrize(
    ("text", "words", "hits"),
    [
        ("plain words", "words", ["words"]),
        (f"jobs {FAR} the job {FAR}", "job done", ["job"]),  # "jobs" is no hit of a whole word
        (f"unjob {FAR} job {FAR}", "job", ["job"]),
        (f"{FAR} jobs {FAR}", "job", ["job"]),  # the last word may be a beginning
        (f"quail {FAR} nests {FAR} owl", "quail nests", ["quail", "nests"]),
        (f"a first {FAR} the first and second {FAR}", "first second", ["first", "second"]),
        (f"{FAR} one two {FAR}", '"one two"', ["one two"]),
        (f"one {FAR} one,\n\n  two {FAR}", '"one two"', ["one, two"]),
        (f"ec2 x [] {FAR} see src/[/]/main.cc", "[/]", ["[/]"]),
        (f"{FAR} C++ {FAR}", "c++", ["C++"]),
        (f"{FAR} Café {FAR}", "cafe", ["Café"]),
        (f"é{FAR} Cafe\u0301 {FAR}", "café", ["Cafe\u0301"]),
        (f"ﬁ{FAR} Straße {FAR}", "strasse", ["Straße"]),
        (f"ﬁ{FAR} oﬃce {FAR}", "off", ["oﬃ"]),
        (f"{'東' * 300}京都に{'行' * 300}", "京都", ["京都"]),
        (f"é{FAR}{unicodedata.normalize('NFD', '안녕하세요')}{FAR}", "안녕하세요", ["안녕하세요"]),
        (f"{FAR}\x1b]0;never closed zebra {FAR}", "zebra", ["zebra"]),
        (f"\x1b[31m zebra\x1b[0m {FAR}", "zebra", ["zebra"]),
        ("half \ud83d a pair, zebra", "zebra", ["zebra"]),
        ("🦆" * 300 + "👨‍👩‍👧 zebra", "zebra", ["zebra"]),
    ],
)
def test_the_hit_is_there_and_marked(text: str, words: str, hits: list[str]) -> None:
    found = [unicodedata.normalize("NFC", hit) for hit in marked(text, words)]
    assert found == [unicodedata.normalize("NFC", hit) for hit in hits]


def test_places_far_apart_are_parted_and_the_whole_is_short() -> None:
    found = excerpt(f"quail {FAR} nests {FAR} owl {FAR}", parse("quail nests owl"))
    assert [part.split()[0] for part in found.text.split(" … ")][:1] == ["quail"]
    assert found.text.count(" … ") == 2
    assert found.text.endswith("…")
    assert len(found.text) < 250
    assert len(found.marks) == 3


def test_what_is_longer_than_there_is_room_for_is_cut() -> None:
    found = excerpt(f"{FAR}{'x' * 5_000}{FAR}", parse("x" * 5_000))
    assert len(found.text) < 1_000
    assert found.marks


def test_nothing_is_cut_within_a_character() -> None:
    family = "👨\u200d👩\u200d👧"
    for length in range(60):
        text = f"{'e' * length}{family * 40}zebra{family * 40}"
        shown = excerpt(text, parse("zebra")).text.strip("…")
        before, _, after = shown.partition("zebra")
        assert before.lstrip("e").replace(family, "") == ""
        assert after.replace(family, "") == ""


_ALPHABET = st.sampled_from('ab"*()[]+-/ \n\t\x00\x1b[]m;東é\u0301🦆.,ſßİﬁ안\u1161\u11a8\u202e\u200d\u3099か')
_ANY = st.text(max_size=12) | st.text(alphabet=_ALPHABET, max_size=12)


@settings(max_examples=300, deadline=None)
@example(before="", word="\u00a8", after="")
@example(before="\x1b]", word="ab", after="")
@example(before="", word="\x1b0\r\x1b", after="")
@example(before="", word="\x1b]0", after="")
@given(before=_ANY, word=_ANY, after=_ANY)
def test_any_hit_is_in_its_excerpt(before: str, word: str, after: str) -> None:
    text = f"{before * 30} {word} {after * 30}"
    terms = parse(word)
    found = excerpt(text, terms)
    assert visible(found.text) == found.text
    assert "\n" not in found.text
    places = [place for mark in found.marks for place in mark]
    assert places == sorted(places)
    said = any(char.isalnum() for term in terms for char in "".join(term.tokens))
    if said and occurrences(text, terms) and occurrences(visible(text), terms):  # an escape may take it away
        assert found.marks
        begin, end = found.marks[0]
        assert fold(found.text[begin:end]).strip()
