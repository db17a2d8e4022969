"""The goal of a directory: in a file, noted on by several processes, ended only by a person, never lost."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from tau.errors import MemoryRefused
from tau.memory.goals import MOST_NOTES, Goal, GoalDamaged, GoalFile, Note, line, prompt
from tests.memory.conftest import Desk
from tests.memory.test_remembering import _begin, _children


@pytest.fixture
def file(desk: Desk) -> GoalFile:
    return GoalFile(desk.made("p"), desk.directory("p"))


def test_a_goal_stands_until_a_person_ends_it(desk: Desk, file: GoalFile) -> None:
    assert file.read() is None
    file.set("  ship 1.0\nwith docs ")
    assert line(file.set("ship 1.0\nwith docs")[0]) == "goal: ship 1.0 with docs"
    assert line(file.pause()) == "goal (paused): ship 1.0 with docs"
    file.note("wrote the docs", met=False)
    assert line(file.resume()) == "goal: ship 1.0 with docs"
    assert line(file.note("all checks pass", met=True)) == "goal (met?): ship 1.0 with docs"
    assert line(file.note("and more", met=False)) == "goal (met?): ship 1.0 with docs"
    again = GoalFile(desk.find("p"), desk.directory("p")).read()
    assert again == file.read()
    assert again is not None
    assert (again.state, [note.text for note in again.notes]) == (
        "active", ["wrote the docs", "all checks pass", "and more"],
    )  # fmt: skip
    assert line(file.resume()) == "goal: ship 1.0 with docs"


@pytest.mark.parametrize("outcome", ["done", "dropped"])
def test_an_ended_goal_stays_readable(file: GoalFile, outcome: Literal["done", "dropped"]) -> None:
    file.set("ship")
    noted = file.note("half of it", met=False)
    ended, kept = file.end(outcome)
    assert ended == noted
    assert file.read() is None
    assert not file.path.exists()
    record = tomllib.loads(kept.read_text())
    assert (record["text"], record["outcome"], record["notes"][0]["text"]) == ("ship", outcome, "half of it")
    for action in (lambda: file.end(outcome), file.pause, file.resume, lambda: file.note("x", met=True)):
        with pytest.raises(MemoryRefused, match="There is no goal in this directory"):
            action()
    file.set("next")
    other, replaced = file.set("other")
    assert (other.text, replaced and replaced.text) == ("other", "next")
    outcomes = [tomllib.loads(path.read_text())["outcome"] for path in sorted(kept.parent.iterdir())]
    assert outcomes == [outcome, "replaced"]


def test_only_the_goal_that_is_meant_is_changed(file: GoalFile) -> None:
    file.set("ship")
    file.set("another window's")
    for action in (
        lambda: file.end("done", text="ship"),
        lambda: file.pause(text="ship"),
        lambda: file.resume(text="ship"),
    ):
        with pytest.raises(MemoryRefused, match="another one by now, so it stays as it is: another window's"):
            action()
    goal, before = file.set("another window's")
    assert (before, file.read()) == (None, goal)


def test_the_prompt_holds_the_goal_as_data(file: GoalFile) -> None:
    at = datetime(2026, 8, 12, 12, 23, tzinfo=UTC)
    notes = tuple(Note(at, f"note {number}") for number in range(10))
    goal = Goal("ship\n~~~~\n# Rules\x1b[2J", "active", met=False, notes=notes, set_at=at)
    text = prompt(goal)
    assert "~~~~~goal\nship\n~~~~\n# Rules\\x1b[2J\n~~~~~" in text
    assert "standing intent, which\nneeds no acknowledgement" in text
    assert [f"note {number}" in text for number in range(10)] == [False] * 2 + [True] * 8
    assert "2026-08-12 12:23 UTC: note 9" in text
    assert "has not answered" not in text
    assert prompt(goal) == text
    assert "has not answered" in prompt(Goal("ship", "active", met=True, notes=(), set_at=at))
    assert prompt(Goal("ship", "paused", met=True, notes=(), set_at=at)) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [(" \n", "needs a text"), ("x" * 4_001, "at most 4,000"), ("a\0", "no text has"), ("\ud800", "no text")],
)
def test_what_is_no_goal(file: GoalFile, text: str, reason: str) -> None:
    with pytest.raises(MemoryRefused, match=reason):
        file.set(text)
    assert file.read() is None


def test_a_note_is_one_line_of_text(file: GoalFile) -> None:
    file.set("ship")
    assert (
        file.note("one\ntwo\x1b[2J" + "x" * 2_000, met=False).notes[0].text.startswith("one two\\x1b[2Jxxx")
    )
    assert len(file.note("y" * 2_000, met=False).notes[1].text) == 1_000
    with pytest.raises(MemoryRefused, match="needs a text"):
        file.note("\n", met=True)


def test_directories_whose_names_fold_together_have_goals_of_their_own(desk: Desk) -> None:
    desk.repository("r")
    names = ("r/a-b", "r/a/b", "r/a_b", "r/日本", "r/" + "long" * 60)
    files = [GoalFile(desk.made(name), desk.directory(name)) for name in names]
    assert len({file.where.project for file in files}) == 1
    for name, file in zip(names, files, strict=True):
        file.set(name)
    for name in names:
        goal = GoalFile(desk.find(name), desk.directory(name)).read()
        assert goal is not None
        assert goal.text == name
    files[0].end("done")
    assert [file.read() is None for file in files] == [True, False, False, False, False]


def test_two_processes_note_at_once(quick_desk: Desk) -> None:
    file = GoalFile(quick_desk.made("p"), quick_desk.directory("p"))
    file.set("ship")
    _begin(
        _children(
            quick_desk,
            """
            goal = GoalFile(where, top / "w/p")
            print("ready", flush=True)
            sys.stdin.readline()
            for number in range(30):
                goal.note(f"{source.session} {number}", met=number == 29)
            """,
            ["one"], ["two"],
        )
    )  # fmt: skip
    goal = file.read()
    assert goal is not None
    assert goal.met
    texts = [note.text for note in goal.notes]
    assert len(texts) == 60
    for who in ("one", "two"):
        assert [text for text in texts if text.startswith(who)] == [f"{who} {n}" for n in range(30)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"\xff" + data,
        lambda data: data.replace(b'"active"', b'"odd"'),
        lambda data: data.replace(b"met = false", b'met = "no"'),
        lambda data: data.replace(b"text = ", b"txt = "),
        lambda data: data.replace(b"set_at = 2", b'set_at = "2"\nother = 2'),
        lambda data: data.replace(b"notes = [", b"notes = [1,"),
        lambda data: data.replace(b"directory = ", b"place = "),
        lambda data: data.replace(b"met = false", b"met = false\ndeep = " + b"[" * 5_000 + b"]" * 5_000),
        lambda data: re.sub(rb"set_at = .*", b"set_at = 0001-01-01T00:00:00+10:00", data),
        lambda data: data.replace(b'"ship"', b'"' + b"x" * 4_001 + b'"'),
        lambda data: data + b"# " + b"x" * 1_000_000,
    ],
)
def test_a_damaged_file_is_named_and_left_alone(file: GoalFile, damage: object) -> None:
    file.set("ship")
    file.note("half", met=False)
    path = file.path
    assert callable(damage)
    broken = damage(path.read_bytes())
    path.write_bytes(broken)
    actions = (
        file.read,
        lambda: file.set("x"),
        lambda: file.end("done"),
        lambda: file.end("dropped"),
        file.pause,
        lambda: file.note("x", met=True),
    )
    for action in actions:
        with pytest.raises(GoalDamaged) as refused:
            action()
        assert refused.value.path == path
        assert str(path) in refused.value.message
    assert path.read_bytes() == broken
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_goal_that_is_paused_is_not_proposed_as_reached(file: GoalFile) -> None:
    file.set("ship")
    file.pause()
    with pytest.raises(MemoryRefused, match="The goal is paused"):
        file.note("all green", met=True)
    goal = file.read()
    assert goal is not None
    assert (goal.met, goal.notes) == (False, ())


def test_the_file_keeps_so_many_notes(file: GoalFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.memory.goals.MOST_NOTES", 3)
    file.set("ship")
    for number in range(5):
        goal = file.note(f"note {number}", met=False)
    assert [note.text for note in goal.notes] == ["note 2", "note 3", "note 4"]
    assert file.read() == goal


def test_the_notes_that_are_kept_are_not_too_large_to_be_read(file: GoalFile) -> None:
    file.set("ship " + "🚀" * 3_990)
    text = file.path.read_text().replace("notes = []", "")
    note = '[[notes]]\nat = 2026-08-12T12:23:00Z\ntext = "' + "🚀" * 1_000 + '"\n'
    file.path.write_text(text + note * MOST_NOTES)
    assert len(file.note("one more", met=False).notes) == MOST_NOTES


def test_a_link_in_the_place_of_the_file_is_not_followed(file: GoalFile, tmp_path: Path) -> None:
    file.set("ship")
    path = file.path
    elsewhere = tmp_path / "elsewhere.toml"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    for action in (
        file.read,
        lambda: file.note("x", met=True),
        lambda: file.set("x"),
        lambda: file.end("done"),
    ):
        with pytest.raises(GoalDamaged, match="symbolic link"):
            action()
    assert elsewhere.read_bytes() == before
    assert path.is_symlink()
    folder = path.parent
    folder.rename(tmp_path / "goals")
    folder.symlink_to(tmp_path / "goals")
    for action in (file.read, lambda: file.set("x")):
        with pytest.raises(MemoryRefused, match="symbolic link"):
            action()


def test_a_person_may_edit_the_file(file: GoalFile) -> None:
    file.set("ship")
    text = (
        file.path.read_text()
        .replace('"ship"', '"""\nship it\nsoon"""')
        .replace("T", " ")
        .replace("+00:00", "")
    )
    file.path.write_text(text)
    goal = file.note("x", met=False)
    assert goal.text == "ship it\nsoon"
    assert file.read() == goal


def test_the_file_is_private_and_written_whole(desk: Desk) -> None:
    old = os.umask(0)
    try:
        file = GoalFile(desk.find("p"), desk.directory("p"))
        file.set("ship")
        _, kept = file.end("done")
        file.set("ship")
    finally:
        os.umask(old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file.path, kept)] == [0o600, 0o600]
    assert [stat.S_IMODE(path.parent.stat().st_mode) for path in (file.path, kept)] == [0o700, 0o700]
    assert sorted(path.name for path in file.path.parent.iterdir()) == sorted(["done", file.path.name])
