"""Saves of several files that are taken back whole, whoever else writes and wherever the process ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tau.errors import JournalRefused
from tau.journal.contexts import LogPlace
from tau.journal.markdown import Change, Markdown
from tau.journal.saves import KEPT, Saves
from tau.sessions import file_system as fs

BEFORE = {"acme/context.md": b"# acme\r\n\r\n- mine", "shared/context.md": b"# shared\n"}


def _has(tmp_path: Path) -> Saves:
    for name, data in BEFORE.items():
        path = tmp_path / ".session-log" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return Saves(tmp_path / "state", tmp_path / ".session-log")


def _files(saves: Saves) -> dict[str, bytes]:
    return {
        str(path.relative_to(saves.folder)): path.read_bytes()
        for path in saves.folder.rglob("*")
        if path.is_file()
    }


def _adding(text: str) -> Change:
    def change(document: Markdown) -> None:
        document.insert(len(document.lines()), text)

    return change


def _save(saves: Saves, text: str = "one") -> None:
    """Four files and a new folder, one of them in two steps."""
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        assert place.create("acme", f"{text}.md", data=b"# Log\n")
        place.edit("shared", "context.md", change=_adding(text))
        place.edit("acme", "context.md", change=_adding(text))
        place.edit("acme", "context.md", change=_adding(f"{text} more"))
        place.edit(text, "context.md", change=_adding(text), create=b"# new\n")


def test_a_file_that_is_as_a_new_one_would_be_is_put_back_and_not_removed(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("shared", "context.md", change=_adding("new"), create=BEFORE["shared/context.md"])
    assert saves.undo().restored == ["shared/context.md"]
    assert _files(saves) == BEFORE


def test_what_another_one_writes_between_two_steps_is_never_lost(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    path = saves.folder / "acme" / "context.md"
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("acme", "context.md", change=_adding("one"))
        path.write_bytes(path.read_bytes() + b"\ntheirs\n")
        place.edit("shared", "context.md", change=_adding("one"))
        place.edit("acme", "context.md", change=_adding("two"))
    there = _files(saves)
    with pytest.raises(
        JournalRefused, match=r"acme/context\.md was changed by somebody else while it was made"
    ):
        saves.undo()
    assert _files(saves) == there


def test_a_step_that_another_writer_has_made_anew_is_kept_as_it_was_made(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    path = saves.folder / "acme" / "context.md"
    theirs = [b"# theirs\n"]

    def change(document: Markdown) -> None:
        if theirs:
            path.write_bytes(theirs.pop())
        document.insert(len(document.lines()), "one")

    with saves.saving("2026-01-15 10:00", "amber") as save:
        LogPlace(saves.folder, there=True, save=save).edit("acme", "context.md", change=change)
    assert path.read_bytes() == b"# theirs\n\none\n"
    saves.undo()
    assert path.read_bytes() == b"# theirs\n"


def test_a_step_that_is_not_made_is_none_of_the_save(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    (saves.folder / "acme" / "taken.md").write_bytes(b"theirs")
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        assert not place.create("acme", "taken.md", data=b"# Log\n")
        assert not save.wrote
    (kept,) = (tmp_path / "state" / "journal" / "saves").iterdir()
    assert not list(kept.iterdir()), "a save that changed nothing is none"
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("shared", "context.md", change=_adding("one"))
        (saves.folder / "acme" / "context.md").chmod(0o444)
        with pytest.raises(JournalRefused, match="write-protected"):
            place.edit("acme", "context.md", change=_adding("one"))
    undone = saves.undo()
    assert (undone.restored, undone.removed) == (["shared/context.md"], [])
    assert _files(saves) == {**BEFORE, "acme/taken.md": b"theirs"}


def test_a_save_that_is_being_made_is_not_taken_back(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    with saves.saving("2026-01-15 10:00", "amber") as save:
        LogPlace(saves.folder, there=True, save=save).edit("acme", "context.md", change=_adding("one"))
        there = _files(saves)
        with pytest.raises(JournalRefused, match="is being saved into right now"):
            saves.undo()
        assert _files(saves) == there
    saves.undo()
    assert _files(saves) == BEFORE


@pytest.mark.parametrize("name", ["shared/context.md", "one.md", "one/context.md"])
def test_nothing_is_touched_where_one_file_was_changed_or_removed(tmp_path: Path, name: str) -> None:
    saves = _has(tmp_path)
    _save(saves)
    path = saves.folder / ("acme/one.md" if name == "one.md" else name)
    path.unlink()
    there = _files(saves)
    if name == "shared/context.md":
        with pytest.raises(JournalRefused, match="was changed since, so nothing is put back"):
            saves.undo()
        assert _files(saves) == there
    else:  # what was removed by hand is as it was before
        saves.undo()
        assert _files(saves) == BEFORE
        assert not (saves.folder / "one").exists()


def test_a_file_that_is_as_half_of_the_save_left_it_was_changed_since(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    path = saves.folder / "acme" / "context.md"
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("acme", "context.md", change=_adding("one"))
        half = path.read_bytes()
        place.edit("acme", "context.md", change=_adding("two"))
    path.write_bytes(half)
    with pytest.raises(JournalRefused, match="was changed since, so nothing is put back"):
        saves.undo()
    assert path.read_bytes() == half


def test_nothing_is_touched_where_one_file_takes_no_writes(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    _save(saves)
    there = _files(saves)
    path = saves.folder / "acme" / "context.md"
    path.chmod(0o444)
    with pytest.raises(JournalRefused, match=r"context\.md cannot be put back: it is write-protected"):
        saves.undo()
    assert _files(saves) == there
    path.chmod(0o644)
    saves.undo()
    assert _files(saves) == BEFORE


def test_only_the_newest_saves_are_kept(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    for number in range(KEPT + 3):
        with saves.saving("2026-01-15 10:00", "amber") as save:
            LogPlace(saves.folder, there=True, save=save).edit(
                "acme", "context.md", change=_adding(str(number))
            )
    (kept,) = (tmp_path / "state" / "journal" / "saves").iterdir()
    assert len(list(kept.iterdir())) == KEPT
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "state").rglob("*"))
    saves.undo()
    assert f"\n{KEPT + 2}\n".encode() not in _files(saves)["acme/context.md"]


ENDS = """
import os, sys
from pathlib import Path
from tests.journal.test_saves import Saves, _save
left, what, base = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
def hook(event, args):
    global left
    if event in ("os.rename", "os.link", "os.remove"):
        left -= 1
        if left < 0:
            os._exit(9)
