"""Listing through the catalog says what the record says, whatever happens to files, clocks and the index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from msgspec.structs import replace

from tau.sessions import reconcile
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import ListQuery, SessionSummary
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.planted import plant, touch

HERE = ListQuery(directory="/w")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reconcile, "SETTLED_SECONDS", 0.2)  # these disks tell times apart much finer
    return tmp_path / "data"


@pytest.fixture
def store(tmp_path: Path, data: Path) -> Iterator[SessionStore]:
    store = open_store(StoreContext(data_dir=data, state_dir=tmp_path / "state"))
    yield store
    store.close()


@pytest.fixture
def catalog(tmp_path: Path, store: SessionStore) -> Iterator[Catalog]:
    catalog = Catalog(store, state_dir=tmp_path / "state")
    yield catalog
    catalog.close()


def ids(found: list[SessionSummary]) -> list[str]:
    return [summary.session_id for summary in found]


def settle(data: Path) -> None:
    """Make the sessions' folder look as if nothing came or went lately, as the catalog sees it."""
    deadline = time.monotonic() + 10
    while time.time() - (data / "sessions").stat().st_ctime < reconcile.SETTLED_SECONDS + 0.05:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_newest_first_by_the_record_and_not_by_file_times(data: Path, catalog: Catalog) -> None:
    newest = plant(data, "a", minutes=30)
    older = plant(data, "b", minutes=20)
    plant(data, "c", minutes=10)
    assert ids(catalog.summaries(HERE)) == ["a", "b", "c"]
    for moment, folder in ((1, newest), (2_000_000_000, older)):
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (moment, moment))
    assert ids(catalog.summaries(HERE)) == ["a", "b", "c"]


def test_every_file_touched_changes_nothing(data: Path, catalog: Catalog) -> None:
    for place in range(30):
        plant(data, f"s{place:02}", minutes=place)
    before = catalog.summaries(replace(HERE, limit=30))
    for path in data.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert catalog.summaries(replace(HERE, limit=30)) == before


def test_equal_times_are_ordered_by_id_descending(data: Path, catalog: Catalog) -> None:
    for name in ("b", "c", "a"):
        plant(data, name, minutes=5)
    assert ids(catalog.summaries(HERE)) == ["c", "b", "a"]


def test_a_rename_is_shown_and_reorders_nothing(store: SessionStore, catalog: Catalog) -> None:
    for name in ("first", "second"):
        with store.create(name, meta={"directory": "/w", "title": name}) as writer:
            writer.append(0, {"role": "user", "content": [{"text": name}]})
    assert ids(catalog.summaries(HERE)) == ["second", "first"]
    with store.hold("first") as writer:
        writer.patch_meta({"title": "renamed", "name": "birch"}, touch=False)
        catalog.record(writer)
    found = catalog.summaries(HERE)
    assert ids(found) == ["second", "first"]
    assert found[1].text("title") == "renamed"


def test_a_rename_by_a_program_without_a_catalog_is_shown(data: Path, catalog: Catalog) -> None:
    plant(data, "a", minutes=2)
    catalog.summaries(HERE)
    (data / "sessions" / "a" / "meta.json").write_text('{"directory": "/w", "title": "by hand"}')
    assert catalog.summaries(HERE)[0].text("title") == "by hand"


def test_a_clock_that_steps_back_neither_reorders_nor_hides(store: SessionStore, catalog: Catalog) -> None:
    noon = datetime(2026, 10, 1, 12, tzinfo=UTC)
    with time_machine.travel(noon, tick=False):
        other = store.create("other", meta={"directory": "/w"})
        other.append(0, {"role": "user", "content": [{"text": "before"}]})
        writer = store.create("long", meta={"directory": "/w"})
        for index in range(7):
            writer.append(index, {"role": "user", "content": [{"text": f"{index}"}]})
        catalog.record(writer)
    with time_machine.travel(noon - timedelta(hours=1), tick=False):
        for index in range(7, 14):
            writer.append(index, {"role": "user", "content": [{"text": f"{index}"}]})
            catalog.record(writer)
        found = catalog.summaries(HERE)
    assert ids(found) == ["long", "other"]
    assert found[0].message_count == 14
    assert found == store.summaries(HERE)


def test_what_is_listed_is_what_the_query_wants(data: Path, catalog: Catalog, store: SessionStore) -> None:
    plant(data, "plain", minutes=1)
    plant(data, "elsewhere", minutes=2, meta={"directory": "/v", "channel": "tui"})
    plant(data, "empty", minutes=3, texts=())
    plant(data, "shot", minutes=4, meta={"directory": "/w", "channel": "run"})
    plant(data, "named-shot", minutes=5, meta={"directory": "/w", "channel": "json", "name": "nightly"})
    for query in (
        HERE,
        ListQuery(),
        ListQuery(exclude="plain"),
        ListQuery(one_shots=True),
        replace(HERE, one_shots=True, limit=2),
        ListQuery(include_unlisted=True, exclude="shot"),
        replace(HERE, include_unlisted=True),
        ListQuery(limit=2, offset=1),
        ListQuery(limit=0),
    ):
        assert catalog.summaries(query) == store.summaries(query), query
        assert catalog.count(query) == len(store.summaries(replace(query, limit=99, offset=0))), query
    assert ids(catalog.summaries(HERE)) == ["named-shot", "plain"]
    assert ids(catalog.summaries(replace(HERE, one_shots=True))) == ["named-shot", "shot", "plain"]


