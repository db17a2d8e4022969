"""Where memory lives for a directory, and the project's folder, which no two directories share."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.config.settings import Places
from tau.errors import MemoryRefused
from tau.memory.documents import read
from tau.memory.places import find, name_of
from tau.memory.project import CONTENTS, ensure, init
from tests.memory.conftest import Desk, git, write

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def test_without_a_workspace_it_is_the_configuration_directory(desk: Desk) -> None:
    where = desk.find("quail")
    config = desk.places.config
    assert (where.root, where.workspace, where.shared) == (config, False, config / "memory")
    assert where.project == config / "projects" / str(desk.top / "quail").replace("/", "-")
    assert where.memory == where.project / "memory"
    assert (where.real, where.ignored, where.notice) == (desk.top / "quail", None, "")
    assert not config.exists()


def test_eight_directories_have_eight_memories(desk: Desk) -> None:
    names = ["w/a-b", "w/a/b", "w/a_b", "w/a.b", "w/日本", "w/中国", "x/app", "y/app"]
    for name in names:
        where, made = ensure(desk.find(name))
        assert made
        write(where.memory, "where.md", name)
    for name in [*reversed(names), *names]:  # as after a restart, in whichever order
        where = desk.find(name)
        assert (where.project / "directory").read_bytes() == os.fsencode(desk.top / name) + b"\n"
        assert [document.text for document in read(where)[0] if document.name == "where.md"] == [name]
        assert ensure(where) == (where, [])
    assert len({desk.find(name).project for name in names}) == 8


def test_the_first_to_come_keeps_the_plain_name(desk: Desk) -> None:
    first, second = desk.made("w/a/b"), desk.made("w/a-b")
    assert first.project.name == name_of(desk.top / "w/a/b")
    assert second.project.name.startswith(first.project.name + "-")
    assert len(second.project.name) == len(first.project.name) + 7
    shutil.rmtree(first.project)
    assert desk.find("w/a-b").project == second.project
    assert desk.find("w/a/b").project == first.project


def test_a_folder_that_belongs_to_nobody_known_is_left_alone_and_named(desk: Desk) -> None:
    plain = desk.find("quail").project
    write(plain / "memory", "old.md", "whose is it?")
    where = desk.find("quail")
    assert where.project != plain
    assert where.notice == (
        f"{plain} is not used: it is no folder with a file `directory` that says whose memory it is;"
        f" if it is this project's, make that file hold {desk.top / 'quail'}, else move it away"
    )
    ensure(where)
    assert desk.find("quail").notice == ""
    assert read(desk.find("quail"))[0][0].name == "project.md"
    assert (plain / "memory" / "old.md").read_text() == "whose is it?"
    (plain / "directory").write_text(f"{desk.top / 'quail'}\n")
    assert desk.find("quail").project == plain


@pytest.mark.parametrize("kind", ["link", "file", "pipe", "foreign record", "linked record"])
def test_a_project_folder_is_only_what_tau_made(desk: Desk, kind: str, tmp_path: Path) -> None:
    plain = desk.find("quail").project
    plain.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    record = write(elsewhere, "directory", str(desk.top / "quail") + "\n")
    if kind == "link":
        plain.symlink_to(elsewhere)
    elif kind == "file":
        plain.write_text("x")
    elif kind == "pipe":
        plain.mkdir()
        os.mkfifo(plain / "directory")
    elif kind == "linked record":
        plain.mkdir()
        (plain / "directory").symlink_to(record)
    else:
        write(plain, "directory", "/some/where/else\n")
    where, made = ensure(desk.find("quail"))
    assert made
    assert where.project != plain
    assert sorted(path.name for path in elsewhere.iterdir()) == ["directory"]


@AS_ROOT
def test_what_another_user_owns_is_not_used(desk: Desk) -> None:
    where = desk.made("quail")
    os.chown(where.project / "directory", 12_345, 12_345)
    assert desk.find("quail").project != where.project
    tau = desk.directory("owl/.tau")
    desk.trust(tau.parent)
    os.chown(tau, 12_345, 12_345)
    assert desk.find("owl").notice == f"{tau} belongs to another user, so it is not used"
    os.chown(tau, os.geteuid(), os.getegid())
    assert desk.find("owl").root == tau


def test_a_workspace_is_used_once_its_directory_is_trusted(desk: Desk) -> None:
    tau = desk.directory("quail/.tau")
    deep = "quail/src/deep"
    where = desk.find(deep)
    assert (where.root, where.ignored) == (desk.places.config, tau)
    assert where.notice == (
        f"{tau} is not used until you trust its directory: tau trust {desk.top / 'quail'}"
    )
    desk.trust(desk.top / "quail")
    where = desk.find(deep)
    assert (where.root, where.workspace, where.shared) == (tau, True, tau / "memory")
    assert (where.ignored, where.notice) == (None, "")
    assert where.project == tau / "projects" / name_of(desk.top / deep)


def test_a_workspace_that_is_not_trusted_changes_nothing(desk: Desk) -> None:
    outer, inner = desk.directory(".tau"), desk.directory("quail/.tau")
    desk.trust(desk.top)
    where = desk.find("quail/src")
    assert (where.root, where.ignored) == (outer, inner)
    desk.trust(desk.top / "quail")
    assert desk.find("quail/src").root == inner


def test_the_search_ends_at_the_home_directory(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.directory(".tau")
    desk.trust(desk.top)
    monkeypatch.setenv("HOME", str(desk.directory("home")))
    assert desk.find("home/quail").root == desk.places.config
    assert desk.find("elsewhere").root == desk.top / ".tau"
    monkeypatch.delenv("HOME")
    assert desk.find("elsewhere").root == desk.top / ".tau"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("link", "is a link, so it is not used"),
        ("file", "is not a folder, so it is not used"),
        ("everybody's", "can be written by everybody, so it is not used: chmod o-w "),
    ],
)
def test_a_workspace_is_a_folder_of_ones_own(desk: Desk, tmp_path: Path, kind: str, reason: str) -> None:
    holder = desk.directory("quail")
    desk.trust(holder)
    tau = holder / ".tau"
    if kind == "link":
        tau.symlink_to(desk.directory("elsewhere"))
    elif kind == "file":
        tau.write_text("x")
    else:
        tau.mkdir()
        tau.chmod(0o777)
    where = desk.find("quail")
    assert (where.root, where.ignored) == (desk.places.config, tau)
    assert where.notice.startswith(f"{tau} {reason}")


def test_a_workspace_that_becomes_a_link_is_not_followed(desk: Desk) -> None:
    tau = desk.directory("quail/.tau")
    desk.trust(tau.parent)
    where = desk.find("quail")
    tau.rmdir()
    elsewhere = desk.directory("elsewhere")
    write(elsewhere / "memory", "planted.md", "x")
    tau.symlink_to(elsewhere)
    documents, problems = read(where)
    assert documents == []
    assert all(str(tau) in problem for problem in problems)
    assert problems
    with pytest.raises(MemoryRefused, match="cannot be made"):
        ensure(where)
    assert [path.name for path in elsewhere.iterdir()] == ["memory"]


def test_the_configuration_directory_may_be_a_link(desk: Desk) -> None:
    real = desk.directory("dotfiles")
    desk.places.config.parent.mkdir()
    desk.places.config.symlink_to(real)
    where = desk.made("quail")
    assert (real / "projects" / where.project.name / "memory" / "project.md").is_file()
    assert [document.name for document in read(where)[0]] == ["project.md"]


def test_worktrees_share_the_memory_of_their_repository(desk: Desk) -> None:
    main = desk.repository("main")
    tree = desk.top / "trees" / "one"
    git(main, "worktree", "add", "-q", str(tree))
    (tree / "src").mkdir()
    assert find(tree / "src", desk.places) == find(main / "src", desk.places) == desk.find("main")
    assert desk.find("main").real == main
    tau = desk.directory("main/.tau")
    desk.trust(main)
    assert find(tree / "src", desk.places).root == tau
    assert find(tree, desk.places).project == desk.find("main").project
    shutil.rmtree(tau)
    own = tree / ".tau"
    own.mkdir()
    assert find(tree, desk.places).root == own


def test_a_clone_has_a_memory_of_its_own(desk: Desk) -> None:
    main = desk.repository("main")
    git(desk.top, "clone", "-q", str(main), str(desk.top / "clones" / "main"))
    assert desk.find("main").project != desk.find("clones/main").project


def test_everything_is_private_whatever_the_umask(desk: Desk) -> None:
    before = os.umask(0)
    try:
        where = desk.made("quail")
    finally:
        os.umask(before)
    for folder, folders, files in os.walk(where.root):
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE((Path(folder) / name).stat().st_mode) == 0o600
        assert not any(name.endswith(".new") for name in folders)


def test_the_project_folder_comes_whole(desk: Desk) -> None:
    where = desk.find("quail")
    where, created = ensure(where)
    assert created == [where.project, *(where.project / path for path in CONTENTS)]
    assert all(path.exists() for path in created)
    assert [path.name for path in (where.root / "projects").iterdir()] == [where.project.name]
    (where.memory / "project.md").write_text("mine\n")
    shutil.rmtree(where.project / "tasks")
    assert ensure(where) == (where, [])
    assert not (where.project / "tasks").exists()


def test_init_makes_what_is_missing_and_touches_nothing(desk: Desk) -> None:
    where, created = init(desk.find("quail"))
    assert created[0] == where.project
    (where.memory / "project.md").write_text("mine\n")
    shutil.rmtree(where.project / "subagents")
    (where.project / "tasks").rmdir()
    (where.project / "tasks").symlink_to(desk.top)
    assert init(where) == (
        where,
        [where.project / "subagents", where.project / "subagents" / "README.md"],
    )
    assert (where.memory / "project.md").read_text() == "mine\n"
    assert init(where) == (where, [])
    shutil.rmtree(where.memory)
    where.memory.symlink_to(desk.directory("elsewhere"))
    with pytest.raises(MemoryRefused, match=r"memory/project\.md cannot be made: a symbolic link"):
        init(where)
    assert list(desk.directory("elsewhere").iterdir()) == []


def test_a_place_that_takes_no_writes_is_named(desk: Desk) -> None:
    write(desk.places.config, "projects", "a file")
    where = desk.find("quail")
    with pytest.raises(MemoryRefused) as caught:
        ensure(where)
    assert caught.value.line().startswith(f"The project's folder {where.project} cannot be made: ")


def test_two_processes_make_each_folder_once(desk: Desk) -> None:
    """Round after round at the same moment: for one directory, or for two whose names fold to the same."""
    rounds = 40
    gates = desk.directory("gates")
    code = f"""
