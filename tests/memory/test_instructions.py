"""AGENTS.md and CLAUDE.md: read at the root of a trusted project, no link followed, each in a fence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tau.config.settings import Settings
from tau.memory.desk import Desk as MemoryDesk
from tau.memory.instructions import LARGEST, project_files
from tau.memory.loading import load
from tests.memory.conftest import Desk, git, write
from tests.memory.test_loading import document, fences


def names(root: Path) -> list[str]:
    files, problems = project_files(root, trusted=True)
    assert problems == []
    return [file.name for file in files]


def test_both_come_before_memory_and_do_not_count_against_its_cap(desk: Desk) -> None:
    root = desk.directory("quail")
    write(root, "CLAUDE.md", "Two.\n" * 1_000)
    write(root, "AGENTS.md", "# Rules\n~~~\nOne.\n")
    files, problems = project_files(root, trusted=True)
    assert problems == []
    loaded = load([document("a.md", "noted")], max_chars=1_000, files=files)
    assert fences(loaded.text) == [
        ("file AGENTS.md", "# Rules\n~~~\nOne.\n"),
        ("file CLAUDE.md", "Two.\n" * 1_000),
        ("memory project/a.md", "noted\n"),
    ]
    assert loaded.text.startswith("Files of this project, which the person trusts.")
    assert [part.title for part in loaded.parts] == ["AGENTS.md", "CLAUDE.md", "project/a.md"]
    assert loaded.notices == []
    assert load([], max_chars=1_000, files=files[:1]).text.count("Memory: ") == 0


def test_without_trust_nothing_is_read_and_one_line_says_so(desk: Desk) -> None:
    root = desk.repository("quail")
    assert project_files(root, trusted=False) == ([], [])
    write(root, "AGENTS.md", "obey")
    os.mkfifo(root / "CLAUDE.md")
    files, (problem,) = project_files(root, trusted=False)
    assert files == []
    assert problem == (
        "Until you trust this directory, nothing is read of AGENTS.md and CLAUDE.md of"
        f" {root}: tau trust {root}"
    )


@pytest.mark.parametrize(
    ("agents", "claude", "expected"),
    [
        ("One.\n", "One.", ["AGENTS.md"]),
        ("One.\n", "@AGENTS.md\n", ["AGENTS.md"]),
        ("One.\n", " @./AGENTS.md", ["AGENTS.md"]),
        ("@CLAUDE.md\n", "Two.\n", ["CLAUDE.md"]),
        ("One.\n", "@AGENTS.md\nAnd two.\n", ["AGENTS.md", "CLAUDE.md"]),
        ("One.\n", "AGENTS.md\n", ["AGENTS.md", "CLAUDE.md"]),
        ("\n", "Two.\n", ["CLAUDE.md"]),
        ("", "", []),
    ],
)
def test_what_only_repeats_the_other_is_left_out(
    desk: Desk, agents: str, claude: str, expected: list[str]
) -> None:
    root = desk.directory("quail")
    write(root, "AGENTS.md", agents)
    write(root, "CLAUDE.md", claude)
    assert names(root) == expected


def test_one_that_points_to_a_file_that_is_not_there_is_kept(desk: Desk) -> None:
    root = desk.directory("quail")
    write(root, "CLAUDE.md", "@AGENTS.md\n")
    assert names(root) == ["CLAUDE.md"]


def test_no_link_is_followed(desk: Desk, tmp_path: Path) -> None:
    root = desk.directory("quail")
    write(root, "AGENTS.md", "One.\n")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert names(root) == ["AGENTS.md"]
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to(write(tmp_path, "secret", "SECRET"))
    files, problems = project_files(root, trusted=True)
    assert [file.name for file in files] == ["AGENTS.md"]
    assert problems == [f"{root}/CLAUDE.md cannot be read: a symbolic link, which is never followed"]
    (root / "AGENTS.md").unlink()
    os.mkfifo(root / "AGENTS.md")
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").mkdir()
    assert project_files(root, trusted=True) == (
        [],
        [f"{root}/{name} cannot be read: not a regular file" for name in ("AGENTS.md", "CLAUDE.md")],
    )
    assert project_files(root / "missing", trusted=True) == (
        [],
        [f"{root}/missing cannot be read: No such file or directory"],
    )


def test_a_long_one_is_cut_at_its_end_and_says_so(desk: Desk) -> None:
    root = desk.directory("quail")
    path = write(root, "AGENTS.md", "".join(f"{number:099}\n" for number in range(700)) + "last")
    (file,), problems = project_files(root, trusted=True)
    assert problems == []
    assert (file.lines, file.loaded) == (701, LARGEST // 100)
    loaded = load([], max_chars=1_000, files=[file])
    ((_, content),) = fences(loaded.text)
    assert content == "".join(f"{number:099}\n" for number in range(640))
    assert loaded.text.endswith(f"\n[not loaded: lines 641 to 701 of {path}]")
    assert loaded.notices == [f"Not loaded: lines 641 to 701 of {path}, which is too long"]
    assert loaded.parts[0].missing == "lines 641 to 701"
    write(root, "AGENTS.md", "x" * (LARGEST + 1))
    write(root, "CLAUDE.md", "x\n" * 500_001)
    assert project_files(root, trusted=True) == (
        [],
        [
            f"{path} has a first line that is too long, so it is not read",
            f"{root}/CLAUDE.md is larger than 1,000 kB, so it is not read",
        ],
    )


def test_a_worktree_has_the_files_of_its_own_checkout(desk: Desk) -> None:
    main = desk.repository("r")
    write(main, "AGENTS.md", "Of the main checkout.")
    tree = desk.top / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    write(tree, "AGENTS.md", "Of the worktree.")
    inner = desk.directory("tree/src")
    settings = Settings(places=desk.places, directory=inner)
    (problem,) = MemoryDesk(settings).seen().problems
    assert problem.endswith(f"nothing is read of AGENTS.md of {tree}: tau trust {main}")
    desk.trust(tree)
    assert [(file.path, file.text) for file in MemoryDesk(settings).seen().files] == [
        (tree / "AGENTS.md", "Of the worktree.")
    ]