def test_sessions_come_and_go_by_hand(data: Path, catalog: Catalog) -> None:
    for place in range(4):
        plant(data, f"s{place}", minutes=place)
    settle(data)
    assert ids(catalog.summaries(HERE)) == ["s3", "s2", "s1", "s0"]
    shutil.rmtree(data / "sessions" / "s3")
    shutil.rmtree(data / "sessions" / "s1")
    assert ids(catalog.summaries(HERE)) == ["s2", "s0"]
    plant(data, "new", minutes=9)
    assert ids(catalog.summaries(HERE)) == ["new", "s2", "s0"]
    settle(data)
    assert ids(catalog.summaries(HERE)) == ["new", "s2", "s0"]
    assert catalog.count(HERE) == 3


def test_the_whole_record_exchanged_for_another_with_the_same_file_times(
    data: Path, catalog: Catalog
) -> None:
    plant(data, "old", minutes=1)
    settle(data)
    assert ids(catalog.summaries(HERE)) == ["old"]
    times = (data / "sessions").stat()
    (data / "sessions").rename(data / "away")
    plant(data, "restored", minutes=2)
    os.utime(data / "sessions", ns=(times.st_atime_ns, times.st_mtime_ns))
    settle(data)
    assert ids(catalog.summaries(HERE)) == ["restored"]


def test_what_cannot_be_opened_is_named_and_hides_nothing(data: Path, catalog: Catalog) -> None:
    plant(data, "sound", minutes=1)
    newer = plant(data, "newer", minutes=2)
    record = (newer / "session.json").read_text()
    (newer / "session.json").write_text(record.replace('"format": 1', '"format": 999'))
    assert ids(catalog.summaries(HERE)) == ["sound"]
    assert list(catalog.problems()) == ["newer"]
    assert "newer tau" in catalog.problems()["newer"]
    report = catalog.rebuild()
    assert (report.sessions, report.messages, list(report.damaged)) == (1, 1, ["newer"])
    (newer / "session.json").write_text(record)
    assert catalog.rebuild().damaged == {}
    assert ids(catalog.summaries(HERE)) == ["newer", "sound"]


def test_pages_hold_every_session_once(data: Path, catalog: Catalog) -> None:
    for place in range(57):
        plant(data, f"s{place:02}", minutes=(place * 31) % 57)
    pages = [catalog.summaries(replace(HERE, limit=10, offset=offset)) for offset in range(0, 60, 10)]
    listed = [session_id for page in pages for session_id in ids(page)]
    assert sorted(listed) == sorted(f"s{place:02}" for place in range(57))
    times = [summary.updated_at for page in pages for summary in page]
    assert times == sorted(times, reverse=True)


_KILLED = """
import os, signal, sys
from pathlib import Path
from tau.sessions import reconcile
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.store import StoreContext
root = Path(sys.argv[1])
store = open_store(StoreContext(data_dir=root / "data", state_dir=root / "state"))
catalog = Catalog(store, state_dir=root / "state")
writer = store.hold("s00")
catalog.mark_open("s00")
writer.append(writer.count(), {"role": "user", "content": [{"text": "after the index was last told"}]})
writer.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_crash_between_record_and_index_is_noticed(data: Path, catalog: Catalog, tmp_path: Path) -> None:
    for place in range(20):
        plant(data, f"s{place:02}", minutes=place)
    settle(data)
    assert ids(catalog.summaries(replace(HERE, limit=3))) == ["s19", "s18", "s17"]
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9, done.stderr
    found = catalog.summaries(replace(HERE, limit=3))
    assert ids(found) == ["s00", "s19", "s18"]
    assert found[0].message_count == 2
    assert ids(catalog.summaries(replace(HERE, limit=3))) == ["s00", "s19", "s18"]


def test_another_window_is_followed_while_it_writes(
    data: Path, store: SessionStore, catalog: Catalog, tmp_path: Path
) -> None:
    for place in range(20):
        plant(data, f"s{place:02}", minutes=place)
    other_store = open_store(StoreContext(data_dir=data, state_dir=tmp_path / "state"))
    other = Catalog(other_store, state_dir=tmp_path / "state")
    with other_store.hold("s05") as writer:
        other.mark_open("s05")
        for count in (2, 3):
            writer.append(count - 1, {"role": "user", "content": [{"text": "more"}]})
            newest = catalog.summaries(replace(HERE, limit=1))[0]
            assert (newest.session_id, newest.message_count) == ("s05", count)
        other.record(writer)
    other.mark_closed("s05")
    other.close()
    other_store.close()
    assert ids(catalog.summaries(replace(HERE, limit=2))) == ["s05", "s19"]


_WRITES = """
import sys
from pathlib import Path
from tau.sessions import reconcile
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.records import ListQuery
from tau.sessions.store import StoreContext
root, tag, turns = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = open_store(StoreContext(data_dir=root / "data", state_dir=root / "state"))
catalog = Catalog(store, state_dir=root / "state")
for number in range(turns):
    with store.create(f"{tag}-{number}", meta={"directory": "/w", "channel": "tui"}) as writer:
        catalog.mark_open(writer.session_id)
        for index in range(3):
            message = {"role": "user", "content": [{"text": f"{tag} says {number} {index}"}]}
            catalog.record(writer, [writer.append(index, message)])
    catalog.mark_closed(f"{tag}-{number}")
    listed = [found.session_id for found in catalog.summaries(ListQuery(directory="/w"))]
    assert f"{tag}-{number}" in listed[:8], listed