import sys
import time
from pathlib import Path
from tau.config.settings import Places
from tau.memory.places import find
from tau.memory.project import ensure
base, gates, who = Path({str(desk.places.config.parent)!r}), Path({str(gates)!r}), sys.argv[1]
places = Places(data=base / "data", state=base / "state", config=base / "config")
for round, directory in enumerate(sys.argv[2:]):
    where = find(Path(directory), places)
    (gates / f"{{round}}-{{who}}").touch()
    other = gates / f"{{round}}-{{1 - int(who)}}"
    ends = time.monotonic() + 20
    while not other.exists():
        assert time.monotonic() < ends, "the other process is gone"
    where, made = ensure(where)
    print(where.project, bool(made))
"""
    ways = [
        [
            str(desk.directory(f"{number}/a/b" if number % 2 or who else f"{number}/a-b"))
            for number in range(rounds)
        ]
        for who in (0, 1)
    ]
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(who), *way], stdout=subprocess.PIPE, text=True)
        for who, way in enumerate(ways)
    ]
    try:
        said = [process.communicate(timeout=60)[0].splitlines() for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0]
    for one, other, first, second in zip(*ways, *said, strict=True):
        made = [line.rpartition(" ") for line in (first, second)]
        assert (made[0][0] == made[1][0]) == (one == other)
        assert sorted(by for _, _, by in made) == (["False", "True"] if one == other else ["True", "True"])
        for directory, (project, _, _) in zip((one, other), made, strict=True):
            assert (Path(project) / "directory").read_text() == directory + "\n"
            assert (Path(project) / "subagents" / "README.md").is_file()
    assert len(list((desk.places.config / "projects").iterdir())) == rounds + rounds // 2


def test_any_path_has_a_folder_that_the_disk_takes(desk: Desk) -> None:
    odd = [b"caf\xe9", b"new\nline", b"a" * 250 + b"/" + b"b" * 250, ("é" * 120 + "/x").encode()]
    for name in odd:
        directory = desk.top / os.fsdecode(name)
        directory.mkdir(parents=True)
        where, made = ensure(find(directory, desk.places))
        assert made
        assert len(os.fsencode(where.project.name)) <= 200
        assert find(directory, desk.places) == where
        assert "\n" not in where.notice


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("ab-/_.é", min_size=1, max_size=8), min_size=1, max_size=5))
def test_no_two_directories_share_a_folder(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        places = Places(data=base, state=base / "s", config=base / "c")
        owners: dict[Path, Path] = {}
        for name in names:
            directory = Path(os.path.normpath(f"{base}/w/x{name}"))
            if ".." in name or not directory.is_relative_to(base / "w"):
                continue
            directory.mkdir(parents=True, exist_ok=True)
            where, _ = ensure(find(directory, places))
            assert owners.setdefault(where.project, directory) == directory
            assert find(directory, places) == where
        assert len(owners) == len(set(owners.values()))
