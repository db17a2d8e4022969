"""A search of the ``file`` store without an index passes over sessions, but over none that holds the word."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.sessions.records import message_text
from tau.sessions.searching import clean, fold, index_text
from tau.sessions.store import SessionStore
from tests.sessions.planted import plant
from tests.sessions.test_file_store import store_at

_TELLING = (
    'aeinosxuADN09 \n\t"\\/\x1b\x7f\xa0\xadéÉäßıİſKſﬁﬃⅷ½Ａｎ𝐧…’—æøñ'
    "\u0301\u0308\u0338\u1dd0字ファ한\u1112🎉\ufeff\ue0ab\u200b"
)
"""Characters whose folding, escape or printed form may hide a letter or show another one."""

_LETTERS = st.one_of(st.sampled_from(_TELLING), st.characters())
_TEXT = st.text(_LETTERS, max_size=12)
_VALUE = st.recursive(
    st.one_of(_TEXT, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=4,
)
_BLOCK = st.one_of(
    st.builds(lambda text: {"text": text}, _TEXT),
    st.builds(
        lambda name, given: {"toolUse": {"toolUseId": "t", "name": name, "input": given}},
        _TEXT,
        st.dictionaries(_TEXT, _VALUE, max_size=3),
    ),
    st.builds(
        lambda text: {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": text}]}},
        _VALUE,
    ),
)


def written_by_tau(store: SessionStore, data: Path, session_id: str, block: dict[str, Any]) -> None:
    with store.create(session_id, meta={"channel": "tui"}) as writer:
        writer.append(0, {"role": "user", "content": [block]})


def written_with_escapes(store: SessionStore, data: Path, session_id: str, block: dict[str, Any]) -> None:
    plant(data, session_id, messages=[{"role": "user", "content": [block]}], meta={})


def written_as(encoding: str) -> Callable[[SessionStore, Path, str, dict[str, Any]], None]:
    def write(store: SessionStore, data: Path, session_id: str, block: dict[str, Any]) -> None:
        written_with_escapes(store, data, session_id, block)
        for path in (data / "sessions" / session_id).rglob("0*.json"):
            value = json.dumps(json.loads(path.read_text()), ensure_ascii=False)
            path.write_bytes(value.encode(encoding, "surrogatepass"))

    return write


def written_with_surrogates(store: SessionStore, data: Path, session_id: str, block: dict[str, Any]) -> None:
    """Characters beyond the basic plane in two halves, which is no UTF-8, but read all the same."""
    written_with_escapes(store, data, session_id, block)
    for path in (data / "sessions" / session_id).rglob("0*.json"):
        value = json.dumps(json.loads(path.read_text()), ensure_ascii=False)
        halves = re.sub("[\U00010000-\U0010ffff]", lambda found: json.dumps(found[0])[1:-1], value)
        text = re.sub(r"\\u(d[89a-f]..)", lambda found: chr(int(found[1], 16)), halves)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))


WRITERS = {
    "by tau": written_by_tau,
    "with escapes": written_with_escapes,
    "as UTF-8": written_as("utf-8"),
    "as UTF-16": written_as("utf-16-le"),
    "with surrogates": written_with_surrogates,
}


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tau-words-") as place:
        yield Path(place)


@pytest.fixture(scope="module")
def store(data: Path) -> Iterator[SessionStore]:
    store = store_at(data)
    yield store
    store.close()


_NUMBERS = count()


def searched_words(text: str) -> set[str]:
    """The ASCII words that find a text: each token, or the beginning of one."""
    starts = re.findall("(?<![a-z0-9\u0080-\U0010ffff])[a-z0-9]+", index_text(text))
    return {start[:length] for start in starts for length in range(1, len(start) + 1)}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
@settings(max_examples=60, deadline=None)
@example(block={"text": "\\u00e9abcé and \x1b[31mred"})
@example(block={"text": "na\u0131ve e\u0301te\u0301 Stra\u00dfe \U0001d427eedle \ufb03x"})
@example(block={"toolUse": {"name": "edit", "input": {"edits": [{"old": "\x1bx\xadad\ufeffu\ue0ab"}]}}})
@example(block={"toolUse": {"name": "read", "input": {"limit": None, "offset": 1e16, "all": True}}})
@given(block=_BLOCK)
def test_no_word_is_missed(
    store: SessionStore, data: Path, write: Callable[..., None], block: dict[str, Any]
) -> None:
    session_id = f"s{next(_NUMBERS)}"
    write(store, data, session_id, block)
    with store.read(session_id) as reader:
        for stored in reader.messages():
            for word in searched_words(message_text(stored.message)):
                assert reader.may_hold([word]), word


@settings(max_examples=60, deadline=None)
@given(title=_TEXT)
def test_no_word_of_a_name_or_title_is_missed(store: SessionStore, title: str) -> None:
    session_id = f"s{next(_NUMBERS)}"
    store.create(session_id, meta={"title": title}).close()
    with store.read(session_id) as reader:
        for word in searched_words(str(reader.meta()["title"])):
            assert reader.may_hold([word]), word


@pytest.mark.parametrize(
    "held",
    [
        "Die größte Straße",
        "déjà créé",
        "設定ファイル",
        "done ✓ 🎉 — “so”",
        "\x1b[31mred\x1b[0m",
        "nE\u0301dle",
    ],
)
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_session_without_the_word_is_passed_over(
    store: SessionStore, data: Path, write: Callable[..., None], held: str
) -> None:
    session_id = f"s{next(_NUMBERS)}"
    write(store, data, session_id, {"text": held})
    with store.read(session_id) as reader:
        assert not reader.may_hold(["needle"])
        assert not reader.may_hold(["needle2"])


def test_a_file_that_is_no_message_is_none(store: SessionStore, data: Path) -> None:
    session_id = f"s{next(_NUMBERS)}"
    folder = plant(data, session_id)
    (folder / "agents/tau/messages/notes.txt").write_text("needle none")
    with store.read(session_id) as reader:
        assert not reader.may_hold(["needle"])
        assert not reader.may_hold(["none"])
        assert list(reader.damage()) == []


@pytest.mark.parametrize("query", ["grosste", "GRÖSSTE", "größte", "strasse", "Straße"])
def test_a_word_with_accents_is_found_either_way(store: SessionStore, query: str) -> None:
    session_id = f"s{next(_NUMBERS)}"
    with store.create(session_id, meta={}) as writer:
        writer.append(0, {"role": "user", "content": [{"text": "Die größte Straße"}]})
    with store.read(session_id) as reader:
        assert reader.may_hold([fold(query)])


def folded_as_a_whole(text: str) -> str:
    """What `fold` is: it must be this however it goes about it."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", clean(text)).casefold())
    return unicodedata.normalize("NFC", re.sub("(?<=\\w)[\u0300-\u036f]+", "", folded))


@settings(max_examples=400)
@example("\u0337\u0338<\u0338 a\u1dd0\u0301")
@given(st.text(_LETTERS))
def test_folding_piece_by_piece_is_folding_the_whole(text: str) -> None:
    assert fold(text) == folded_as_a_whole(text)


def test_every_character_is_folded_as_in_a_whole_text() -> None:
    """After a letter, after a sign that takes a stroke, and doubled."""
    for code in range(0x80, sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) not in ("Cn", "Co", "Cs"):
            text = f"e{char}<{char}{char}A"
            if not unicodedata.is_normalized("NFKD", char) or unicodedata.combining(char):
                assert fold(text) == folded_as_a_whole(text), hex(code)
