"""`@`: which files are found, in which order, while they are listed, and within bounds."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.input import files as files_module
from tau.input.file_listing import PIECE, Listing, Patterns
from tau.input.files import FileFinder
from tau.input.fuzzy import fold, match_path
from tau.tools.refusals import Watch
from tau.tools.walk import walk


def put(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(finder: FileFinder, query: str, limit: int = 50) -> list[str]:
    ends = time.monotonic() + 20
    while not (result := finder.find(query, limit, seconds=5)).complete:
        assert time.monotonic() < ends
    return [hit.path for hit in result.hits]


def test_the_best_is_first(tmp_path: Path) -> None:
    put(
        tmp_path,
        "tau/tui/widgets/prompt.py",
        "tau/agent/prompt.py",
        "tests/tui/test_prompt.py",
        "docs/prompts/other.md",
        "tau/pale_romp.txt",
    )
    finder = FileFinder(tmp_path)
    assert found(finder, "prompt") == [
        "docs/prompts/",
        "tau/agent/prompt.py",
        "tau/tui/widgets/prompt.py",
        "tests/tui/test_prompt.py",
        "docs/prompts/other.md",
        "tau/pale_romp.txt",
    ]
    assert found(finder, "widprompt")[0] == "tau/tui/widgets/prompt.py"
    assert found(finder, "tui/pr") == ["tests/tui/test_prompt.py", "tau/tui/widgets/prompt.py"]
    assert found(finder, "pr")[0] == "docs/prompts/"
    assert found(finder, "prxmpt") == []
    assert found(finder, "")[0] == "tau/"
    finder.close()


def test_positions_tell_the_letters(tmp_path: Path) -> None:
    put(tmp_path, "source/Main_View.py")
    finder = FileFinder(tmp_path)
    (hit,) = finder.find("mv", seconds=5).hits
    assert "".join(hit.path[place] for place in hit.positions) == "MV"
    finder.close()


def test_exactly_what_the_tools_find(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    put(
        tmp_path, "a.py", "build/a.o", "src/b.py", "src/c.log", ".hidden/d", "node_modules/x/e.js", "keep.log"
    )
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!keep.log\nnode_modules\n")
    (tmp_path / "src" / ".ignore").write_text("b.py\n")
    finder = FileFinder(tmp_path)
    by_tools = {
        entry.path + ("/" if entry.is_directory else "")
        for entry in walk(tmp_path, directory=tmp_path, watch=Watch(None, 10))
    }
    assert set(found(finder, "", 1000)) == by_tools
    assert by_tools == {"a.py", "src/", "src/.ignore", ".hidden/", ".hidden/d", ".gitignore", "keep.log"}
    finder.close()


def test_links_are_found_where_they_stay_inside_and_never_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "work", tmp_path / "outside"
    put(inside, "real/file.txt")
    put(outside, "secret.txt")
    (inside / "file_link").symlink_to("real/file.txt")
    (inside / "directory_link").symlink_to("real")
    (inside / "out").symlink_to(outside)
    (inside / "out_file").symlink_to(outside / "secret.txt")
    (inside / "broken").symlink_to("nowhere")
    (inside / "loop").symlink_to("loop")
    os.mkfifo(inside / "pipe")
    finder = FileFinder(inside)
    assert set(found(finder, "", 100)) == {"real/", "real/file.txt", "file_link", "directory_link"}
    assert [hit.path for hit in finder.tree("real/")] == ["real/file.txt"]
    assert [hit.path for hit in finder.tree("directory_link/")] == ["directory_link/file.txt"]
    assert finder.tree("out/") == []
    assert finder.tree("real/../out/") == []
    assert [hit.path for hit in finder.tree("../outside/s")] == ["../outside/secret.txt"]
    assert [hit.path for hit in finder.tree(f"{outside}/")] == [f"{outside}/secret.txt"]
    finder.close()


def test_names_of_any_kind_are_found(tmp_path: Path) -> None:
    names = ["with space.txt", 'qu"ote.txt', "new\nline.txt", "\x1b[31mred.txt", "\u202ertl.txt", "שלום.txt"]
    names.append(os.fsdecode(b"caf\xe9.txt"))
    put(tmp_path, *names)
    finder = FileFinder(tmp_path)
    assert set(found(finder, "txt")) == set(names)
    assert found(finder, "newline") == ["new\nline.txt"]
    assert found(finder, "caftxt") == [names[-1]]
    assert found(finder, "של") == ["שלום.txt"]
    finder.close()


def test_one_level_of_the_tree(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    put(tmp_path, "src/Main.py", "src/many/deep.py", "src/mint.log", "src/other.py", ".env")
    (tmp_path / ".gitignore").write_text("*.log\n")
    finder = FileFinder(tmp_path)
    assert [(hit.path, hit.is_directory, hit.ignored) for hit in finder.tree("src/m")] == [
        ("src/many/", True, False),
        ("src/Main.py", False, False),
        ("src/mint.log", False, True),
    ]
    assert list(finder.tree("src/m")[0].positions) == [4]
    assert [hit.path for hit in finder.tree("")] == ["src/", ".env", ".gitignore", ".git/"]
    assert finder.tree("missing/") == []
    assert finder.tree("src/\0") == []
    assert [hit.path for hit in finder.tree("./src/o")] == ["./src/other.py"]


def test_a_file_that_was_used_goes_before_its_equals(tmp_path: Path) -> None:
    put(tmp_path, "a/test.py", "b/test.py", "c/test.py")
    finder = FileFinder(tmp_path)
    assert found(finder, "test") == ["a/test.py", "b/test.py", "c/test.py"]
    finder.touch("b/test.py")
    finder.touch("c/test.py")
    finder.touch("gone.py")
    assert found(finder, "test") == ["c/test.py", "b/test.py", "a/test.py"]
    assert found(finder, "")[:2] == ["c/test.py", "b/test.py"]
    finder.close()


def test_new_files_are_found_once_the_listing_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "one.txt")
    finder = FileFinder(tmp_path)
    assert found(finder, "txt") == ["one.txt"]
    put(tmp_path, "two.txt")
    assert found(finder, "txt") == ["one.txt"]
    finder.refresh()
    ends = time.monotonic() + 20
    while sorted(found(finder, "txt")) != ["one.txt", "two.txt"]:
        assert time.monotonic() < ends
    put(tmp_path, "three.txt")
    monkeypatch.setattr(files_module, "STALE_SECONDS", 0.0)
    while len(found(finder, "txt")) != 3:
        assert time.monotonic() < ends
    finder.close()


def test_what_is_listed_so_far_is_found_at_once() -> None:
    listing = Listing()
    listing.add(["src/", "src/main.py"])
    assert listing.made_at is None
    (paths,) = [
        list(piece.hits(Patterns("main").run, frozenset("main"), names=True)) for piece in listing.pieces()
    ]
    assert paths == ["src/main.py"]
    listing.add([f"src/m{number}.py" for number in range(3 * PIECE)])
    assert sum(len(piece.paths) for piece in listing.pieces()) == len(listing) == 3 * PIECE + 2


def test_it_stops_in_time(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    finder = FileFinder(tmp_path)
    assert found(finder, "a") == ["a.txt"]
    began = time.monotonic()
    assert not finder.find("a", seconds=0).complete
    assert time.monotonic() - began < 5
    assert finder.find("a" * 10_000).hits == ()
    finder.close()


def test_more_files_than_are_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MOST_FILES", 10)
    monkeypatch.setattr(files_module, "_BATCH", 5)
    put(tmp_path, *(f"{number}.txt" for number in range(30)))
    finder = FileFinder(tmp_path)
    assert len(found(finder, "txt", 100)) == 10
    assert finder.find("txt", seconds=5).truncated
    finder.close()


def test_closing_ends_the_listing_and_its_thread(tmp_path: Path) -> None:
    put(tmp_path, *(f"{number % 40}/{number}.txt" for number in range(1000)))
    before = threading.active_count()
    finder = FileFinder(tmp_path)
    finder.start()
    finder.start()
    finder.close(20)
    assert threading.active_count() == before
    finder.find("txt")
    assert threading.active_count() == before


def test_a_directory_that_is_gone_has_no_files(tmp_path: Path) -> None:
    finder = FileFinder(tmp_path / "gone")
    assert found(finder, "a") == []
    assert finder.tree("") == []
    finder.close()


PATHS = st.lists(st.text(alphabet="abAB_/.-é\nx", min_size=1, max_size=12), max_size=30, unique=True)


@settings(deadline=None)
@given(PATHS, st.text(alphabet="abBx_./é", min_size=1, max_size=3))
def test_the_patterns_find_what_the_scorer_finds(paths: list[str], query: str) -> None:
    listing = Listing()
    listing.add(paths)
    patterns = Patterns(fold(query))
    by_pattern = {
        path
        for piece in listing.pieces()
        for path in piece.hits(patterns.scattered, patterns.letters, names=False)
    }
    assert by_pattern == {path for path in paths if match_path(query, path.replace("\n", " ")) is not None}
    for pattern in (patterns.begins, patterns.initials, patterns.run):
        for piece in listing.pieces():
            assert set(piece.hits(pattern, patterns.letters, names=False)) <= by_pattern


@pytest.mark.parametrize("query", ["a" * 150, "ab" * 75, "_" * 100, "a_" * 60])
def test_no_query_makes_the_patterns_slow(query: str) -> None:
    listing = Listing()
    listing.add([f"{'a_' * 90}{number}" for number in range(2000)])
    patterns = Patterns(query)
    began = time.process_time()
    for pattern in (patterns.begins, patterns.run, patterns.initials, patterns.scattered):
        for piece in listing.pieces():
            list(piece.hits(pattern, patterns.letters, names=True))
    assert time.process_time() - began < 2
