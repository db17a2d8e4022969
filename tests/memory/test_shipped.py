"""The documents that come with tau: each handed over once, and never again the person's own business."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import cast

import pytest

from tau.errors import MemoryRefused
from tau.memory.documents import front_matter, read
from tau.memory.labels import label_of
from tau.memory.places import MemoryPlaces
from tau.memory.project import CONTENTS, init
from tau.memory.shipped import FOLDER, seed
from tests.memory.conftest import Desk, write

NAMES = [
    "asking-the-user.md",
    "read-before-edit.md",
    "task-discipline.md",
    "verify-before-commit.md",
    "worktree-isolation.md",
]
TITLES = [f"global/{name}" for name in NAMES]


def test_the_first_start_writes_five_and_the_next_none(desk: Desk) -> None:
    where = desk.find("quail")
    before = os.umask(0)
    try:
        assert seed(where) == TITLES
    finally:
        os.umask(before)
    documents, problems = read(where)
    assert problems == []
    assert [document.title for document in documents] == TITLES
    assert all(document.builtin for document in documents)
    assert (where.shared / ".seeded").read_text() == "".join(f"{name}\n" for name in NAMES)
    assert stat.S_IMODE(where.shared.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in where.shared.iterdir()} == {0o600}
    assert seed(where) == []


def test_what_the_person_made_of_them_stays(desk: Desk) -> None:
    where = desk.find("quail")
    write(where.shared, NAMES[0], "my own\n")
    assert seed(where) == TITLES[1:]
    adopted = where.shared / NAMES[1]
    adopted.write_text(adopted.read_text().replace("builtin: true\n", ""))
    (where.shared / NAMES[2]).unlink()
    (where.shared / NAMES[3]).write_text("")
    (where.shared / NAMES[0]).unlink()
    before = {path.name: path.read_bytes() for path in where.shared.iterdir()}
    assert seed(where) == []
    assert {path.name: path.read_bytes() for path in where.shared.iterdir()} == before
    assert [document.builtin for document in read(where)[0]] == [False, False, True]


def test_a_later_version_hands_over_what_is_new_alone(desk: Desk) -> None:
    where = desk.find("quail")
    write(where.shared, ".seeded", "\n".join(["gone.md", *NAMES[:3]]))  # a hand edit left no end of line
    assert seed(where) == TITLES[3:]
    assert (where.shared / ".seeded").read_text().split() == ["gone.md", *NAMES]


def test_what_was_written_before_a_crash_is_not_written_again_once_deleted(desk: Desk) -> None:
    where = desk.find("quail")
    write(where.shared, NAMES[0], (FOLDER / NAMES[0]).read_bytes())  # and the list was never reached
    assert seed(where) == TITLES[1:]
    (where.shared / NAMES[0]).unlink()
    assert seed(where) == []


def test_when_nothing_is_due_nothing_is_written(desk: Desk) -> None:
    where = desk.find("quail")
    write(where.shared, ".seeded", "\n".join(NAMES))
    before = where.shared.stat().st_mtime_ns
    assert seed(where) == []
    assert [path.name for path in where.shared.iterdir()] == [".seeded"]
    assert where.shared.stat().st_mtime_ns == before


def test_a_list_that_is_a_link_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    where = desk.find("quail")
    where.shared.mkdir(parents=True)
    (where.shared / ".seeded").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemoryRefused) as caught:
        seed(where)
    assert caught.value.line() == (
        f"The documents that come with tau cannot be written to {where.shared}:"
        " a symbolic link, which is never followed"
    )
    assert not (tmp_path / "elsewhere").exists()
    assert read(where) == ([], [])


def test_two_processes_hand_each_over_once(desk: Desk) -> None:
    code = f"""
import sys
from pathlib import Path
from tau.config.settings import Places
from tau.memory.places import find
from tau.memory.shipped import seed
base = Path({str(desk.places.config.parent)!r})
places = Places(data=base / "data", state=base / "state", config=base / "config")
where = find(Path({str(desk.directory("quail"))!r}), places)
print("ready", flush=True)
sys.stdin.readline()
print(*seed(where), sep="\\n")
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=30)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sorted(said[0] + said[1]) == TITLES
    assert (desk.find("quail").shared / ".seeded").read_text().split() == NAMES


@pytest.mark.parametrize("action", [seed, init])
def test_killed_on_the_way_no_file_is_there_in_part(
    quick_desk: Desk, action: Callable[[MemoryPlaces], object]
) -> None:
    """Whenever a process dies that hands documents over, or makes what a project's folder lacks."""
    where = quick_desk.made("p")
    whole = {name: (FOLDER / name).read_bytes() for name in NAMES}
    whole |= {path.rpartition("/")[2]: data for path, data in CONTENTS.items() if data is not None}
    for path in (where.memory / "project.md", where.project / "subagents/README.md"):
        path.unlink()
    saved = quick_desk.top.with_name("saved")
    shutil.copytree(where.root, saved)
    for at in count(1):
        shutil.rmtree(where.root)
        shutil.copytree(saved, where.root)
        killed = _killed(action, where, at)
        found = [path for path in where.root.rglob("*.md") if not path.name.startswith(".")]
        assert all(path.read_bytes() == whole[path.name] for path in found)
        if not killed:
            assert at > 6
            break
    assert {path.name for path in found} >= ({*NAMES} if action is seed else {"project.md"})


def _killed(action: Callable[[MemoryPlaces], object], where: MemoryPlaces, at: int) -> bool:
    """Run an action in a process of its own that is killed after the `at`-th file was opened or named.

    Returns:
        Whether it was; False when there were fewer.
    """
    child = os.fork()
    if child == 0:
        asked = 0

        def ask(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal asked
            writes = event == "open" and cast("int", arguments[2]) & (os.O_WRONLY | os.O_RDWR)
            if event in ("os.link", "os.rename", "os.remove") or writes:
                asked += 1
                if asked > at:
                    os.kill(os.getpid(), signal.SIGKILL)

        real = os.write

        def half(descriptor: int, data: bytes) -> int:
            """Write, and die half way where it is that file's turn."""
            if asked == at:
                real(descriptor, bytes(data)[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(descriptor, data)

        os.write = half  # type: ignore[assignment]  # of this process alone, which ends here
        sys.addaudithook(ask)
        action(where)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_each_is_short_and_in_the_package() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == NAMES
    for name in NAMES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        keys, body = front_matter(text)
        assert keys == {"builtin": "true"}
        assert body.startswith("# ")
        assert 8 <= len(text.splitlines()) <= 25
        assert max(map(len, text.splitlines())) <= 120
        label_of(name)