saves = Saves(base / "state", base / ".session-log")
sys.addaudithook(hook)
_save(saves, "two") if what == "save" else saves.undo()
"""


@pytest.mark.parametrize("what", ["save", "undo"])
def test_wherever_the_process_ends_the_next_undo_takes_it_back_and_nothing_else(
    tmp_path: Path, what: str
) -> None:
    """It ends right before each change of a name in turn; the save before it stands."""
    codes = []
    for number in range(0, 60, 2):
        base = tmp_path / str(number)
        base.mkdir()
        saves = _has(base)
        _save(saves, "one")
        earlier = _files(saves)
        if what == "undo":
            _save(saves, "two")
        ran = subprocess.run(
            [sys.executable, "-c", ENDS, str(number), what, str(base)], check=False, capture_output=True
        )
        assert ran.returncode in (0, 9), ran.stderr
        codes.append(ran.returncode)
        if ran.returncode == 0:
            break
        if _files(saves) != earlier or what == "undo":
            saves.undo()
        assert _files(saves) == earlier
    assert codes[-1] == 0
    assert len(codes) > 5


INTERFERES = """
import os, sys
from pathlib import Path
from tau.errors import JournalRefused
from tests.journal.test_saves import Saves
base = Path(sys.argv[1])
theirs = base / ".session-log" / "shared" / "context.md"
def hook(event, args):
    if event == "os.remove" and args[0] == "context.md":  # the first of them
        theirs.write_bytes(b"# theirs")
