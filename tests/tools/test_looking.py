"""`list_files` and `find_files`: entries, patterns, ignore files, bounds."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tau.tools import find_files, list_files
from tau.tools.context import ToolContext
from tau.tools.glob import Glob
from tau.tools.refusals import Refused, Watch
from tau.tools.walk import walk
from tests.tools.conftest import called, text, watch


def plant(root: Path, *files: str, **contents: str) -> None:
    """Make empty files; keyword arguments are contents for names that are no identifiers, too."""
    for name in (*files, *contents):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents.get(name, ""))


def found(context: ToolContext, pattern: str = "*", path: str = ".") -> list[str]:
    rows = find_files.find(context, pattern, path, watch=watch()).splitlines()
    return rows[:-1]


def test_listing_through_an_agent(context: ToolContext) -> None:
    root = context.directory
    plant(
        root, "b.txt", ".hidden", "sub/inner", "build/x", **{".gitignore": "build/\n*.log\n", "a.log": "12"}
    )
    (root / "link").symlink_to("../elsewhere")
    os.mkfifo(root / "pipe")
    result = called(list_files.tools(context), "list_files")
    assert result["status"] == "success"
    assert text(result).splitlines() == [
        ".gitignore  13",
        ".hidden  0",
        "a.log  2  (ignored)",
        "b.txt  0",
        "build/  (ignored)",
        "link -> ../elsewhere",
        "pipe  (no regular file)",
        "sub/",
        "[8 entries.]",
    ]
    assert text(called(list_files.tools(context), "list_files", path="sub")) == "inner  0\n[1 entry.]"


def test_an_empty_directory_and_a_file_are_said(context: ToolContext) -> None:
    plant(context.directory, "file")
    (context.directory / "none").mkdir()
    assert list_files.listing(context, "none", watch=watch()) == "[none is empty.]"
    with pytest.raises(Refused, match="file is a file, not a directory; read_file shows it"):
        list_files.listing(context, "file", watch=watch())
    with pytest.raises(Refused, match="file is a file, not a directory; read_file shows it"):
        found(context, "*", "file")


def test_a_long_listing_is_bounded(context: ToolContext) -> None:
    plant(context.directory, *(f"{number:05}" for number in range(1_200)))
    rows = list_files.listing(context, ".", watch=watch()).splitlines()
    assert rows[999] == "00999  0"
    (note,) = rows[1000:]
    assert note == (
        "[1,000 of 1,200 entries of . are shown."
        " find_files with path and a pattern such as ./a* shows others.]"
    )
    rows = find_files.find(context, "*", ".", watch=watch()).splitlines()
    assert rows[1000:] == ["[The first 1,000 files are shown; there are more. Narrow the pattern or path.]"]


def test_finding_through_an_agent(context: ToolContext) -> None:
    plant(context.directory, "src/a.py", "src/deep/b.py", "c.py", "d.txt")
    result = called(find_files.tools(context), "find_files", pattern="*.py")
    assert text(result) == "c.py\nsrc/a.py\nsrc/deep/b.py\n[3 files.]"
    result = called(find_files.tools(context), "find_files", pattern="*.py", path="src/deep")
    assert text(result) == "src/deep/b.py\n[1 file.]"


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("./*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/deep/**", ["src/deep/c.py"]),
        ("**/*", ["a.py", "src/.env", "src/b.py", "src/deep/c.py", "t[1].ts"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/deep/c.py", "t[1].ts"]),
        ("{src/{deep,none},.}/*.py", ["a.py", "src/deep/c.py"]),
        ("?.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("[!ab].py", ["src/deep/c.py"]),
        ("t[[]1].ts", ["t[1].ts"]),
        (".env", ["src/.env"]),
        ("A.PY", []),
        ("!a.py", []),
        ("src", []),
        ("src/", ["src/"]),
        ("*/", ["src/", "src/deep/"]),
        ("**/" * 30 + "c.py", ["src/deep/c.py"]),
        ("*a*" * 20, []),
    ],
)
def test_patterns(context: ToolContext, pattern: str, matching: list[str]) -> None:
    plant(context.directory, "a.py", "src/b.py", "src/deep/c.py", "src/.env", "t[1].ts")
    assert found(context, pattern) == matching


@pytest.mark.parametrize("pattern", ["", "/", "/etc/*", "../*", "a/../../b", "~/x", "{a,b}" * 10, "\ud83d*"])
def test_patterns_that_cannot_be_used(context: ToolContext, pattern: str) -> None:
    with pytest.raises(Refused):
        found(context, pattern)


def test_a_pattern_of_many_stars_is_quick() -> None:
    glob = Glob("/".join(["**", "*a*"] * 15) + "/b")
    assert not glob.matches("/".join(["aaaaaaaaaa"] * 200))


LONG = "a" * 200


@pytest.mark.parametrize(
    "pattern", ["a*" * 12 + "b", "*a" * 900 + "b", "?*" * 900 + "b", "*[a-c]" * 300 + "b"]
)
def test_a_name_that_almost_matches_takes_no_longer(context: ToolContext, pattern: str) -> None:
    plant(
        context.directory,
        LONG,
        f"sub/{LONG}",
        **{".gitignore": f"{pattern}\n", "sub/.ignore": f"!{pattern}\n"},
    )
    began = time.process_time()
    assert f"{LONG}  0" in list_files.listing(context, ".", watch=watch()).splitlines()
    assert found(context) == [".gitignore", LONG, "sub/.ignore", f"sub/{LONG}"]
    assert found(context, pattern) == []
    assert time.process_time() - began < 2


def test_directories_inside_what_is_ignored_can_be_taken_back(context: ToolContext) -> None:
    plant(context.directory, "a.c", "a.py", "sub/a.c", "sub/a.py", **{".gitignore": "*\n!*/\n!*.py\n"})
    assert found(context) == ["a.py", "sub/a.py"]


def test_many_ignored_names_end_when_the_time_is_up(context: ToolContext) -> None:
    plant(context.directory, *(f"a{number}" for number in range(50)), "z", **{".gitignore": "a*"})

    class Ticks(Watch):
        asked = 0

        @property
        def over(self) -> bool:
            self.asked += 1
            return self.asked > 10

    seen = walk(context.directory, directory=context.directory, watch=Ticks(threading.Event(), 60))
    assert [entry.path for entry in seen] == [".gitignore"]


IGNORES = {
    ".gitignore": "# comment\n*.log\n/build\nvendor/\n!keep.log\n\\#odd\ntrail \n!\n",
    "sub/.gitignore": "!again.log\nlocal\n",
    "sub/.ignore": "only-ignore\n",
    ".ignore": "!shown.log\n",
}


def test_ignore_files_of_every_level(context: ToolContext) -> None:
    plant(
        context.directory,
        "a.log", "keep.log", "shown.log", "build/x", "vendor/y", "sub/build/z", "sub/vendor/v", "sub/b.log",
        "sub/again.log", "sub/local", "local", "sub/only-ignore", "only-ignore", "#odd", "trail", ".hidden",
        ".git/HEAD", ".hg/x", **IGNORES,
    )  # fmt: skip
    assert found(context) == [
        ".gitignore", ".hidden", ".ignore", "keep.log", "local", "only-ignore", "shown.log",
        "sub/.gitignore", "sub/.ignore", "sub/again.log", "sub/build/z",
    ]  # fmt: skip
    assert found(context, "*", "sub") == [
        "sub/.gitignore", "sub/.ignore", "sub/again.log", "sub/build/z",
    ]  # fmt: skip


def test_what_is_ignored_is_found_where_it_is_named(context: ToolContext) -> None:
    plant(context.directory, "vendor/lib/a.js", "vendor/lib/b.log", **IGNORES)
    assert found(context, "*.js") == []
    assert found(context, "*", "vendor") == ["vendor/lib/a.js", "vendor/lib/b.log"]
    assert found(context, "*", "vendor/lib") == ["vendor/lib/a.js", "vendor/lib/b.log"]


def test_the_repository_above_the_directory_counts_and_nothing_above_that(tmp_path: Path) -> None:
    from tests.tools.conftest import make_context

    repository = tmp_path.resolve() / "repository"
    plant(repository, ".git/HEAD", "part/a.log", "part/b.txt", "part/c.tmp", **{".gitignore": "*.log\n"})
    plant(tmp_path, **{".gitignore": "*.txt\n", ".ignore": "*.txt\n"})
    context = make_context(repository / "part")
    assert found(context) == ["b.txt", "c.tmp"]


def test_without_a_repository_only_the_directory_counts(tmp_path: Path) -> None:
    from tests.tools.conftest import make_context

    plant(tmp_path, "work/a.log", "work/sub/b.log", "work/sub/c", **{".gitignore": "*"})
    context = make_context(tmp_path.resolve() / "work")
    assert found(context) == ["a.log", "sub/b.log", "sub/c"]
    plant(context.directory, **{".gitignore": "*.log"})
    assert found(context, "*", "sub") == ["sub/c"]


def test_a_linked_ignore_file_and_linked_directories_are_not_followed(context: ToolContext) -> None:
    plant(context.directory, "a", "real/b")
    plant(context.directory.parent, outside="*")
    (context.directory / ".gitignore").symlink_to("../outside")
    (context.directory / "linked").symlink_to("real")
    (context.directory / "up").symlink_to("..")
    assert found(context) == [".gitignore", "a", "linked", "real/b", "up"]


def test_a_very_deep_tree_ends(context: ToolContext) -> None:
    here = os.open(context.directory, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    try:
        met = [entry.path for entry in walk(context.directory, directory=context.directory, watch=watch())]
        assert met[-1] == "/".join("d" * 1_200)
    finally:  # Python's own way to remove a tree is not made for this one
        subprocess.run(["rm", "-rf", str(context.directory)], check=True)


def test_a_walk_ends_when_the_time_is_up(context: ToolContext) -> None:
    plant(context.directory, "a", "b")
    over = Watch(None, -1)
    assert find_files.find(context, "*", ".", watch=over) == (
        "[Stopped after -1 s; not everything was looked at. Give a narrower path.]"
    )
