"""Search finds what was written, reads nothing a person types as syntax, and needs no index for it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import ListQuery, SearchHit
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.planted import plant

HERE = ListQuery(directory="/w", limit=50)


def places(hits: list[SearchHit]) -> set[tuple[str, int]]:
    return {(hit.session_id, hit.index) for hit in hits}


TEXTS = (
    "The nightly job fails since Tuesday: ModuleNotFoundError in quail.rates",  # 0
    "I use C++ and C, not Rust; see src/[/]/main.cc (really)",  # 1
    "東京都に行く予定です。天気は良いです",  # 2
    "Das Café in der Straße, naïve Größe",  # 3
    'She said "hello world" and NEAR the -x flag with a * star',  # 4
    "call read_file and then foo->bar() for 100% of cases",  # 5
    "안녕하세요 세계",  # 6
    "half a pair \ud83d and an emoji 🦆 here",  # 7
    "nothing of note",  # 8
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nightly", {0}),
        ("NIGHTLY job", {0}),
        ("job nightly", {0}),
        ("nightly rust", set()),
        ("modulenot", {0}),
        ("modulenot nightly", set()),  # only the last word may be a beginning
        ("quail.rates", {0}),
        ("C++", {1}),
        ("c", {1, 3, 5}),  # the beginning of C, C++, Café and call, cases
        ("[/]", {1}),
        ("(really)", {1}),
        ("京都", {2}),
        ("都に行", {2}),
        ("東京都に行く予定です。天気は良いです", {2}),
        ("気", {2}),
        ("京天", set()),
        ("cafe", {3}),
        ("CAFÉ", {3}),
        ("strasse", {3}),
        ("grosse naive", {3}),
        ('"hello world"', {4}),
        ('"world hello"', set()),
        ('"hello wor', {4}),
        ('"hello wor"', set()),
        ("NEAR", {4}),
        ("NEAR(hello world)", set()),
        ("-x", {4}),
        ("*", {4}),
        ("hel*", set()),
        ("read_file", {5}),
        ("file", {5}),
        ("foo->bar()", {5}),
        ("100%", {5}),
        ("안녕", {6}),
        ("하세", {6}),
        ("🦆", {7}),
        ("\ud83d", {7}),
        ("hello AND world", {4}),
        ("hello OR nothing", set()),
        ('"', {4}),
        ('""', set()),
        ("", set()),
        ("  \t ", set()),
        ("'; DROP TABLE texts; --", set()),
        ("body:hello", set()),
        ("\x00", set()),
        ("hello\x00world", set()),
    ],
)
def test_words(catalog: Catalog, data: Path, words: str, expected: set[int]) -> None:
    for place, text in enumerate(TEXTS):
        plant(data, f"s{place}", minutes=place, texts=("", text), meta={"directory": "/w"})
    assert places(catalog.search(words, HERE)) == {(f"s{place}", 1) for place in expected}


def test_every_part_of_a_message_is_searched(catalog: Catalog, data: Path) -> None:
    call = {
        "toolUse": {"toolUseId": "t1", "name": "shell", "input": {"command": "pytest -x tests/walrus.py"}}
    }
    result = {
        "toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "1 passed, okapi"}]}
    }
    plant(
        data,
        "s",
        messages=[
            {"role": "user", "content": [{"text": "run it"}]},
            {"role": "assistant", "content": [{"text": "sure"}, call]},
            {"role": "user", "content": [result]},
        ],
        meta={"directory": "/w"},
    )
    assert [(hit.index, hit.role) for hit in catalog.search("walrus", HERE)] == [(1, "assistant")]
    assert [(hit.index, hit.role) for hit in catalog.search("okapi", HERE)] == [(2, "user")]


def test_names_and_titles_are_searched(catalog: Catalog, data: Path) -> None:
    plant(
        data, "s", texts=("one", "two"), meta={"directory": "/w", "title": "About lemurs", "name": "juniper"}
    )
    plant(data, "t", texts=("Where is the tapir?",), meta={"directory": "/w", "title": "Where is the tapir?"})
    assert catalog.search("lemurs", HERE) == [SearchHit("s", 0, "title", "juniper About lemurs", ((14, 20),))]
    assert [hit.role for hit in catalog.search("junip", HERE)] == ["title"]
    assert [hit.role for hit in catalog.search("tapir", HERE)] == ["user"]
    (data / "sessions" / "s" / "meta.json").write_text('{"directory": "/w", "title": "About dodos"}')
    assert catalog.summaries(HERE)
    assert catalog.search("lemurs", HERE) == []
    assert [hit.snippet for hit in catalog.search("dodos", HERE)] == ["About dodos"]


def test_only_the_sessions_a_query_wants(catalog: Catalog, data: Path) -> None:
    plant(data, "here", minutes=1, texts=("zebra",))
    plant(data, "there", minutes=2, texts=("zebra",), meta={"directory": "/v"})
    plant(data, "shot", minutes=3, texts=("zebra",), meta={"directory": "/w", "channel": "run"})
    assert places(catalog.search("zebra", HERE)) == {("here", 0)}
    assert places(catalog.search("zebra", structs.replace(HERE, include_unlisted=True))) == {
        ("here", 0),
        ("shot", 0),
    }
    assert places(catalog.search("zebra", ListQuery())) == {("here", 0), ("there", 0)}
    assert places(catalog.search("zebra", ListQuery(exclude="here"))) == {("there", 0)}


def test_best_first_then_newest_and_paged(catalog: Catalog, data: Path) -> None:
    for place in range(7):
        plant(
            data, f"s{place}", minutes=place, texts=("a zebra among other animals",), meta={"directory": "/w"}
        )
    plant(data, "best", minutes=-5, texts=("zebra zebra zebra",), meta={"directory": "/w"})
    found = [hit.session_id for hit in catalog.search("zebra", HERE)]
    assert found == ["best", "s6", "s5", "s4", "s3", "s2", "s1", "s0"]
    pages = [
        catalog.search("zebra", structs.replace(HERE, limit=3, offset=offset)) for offset in (0, 3, 6, 9)
    ]
    assert [hit.session_id for page in pages for hit in page] == found


def test_snippets_are_plain_text_around_the_hit(catalog: Catalog, data: Path) -> None:
    text = f"{'before ' * 60}\x1b[31mred\x1b[0m \x07 ZEBRA\n\n\u202ehidden\tend {'after ' * 60}"
    plant(data, "s", texts=(text,), meta={"directory": "/w"})
    (hit,) = catalog.search("zebra", HERE)
    assert hit.snippet.isprintable()
    assert "red ZEBRA hidden end" in hit.snippet
    assert hit.snippet.startswith("…before")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 200


def test_the_snippet_of_a_hit_that_folding_hides(catalog: Catalog, data: Path) -> None:
    plant(data, "s", texts=(f"{'ﬁ Straße ' * 100}Größenwahn{' é' * 300}",), meta={"directory": "/w"})
    (hit,) = catalog.search("grossenwahn", HERE)
    assert "Größenwahn" in hit.snippet


def test_what_is_no_longer_in_the_record_is_not_found(catalog: Catalog, data: Path) -> None:
    folder = plant(data, "s", texts=("secret okapi", "answer"), meta={"directory": "/w"})
    plant(data, "gone", texts=("okapi too",), meta={"directory": "/w"})
    assert len(catalog.search("okapi", HERE)) == 2
    path = folder / "agents" / "tau" / "messages" / "000000.json"
    stored = json.loads(path.read_text())
    stored["redact_message"] = {"role": "user", "content": [{"text": "removed giraffe"}]}
    path.write_text(json.dumps(stored))
    for file in sorted((data / "sessions" / "gone").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (data / "sessions" / "gone").rmdir()
    assert catalog.search("okapi", HERE) == []
    assert places(catalog.search("giraffe", HERE)) == {("s", 0)}


def test_damage_hides_nothing_else(catalog: Catalog, data: Path) -> None:
    folder = plant(data, "s", texts=("zebra one", "zebra two", "zebra three"), meta={"directory": "/w"})
    (folder / "agents" / "tau" / "messages" / "000001.json").write_bytes(b"")
    assert places(catalog.search("zebra", HERE)) == {("s", 0), ("s", 2)}


def test_new_messages_are_found_at_once(tmp_path: Path, data: Path, catalog: Catalog) -> None:
    store = catalog.store
    with store.create("s", meta={"directory": "/w"}) as writer:
        for index in range(5):
            stored = writer.append(index, {"role": "user", "content": [{"text": f"zebra number{index}"}]})
            catalog.record(writer, [stored])
            assert places(catalog.search(f"number{index}", HERE)) == {("s", index)}
        writer.redact(2, {"role": "user", "content": [{"text": "[redacted]"}]})
        catalog.record(writer, writer.messages(offset=2, limit=1))
    assert places(catalog.search("zebra", HERE)) == {("s", 0), ("s", 1), ("s", 3), ("s", 4)}


def test_what_was_redacted_within_a_turn_never_enters_the_index(data: Path, tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=data, state_dir=tmp_path))
    catalog = Catalog(store, state_dir=tmp_path)
    with store.create("s", meta={"directory": "/w"}) as writer:
        stored = writer.append(0, {"role": "user", "content": [{"text": "password hunter2xyz"}]})
        writer.redact(0, {"role": "user", "content": [{"text": "[removed]"}]})
        catalog.record(writer, [stored])
    assert places(catalog.search("removed", HERE)) == {("s", 0)}
    catalog.close()
    store.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert b"removed" in kept
    assert b"hunter2xyz" not in kept


def test_a_store_with_a_search_of_its_own_is_asked(tmp_path: Path) -> None:
    class Searching(type(open_memory(StoreContext(data_dir=tmp_path, state_dir=tmp_path)))):  # type: ignore[misc]  # the class is the factory's business
        @property
        def capabilities(self):  # type: ignore[no-untyped-def]  # as its base
            return replace(super().capabilities, search=True, persistent=True)

        def search(self, words: str, query: ListQuery) -> list[SearchHit]:
            return [SearchHit("own", 0, "user", words)]

    store: SessionStore = Searching()
    catalog = Catalog(store, state_dir=tmp_path / "state")
    assert catalog.search("some words", HERE) == [SearchHit("own", 0, "user", "some words")]
    catalog.close()
    assert not (tmp_path / "state").exists()


# Properties ---------------------------------------------------------------------------------------

_HOSTILE = st.text(alphabet=st.sampled_from("ab\"*()[]{}^:+-/\\'%_; \n\t\x00東é🦆.,ſßİ"), max_size=20)
_ANY = st.text(max_size=40) | _HOSTILE


class _Both:
    """One store with two catalogs: with an index, and without."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        (root / "none").mkdir()
        (root / "none" / "index").write_text("")
        self.store = open_store(StoreContext(data_dir=root / "data", state_dir=root))
        self.indexed = Catalog(self.store, state_dir=root / "state")
        self.scanning = Catalog(self.store, state_dir=root / "none")
        self.writer = self.store.create("s", meta={"directory": "/w"})

    def say(self, text: str) -> int:
        index = self.writer.count()
        stored = self.writer.append(index, {"role": "user", "content": [{"text": text}]})
        self.indexed.record(self.writer, [stored])
        return index

    def close(self) -> None:
        self.indexed.close()
        self.scanning.close()
        self.store.close()
        self.folder.cleanup()


@pytest.fixture(scope="module")
def both() -> Iterator[_Both]:
    both = _Both()
    yield both
    both.close()


MANY = ListQuery(directory="/w", limit=100_000)


@settings(max_examples=60, deadline=None)
@given(text=_ANY, words=_ANY)
def test_any_query_is_answered_alike_with_and_without_an_index(both: _Both, text: str, words: str) -> None:
    both.say(text)
    assert places(both.indexed.search(words, MANY)) == places(both.scanning.search(words, MANY))


@settings(max_examples=80, deadline=None)
@example(before="", word="\u00a8", after="")  # an accent that stands alone
@example(before="", word="[/]", after="")
@given(before=_ANY, word=_ANY, after=_ANY)
def test_a_word_of_a_message_finds_it(both: _Both, before: str, word: str, after: str) -> None:
    index = both.say(f"{before} {word} {after}")
    recorded = both.writer.messages(offset=index)[0].message["content"][0]["text"]
    for written in recorded.split():
        if '"' not in written:
            assert ("s", index) in places(both.indexed.search(written, MANY)), written