saves = Saves(base / "state", base / ".session-log")
sys.addaudithook(hook)
try:
    saves.undo()
except JournalRefused as error:
    print(error.message)
"""


def test_what_is_changed_while_it_is_taken_back_leaves_all_as_it_was(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    _save(saves)
    there = _files(saves)
    ran = subprocess.run(
        [sys.executable, "-c", INTERFERES, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "shared/context.md cannot be put back: it was changed since" in ran.stdout
    assert _files(saves) == {**there, "shared/context.md": b"# theirs"}
    (saves.folder / "shared" / "context.md").write_bytes(there["shared/context.md"])
    saves.undo()
    assert _files(saves) == BEFORE


def _newest(saves: Saves) -> Path:
    """Where the newest save is kept."""
    (kept,) = (saves.folder.parent / "state" / "journal" / "saves").iterdir()
    return max(kept.iterdir())


def test_an_end_that_cannot_be_noted_leaves_the_save_as_it_is(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    with saves.saving("2026-01-15 10:00", "amber") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("acme", "context.md", change=_adding("one"))
        place.edit("acme", "context.md", change=_adding("two"))
        in_the_way = _newest(saves) / fs.temporary_name("save.json")
        in_the_way.mkdir()
        before = _files(saves)
        with pytest.raises(JournalRefused, match=r"shared/context\.md held cannot be kept, so it stays"):
            place.edit("shared", "context.md", change=_adding("one"))
        assert _files(saves) == before
    assert save.trouble.startswith("It can be taken back, but that it ended is not noted: ")
    assert _files(saves) == before
    with pytest.raises(JournalRefused, match="cannot be used") as refused:
        saves.undo()
    assert "nothing was changed" not in refused.value.line()
    in_the_way.rmdir()
    saves.undo()
    assert _files(saves) == BEFORE


def test_a_save_that_is_not_taken_back_says_how_to_go_on(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    for text in ("one", "two"):
        with saves.saving("2026-01-15 10:00", "amber") as save:
            place = LogPlace(saves.folder, there=True, save=save)
            place.edit("acme" if text == "one" else "shared", "context.md", change=_adding(text))
    theirs = saves.folder / "shared" / "context.md"
    theirs.write_bytes(b"# theirs\n")
    newest = _newest(saves)
    with pytest.raises(JournalRefused, match=r"shared/context\.md was changed since") as refused:
        saves.undo()
    assert f"remove {newest} to leave that save as it is" in refused.value.line()
    shutil.rmtree(newest)
    assert saves.undo().restored == ["acme/context.md"]
    assert _files(saves) == {**BEFORE, "shared/context.md": b"# theirs\n"}


def test_lines_from_many_sides_are_all_said(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    with saves.saving("2026-01-15 10:00", "amber") as save:
        LogPlace(saves.folder, there=True, save=save).edit("acme", "context.md", change=_adding("one"))
    lines = [str(number) for number in range(60)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(save.also, [*lines, *lines]))
    assert sorted(saves.undo().also) == sorted(lines)


def test_a_damaged_index_is_a_line_that_says_how_to_go_on(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    with saves.saving("2026-01-15 10:00", "amber") as save:
        LogPlace(saves.folder, there=True, save=save).edit("acme", "context.md", change=_adding("one"))
    index = _newest(saves) / "save.json"
    index.write_text("{")
    for ask in (lambda: save.also("more"), saves.undo):
        with pytest.raises(JournalRefused) as refused:
            ask()
        assert refused.value.line().startswith(
            f"{index} is damaged (remove {index.parent} to leave that save"
        )
    assert saves.unfinished() == ""


@pytest.mark.parametrize("left", [b"", None])
def test_a_copy_that_is_not_what_was_kept_is_never_put_back(tmp_path: Path, left: bytes | None) -> None:
    saves = _has(tmp_path)
    _save(saves)
    (copy,) = (each for each in _newest(saves).iterdir() if each.read_bytes() == BEFORE["acme/context.md"])
    copy.unlink() if left is None else copy.write_bytes(left)
    saved = _files(saves)
    with pytest.raises(JournalRefused) as refused:
        saves.undo()
    assert f"{copy} is damaged (remove {copy.parent} to leave that save" in refused.value.line()
    assert _files(saves) == saved


def test_what_is_kept_is_on_disk_before_a_file_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves, synced = _has(tmp_path), set[int]()
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    _save(saves)
    kept = list(_newest(saves).iterdir())
    assert kept
    assert {path.stat().st_ino for path in kept} <= synced


FACT = "- the fact"


@pytest.mark.parametrize("goes_on", [False, True])
def test_an_undo_that_is_cut_short_leaves_what_moved_in_one_of_the_files(
    tmp_path: Path, goes_on: bool
) -> None:
    """The file that the fact leaves is changed after the one it moves to; with `goes_on` also before."""
    codes, half = [], 0
    for number in range(30):
        base = tmp_path / str(number)
        base.mkdir()
        saves = _has(base)
        acme = saves.folder / "acme" / "context.md"
        acme.write_text(f"# acme\n{FACT}\n")
        before = _files(saves)
        with saves.saving("2026-01-15 10:00", "amber") as save:
            place = LogPlace(saves.folder, there=True, save=save)
            if goes_on:
                place.edit("acme", "context.md", change=_adding("more"))
            place.edit("shared", "context.md", change=_adding(FACT))
            place.edit("acme", "context.md", change=lambda document: document.become(b"# acme\n"))
        assert saves.unfinished() == ""
        ran = subprocess.run([sys.executable, "-c", ENDS, str(number), "undo", str(base)], check=False)
        codes.append(ran.returncode)
        assert FACT.encode() in acme.read_bytes() + (saves.folder / "shared" / "context.md").read_bytes()
        if ran.returncode == 0:
            break
        if saves.unfinished():
            half += 1
            assert saves.unfinished() == "2026-01-15 10:00"
        saves.undo()
        assert saves.unfinished() == ""
        left = {name: data for name, data in _files(saves).items() if not name.endswith(".tmp")}
        assert left == before
    assert codes[-1] == 0
    assert half > 2


FULL = """
import sys
from pathlib import Path
from tests.journal.test_saves import Saves
writes = 0
def hook(event, args):
    global writes
    if event == "os.rename" and args[1] == "save.json":
        writes += 1
        if writes == 2:
            raise OSError(28, "No space left on device")
base = Path(sys.argv[1])
saves = Saves(base / "state", base / ".session-log")
sys.addaudithook(hook)
print(*saves.undo().also)
"""


def test_an_undo_that_cannot_be_noted_is_done_and_says_so(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    _save(saves)
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert ran.stdout.startswith("That it was taken back is not noted, so /wrap undo does it once more: ")
    assert _files(saves) == BEFORE
    assert saves.undo().restored
    assert saves.unfinished() == ""
    assert _files(saves) == BEFORE


def test_a_save_that_was_put_back_by_hand_is_said_and_the_one_before_it_stays(tmp_path: Path) -> None:
    saves = _has(tmp_path)
    _save(saves, "one")
    there = _files(saves)
    with saves.saving("2026-01-16 10:00", "heron") as save:
        place = LogPlace(saves.folder, there=True, save=save)
        place.edit("acme", "context.md", change=_adding("two"))
    (saves.folder / "acme" / "context.md").write_bytes(there["acme/context.md"])
    undone = saves.undo()
    assert (undone.called, undone.restored, undone.removed) == ("heron", [], [])
    assert "Nothing was left to put back" in undone.also[0]
    assert _files(saves) == there
    assert saves.undo().called == "amber"
    assert _files(saves) == BEFORE
