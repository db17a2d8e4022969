"""A process killed while it changes memory, or undoes: before each change that it asks of the disk."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import cast

import pytest

from tau.errors import MemoryRefused
from tau.memory import entries
from tau.memory.entries import Entry, Source
from tau.memory.history import History
from tests.memory.conftest import Desk, write
from tests.memory.test_history import on_disk

SOURCE = Source("s", 3, "automatic")
BEFORE = {"project/a.md": b"a1\n", "project/b.md": b"b1\n", "global/x.md": b"x1\n", "global/y.md": b"y1\n"}
WANTED = {"project/a.md": b"a2\n", "project/b.md": None, "project/c.md": b"c2\n", "global/x.md": b"x2\n"}
HAND = b"by hand\n"
ASKS = frozenset(("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod"))
"""What Python reports before it asks the system for it and changes a disk, beside opening to write."""


class Scene:
    """A memory of two entries, in a folder that is put back as it was for each way to die."""

    def __init__(self, desk: Desk) -> None:
        self.live = desk.places.config.parent
        self._saved = self.live.with_name("saved")
        self._desk = desk
        history = self.history()
        history.change(dict.fromkeys(BEFORE, b"0\n"), sentences={}, source=SOURCE)
        history.change(BEFORE, sentences={}, source=SOURCE)
        self.others = {
            title: data for title, data in on_disk(history.where).items() if title not in BEFORE | WANTED
        }
        self.save()

    def history(self) -> History:
        return History(self._desk.made("p"), self._desk.places.state)

    def save(self) -> None:
        """Begin from here each time."""
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(self.live, self._saved, symlinks=True)

    def deaths(self, action: Callable[[History], object]) -> Iterator[History]:
        """For each change that an action asks of the disk: what there is after a process died before it."""
        for at in count(1):
            ended = self._run(action, at, lambda: os.kill(os.getpid(), signal.SIGKILL))
            if ended is not None:
                assert at > 20
                return
            yield self.history()

    def failures(self, action: Callable[[History], object], times: int) -> Iterator[tuple[History, str]]:
        """For each change that an action asks of the disk: what there is when it, and some after it, failed.

        Args:
            action: The action.
            times: How many changes fail, one after the other.

        Yields:
            The history, and what the person was told; empty when all went well.
        """

        def fail() -> None:
            raise OSError(errno.EIO, "the disk is broken")

        for at in count(1):
            told = self._run(action, at, fail, times)
            assert told is not None
            if told == "not asked":
                assert at > 20
                return
            yield self.history(), told

    def edits(
        self, action: Callable[[History], object], edit: Callable[[], object]
    ) -> Iterator[tuple[History, str]]:
        """The same where a person edits a file in the middle of the action."""
        for at in count(1):
            told = self._run(action, at, edit)
            assert told is not None
            if told == "not asked":
                assert at > 20
                return
            yield self.history(), told

    def _run(
        self, action: Callable[[History], object], at: int, then: Callable[[], object], times: int = 1
    ) -> str | None:
        """Run an action in a process of its own, with something that happens before the `at`-th change.

        Returns:
            What the person was told; ``not asked`` when there were fewer changes; None for a killed process.
        """
        shutil.rmtree(self.live)
        shutil.copytree(self._saved, self.live, symlinks=True)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            asked = 0

            def ask(event: str, arguments: tuple[object, ...]) -> None:
                nonlocal asked
                writes = event == "open" and cast("int", arguments[2]) & (os.O_WRONLY | os.O_RDWR)
                if event in ASKS or writes:
                    asked += 1
                    if at <= asked < at + times:
                        then()

            told = "a defect"
            try:
                history = self.history()
                sys.addaudithook(ask)
                action(history)
                told = "" if asked >= at else "not asked"
            except MemoryRefused as error:
                told = error.line()
            finally:
                os.write(writing, told.encode())
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as file:
            told = file.read().decode()
        status = os.waitpid(child, 0)[1]
        return None if os.WIFSIGNALED(status) else told

    def files(self, history: History) -> dict[str, bytes | None]:
        """The files of the change; all others must be as they were, but for copies with a dot."""
        found = on_disk(history.where)
        for title, data in self.others.items():
            assert found.pop(title) == data
        assert found.pop("global/y.md") == b"y1\n"
        return {title: found.get(title) for title in WANTED}


def _change(history: History) -> Entry | None:
    return history.change(WANTED, sentences=dict.fromkeys(WANTED, "because"), source=SOURCE)


def _changed(history: History) -> tuple[str, ...]:
    """The files that the log says were changed by the entry after the first two; none without one."""
    found = history.entries()
    assert history.problems == []
    assert len(found) in (2, 3)
    if len(found) == 2:
        return ()
    assert found[0].interrupted == (len(found[0].changes) < len(WANTED))
    assert not found[0].undone
    return tuple(change.title for change in found[0].changes)


def _tidy(history: History) -> None:
    """Nothing is left of the process that died, once another one has held the lock."""
    assert [title for title in on_disk(history.where) if "/." in title] == []
    assert [path for path in history.folder.iterdir() if path.name.startswith(".")] == []
    for entry in history.entries():
        assert sorted(path.name for path in entry.folder.iterdir()) == ["files", "meta.cfg", "written"]


def test_killed_in_a_change(quick_desk: Desk) -> None:
    """Each file is as before or as after, the log says which, and undo takes exactly that back."""
    scene = Scene(quick_desk)
    seen = set()
    for history in scene.deaths(_change):
        now = scene.files(history)
        assert all(data in (BEFORE.get(title), WANTED[title]) for title, data in now.items())
        changed = tuple(sorted(title for title, data in now.items() if data != BEFORE.get(title)))
        assert _changed(history) == changed
        seen.add(len(changed))
        history.change({"project/d.md": b"d\n"}, sentences={}, source=SOURCE)
        _tidy(history)
        assert (history.where.memory / "d.md").read_bytes() == b"d\n"
        history.undo()
        assert scene.files(history) == now
        assert [each.title for each in history.undo().entry.changes] == list(changed or sorted(BEFORE))
        if changed:
            assert scene.files(history) == {title: BEFORE.get(title) for title in WANTED}
        _tidy(history)
    assert seen == {0, 1, 2, 3, 4}


def test_killed_in_a_change_before_hand_edits(quick_desk: Desk) -> None:
    """What a person writes before anybody looks stays, and does not change what the log says happened."""
    scene = Scene(quick_desk)
    for history in scene.deaths(_change):
        now = scene.files(history)
        changed = tuple(sorted(title for title, data in now.items() if data != BEFORE.get(title)))
        for title in WANTED:
            scope, name = title.split("/")
            write(history.where.shared if scope == "global" else history.where.memory, name, f"hand {title}")
        by_hand = scene.files(history)
        assert _changed(history) == changed
        with pytest.raises(MemoryRefused, match="was changed since"):
            history.undo()
        assert scene.files(history) == by_hand
        assert _changed(history) == changed
        _tidy(history)


def test_killed_in_an_undo(quick_desk: Desk) -> None:
    """Each file is as before or as after, and undoing again ends what was begun."""
    scene = Scene(quick_desk)

    def action(history: History) -> None:
        history.undo()

    _change(scene.history())
    scene.save()
    seen = set()
    for history in scene.deaths(action):
        now = scene.files(history)
        assert all(data in (BEFORE.get(title), WANTED[title]) for title, data in now.items())
        standing = {title for title, data in now.items() if data != BEFORE.get(title)}
        newest = history.entries()[0]
        assert len(history.entries()) == 3
        assert newest.undone == (not standing)
        assert entries.log([newest])[0].endswith("(undone)") == (not standing)
        seen.add(len(standing))
        undone = history.undo()
        if standing:
            assert undone.entry.id == newest.id
            assert {*undone.restored, *undone.removed} == standing
            assert {*undone.already} == {*WANTED} - standing
            assert scene.files(history) == {title: BEFORE.get(title) for title in WANTED}
        _tidy(history)
    assert seen == {0, 1, 2, 3, 4}


def _edit_by_hand(scene: Scene) -> dict[str, bytes | None]:
    """Edit two files of the newest change, and have every run begin there. Returns what its files hold."""
    history = scene.history()
    write(history.where.memory, "a.md", HAND)
    write(history.where.memory, "b.md", b"anew\n")
    scene.save()
    return scene.files(history)


def _undo_over_edits(history: History) -> Entry:
    return history.undo(going_over=Source("s", 1, "edit")).entry


def _kept(history: History) -> list[bytes]:
    """Edits of the first file that the history keeps."""
    kept = [entry for entry in history.entries() if entry.source.how == "edit"]
    assert all(entry.undone for entry in kept)
    copies = [entry.folder / "written/project/a.md" for entry in kept]
    return [path.read_bytes() for path in copies if path.exists()]


def test_killed_in_an_undo_over_a_hand_edit(quick_desk: Desk) -> None:
    """The edit is in its file, or the history keeps it; and undoing again ends what was begun."""
    scene = Scene(quick_desk)
    _change(scene.history())
    by_hand = _edit_by_hand(scene)
    before = {title: BEFORE.get(title) for title in WANTED}
    seen = set()
    for history in scene.deaths(_undo_over_edits):
        now = scene.files(history)
        assert all(data in (before[title], by_hand[title]) for title, data in now.items())
        seen.add(now["project/a.md"] == HAND)
        if now["project/a.md"] != HAND:
            assert HAND in _kept(history)
        if now != before:
            _undo_over_edits(history)
        assert scene.files(history) == before
        assert HAND in _kept(history)
        history.change({"project/d.md": b"d\n"}, sentences={}, source=SOURCE)
        _tidy(history)
    assert seen == {True, False}


@pytest.mark.parametrize("times", [1, 1_000])
def test_a_disk_that_fails_in_an_undo_over_a_hand_edit(quick_desk: Desk, times: int) -> None:
    """It is undone and the edit kept, or nothing is touched; where it is in between, that is said."""
    scene = Scene(quick_desk)
    _change(scene.history())
    by_hand = _edit_by_hand(scene)
    before = {title: BEFORE.get(title) for title in WANTED}
    for history, told in scene.failures(_undo_over_edits, times):
        now = scene.files(history)
        if not told:
            assert now == before
            assert _kept(history) == [HAND]
        elif "changed in part" in told:
            assert times > 1
            assert HAND in (now["project/a.md"], *_kept(history))
        else:
            assert now == by_hand
            assert _kept(history) in ([], [HAND])


@pytest.mark.parametrize("times", [1, 1_000])
def test_a_disk_that_fails_in_a_change(quick_desk: Desk, times: int) -> None:
    """What was changed is put back; where even that fails, the files that are changed are named."""
    scene = Scene(quick_desk)
    before = {title: BEFORE.get(title) for title in WANTED}
    parts = 0
    for history, told in scene.failures(_change, times):
        now = scene.files(history)
        changed = tuple(sorted(title for title, data in now.items() if data != BEFORE.get(title)))
        assert all(data in (BEFORE.get(title), WANTED[title]) for title, data in now.items())
        assert _changed(history) == changed
        if not told:
            assert now == WANTED
        elif "changed in part" in told:
            parts += 1
            assert times > 1
            assert f"changed in part: {', '.join(changed)} could not be put back" in told
        else:
            assert "the disk is broken" in told
            assert now == before
        history.change({"project/d.md": b"d\n"}, sentences={}, source=SOURCE)
        _tidy(history)
        history.undo()
        history.undo()
        assert all(scene.files(history)[title] == before[title] for title in changed)
    assert (parts > 0) == (times > 1)


@pytest.mark.parametrize("times", [1, 1_000])
def test_a_disk_that_fails_in_an_undo(quick_desk: Desk, times: int) -> None:
    """It is undone, or it is not and the person is told so; undoing again does it."""
    scene = Scene(quick_desk)
    _change(scene.history())
    scene.save()
    before = {title: BEFORE.get(title) for title in WANTED}
    for history, told in scene.failures(lambda history: history.undo(), times):
        now = scene.files(history)
        newest = history.entries()[0]
        if not told:
            assert now == before
        elif "changed in part" in told:
            assert times > 1
        else:
            assert now == WANTED
        assert newest.undone == (now == before)
        if not newest.undone:
            assert history.undo().entry.id == newest.id
            assert scene.files(history) == before
            _tidy(history)


@pytest.mark.parametrize(
    ("title", "how"),
    [
        ("project/a.md", "in place"),
        ("project/b.md", "in place"),
        ("project/c.md", "in place"),
        ("project/a.md", "by rename"),
    ],
)
def test_a_hand_edit_in_the_middle_is_not_lost(quick_desk: Desk, title: str, how: str) -> None:
    """Whenever it comes: either nothing else is changed, or it came after the change and stays.

    But for one moment: an editor that puts a new file in the place of one that the next system call replaces.
    """
    scene = Scene(quick_desk)
    expected = {each: entries.digest(BEFORE.get(each)) for each in WANTED}
    path = scene.history().where.memory / title.partition("/")[2]

    def change(history: History) -> None:
        history.change(WANTED, sentences={}, source=SOURCE, expected=expected)

    def edit() -> None:
        if how == "in place":
            path.write_bytes(b"by hand")
        else:
            write(path.parent, "~editor", "by hand").replace(path)

    outcomes, lost = set(), 0
    for history, told in scene.edits(change, edit):
        others = scene.files(history)
        if others.pop(title) != b"by hand":
            lost += 1
            assert not told
            continue
        outcomes.add(bool(told))
        if told:
            assert f"{title} was changed by something else" in told
            assert others == {each: BEFORE.get(each) for each in others}
            assert len(history.entries()) == 2
        else:
            assert others == {each: WANTED[each] for each in others}
            assert len(history.entries()) == 3
        _tidy(history)
    assert outcomes == {True, False}
    assert lost == (how == "by rename")
