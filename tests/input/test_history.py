"""The history: kept whole, shared by windows, read from its end, not spoilt by what a power cut left."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau import masking
from tau.errors import TauError
from tau.input.history import PromptHistory
from tau.input.history_file import LARGE, LONGEST_LINE, SHOWN, Entry, HistoryFile

FAR = b'{"at": 1' + b"0" * 400 + b', "directory": "/d", "text": "a time no calendar has"}'
TEXTS = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def sent(state: Path, work: Path, *texts: str) -> PromptHistory:
    history = PromptHistory(state, work)
    for text in texts:
        history.add(text)
    return history


def texts(history: PromptHistory, count: int = 100) -> list[str]:
    return [entry.text for entry in history.latest(count)]


def test_what_was_sent_comes_back_newest_first(state: Path, work: Path) -> None:
    history = sent(state, work, "one", "two\nlines", "trois é 漢字 🎉")
    assert texts(history) == ["trois é 漢字 🎉", "two\nlines", "one"]
    assert history.close()
    again = PromptHistory(state, work)
    assert texts(again) == ["trois é 漢字 🎉", "two\nlines", "one"]
    newest = again.latest(1)[0]
    assert newest.directory == str(work)
    assert abs(newest.at - time.time()) < 60


def test_nothing_is_made_before_something_is_sent(state: Path, work: Path) -> None:
    history = PromptHistory(state, work)
    history.add("  \n ")
    assert history.latest() == []
    assert not history.search(everywhere=True).find("a").hits
    assert history.close()
    assert not state.exists()


def test_each_directory_has_its_own_by_its_real_path(state: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(work)
    (tmp_path / "other").mkdir()
    sent(state, work, "here").close()
    assert texts(PromptHistory(state, tmp_path / "link")) == ["here"]
    assert texts(PromptHistory(state, tmp_path / "other")) == []


def test_only_its_owner_reads_it(state: Path, work: Path) -> None:
    before = os.umask(0)
    try:
        history = sent(state, work, "a", "x" * (LARGE + 1))
        assert history.close()
    finally:
        os.umask(before)
    made = [state, *state.rglob("*")]
    assert len(made) > 4
    for path in made:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_the_same_text_in_a_row_stands_once(state: Path, work: Path) -> None:
    history = sent(state, work, "a", "a", "b", "a", "a")
    assert texts(history) == ["a", "b", "a"]
    assert history.path.read_text().count("\n") == 3
    other = sent(state, work, "a", "c")
    assert texts(other) == ["c", "a", "b", "a"]


def test_the_same_text_in_a_row_from_elsewhere_is_folded_when_read(state: Path, work: Path) -> None:
    history = sent(state, work, "a", "b")
    assert history.close()
    lines = history.path.read_bytes().splitlines(keepends=True)
    history.path.write_bytes(b"".join([*lines, lines[-1], lines[-1]]))
    assert texts(PromptHistory(state, work)) == ["b", "a"]


def test_older_ones_come_page_by_page(state: Path, work: Path) -> None:
    history = sent(state, work, *(f"text {number}" for number in range(25)))
    found: list[Entry] = []
    while page := history.latest(7, before=found[-1] if found else None):
        found += page
    assert [entry.text for entry in found] == [f"text {number}" for number in reversed(range(25))]


def test_two_windows_see_what_the_other_sends(state: Path, work: Path) -> None:
    one, two = PromptHistory(state, work), PromptHistory(state, work)
    one.add("from one")
    assert one.latest()
    assert texts(two) == ["from one"]
    two.add("from two")
    assert two.latest()
    assert texts(one) == ["from two", "from one"]


def test_many_processes_add_whole_lines_at_once(state: Path, work: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tau.input.history import PromptHistory\n"
        "history = PromptHistory(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "for number in range(25): history.add(f'{sys.argv[3]}:{number} ' + 'x' * (number * 300))\n"
        "sys.exit(not history.close(60))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(state), str(work), str(number)])
        for number in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    found = PromptHistory(state, work).latest(1000)
    heads = [entry.text.split()[0] for entry in reversed(found)]
    for process in range(4):
        assert [head for head in heads if head.startswith(f"{process}:")] == [
            f"{process}:{number}" for number in range(25)
        ]
    assert all(entry.characters == len(entry.text) or entry.is_large for entry in found)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5, unique=True), TEXTS, st.data())
def test_a_cut_at_any_byte_costs_the_line_it_is_in_and_no_other(
    before: list[str], after: str, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = HistoryFile(Path(place) / "prompt" / "history", "a.jsonl")
        ends = [0]
        path = file.folder / file.name
        for text in before:
            file.append(text, at=1.0, directory="/d")
            ends.append(path.stat().st_size)
        cut = data.draw(st.integers(0, ends[-1]))
        zeros = data.draw(st.integers(0, 5))
        with path.open("r+b") as opened:
            opened.truncate(cut)
            opened.seek(cut)
            opened.write(b"\0" * zeros)  # some file systems show what was not written yet as such
        whole = [text for text, end in zip(before, ends[1:], strict=True) if end - 1 <= cut]
        if zeros and ends[1:] and cut in [end - 1 for end in ends[1:]]:
            whole = whole[:-1]  # zeros in place of a line's end are part of the line
        assert [entry.text for entry in file.entries()] == whole[::-1]
        file.append(after, at=2.0, directory="/d")
        expected = whole if whole and whole[-1] == after else [*whole, after]
        assert [entry.text for entry in file.entries()] == expected[::-1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line), max_size=8), TEXTS)
def test_lines_of_any_bytes_are_passed_over(lines: list[bytes], text: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = HistoryFile(Path(place) / "prompt" / "history", "a.jsonl")
        file.folder.mkdir(parents=True)
        (file.folder / file.name).write_bytes(b"\n".join([b"[1]", b'{"text": 3}', FAR, *lines]))
        file.append(text, at=2.0, directory="/d")
        assert [entry.text for entry in file.entries()] == [text]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=8))
def test_lines_are_found_wherever_blocks_end(lengths: list[int]) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = HistoryFile(Path(place) / "prompt" / "history", "a.jsonl")
        file.folder.mkdir(parents=True)
        wanted = [f"{number}:" + "y" * length for number, length in enumerate(lengths)]
        lines = [f'{{"at": 1, "directory": "/d", "text": "{text}"}}\n' for text in wanted]
        (file.folder / file.name).write_text("".join(lines))
        found = list(file.entries())
        assert [entry.text for entry in found] == wanted[::-1]
        starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
        assert [entry.place for entry in found] == starts[::-1]
        for number, start in enumerate(starts):
            assert [entry.text for entry in file.entries(before=start)] == wanted[:number][::-1]


def test_a_line_without_end_is_passed_over(state: Path, work: Path) -> None:
    history = sent(state, work, "before")
    assert history.latest()
    with history.path.open("ab") as opened:
        opened.write(b'{"at": 1, "directory": "/d", "text": "' + b"z" * (3 * LONGEST_LINE) + b'"}\n')
    history.add("after")
    assert texts(history) == ["after", "before"]


def test_a_large_text_is_kept_whole_beside_the_others(state: Path, work: Path) -> None:
    large = "".join(f"line {number}\n" for number in range(60_000))
    history = sent(state, work, "before", large, large, "after")
    assert history.close()
    assert history.path.stat().st_size < 4 * SHOWN
    entries = PromptHistory(state, work).latest()
    assert [entry.is_large for entry in entries] == [False, True, False]
    assert entries[1].text == large[:SHOWN]
    assert entries[1].characters == len(large)
    assert history.whole(entries[1]) == large
    assert history.whole(entries[0]) == "after"


def test_a_large_text_whose_file_is_gone_says_so(state: Path, work: Path) -> None:
    history = sent(state, work, "y" * (LARGE + 1))
    (entry,) = history.latest()
    next((history.path.parent / "texts").iterdir()).unlink()
    with pytest.raises(TauError, match=r"8,193 characters cannot be brought back: .*No such file"):
        history.whole(entry)
    history.add("z")
    history.add("y" * (LARGE + 1))
    assert history.whole(history.latest(1)[0]) == "y" * (LARGE + 1)


def test_a_large_text_that_a_power_cut_shortened_says_so_and_is_written_again(
    state: Path, work: Path
) -> None:
    history = sent(state, work, "y" * (LARGE + 1), "z")
    _, entry = history.latest()
    file = next((history.path.parent / "texts").iterdir())
    os.truncate(file, 10)
    with pytest.raises(TauError, match=r"cannot be brought back: .* has only 10 of them"):
        history.whole(entry)
    history.add("y" * (LARGE + 1))
    assert history.whole(history.latest(1)[0]) == "y" * (LARGE + 1)


def test_secrets_are_masked_before_they_are_written(
    state: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "_values", set())
    masking.remember("correct-horse-7")
    key = "sk-" + "a1" * 16
    history = sent(state, work, f"use {key}", "say correct-horse-7 please", key * (LARGE // 16))
    assert history.close()
    assert texts(history)[1:] == ["say *** please", "use ***"]
    written = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert key.encode() not in written
    assert b"correct-horse-7" not in written


def test_a_link_in_its_place_is_not_followed(state: Path, work: Path, tmp_path: Path) -> None:
    history = sent(state, work, "a")
    assert history.latest()
    target = tmp_path / "target"
    target.write_text("")
    history.path.unlink()
    history.path.symlink_to(target)
    history.add("b")
    assert history.close()
    assert target.read_text() == ""
    assert str(history.path) in history.problem


def test_what_cannot_be_written_stays_for_this_run_and_is_said(state: Path, work: Path) -> None:
    state.write_text("in the way")
    history = sent(state, work, "one", "two")
    assert texts(history) == ["two", "one"]
    assert [entry.text for entry in history.latest(5, before=history.latest(1)[0])] == ["one"]
    assert "not kept" in history.problem
    assert str(history.path) in history.problem
    assert "\n" not in history.problem
    assert [hit.entry.text for hit in history.search().find("one").hits] == ["one"]
    state.unlink()
    history.add("three")
    assert texts(history) == ["two", "one", "three"]
    assert history.problem == ""


def test_deleting_the_file_is_safe_while_windows_are_open(state: Path, work: Path) -> None:
    history = sent(state, work, "one")
    assert history.latest()
    history.path.unlink()
    assert texts(history) == []
    history.add("two")
    assert texts(history) == ["two"]
