"""Finding the session a person means, and names that no two sessions of a directory share."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tau.errors import SessionNotFound
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.names import WORDS
from tau.sessions.store import StoreContext
from tests.sessions.planted import plant


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    plant(
        data, "20260901-090000-aaaa", minutes=1, meta={"directory": "/w", "channel": "tui", "name": "amber"}
    )
    plant(
        data, "20260902-090000-bbbb", minutes=2, meta={"directory": "/w", "channel": "tui", "name": "birch"}
    )
    plant(
        data, "20260903-090000-cccc", minutes=3, meta={"directory": "/v", "channel": "tui", "name": "cedar"}
    )
    plant(
        data, "20260904-090000-dddd", minutes=4, meta={"directory": "/v", "channel": "tui", "name": "amber"}
    )
    plant(data, "shot", minutes=5, meta={"directory": "/w", "channel": "run"})
    return data


@pytest.mark.parametrize(
    ("target", "directory", "expected"),
    [
        ("", "/w", "20260902-090000-bbbb"),
        ("", "/v", "20260904-090000-dddd"),
        ("", None, "20260904-090000-dddd"),
        ("20260901-090000-aaaa", "/v", "20260901-090000-aaaa"),  # an id is meant wherever it was recorded
        ("shot", "/w", "shot"),
        ("amber", "/w", "20260901-090000-aaaa"),
        ("amber", "/v", "20260904-090000-dddd"),
        ("cedar", None, "20260903-090000-cccc"),
        ("20260903", "/w", "20260903-090000-cccc"),
    ],
)
def test_what_is_meant(catalog: Catalog, target: str, directory: str | None, expected: str) -> None:
    assert catalog.resolve(target, directory=directory) == expected


@pytest.mark.parametrize(
    ("target", "directory", "parts"),
    [
        ("", "/nowhere", ["No earlier session in /nowhere", "--all", "`tau sessions list --all`"]),
        ("cedar", "/w", ["No session 'cedar' in /w", "/v", "--all"]),
        ("zinnia", "/w", ["No session 'zinnia' in /w", "`tau sessions list --all`"]),
        ("2026", "/w", ["'2026'", "20260901-090000-aaaa", "…"]),
        ("amber", None, ["'amber'", "20260901-090000-aaaa in /w", "20260904-090000-dddd in /v"]),
        ("../x", "/w", ["'../x'"]),
        ("\x1b[31mred\n", "/w", ["No session 'red' in /w"]),
        ("x" * 5000, "/w", ["x" * 60 + "'"]),
    ],
)
def test_what_is_said_when_nothing_fits(
    catalog: Catalog, target: str, directory: str | None, parts: list[str]
) -> None:
    with pytest.raises(SessionNotFound) as caught:
        catalog.resolve(target, directory=directory)
    line = caught.value.line()
    assert all(part in line for part in parts), line
    assert line.isprintable()
    assert len(line) < 300


def test_the_current_session_is_not_the_newest_one_meant(catalog: Catalog) -> None:
    assert catalog.resolve("", directory="/w", exclude="20260902-090000-bbbb") == "20260901-090000-aaaa"


def test_an_empty_store(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path / "none", state_dir=tmp_path))
    catalog = Catalog(store, state_dir=tmp_path)
    with pytest.raises(SessionNotFound, match="No earlier session in any directory"):
        catalog.resolve("", directory=None)
    assert catalog.fresh_name("/w") in WORDS
    catalog.close()
    assert not (tmp_path / "none").exists()


def test_a_name_is_taken_in_its_directory_only(catalog: Catalog, data: Path) -> None:
    assert catalog.name_taken("amber", "/w")
    assert not catalog.name_taken("amber", "/w", except_id="20260901-090000-aaaa")
    assert not catalog.name_taken("cedar", "/w")
    shutil.rmtree(data / "sessions" / "20260901-090000-aaaa")
    assert not catalog.name_taken("amber", "/w")


def test_a_name_given_by_hand_counts(catalog: Catalog, data: Path) -> None:
    assert catalog.name_taken("birch", "/w")
    (data / "sessions" / "20260902-090000-bbbb" / "meta.json").write_text(
        '{"directory": "/w", "name": "moss"}'
    )
    assert not catalog.name_taken("birch", "/w")
    assert catalog.name_taken("moss", "/w")


def test_fresh_names_are_words_nobody_has(catalog: Catalog) -> None:
    left = sorted(set(WORDS) - {"amber", "birch"})
    names = {catalog.fresh_name("/w", taken=left[1:])}
    assert names == {left[0]}


def test_when_words_run_out_they_are_numbered(catalog: Catalog) -> None:
    name = catalog.fresh_name("/w", taken=WORDS)
    word, dash, number = name.rpartition("-")
    assert (word in WORDS, dash, number) == (True, "-", "2")


_NAMES = """
import sys
from pathlib import Path
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.names import WORDS
from tau.sessions.store import StoreContext
root = Path(sys.argv[1])
store = open_store(StoreContext(data_dir=root / "data", state_dir=root / "state"))
catalog = Catalog(store, state_dir=root / "state")
print(" ".join(catalog.fresh_name("/w", taken=WORDS[60:]) for _ in range(20)))
catalog.close()
store.close()
"""


def test_processes_that_start_at_once_get_different_names(data: Path, tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _NAMES, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    names = [name for process in processes for name in process.communicate()[0].split()]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(names) == len(set(names)) == 40
    assert not {"amber", "birch"} & set(names)
