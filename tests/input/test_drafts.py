"""Drafts: they survive a kill, come back once, to one window, and never from one that is alive."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.input.drafts import DELAY, Draft, Drafts
from tau.sessions import file_system as fs
from tests.input.waiting import until

WINDOW = """
import sys
from pathlib import Path
from tau.input.drafts import Drafts
drafts = Drafts(Path(sys.argv[1]), Path(sys.argv[2]))
if sys.argv[3]:
    drafts.attach(sys.argv[3])
drafts.keep(sys.argv[4], sys.argv[5:])
print("kept", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@contextmanager
def window(state: Path, work: Path, text: str, *queue: str, session: str = "") -> Iterator[int]:
    """Another process with a draft; its process id."""
    arguments = [sys.executable, "-c", WINDOW, str(state), str(work), session, text, *queue]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        try:
            yield process.pid
        finally:
            process.kill()


def files(state: Path) -> list[Path]:
    return sorted(path for path in (state / "prompt" / "drafts").glob("*.json") if path.is_file())


def left(state: Path, work: Path, text: str, *queue: str, session: str = "") -> None:
    """A draft of a window that was closed."""
    drafts = Drafts(state, work)
    if session:
        drafts.attach(session)
    drafts.keep(text, queue)
    assert drafts.close()


def test_a_killed_window_leaves_what_was_written_and_what_waited(state: Path, work: Path) -> None:
    began = time.monotonic()
    with window(state, work, "half a thought", "first", "second", session="amber") as process:
        until(lambda: bool(files(state)))
        assert time.monotonic() - began > DELAY / 2  # not at every letter
        os.kill(process, signal.SIGKILL)
    (draft,) = Drafts(state, work).leftovers()
    assert draft.text == "half a thought"
    assert draft.queue == ("first", "second")
    assert draft.session == "amber"
    assert draft.directory == str(work)
    assert abs(draft.at - time.time()) < 60


def test_the_draft_of_a_living_window_is_nobody_elses(state: Path, work: Path) -> None:
    with window(state, work, "mine", session="amber"):
        until(lambda: bool(files(state)))
        other = Drafts(state, work)
        (name,) = [path.name for path in files(state)]
        assert other.leftovers() == []
        assert other.attach("amber") is None
        assert not other.take(Draft("mine", (), 0.0, str(work), "amber", name))
    assert [draft.text for draft in other.leftovers()] == ["mine"]


def test_a_living_draft_cannot_be_taken_at_any_moment_of_its_writing(state: Path, work: Path) -> None:
    drafts, other = Drafts(state, work), Drafts(state, work)
    taken: list[Draft] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            taken.extend(other.leftovers())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(60):
            drafts.attach(f"session-{number % 3}")
            drafts.keep(f"text {number}" if number % 5 else "")
            assert drafts.flush(20)
    finally:
        done.set()
        looking.join()
    assert taken == []


@pytest.mark.parametrize("text", ["written anew", ""])
def test_a_living_draft_that_changes_while_it_is_looked_at(
    state: Path, work: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    living, other = Drafts(state, work), Drafts(state, work)
    living.keep("first")
    assert living.flush()
    (path,) = files(state)
    open_file = fs.open_file

    def open_and_let_the_other_write(name: str, directory: int) -> int:
        descriptor = open_file(name, directory)
        if name.endswith(".json"):
            living.keep(text)
            assert living.flush()
        return descriptor

    monkeypatch.setattr(fs, "open_file", open_and_let_the_other_write)
    assert other.leftovers() == []
    living.keep("first")
    assert living.flush()
    assert not other.take(Draft("first", (), 0.0, str(work), "", path.name))


def test_resuming_a_session_brings_its_draft_and_queue_back(state: Path, work: Path, tmp_path: Path) -> None:
    left(state, work, "of amber", "waits", session="amber")
    left(state, work, "of birch", session="birch")
    drafts = Drafts(state, tmp_path)  # resumed from elsewhere
    draft = drafts.attach("amber")
    assert draft is not None
    assert (draft.text, draft.queue) == ("of amber", ("waits",))
    assert Drafts(state, work).attach("amber") is None  # this window has it
    drafts.keep(draft.text, draft.queue)
    drafts.release(draft)
    assert len(files(state)) == 2
    assert drafts.close()
    assert sorted(one.text for one in Drafts(state, tmp_path).leftovers()) == ["of amber"]
    assert sorted(one.text for one in Drafts(state, work).leftovers()) == ["of birch"]


def test_a_taken_draft_is_there_until_it_is_released(state: Path, work: Path) -> None:
    left(state, work, "kept")
    first = Drafts(state, work)
    (draft,) = first.leftovers()
    assert first.take(draft)
    assert first.take(draft)
    second = Drafts(state, work)
    assert second.leftovers() == []
    assert not second.take(draft)
    assert first.close()  # as if it had died before the text was anywhere else
    assert second.take(draft)
    second.release(draft)
    assert files(state) == []
    assert Drafts(state, work).leftovers() == []
    assert not first.take(draft)


def test_one_of_many_takes_it(state: Path, work: Path) -> None:
    left(state, work, "wanted")
    windows = [Drafts(state, work) for _ in range(8)]
    (draft,) = windows[0].leftovers()
    results: list[bool] = []
    threads = [threading.Thread(target=lambda one=one: results.append(one.take(draft))) for one in windows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False] * 7 + [True]


def test_what_is_sent_or_emptied_leaves_nothing(state: Path, work: Path) -> None:
    drafts = Drafts(state, work)
    drafts.keep("something")
    assert drafts.flush()
    (path,) = files(state)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    drafts.keep("  \n")
    assert drafts.flush()
    assert files(state) == []
    drafts.keep("", ["waits"])
    assert drafts.flush()
    assert len(files(state)) == 1
    drafts.keep("")
    assert drafts.close()
    assert files(state) == []


def test_nothing_is_made_where_nothing_is_written(state: Path, work: Path) -> None:
    drafts = Drafts(state, work)
    assert drafts.attach("amber") is None
    assert drafts.leftovers() == []
    drafts.keep("")
    assert drafts.close()
    assert not state.exists()


def test_a_clean_exit_keeps_the_draft(state: Path, work: Path) -> None:
    left(state, work, "not sent", session="amber")
    (draft,) = Drafts(state, work).leftovers()
    assert draft.text == "not sent"


def test_a_switch_of_session_takes_the_draft_along(state: Path, work: Path) -> None:
    drafts = Drafts(state, work)
    drafts.keep("on its way")
    assert drafts.flush()
    drafts.attach("amber")
    assert drafts.flush()
    drafts.attach("birch")
    assert drafts.close()
    assert len(files(state)) == 1
    (draft,) = Drafts(state, work).leftovers()
    assert (draft.text, draft.session) == ("on its way", "birch")


def test_other_directories_see_nothing_of_it(state: Path, work: Path, tmp_path: Path) -> None:
    left(state, work, "here")
    assert Drafts(state, tmp_path).leftovers() == []
    (tmp_path / "link").symlink_to(work)
    assert [draft.text for draft in Drafts(state, tmp_path / "link").leftovers()] == ["here"]


def test_leftovers_are_newest_first(state: Path, work: Path) -> None:
    for text in ("one", "two", "three"):
        left(state, work, text)
    assert [draft.text for draft in Drafts(state, work).leftovers()] == ["three", "two", "one"]


def test_keeping_never_waits_for_the_disk(state: Path, work: Path) -> None:
    drafts = Drafts(state, work)
    text = "x" * 600_000
    called: set[str] = set()
    sys.setprofile(lambda frame, event, what: called.add(what.__name__) if event == "c_call" else None)
    try:
        for number in range(200):
            drafts.keep(text + str(number), [text])
    finally:
        sys.setprofile(None)  # it sees the calls of this thread only
    assert not called & {"open", "write", "fsync", "replace", "link", "unlink"}, called
    assert drafts.close(20)
    (draft,) = Drafts(state, work).leftovers()
    assert draft.text == text + "199"
    assert draft.queue == (text,)


def test_secrets_come_back_as_they_were(state: Path, work: Path) -> None:
    text = "deploy with sk-" + "a1" * 16
    left(state, work, text)
    assert [draft.text for draft in Drafts(state, work).leftovers()] == [text]


def test_what_cannot_be_written_is_said(state: Path, work: Path) -> None:
    left(state, work, "older")
    (draft,) = Drafts(state, work).leftovers()
    state.rename(state.with_name("away"))
    state.write_text("in the way")
    drafts = Drafts(state, work)
    drafts.keep("text")
    assert drafts.flush()
    assert "not kept" in drafts.problem
    assert str(state) in drafts.problem
    assert not drafts.take(draft)
    state.unlink()
    drafts.keep("text, again")
    assert drafts.close()
    assert drafts.problem == ""
    assert len(files(state)) == 1


def test_a_draft_that_cannot_be_written_elsewhere_is_not_released(state: Path, work: Path) -> None:
    left(state, work, "older")
    drafts = Drafts(state, work)
    (draft,) = drafts.leftovers()
    assert drafts.take(draft)
    folder = state / "prompt" / "drafts"
    folder.rename(folder.with_name("away"))
    folder.write_text("in the way")
    drafts.keep(draft.text)
    drafts.release(draft)
    folder.unlink()
    folder.with_name("away").rename(folder)
    assert drafts.problem
    assert [path.name for path in files(state)] == [draft.file]


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_a_damaged_draft_is_passed_over(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    place = tmp_path_factory.mktemp("drafts")
    left(place / "state", place, "whole")
    (path,) = files(place / "state")
    damaged = path.with_name(path.name.replace(path.name[-21:-5], "0" * 16))
    damaged.write_bytes(data)
    assert [draft.text for draft in Drafts(place / "state", place).leftovers()] == ["whole"]


def test_what_a_killed_writer_never_finished_goes_after_a_day(state: Path, work: Path) -> None:
    left(state, work, "whole")
    (path,) = files(state)
    new, old = path.with_name(".new.tmp"), path.with_name(".old.tmp")
    for one in (new, old):
        one.write_text("{")
    os.utime(old, (time.time() - 100_000,) * 2)
    assert len(Drafts(state, work).leftovers()) == 1
    assert new.exists()
    assert not old.exists()
