"""The index is only a cache: deleted, damaged, locked, foreign or impossible, answers stay right."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.sessions import index, index_file
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.names import WORDS
from tau.sessions.records import ListQuery
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.planted import plant

EVERYTHING = ListQuery(limit=100)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for place in range(12):
        plant(
            tmp_path / "data", f"s{place:02}", minutes=place, texts=(f"question {place}", "answer with zebra")
        )
    return tmp_path / "data"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(data: Path, state: Path) -> Iterator[SessionStore]:
    store = open_store(StoreContext(data_dir=data, state_dir=state))
    yield store
    store.close()


@pytest.fixture
def catalog(store: SessionStore, state: Path) -> Iterator[Catalog]:
    catalog = Catalog(store, state_dir=state)
    yield catalog
    catalog.close()


def databases(state: Path) -> list[Path]:
    return sorted((state / "index").glob("*/*.sqlite"))


def check(catalog: Catalog, count: int = 12) -> None:
    """The answers are those of the record, with the index or without."""
    assert catalog.summaries(EVERYTHING) == catalog.store.summaries(EVERYTHING)
    assert catalog.count(EVERYTHING) == count
    assert len(catalog.search("zebra", EVERYTHING)) == count
    assert [hit.session_id for hit in catalog.search('"question 7"', EVERYTHING)] == ["s07"]
    assert catalog.resolve("", directory="/w") == catalog.store.summaries(ListQuery())[0].session_id


def check_listing(catalog: Catalog) -> None:
    """A listing while others write: nothing that was there is missing."""
    listed = {summary.session_id for summary in catalog.summaries(EVERYTHING)}
    assert listed >= {f"s{place:02}" for place in range(12)}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_the_files_are_for_their_owner_only(catalog: Catalog, state: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        check(catalog)
    finally:
        os.umask(before)
    for path in (state, *state.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("whole_folder", [True, False])
def test_deleted_while_in_use(
    catalog: Catalog, store: SessionStore, state: Path, data: Path, whole_folder: bool
) -> None:
    second = Catalog(store, state_dir=state)
    for count in range(12, 16):
        check(catalog, count)
        check(second, count)
        if whole_folder:
            shutil.rmtree(state / "index")
        else:
            databases(state)[0].unlink()
        plant(data, f"s{count:02}", minutes=count, texts=("later", "zebra"))
    check(second, 16)
    check(catalog, 16)
    second.close()
    check(catalog, 16)
    assert len(databases(state)) == 1


def test_deleted_again_and_again_under_two_threads(catalog: Catalog, state: Path) -> None:
    failures: list[BaseException] = []
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                check(catalog)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        shutil.rmtree(state / "index", ignore_errors=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    check(catalog)


_WRITES = """
import sys
from pathlib import Path
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.records import ListQuery
from tau.sessions.store import StoreContext
root, tag = Path(sys.argv[1]), sys.argv[2]
store = open_store(StoreContext(data_dir=root / "data", state_dir=root / "state"))
catalog = Catalog(store, state_dir=root / "state")
for number in range(15):
    with store.create(f"{tag}-{number}", meta={"directory": "/w", "channel": "tui"}) as writer:
        catalog.mark_open(writer.session_id)
        message = {"role": "user", "content": [{"text": f"{tag} says {number}, zebra"}]}
        catalog.record(writer, [writer.append(0, message)])
    catalog.mark_closed(f"{tag}-{number}")
    listed = [found.session_id for found in catalog.summaries(ListQuery(directory="/w", limit=40))]
    assert f"{tag}-{number}" in listed, listed
