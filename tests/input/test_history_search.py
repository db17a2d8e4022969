"""Ctrl+R: what is found, in which order, in which directories, and in bounded time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tau.input.history import PromptHistory
from tau.input.history_search import Found, HistorySearch


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def history(state: Path, directory: Path, *texts: str) -> PromptHistory:
    directory.mkdir(exist_ok=True)
    made = PromptHistory(state, directory)
    for text in texts:
        made.add(text)
    assert made.latest(1) or not texts
    return made


def found(search: HistorySearch, query: str, limit: int = 50) -> list[str]:
    result = search.find(query, limit, seconds=10)
    assert result.complete
    return [hit.entry.text for hit in result.hits]


def test_words_are_found_newest_first_then_scattered_letters(state: Path, tmp_path: Path) -> None:
    made = history(
        state,
        tmp_path / "a",
        "fix the parser",
        "run tests",
        "parser of the FIX protocol",
        "find parts of rex",
    )
    search = made.search()
    assert found(search, "fix parser") == ["parser of the FIX protocol", "fix the parser"]
    assert found(search, "fxprs") == ["fix the parser"]
    assert found(search, "") == [entry.text for entry in made.latest()]
    assert found(search, "nothing like it") == []


def test_positions_are_those_of_the_letters(state: Path, tmp_path: Path) -> None:
    search = history(state, tmp_path / "a", "Größe des Fensters").search()
    (hit,) = search.find("grosse fen".replace("ss", "ß"), seconds=10).hits
    assert "".join(hit.entry.text[place] for place in hit.positions) == "GrößeFen"
    (scattered,) = search.find("grfen", seconds=10).hits
    assert "".join(scattered.entry.text[place] for place in scattered.positions) == "GrFen"


def test_a_text_is_found_once(state: Path, tmp_path: Path) -> None:
    search = history(state, tmp_path / "a", "again", "other", "again").search()
    assert found(search, "again") == ["again"]
    assert found(search, "") == ["again", "other"]


def test_all_directories_newest_first_whatever_file_they_are_in(state: Path, tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    opened = {name: history(state, tmp_path / name) for name in names}
    for number in range(30):
        name = names[number * 7 % 3]
        opened[name].add(f"text {number} of {name}")
        assert opened[name].latest(1)
    here, everywhere = opened["a"].search(), opened["a"].search(everywhere=True)
    assert found(here, "of b") == []
    assert [hit.entry.text for hit in everywhere.find("text", 30, 10).hits] == [
        f"text {number} of {names[number * 7 % 3]}" for number in reversed(range(30))
    ]
    (hit,) = everywhere.find("text 29", seconds=10).hits
    assert hit.entry.directory == os.path.realpath(tmp_path / names[29 * 7 % 3])


def test_more_texts_of_one_directory_than_are_read_at_once(state: Path, tmp_path: Path) -> None:
    made = history(state, tmp_path / "a", *(f"number {number}" for number in range(250)))
    assert found(made.search(everywhere=True), "number", 500) == [
        f"number {number}" for number in reversed(range(250))
    ]


def test_it_stops_in_time_and_goes_on_when_asked_again(state: Path, tmp_path: Path) -> None:
    made = history(state, tmp_path / "a", "needle", *(f"straw {number}" for number in range(200)))
    search = made.search()
    first = search.find("needle", seconds=0)
    assert first == Found([], complete=False)
    last = first
    for _ in range(100_000):
        last = search.find("needle", seconds=0.0005)
        if last.complete:
            break
    assert last.complete
    assert [hit.entry.text for hit in last.hits] == ["needle"]


def test_a_limit_leaves_the_rest_for_later(state: Path, tmp_path: Path) -> None:
    search = history(state, tmp_path / "a", *(f"text {number}" for number in range(20))).search()
    first = search.find("text", 5, 10)
    assert [hit.entry.text for hit in first.hits] == [f"text {number}" for number in range(19, 14, -1)]
    assert not first.complete
    assert len(search.find("text", 50, 10).hits) == 20


def test_damaged_and_foreign_files_are_passed_over(state: Path, tmp_path: Path) -> None:
    made = history(state, tmp_path / "a", "kept")
    folder = made.path.parent
    (folder / "damaged.jsonl").write_bytes(b"\xff\xfe{{{\n\n[]\n")
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(made.path)
    (folder / "notes.txt").write_text("kept by somebody")
    assert found(made.search(everywhere=True), "kept") == ["kept"]
