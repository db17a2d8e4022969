"""The history of memory files: exact copies, undo, hand edits between, damage, and disks that refuse."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine

from tau.errors import MemoryRefused
from tau.memory import entries
from tau.memory.applying import MemoryChanged, Prepared
from tau.memory.entries import Source, digest, log
from tau.memory.files import Telling
from tau.memory.history import History
from tau.memory.places import MemoryPlaces
from tau.memory.undone import UndoRefused
from tests.memory.conftest import Desk, write

SOURCE = Source("refine-check", 4, "manual")
EDIT = Source("quail", 3, "edit")


@pytest.fixture
def history(desk: Desk) -> History:
    return History(desk.made("p"), desk.places.state)


def change(history: History, **wanted: bytes | None) -> entries.Entry | None:
    """Change files of the project: names without `.md`."""
    titles = {f"project/{name}.md": data for name, data in wanted.items()}
    return history.change(titles, sentences=dict.fromkeys(titles, "why"), source=SOURCE)


def on_disk(where: MemoryPlaces) -> dict[str, bytes]:
    """Every file in both folders, those that no list shows, too, but for the lock."""
    found = {}
    for scope, folder in (("global", where.shared), ("project", where.memory)):
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name != ".lock":
                found[f"{scope}/{path.name}"] = path.read_bytes()
    return found


def test_undo_walks_back_to_the_first_byte(history: History) -> None:
    before = on_disk(history.where)
    write(history.where.memory, "c.md", b"\xff\x00 by hand, no newline at the end")
    states = [on_disk(history.where)]
    for wanted in (
        {"a": b"1\n"},
        {"a": b"2\r\n", "b": b"x"},
        {"c": b"new\n"},
        {"a": None, "c": None},
        {"a": b"\n"},
    ):
        assert change(history, **wanted) is not None
        states.append(on_disk(history.where))
    for number in range(5, 0, -1):
        peeked = history.undo(peek=True)
        assert on_disk(history.where) == states[number]
        undone = history.undo()
        assert (undone.entry.id, undone.restored, undone.removed) == (
            peeked.entry.id, peeked.restored, peeked.removed,
        )  # fmt: skip
        assert undone.entry.undone
        assert on_disk(history.where) == states[number - 1]
    assert states[0] == before | {"project/c.md": b"\xff\x00 by hand, no newline at the end"}
    with pytest.raises(MemoryRefused, match="no change of memory to undo"):
        history.undo()
    assert all(entry.undone for entry in history.entries())


@pytest.mark.parametrize("second_names", [True, False])
def test_who_may_read_a_file_may_read_it_after_a_change_and_after_its_undo(
    history: History, monkeypatch: pytest.MonkeyPatch, second_names: bool
) -> None:
    def no_link(*names: object, **more: object) -> None:
        raise OSError(errno.EPERM, "no second names")

    def cannot_sync(prepared: Prepared) -> None:
        if prepared._taken:
            raise OSError(errno.EIO, "broken")

    if not second_names:
        monkeypatch.setattr(os, "link", no_link)
    path = write(history.where.memory, "a.md", b"1\n")
    for mode in (0o644, 0o640):
        path.chmod(mode)
        change(history, a=b"2\n", b=b"new\n")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"2\n", mode)
        assert stat.S_IMODE(path.with_name("b.md").stat().st_mode) == 0o600
        history.undo()
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"1\n", mode)
    monkeypatch.setattr(Prepared, "_sync", cannot_sync)
    with pytest.raises(MemoryRefused, match="broken"):
        change(history, a=b"3\n")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"1\n", mode)


def test_undo_names_what_it_put_back_and_removed(history: History) -> None:
    change(history, a=b"1\n", b=b"1\n", c=b"1\n")
    change(history, a=b"2\n", b=None, d=b"1\n", c=b"2\n")
    (history.where.memory / "c.md").write_bytes(b"1\n")
    undone = history.undo()
    assert undone.restored == ["project/a.md", "project/b.md"]
    assert undone.removed == ["project/d.md"]
    assert undone.already == ["project/c.md"]
    assert undone.lines == [
        f"Undone: the change of {undone.entry.when}, session 'refine-check', manual",
        "    put back project/a.md", "    put back project/b.md", "    removed project/d.md",
        "    project/c.md was as before already",
    ]  # fmt: skip


def test_nothing_that_differs_is_no_entry(history: History) -> None:
    change(history, a=b"1\n")
    assert change(history, a=b"1\n") is None
    assert change(history, b=None) is None
    assert [[each.title for each in entry.changes] for entry in history.entries()] == [["project/a.md"]]
    entry = change(history, a=b"1\n", b=b"2\n")
    assert entry is not None
    assert [each.title for each in entry.changes] == ["project/b.md"]


def test_the_log_reads_as_a_log(history: History) -> None:
    assert entries.log(history.entries()) == ["No change of memory is recorded here yet."]
    with time_machine.travel(datetime(2026, 8, 12, 12, 22, 59, tzinfo=UTC), tick=False):
        change(history, a=b"1\n")
        title = "project/worktree-preferences.md"
        change(history, **{"worktree-preferences": b"1\n"})
    with time_machine.travel(datetime(2026, 8, 12, 12, 23, 1, tzinfo=UTC), tick=False):
        history.change(
            {title: b"2\n", "global/x.md": b"1\n"},
            sentences={title: "added the lint\n\x1b[2Jtable constraint"},
            source=SOURCE,
        )
        history.change({"project/a.md": None}, sentences={}, source=Source("it's\nnew", 1, "automatic"))
    history.undo()
    assert entries.log(history.entries()) == [
        "2026-08-12 12:23 UTC · session 'it's new' · after 1 message · automatic (undone)",
        "    removed project/a.md",
        "2026-08-12 12:23 UTC · session 'refine-check' · after 4 messages · manual",
        "    added global/x.md",
        "    updated project/worktree-preferences.md — added the lint \\x1b[2Jtable constraint",
        "2026-08-12 12:22 UTC · session 'refine-check' · after 4 messages · manual",
        "    added project/worktree-preferences.md — why",
        "2026-08-12 12:22 UTC · session 'refine-check' · after 4 messages · manual",
        "    added project/a.md — why",
    ]
    assert len(history.entries(limit=2)) == 2


def test_a_clock_that_was_put_back_does_not_change_the_order(history: History) -> None:
    with time_machine.travel(datetime(2027, 1, 1, tzinfo=UTC), tick=False):
        change(history, a=b"1\n")
    with time_machine.travel(datetime(2026, 1, 1, tzinfo=UTC), tick=False):
        change(history, a=b"2\n")
    history.undo()
    assert (history.where.memory / "a.md").read_bytes() == b"1\n"
    assert [entry.when[:4] for entry in history.entries()] == ["2026", "2027"]


def test_an_entry_holds_every_file_as_it_was(history: History) -> None:
    write(history.where.shared, "all.md", b"every\xff")
    write(history.where.memory, "other.md", b"other\r\n")
    change(history, a=b"1\n")
    entry = change(history, a=b"2\n", b=b"3\n")
    assert entry is not None
    kept = {str(p.relative_to(entry.folder)): p.read_bytes() for p in entry.folder.rglob("*") if p.is_file()}
    meta = kept.pop("meta.cfg").decode()
    project = (history.where.memory / "project.md").read_bytes()
    assert kept == {
        "files/global/all.md": b"every\xff", "files/project/other.md": b"other\r\n",
        "files/project/a.md": b"1\n", "files/project/project.md": project,
        "written/project/a.md": b"2\n", "written/project/b.md": b"3\n",
    }  # fmt: skip
    for line in (
        "session = refine-check",
        "messages = 4",
        "how = manual",
        "state = changed",
        "sentence = why",
    ):
        assert line in meta.splitlines()


def test_what_a_change_leaves_alone_is_kept_once(history: History) -> None:
    """Each entry has a copy of every file, and the disk each content once."""
    for number in range(20):
        change(history, **{f"f{number}": f"{number}\n".encode()})
    change(history, f3=b"new\n")
    states = [on_disk(history.where)]
    copies = [path for path in history.folder.rglob("*.md") if path.is_file()]
    assert len(copies) == sum(range(1, 22)) + 21
    assert len({path.stat().st_ino for path in copies}) == 1 + 21
    entry = history.entries()[0]
    kept = entry.folder / "files"
    (kept / "project/f3.md").unlink()
    (kept / "project/f3.md").write_bytes(b"damaged")
    (kept / "project/f5.md").write_bytes(b"X\n")
    change(history, f4=b"new\n")
    newest = history.entries()[0].folder / "files"
    assert {f"project/{path.name}": path.read_bytes() for path in (newest / "project").iterdir()} == states[0]
    history.undo()
    assert on_disk(history.where) == states[0]


def test_everything_is_private_whatever_the_umask(desk: Desk) -> None:
    old = os.umask(0)
    try:
        history = History(desk.find("p"), desk.places.state)
        history.change({"global/x.md": b"1", "project/y.md": b"2"}, sentences={}, source=SOURCE)
        history.undo()
        history.change({"global/x.md": b"1", "project/y.md": b"2"}, sentences={}, source=SOURCE)
    finally:
        os.umask(old)
    modes = {}
    for top in (history.where.root, desk.places.state):
        for path in (top, *top.rglob("*")):
            modes[path] = stat.S_IMODE(path.stat().st_mode)
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_the_diff_shows_both_sides(history: History) -> None:
    change(history, a=b"one\ntwo\n", b=b"gone\n")
    entry = change(history, a=b"one\nthree\x1b[2J", b=None, c=b"new\n")
    assert entry is not None
    assert history.diff(entry).splitlines() == [
        "--- project/a.md", "+++ project/a.md", "@@ -1,2 +1,2 @@", " one", "-two", "+three\\x1b[2J",
        "\\ No newline at end of file",
        "--- project/b.md", "+++ /dev/null", "@@ -1 +0,0 @@", "-gone",
        "--- /dev/null", "+++ project/c.md", "@@ -0,0 +1 @@", "+new",
    ]  # fmt: skip
    (entry.folder / "files/project/a.md").write_bytes(b"other")
    assert "files/project/a.md is damaged or gone" in history.diff(entry).splitlines()[0]


def test_undo_is_refused_over_a_hand_edit_and_names_both_versions(history: History) -> None:
    change(history, a=b"1\n", b=b"1\n")
    entry = change(history, a=b"2\n", b=b"2\n")
    assert entry is not None
    path = history.where.memory / "a.md"
    path.write_bytes(b"by hand\n")
    before = on_disk(history.where)
    for peek in (True, False):
        with pytest.raises(UndoRefused, match=r"project/a\.md was changed since") as refused:
            history.undo(peek=peek)
        error = refused.value
        assert error.entry.id == entry.id
        (edit,) = error.edits
        assert (edit.title, edit.path_now) == ("project/a.md", path)
        assert edit.path_written is not None
        assert edit.path_before is not None
        assert (edit.path_written.read_bytes(), edit.path_before.read_bytes()) == (b"2\n", b"1\n")
        assert all(str(each) in error.hint for each in (path, edit.path_written, edit.path_before))
        assert on_disk(history.where) == before
    assert not history.entries()[0].undone
    path.write_bytes(b"2\n")
    history.undo()
    assert on_disk(history.where)["project/a.md"] == b"1\n"


def test_a_file_made_again_by_hand_is_not_taken_back(history: History) -> None:
    change(history, a=b"1\n")
    change(history, a=None)
    path = write(history.where.memory, "a.md", b"anew\n")
    with pytest.raises(UndoRefused) as refused:
        history.undo()
    assert refused.value.edits[0].path_written is None
    assert "as that change left it: not there" in refused.value.hint
    path.unlink()
    history.undo()
    assert path.read_bytes() == b"1\n"


def own(history: History) -> dict[str, bytes]:
    """The files of the project by their names, without the one that it began with."""
    found = {path.stem: path.read_bytes() for path in history.where.memory.glob("*.md")}
    del found["project"]
    return found


def told(history: History) -> list[str]:
    """What the person is told of an undo that is refused."""
    with pytest.raises(UndoRefused) as refused:
        history.undo()
    return refused.value.told("undo anyway")


def test_a_refused_undo_shows_what_was_edited_and_what_it_would_put_back(history: History) -> None:
    change(history, a=b"first\nold\n", b=b"1\n")
    change(history, a=b"first\nnew\n", b=b"2\n")
    path = history.where.memory / "a.md"
    path.write_bytes(b"first\nnew\nby hand\x1b[2J\n")
    lines = told(history)
    assert lines[1] == f"as it is now: {path}"
    assert lines[4:19] == [
        "Changed since in project/a.md:",
        "--- project/a.md as that change left it", "+++ project/a.md as it is now",
        "@@ -1,2 +1,3 @@", " first", " new", "+by hand\\x1b[2J",
        "What undo would do to it:",
        "--- project/a.md as it is now", "+++ project/a.md as it was before",
        "@@ -1,3 +1,2 @@", " first", "-new", "-by hand\\x1b[2J", "+old",
    ]  # fmt: skip
    assert len(lines) == 20
    assert lines[-1].startswith(
        "Nothing was touched. Make the file as that change left it or as it was before"
    )
    assert "or undo anyway goes over the edit, which is kept in the history" in lines[-1]
    assert "project/b.md" not in "\n".join(lines)


def test_what_a_refused_undo_shows_is_bounded_and_says_where_all_of_it_is(history: History) -> None:
    change(history, **{f"f{number}": b"x\n" for number in range(6)})
    for number in range(6):
        (history.where.memory / f"f{number}.md").write_bytes(b"y" * 5_000 + b"\n" + b"z\n" * 1_000)
    lines = told(history)
    assert len(lines) < 400
    assert max(map(len, lines)) < 1_000
    path = history.where.memory / "f0.md"
    assert lines[9] == "+" + "y" * 399 + "… 4,601 more characters"
    (cut,) = {
        line for line in lines if line.startswith("… 965 more lines; all of it is in ") and "f0.md" in line
    }
    assert cut.endswith(f" and {path}")
    assert f"Changed since as well: project/f5.md, as it is now: {history.where.memory / 'f5.md'}" in lines


def test_an_edit_that_shows_nothing_is_told_of_in_words(history: History) -> None:
    change(history, a=b"1\n")
    change(history, a=b"1\n2\n")
    path = history.where.memory / "a.md"
    path.write_bytes(b"1\r\n2\r\n")
    assert told(history)[5] == "only what cannot be seen differs, such as how its lines end"
    path.write_bytes(b"1\n" * 300_000)
    assert told(history)[5] == f"too large to be compared here: {path} has 600,000 bytes"
    path.unlink()
    lines = told(history)
    assert lines[5:7] == ["--- project/a.md as that change left it", "+++ /dev/null"]
    assert "as it is now: not there" in lines


def test_undo_goes_over_a_hand_edit_and_keeps_it(history: History) -> None:
    change(history, a=b"1\n", b=b"1\n", c=b"1\n")
    entry = change(history, a=b"2\n", b=b"2\n", c=None)
    assert entry is not None
    for name, data in (("a", b"by hand\n"), ("c", b"anew\n")):
        write(history.where.memory, f"{name}.md", data)
    undone = history.undo(going_over=EDIT)
    assert own(history) == dict.fromkeys("abc", b"1\n")
    kept, *others = history.entries()
    assert undone.kept == kept
    assert [each.undone for each in (kept, *others)] == [True, True, False]
    assert [(each.title, each.kind) for each in kept.changes] == [
        ("project/a.md", "updated"),
        ("project/c.md", "added"),
    ]
    assert "\n-2\n+by hand\n" in history.diff(kept)
    path = kept.folder / "written/project/a.md"
    assert path.read_bytes() == b"by hand\n"
    assert f"    your edit of project/a.md is kept: {path}" in undone.lines
    assert log([kept])[0].endswith(" · session 'quail' · after 3 messages · edit (kept)")
    assert history.written() == {(f"project/{name}.md", digest(b"1\n")) for name in "abc"}
    assert history.undo().entry.id == others[1].id
    assert own(history) == {}


def test_undo_puts_back_what_was_deleted_by_hand(history: History) -> None:
    change(history, a=b"1\n")
    change(history, a=b"2\n")
    (history.where.memory / "a.md").unlink()
    undone = history.undo(going_over=EDIT)
    assert own(history) == {"a": b"1\n"}
    assert undone.lines[1:] == ["    put back project/a.md", "    project/a.md had been deleted by hand"]
    assert history.diff(history.entries()[0]).splitlines()[:2] == ["--- project/a.md", "+++ /dev/null"]


@pytest.mark.parametrize("over_an_edit", [False, True])
def test_undo_makes_the_folder_of_the_project_that_was_deleted(desk: Desk, over_an_edit: bool) -> None:
    where = desk.made("p")
    history = History(where, desk.places.state)
    change(history, a=b"1\n")
    change(history, a=b"2\n" if over_an_edit else None)
    shutil.rmtree(where.project)
    made: list[Path] = []
    history = History(desk.find("p"), desk.places.state, Telling(made=made.append))
    history.undo(going_over=EDIT if over_an_edit else None)
    assert made == [where.project]
    again = desk.find("p")
    assert (again.project, again.notice) == (where.project, "")
    assert (again.memory / "a.md").read_bytes() == b"1\n"
    assert history.undo().removed == ["project/a.md"]


def test_a_refused_undo_makes_no_folder(desk: Desk) -> None:
    where = desk.made("p")
    change(History(where, desk.places.state), a=b"1\n")
    change(History(where, desk.places.state), a=b"2\n")
    shutil.rmtree(where.project)
    with pytest.raises(UndoRefused):
        History(desk.find("p"), desk.places.state).undo()
    assert not where.project.exists()


def test_undo_that_may_go_over_edits_keeps_nothing_where_there_are_none(history: History) -> None:
    change(history, a=b"1\n")
    assert history.undo(going_over=EDIT).kept is None
    assert len(history.entries()) == 1


def test_undo_does_not_go_over_what_cannot_be_kept(history: History, tmp_path: Path) -> None:
    change(history, a=b"1\n", b=b"1\n")
    (history.where.memory / "b.md").write_bytes(b"by hand\n")
    path = history.where.memory / "a.md"
    path.unlink()
    path.symlink_to(write(tmp_path, "elsewhere", b"1\n"))
    with pytest.raises(UndoRefused) as refused:
        history.undo(going_over=EDIT)
    assert not refused.value.may_go_over
    assert "undo anyway" not in "\n".join(refused.value.told("undo anyway"))
    assert f"{path} cannot be read: a symbolic link" in "\n".join(refused.value.told(""))
    assert (history.where.memory / "b.md").read_bytes() == b"by hand\n"
    assert len(history.entries()) == 1


@pytest.mark.parametrize("meanwhile", [b"by hand\n", b"once more\n"])
def test_an_undo_over_an_edit_that_fails_loses_nothing(
    history: History, monkeypatch: pytest.MonkeyPatch, meanwhile: bytes
) -> None:
    change(history, a=b"1\n")
    change(history, a=b"2\n")
    path = history.where.memory / "a.md"
    path.write_bytes(b"by hand\n")
    before = history.entries()

    def fails(prepared: Prepared) -> None:
        path.write_bytes(meanwhile)
        raise MemoryChanged("project/a.md")

    monkeypatch.setattr(Prepared, "take", fails)
    with pytest.raises(MemoryChanged):
        history.undo(going_over=EDIT)
    assert path.read_bytes() == meanwhile
    kept = [entry for entry in history.entries() if entry not in before]
    assert [(entry.folder / "written/project/a.md").read_bytes() for entry in kept] == (
        [] if meanwhile == b"by hand\n" else [b"by hand\n"]
    )
    assert not [each for each in history.folder.iterdir() if each.name.startswith(".")]


def test_a_link_in_the_place_of_a_file_is_not_followed(history: History, tmp_path: Path) -> None:
    change(history, a=b"1\n")
    path = history.where.memory / "a.md"
    elsewhere = write(tmp_path, "elsewhere", b"1\n")
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(UndoRefused):
        history.undo()
    with pytest.raises(MemoryRefused, match=r"a\.md cannot be read: a symbolic link"):
        change(history, a=b"2\n")
    assert path.is_symlink()
    assert elsewhere.read_bytes() == b"1\n"


def test_a_linked_folder_is_refused(desk: Desk, tmp_path: Path) -> None:
    where = desk.made("p")
    elsewhere = tmp_path / "elsewhere"
    where.memory.rename(elsewhere)
    where.memory.symlink_to(elsewhere)
    with pytest.raises(MemoryRefused, match="link"):
        History(where, desk.places.state).change({"project/a.md": b"1"}, sentences={}, source=SOURCE)
    assert not (elsewhere / "a.md").exists()


def test_what_was_expected_and_is_not_there_stops_the_change(history: History) -> None:
    change(history, a=b"1\n", b=b"1\n")
    before = on_disk(history.where)
    for expected in (
        {"project/a.md": digest(b"1\n"), "project/b.md": digest(b"0\n")},
        {"project/b.md": None},
        {"project/c.md": digest(b"1\n")},
    ):
        with pytest.raises(MemoryChanged):
            history.change(
                {"project/a.md": b"2\n", "project/b.md": b"2\n"},
                sentences={}, source=SOURCE, expected=expected,
            )  # fmt: skip
        assert on_disk(history.where) == before
    assert len(history.entries()) == 1
    assert history.change(
        {"project/a.md": b"2\n", "project/c.md": b"2\n"},
        sentences={}, source=SOURCE, expected={"project/a.md": digest(b"1\n"), "project/c.md": None},
    )  # fmt: skip


def test_titles_that_are_no_memory_files_are_refused(history: History) -> None:
    for title in (
        "a.md",
        "global/",
        "global/../x.md",
        "other/x.md",
        "project/.seeded",
        "project/a\n.md",
        "project/",
    ):
        with pytest.raises(MemoryRefused, match="is no memory file"):
            history.change({title: b"x"}, sentences={}, source=SOURCE)
    assert history.entries() == []


def test_what_is_written_by_tau_is_known(history: History) -> None:
    write(history.where.memory, "hand.md", b"by hand\n")
    change(history, a=b"1\n")
    change(history, b=b"1\n")
    history.undo()
    assert history.written() == {("project/a.md", digest(b"1\n"))}


def test_two_memories_of_one_name_do_not_share_a_history(desk: Desk) -> None:
    plain = desk.made("a/b")
    desk.trust(desk.directory("a"))
    (desk.top / "a" / ".tau").mkdir()
    inner = desk.made("a/b")
    assert inner.project.name == plain.project.name
    assert inner.root != plain.root
    first, second = (History(where, desk.places.state) for where in (plain, inner))
    change(first, a=b"1\n")
    assert second.entries() == []
    with pytest.raises(MemoryRefused, match="no change of memory to undo"):
        second.undo()


def test_a_damaged_entry_is_named_and_the_others_stand(history: History) -> None:
    ids = [entry.id for number in range(9) if (entry := change(history, **{f"f{number}": b"1\n"}))]
    folder = history.folder

    def meta(number: int) -> Path:
        return folder / ids[number] / "meta.cfg"

    meta(0).write_bytes(b"\x00\xff nonsense")
    meta(1).unlink()
    meta(2).write_bytes(meta(2).read_bytes().replace(b"state = changed", b"state = odd"))
    meta(3).write_bytes(meta(3).read_bytes().replace(b"project/f3.md", b"project/../../f3.md"))
    meta(4).write_bytes(re.sub(rb"after = \w+", b"", meta(4).read_bytes()))
    meta(5).unlink()
    meta(5).symlink_to(meta(6))
    meta(6).write_bytes(re.sub(rb"at = .*", b"at = 0001-01-01T00:00:00+10:00", meta(6).read_bytes()))
    found = history.entries()
    assert [entry.id for entry in found] == [ids[8], ids[7]]
    assert len(history.problems) == 7
    assert all(str(meta(6 - place)) in line for place, line in enumerate(history.problems))
    history.undo()
    history.undo()
    before = on_disk(history.where)
    with pytest.raises(MemoryRefused, match=r"no change of memory to undo .*is damaged"):
        history.undo()
    assert on_disk(history.where) == before
    assert change(history, f7=b"2\n") is not None


@pytest.mark.parametrize("damage", [b"", b"2\nx", None])
def test_a_damaged_copy_is_not_put_back(history: History, damage: bytes | None) -> None:
    change(history, a=b"1\n", b=b"1\n")
    entry = change(history, a=b"2\n", b=b"2\n")
    assert entry is not None
    copy = entry.folder / "files/project/b.md"
    copy.unlink()
    if damage is not None:
        copy.write_bytes(damage)
    before = on_disk(history.where)
    with pytest.raises(MemoryRefused, match=r"the copy .*b\.md is damaged or gone"):
        history.undo()
    assert on_disk(history.where) == before
    assert not history.entries()[0].undone


def test_what_lies_in_the_history_and_is_no_entry_is_left_alone(history: History) -> None:
    change(history, a=b"1\n")
    note = write(history.folder, "a note of mine", b"mine")
    (history.folder / "2026-01-01T00-00-00.000000Z").write_bytes(b"a file")
    change(history, a=b"2\n")
    assert len(history.entries()) == 2
    assert "2026-01-01" in history.problems[0]
    assert note.read_bytes() == b"mine"


def test_a_state_directory_that_takes_nothing_leaves_memory_as_it_is(desk: Desk) -> None:
    where = desk.made("p")
    desk.places.state.mkdir(parents=True, exist_ok=True)
    blocked = write(desk.places.state, "refinements", b"no folder")
    history = History(where, desk.places.state)
    before = on_disk(where)
    with pytest.raises(
        MemoryRefused, match=re.escape(f"Memory is not changed: {blocked} is not a directory")
    ):
        change(history, a=b"1\n")
    assert on_disk(where) == before
    assert history.entries() == []
    assert "refinements" in history.problems[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("closed", ["state/refinements", "config/projects/NAME/memory", "config/memory"])
def test_folders_that_cannot_be_written(closed: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As nobody, whom modes bind: a change, then the folder is closed, then a change and an undo."""
    script = """
import os, sys
from pathlib import Path
from tau.config.settings import Places
from tau.errors import MemoryRefused
from tau.memory import entries
from tau.memory.entries import Source
from tau.memory.history import History
from tau.memory.places import find
from tau.memory.project import ensure
from tests.memory.test_history import on_disk
top = Path(sys.argv[1])
os.chdir("/")
os.environ["HOME"] = str(top)
os.setgid(65534); os.setuid(65534)
(top / "p").mkdir()
where = ensure(find(top / "p", Places(data=top / "data", state=top / "state", config=top / "config")))[0]
history = History(where, top / "state")
def change(data):
    titles = {"project/a.md": data, "global/b.md": data}
    return history.change(titles, sentences={}, source=Source("s", 1, "manual"))
change(b"1")
closed = top / sys.argv[2].replace("NAME", where.project.name)
for path in [closed, *closed.rglob("*")]:
    if path.is_dir():
        path.chmod(0o500)
before, log = on_disk(where), entries.log(history.entries())
for action in (lambda: change(b"2"), history.undo):
    try:
        action()
    except MemoryRefused as error:
        print(error.line())
    assert on_disk(where) == before
    assert entries.log(history.entries()) == log
closed.chmod(0o700)
for path in closed.rglob("*"):
    if path.is_dir():
        path.chmod(0o700)
change(b"2"); history.undo(); history.undo()
assert "global/b.md" not in on_disk(where)
"""
    base = tmp_path_factory.mktemp("nobody")
    for path in (base, *base.parents):
        if path.stat().st_mode & 0o005 != 0o005 and path.name.startswith(("nobody", "pytest-", "popen-")):
            path.chmod(path.stat().st_mode | 0o005)
    os.chown(base, 65534, 65534)
    done = subprocess.run(
        [sys.executable, "-c", script, str(base), closed], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("cannot be written" in line or "ermission denied" in line for line in lines)