catalog.close()
store.close()
"""


def test_processes_write_and_list_at_once(
    data: Path, store: SessionStore, catalog: Catalog, tmp_path: Path
) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(tmp_path), tag, "12"], stderr=subprocess.PIPE, text=True
        )
        for tag in ("left", "right")
    ]
    rounds = 0
    while any(writer.poll() is None for writer in writers):
        times = [summary.updated_at for summary in catalog.summaries(HERE)]
        assert times == sorted(times, reverse=True)
        rounds += 1
    for writer in writers:
        assert writer.communicate()[1] == ""
        assert writer.returncode == 0
    assert rounds > 3
    everything = ListQuery(limit=99)
    assert len(catalog.summaries(everything)) == 24
    assert catalog.summaries(everything) == store.summaries(everything)
    assert len(catalog.search('"left says"', everything)) == 36


def test_the_newest_of_thousands(data: Path, store: SessionStore, catalog: Catalog) -> None:
    count = 3_000
    folders = {}
    for place in range(count):
        minutes = (place * 7919) % count
        directory = "/w" if minutes % 2 else "/v"
        folders[minutes] = plant(
            data,
            f"s{place:05}",
            minutes=minutes,
            texts=(),
            meta={"directory": directory, "channel": "run", "name": "n"},
        )
    query = ListQuery(include_unlisted=True)
    newest = [folders[count - 1 - place].name for place in range(10)]
    assert ids(catalog.summaries(query)) == newest
    assert catalog.count(replace(query, directory="/w")) == count // 2
    touch(folders[count - 3], count + 5)
    shutil.rmtree(folders[count - 1])
    expected = [
        folders[count - 3].name,
        folders[count - 2].name,
        *(folders[count - 1 - p].name for p in range(3, 11)),
    ]
    assert ids(catalog.summaries(query)) == expected
    assert ids(catalog.summaries(replace(query, directory="/v", offset=1000, limit=1))) == [folders[998].name]


def test_a_change_deep_down_by_a_program_without_an_index_is_found(
    data: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.sessions.catalog.SWEEP_SECONDS", 0.0)
    monkeypatch.setattr("tau.sessions.catalog.UPKEEP_SECONDS", (0.01, 0.01))
    folders = [plant(data, f"s{place:03}", minutes=place) for place in range(100)]
    settle(data)
    assert ids(catalog.summaries(replace(HERE, limit=2))) == ["s099", "s098"]
    touch(folders[3], 1000)
    deadline = time.monotonic() + 20
    while ids(catalog.summaries(replace(HERE, limit=2))) != ["s003", "s099"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_taking_in_words_does_not_hold_up_listings(data: Path, catalog: Catalog) -> None:
    for place in range(300):
        plant(data, f"s{place:03}", minutes=place, texts=["many words " * 300] * 6)
    assert len(catalog.summaries(HERE)) == 10
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.append(len(catalog.search("words", replace(HERE, limit=500))))
    )
    thread.start()
    listings = 0
    while thread.is_alive():
        assert ids(catalog.summaries(HERE))[0] == "s299"
        listings += not found
    thread.join()
    assert found == [500]
    assert listings > 5


def test_a_store_that_keeps_nothing_needs_no_index(tmp_path: Path) -> None:
    store = open_memory(StoreContext(data_dir=tmp_path, state_dir=tmp_path))
    catalog = Catalog(store, state_dir=tmp_path)
    for name in ("a", "b"):
        with store.create(name, meta={"directory": "/w", "name": f"{name}-name"}) as writer:
            catalog.mark_open(name)
            catalog.record(
                writer, [writer.append(0, {"role": "user", "content": [{"text": f"words of {name}"}]})]
            )
        catalog.mark_closed(name)
    assert ids(catalog.summaries(HERE)) == ["b", "a"]
    assert catalog.count(HERE) == 2
    assert [hit.session_id for hit in catalog.search("words", HERE)] == ["b", "a"]
    assert catalog.resolve("a-name", directory="/w") == "a"
    assert catalog.rebuild().messages == 2
    catalog.close()
    store.close()
    assert list(tmp_path.iterdir()) == []
