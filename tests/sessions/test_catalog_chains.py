"""Sessions that continue each other are one row, and what was said in them is found once."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.index import SCHEMA
from tau.sessions.records import SUMMARY_OPENING, ListQuery, SearchHit, with_origin
from tau.sessions.store import StoreContext
from tests.sessions.planted import plant, touch

FOLDED = ListQuery(directory="/w", limit=50, fold_chains=True)
HERE = ListQuery(directory="/w", limit=50)
ASKED, ANSWERED = "Where does the quail nest?", "The quail nests in May."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """`old` goes on in `middle` and that in `new`, each with a copy of a turn; `fork` has all of it."""
    data = tmp_path / "data"
    chain(data)
    return data


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


def summary(of: str) -> list[dict[str, Any]]:
    return [
        said("user", f"{SUMMARY_OPENING}{of}):\n\nThe person asked about the quail."),
        said("assistant", "I have read the notes on the quail."),
    ]


def about(name: str, **links: str) -> dict[str, str]:
    return {"directory": "/w", "channel": "tui", "name": name, "title": ASKED, **links}


def chain(data: Path) -> None:
    turn = [said("user", ASKED), said("assistant", ANSWERED)]
    copies = [with_origin(message, "old", index) for index, message in enumerate(turn)]
    more = [said("user", "And the owl?"), said("assistant", "Nothing of it.")]
    plant(data, "old", minutes=1, messages=turn, meta=about("amber", compacted_to="middle"))
    links = {"compacted_from": "old", "compacted_to": "new"}
    plant(data, "middle", minutes=2, messages=[*summary("old"), *copies], meta=about("amber", **links))
    newest = [*summary("middle"), *copies, *more]
    plant(data, "new", minutes=3, messages=newest, meta=about("amber", compacted_from="middle"))
    forked = [with_origin(message, "new", index) for index, message in enumerate(newest)]
    plant(data, "fork", minutes=4, messages=forked, meta=about("birch", forked_from="new"))
    plant(data, "alone", minutes=0, texts=("something else",))


def listed(catalog: Catalog, query: ListQuery = FOLDED) -> list[str]:
    return [summary.session_id for summary in catalog.summaries(query)]


def found(catalog: Catalog, words: str, query: ListQuery = HERE) -> list[tuple[str, int, str]]:
    return [(hit.session_id, hit.index, hit.role) for hit in catalog.search(words, query)]


def test_a_chain_is_one_row_and_a_fork_one_of_its_own(catalog: Catalog) -> None:
    assert listed(catalog) == ["fork", "new", "alone"]
    assert catalog.count(FOLDED) == 3
    assert listed(catalog, replace(FOLDED, offset=1, limit=1)) == ["new"]
    assert listed(catalog, HERE) == ["fork", "new", "middle", "old", "alone"]


def test_what_was_used_again_stands_for_itself(catalog: Catalog, data: Path) -> None:
    assert listed(catalog) == ["fork", "new", "alone"]
    plant(data, "later", minutes=5, meta=about("amber", compacted_from="new"))
    links = about("amber", compacted_from="middle", compacted_to="later")
    (data / "sessions" / "new" / "meta.json").write_text(json.dumps(links))
    assert listed(catalog) == ["later", "fork", "alone"]
    touch(data / "sessions" / "new", 6)
    fresh = Catalog(catalog.store, state_dir=data.parent / "other")
    assert listed(fresh) == ["new", "later", "fork", "alone"]
    fresh.close()


@pytest.mark.parametrize(
    "query",
    [
        replace(FOLDED, exclude="new"),
        replace(FOLDED, exclude="new", directory=None),
        replace(FOLDED, exclude="new", include_unlisted=True),
    ],
)
def test_the_conversation_in_hand_is_left_out_with_all_that_it_continues(
    catalog: Catalog, query: ListQuery
) -> None:
    assert listed(catalog, query) == ["fork", "alone"]
    assert catalog.count(query) == 2
    assert listed(catalog, replace(query, offset=1, limit=1)) == ["alone"]


def test_only_a_session_of_the_listing_hides_another(catalog: Catalog, data: Path) -> None:
    plant(data, "later", minutes=5, meta=about("amber", compacted_from="new") | {"directory": "/elsewhere"})
    links = about("amber", compacted_from="middle", compacted_to="later")
    (data / "sessions" / "new" / "meta.json").write_text(json.dumps(links))
    fresh = Catalog(catalog.store, state_dir=data.parent / "other")
    assert listed(fresh) == ["fork", "new", "alone"]
    assert listed(fresh, replace(FOLDED, directory=None)) == ["later", "fork", "alone"]
    fresh.close()


def test_links_that_lead_nowhere_or_in_a_circle_hide_no_conversation(catalog: Catalog, data: Path) -> None:
    plant(data, "a", minutes=10, meta=about("a", compacted_to="b"))
    plant(data, "b", minutes=11, meta=about("b", compacted_to="a"))
    plant(data, "c", minutes=12, meta=about("c", compacted_to="gone"))
    plant(data, "d", minutes=13, meta=about("d", compacted_to="d"))
    assert listed(catalog) == ["d", "c", "b", "fork", "new", "alone"]


def test_a_session_comes_back_when_what_continues_it_goes(catalog: Catalog, data: Path) -> None:
    assert listed(catalog) == ["fork", "new", "alone"]
    shutil.rmtree(data / "sessions" / "new")
    assert listed(catalog) == ["fork", "middle", "alone"]


def test_a_message_is_found_once_and_a_summary_last(catalog: Catalog) -> None:
    assert found(catalog, "nest?") == [("old", 0, "user")]
    assert found(catalog, "nests may") == [("old", 1, "assistant")]
    assert found(catalog, "owl") == [("new", 4, "user")]
    messages = found(catalog, "quail")
    assert sorted(messages[:2]) == [("old", 0, "user"), ("old", 1, "assistant")]
    assert [role for _, _, role in messages[2:]] == ["summary"] * 4
    pages = [found(catalog, "quail", replace(HERE, limit=2, offset=offset)) for offset in (0, 2, 4, 6, 8)]
    assert [hit for page in pages for hit in page] == messages


def test_a_summary_comes_last_however_well_it_fits(catalog: Catalog, data: Path) -> None:
    plant(data, "long", minutes=1, texts=(f"one okapi {'among others ' * 50}",))
    notes = [said("user", f"{SUMMARY_OPENING}long):\n\nokapi okapi okapi"), said("assistant", "okapi")]
    plant(data, "short", minutes=9, messages=notes, meta=about("dodo", compacted_from="long"))
    assert [role for _, _, role in found(catalog, "okapi")] == ["user", "summary", "summary"]
    assert found(catalog, "okapi", replace(HERE, limit=1)) == [("long", 0, "user")]


def test_a_copy_is_found_where_its_original_is_not(catalog: Catalog, data: Path) -> None:
    shutil.rmtree(data / "sessions" / "old")
    ((session, index, role),) = found(catalog, "nests may")
    assert (session in ("middle", "new", "fork"), index, role) == (True, 3, "assistant")
    assert found(catalog, "nests may", replace(HERE, exclude="middle"))[0][0] in ("new", "fork")


def test_a_copy_is_found_where_its_original_is_out_of_reach(catalog: Catalog, data: Path) -> None:
    copy = with_origin(said("user", "A zebra crossed"), "elsewhere", 0)
    plant(data, "elsewhere", texts=("A zebra crossed",), meta={"directory": "/v", "channel": "tui"})
    plant(data, "branch", messages=[copy], meta=about("cedar", forked_from="elsewhere"))
    assert found(catalog, "zebra") == [("branch", 0, "user")]
    assert found(catalog, "zebra", ListQuery()) == [("elsewhere", 0, "user")]


def test_the_name_of_a_chain_is_found_at_its_newest_session(catalog: Catalog) -> None:
    assert found(catalog, "amber") == [("new", 0, "title")]
    assert found(catalog, "birch") == [("fork", 0, "title")]
    assert found(catalog, "amber", replace(HERE, exclude="new")) == [("middle", 0, "title")]


def test_an_origin_without_sense_is_none(catalog: Catalog, data: Path) -> None:
    for number, index in enumerate((2**70, -1, 10**30)):
        plant(data, f"odd{number}", messages=[with_origin(said("user", "okapi"), "old\ud83d", index)])
    assert {hit[0] for hit in found(catalog, "okapi")} == {"odd0", "odd1", "odd2"}


def test_an_index_of_an_earlier_version_is_not_read_and_goes_when_unused(tmp_path: Path, data: Path) -> None:
    store = open_store(StoreContext(data_dir=data, state_dir=tmp_path))
    first = Catalog(store, state_dir=tmp_path)
    assert len(first.search("nests may", HERE)) == 1
    first.close()
    (current,) = (tmp_path / "index").iterdir()
    assert current.name.endswith(f"-{SCHEMA}")
    old = current.with_name(current.name.removesuffix(str(SCHEMA)) + str(SCHEMA - 1))
    other = current.with_name(f"0123456789abcdef-{SCHEMA - 1}")
    for folder, days in ((old, 8), (other, 8)):
        shutil.copytree(current, folder)
        for path in (folder, *folder.iterdir()):
            os.utime(path, (time.time() - days * 86400,) * 2)
    second = Catalog(store, state_dir=tmp_path)
    assert second.search("nests may", HERE) == [
        SearchHit("old", 1, "assistant", ANSWERED, ((10, 15), (19, 22)))
    ]
    deadline = time.monotonic() + 20
    while old.exists():
        assert time.monotonic() < deadline, "the old index is still there"
        time.sleep(0.01)
    assert other.exists()
    second.close()
    store.close()