catalog.close()
store.close()
"""


def test_deleted_again_and_again_while_processes_write(catalog: Catalog, state: Path, data: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(data.parent), tag], stderr=subprocess.PIPE, text=True
        )
        for tag in ("left", "right")
    ]
    rounds = 0
    while any(writer.poll() is None for writer in writers):
        check_listing(catalog)
        rounds += 1
        if rounds % 2:
            shutil.rmtree(state / "index", ignore_errors=True)
        else:
            for path in databases(state):
                path.unlink(missing_ok=True)
    for writer in writers:
        assert "Traceback" not in writer.communicate()[1]
        assert writer.returncode == 0
    assert rounds > 3
    check(catalog, 42)


def test_damaged_before_it_is_opened(
    store: SessionStore, catalog: Catalog, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check(catalog)
    catalog.close()
    databases(state)[0].write_bytes(b"this is no database" * 500)
    again = Catalog(store, state_dir=state)
    check(again)
    assert len(warnings(caplog)) == 1
    assert "damaged" in warnings(caplog)[0]
    assert len(list((state / "index").glob("*/damaged"))) == 1
    check(again)
    assert len(warnings(caplog)) == 1
    again.close()


def test_damaged_in_the_middle(store: SessionStore, catalog: Catalog, state: Path) -> None:
    check(catalog)
    catalog.close()
    path = databases(state)[0]
    size = path.stat().st_size
    with path.open("r+b") as file:
        for offset in range(4096, size, 4096):
            file.seek(offset)
            file.write(b"\xa5" * 512)
    again = Catalog(store, state_dir=state)
    check(again)
    again.close()


def test_cut_short(store: SessionStore, catalog: Catalog, state: Path) -> None:
    check(catalog)
    catalog.close()
    os.truncate(databases(state)[0], 5000)
    again = Catalog(store, state_dir=state)
    check(again)
    again.close()


def test_of_another_version(store: SessionStore, catalog: Catalog, state: Path) -> None:
    check(catalog)
    catalog.close()
    with sqlite3.connect(databases(state)[0]) as connection:
        connection.execute("DROP TABLE sessions")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    again = Catalog(store, state_dir=state)
    check(again)
    again.close()


def test_no_place_for_it(
    store: SessionStore, catalog: Catalog, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state.mkdir()
    (state / "index").write_text("a file where the folder should be")
    check(catalog)
    assert len(warnings(caplog)) == 1
    assert "without it" in warnings(caplog)[0]
    assert catalog.fresh_name("/w", taken=WORDS[1:]) == WORDS[0]
    assert not catalog.name_taken(WORDS[0], "/w")
    assert catalog.problems() == {}
    assert catalog.rebuild().messages == 24


def test_an_sqlite_without_full_text(
    store: SessionStore, state: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_TABLES", index._TABLES.replace("fts5", "fts0"))
    catalog = Catalog(store, state_dir=state)
    check(catalog)
    assert len(warnings(caplog)) == 1
    assert "no such module" in warnings(caplog)[0]
    catalog.close()


def test_read_only(
    store: SessionStore, catalog: Catalog, state: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check(catalog)
    catalog.close()
    with sqlite3.connect(databases(state)[0]) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        # A trigger refuses every write, as a read-only disk would, also for a superuser.
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'read-only'); END"
        )
    connection.close()
    plant(data, "s12", minutes=12, texts=("later", "zebra"))
    again = Catalog(store, state_dir=state)
    check(again, 13)
    assert len(warnings(caplog)) == 1
    again.close()


def test_locked_by_another_process_for_long(
    catalog: Catalog,
    state: Path,
    data: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check(catalog)
    catalog.close()
    locker = sqlite3.connect(databases(state)[0], isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    plant(data, "s12", minutes=12, texts=("later", "zebra"))
    monkeypatch.setattr(index_file, "BUSY_SECONDS", 0.1)
    again = Catalog(catalog.store, state_dir=state)
    check(again, 13)
    assert len(warnings(caplog)) == 1
    locker.execute("ROLLBACK")
    locker.close()
    again.close()


_FULL = """
import logging, resource, sys
from pathlib import Path
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.records import ListQuery
from tau.sessions.store import StoreContext
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
logging.basicConfig(format="%(levelname)s %(message)s")
root = Path(sys.argv[1])
store = open_store(StoreContext(data_dir=root / "data", state_dir=root / "state"))
catalog = Catalog(store, state_dir=root / "state")
query = ListQuery(limit=100)
assert catalog.summaries(query) == store.summaries(query)
assert len(catalog.search("zebra", query)) == 12
assert catalog.count(query) == 12
catalog.close()
print("fine")
"""


def test_a_full_disk(data: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
    assert done.stderr.count("WARNING") == 1
    assert "Traceback" not in done.stderr


def test_a_turn_is_recorded_although_the_index_refuses(
    store: SessionStore, catalog: Catalog, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr("tau.sessions.catalog.RETRY_SECONDS", 0.0)
    check(catalog)
    locker = sqlite3.connect(databases(state)[0], isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    with store.hold("s03") as writer:
        catalog.record(
            writer, [writer.append(2, {"role": "user", "content": [{"text": "meanwhile a giraffe"}]})]
        )
    locker.execute("ROLLBACK")
    locker.close()
    assert catalog.summaries(ListQuery(limit=1))[0].session_id == "s03"
    assert [hit.session_id for hit in catalog.search("giraffe", EVERYTHING)] == ["s03"]


def test_two_stores_do_not_share_an_index(data: Path, state: Path, tmp_path: Path, catalog: Catalog) -> None:
    other_store = open_store(StoreContext(data_dir=tmp_path / "other", state_dir=state))
    other = Catalog(other_store, state_dir=state)
    assert other.summaries(EVERYTHING) == []
    plant(tmp_path / "other", "alone")
    assert [summary.session_id for summary in other.summaries(EVERYTHING)] == ["alone"]
    check(catalog)
    other.close()
    other_store.close()
