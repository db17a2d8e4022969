"""`search_files`: the same answers from ripgrep and from Python, within bounds, and stopped at any moment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.tools import find_files, list_files, search_files
from tau.tools.context import ToolContext
from tau.tools.matchers import ripgrep
from tau.tools.refusals import Refused, Watch
from tau.tools.spill import spill
from tests.tools.conftest import agent_with, called, make_context, results, text, watch

RG = shutil.which("rg") or ""
ENGINES = ["", RG] if RG else [""]
"""Python always, and ripgrep where it is installed: what is expected of both is the same."""

CATASTROPHE = r"(a+)+$"


@pytest.fixture(params=ENGINES, ids=["python", "ripgrep"][: len(ENGINES)])
def rg(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def no_ripgrep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def put(context: ToolContext, name: str, data: bytes | str) -> None:
    path = context.directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def search(context: ToolContext, pattern: str, rg: str, path: str = ".", glob: str = "") -> list[str]:
    return search_files.search(context, pattern, path, glob, watch=watch(), rg=rg).splitlines()


def test_through_an_agent(context: ToolContext) -> None:
    put(context, "src/a.py", "import os\n\ndef main():\n    return os\n")
    put(context, "b.txt", "def main\n")
    result = called(search_files.tools(context), "search_files", pattern=r"def \w+\(", glob="*.py")
    assert result["status"] == "success"
    assert text(result) == "src/a.py:3: def main():\n[1 matching line.]"


@pytest.mark.usefixtures("no_ripgrep")
def test_through_an_agent_without_ripgrep(context: ToolContext) -> None:
    put(context, "a.py", "needle\n")
    assert ripgrep(context.directory) == ""
    result = called(search_files.tools(context), "search_files", pattern="needle")
    assert text(result) == "a.py:1: needle\n[1 matching line.]"


@pytest.mark.parametrize(
    ("data", "pattern", "rows"),
    [
        (b"one\ntwo\nthree", "t", ["f:2: two", "f:3: three"]),
        (b"a\r\nb\r\n", "a$", ["f:1: a"]),
        (b"a\n\nb\n", "^$", ["f:2: "]),
        (b"Case\ncase\n", "case", ["f:2: case"]),
        (b"Case\ncase\n", "(?i)CASE", ["f:1: Case", "f:2: case"]),
        ("Größe é 漢字\n".encode(), r"\w+ß\w é", ["f:1: Größe é 漢字"]),
        ("ÄRGER\n".encode(), "(?i)ärger", ["f:1: ÄRGER"]),
        (b"caf\xe9 x\n", "x", ["f:1: caf\\xe9 x"]),
        (b"\xef\xbb\xbfbegin\n", "^begin", ["f:1: begin"]),
        ("ß begin\nx\n".encode("utf-16"), "begin", ["f:1: ß begin"]),
        (b"a.b\naxb\n", r"a\.b", ["f:1: a.b"]),
        (b"-x\n", "-x", ["f:1: -x"]),
        (b"tab\there\n", r"\t", ["f:1: tab\there"]),
        (b"aXbXc\n", "(?:X.){2}", ["f:1: aXbXc"]),
        (b"foobar\nfoobaz\n", "foo(?=baz)", ["f:2: foobaz"]),
        (b"abab\nabba\n", r"^(ab)\1$", ["f:1: abab"]),
        (b"esc \x1b[2J\n", "esc", ["f:1: esc \x1b[2J"]),
    ],
)
def test_lines(context: ToolContext, rg: str, data: bytes, pattern: str, rows: list[str]) -> None:
    put(context, "f", data)
    found = search(context, pattern, rg)
    assert found[:-1] == rows
    assert found[-1] == f"[{len(rows)} matching line{'s' * (len(rows) > 1)}.]"


@pytest.mark.parametrize(
    "data",
    [b"needle\x00", b"needle\n" + b"hay\n" * 60_000 + b"\x00needle\n", b"\x00" * 300_000 + b"needle"],
    ids=["small", "late", "large"],
)
def test_binary_files_are_passed_over(context: ToolContext, rg: str, data: bytes) -> None:
    put(context, "bin", data)
    put(context, "text", "needle\n")
    assert search(context, "needle$", rg) == ["text:1: needle", "[1 matching line.]"]


def test_order_glob_path_and_ignored_files(context: ToolContext, rg: str) -> None:
    for name in ("z.py", "a/2.py", "a/10.py", "a/b/c.txt", ".env", "-dash.py", "build/x.py", ".git/y.py"):
        put(context, name, "needle\n")
    put(context, ".gitignore", "build\n")
    all_files = ["-dash.py", ".env", "a/10.py", "a/2.py", "a/b/c.txt", "z.py"]
    assert [row.split(":")[0] for row in search(context, "needle", rg)[:-1]] == all_files
    assert search(context, "needle", rg, glob="*.{py,md}")[:-1] == [
        f"{name}:1: needle" for name in all_files if name.endswith(".py")
    ]
    assert search(context, "needle", rg, path="a", glob="b/*")[:-1] == ["a/b/c.txt:1: needle"]
    assert search(context, "needle", rg, path="build")[:-1] == ["build/x.py:1: needle"]
    assert search(context, "needle", rg, path="build/x.py")[:-1] == ["build/x.py:1: needle"]
    (nothing,) = search(context, "nowhere", rg)
    assert nothing == (
        "[No line matches in 7 files in the working directory."
        " Binary files and what .gitignore or .ignore leaves out were not searched.]"
    )


def test_more_files_than_fit_on_one_command_line(context: ToolContext, rg: str) -> None:
    for number in range(2_100):
        put(context, f"{number:04}", "needle" if number % 700 == 699 else "hay")
    assert search(context, "needle", rg)[:-1] == [
        f"{number}: needle".replace(": ", ":1: ") for number in ("0699", "1399", "2099")
    ]


def test_matches_are_bounded(context: ToolContext, rg: str) -> None:
    put(context, "a", "needle\n" * 150)
    put(context, "b", "needle\n" * 150)
    found = search(context, "needle", rg)
    assert found[:150] == [f"a:{number}: needle" for number in range(1, 151)]
    assert found[150:200] == [f"b:{number}: needle" for number in range(1, 51)]
    assert found[200:] == [
        "[The first 200 matching lines are shown; there are more. Narrow the pattern, path or glob.]"
    ]


def test_a_long_line_is_cut_around_the_match_and_says_where(context: ToolContext, rg: str) -> None:
    put(context, "f", "é" * 300_000 + "needle" + "x" * 300_000)
    row, note, count = search(context, "needle", rg)
    begin = 300_000 - 100
    assert row == f"f:1:{begin + 1}: …{'é' * 100}needle{'x' * 194}…"
    assert 'read_file with offset="LINE:CHARACTER"' in note
    assert count == "[1 matching line.]"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "The pattern is empty"),
        ("a(", "no valid regular expression: .*unterminated subpattern"),
        ("a\nb", "has a newline"),
        (r"a\nb", "has a newline"),
        ("a\0", "NUL character"),
        ("\ud83d", "half a surrogate pair"),
    ],
)
def test_patterns_that_cannot_be_used(context: ToolContext, rg: str, pattern: str, reason: str) -> None:
    put(context, "f", "x\n")
    with pytest.raises(Refused, match=reason) as refused:
        search(context, pattern, rg)
    assert "\n" not in str(refused.value)


def test_a_pipe_is_refused_without_waiting(context: ToolContext, rg: str) -> None:
    os.mkfifo(context.directory / "pipe")
    with pytest.raises(Refused, match="no regular file"):
        search(context, "x", rg, path="pipe")
    assert search(context, "x", rg)[-1].startswith("[No line matches in 0 files")


def test_a_spilled_result_can_be_searched(context: ToolContext, rg: str) -> None:
    spill("\n".join(f"line {number}" for number in range(9_000)), tool="t", context=context)
    file = str(context.spill_dir / "0001-t.txt")
    assert search(context, "line 77.7$", rg, path=file)[:2] == [
        f"{file}:7708: line 7707",
        f"{file}:7718: line 7717",
    ]


def test_an_escaped_backslash_before_n_is_no_newline(context: ToolContext, rg: str) -> None:
    put(context, "f", "C:\\new\n")
    assert search(context, r"C:\\new", rg)[0] == "f:1: C:\\new"


def test_a_pattern_that_runs_away_is_stopped_in_time(context: ToolContext) -> None:
    put(context, "a", "first a\n")
    put(context, "b", "a" * 60 + "!\n")
    started = time.monotonic()
    shown = search_files.search(context, CATASTROPHE, ".", "", watch=Watch(None, 1.5), rg="")
    assert time.monotonic() - started < 10
    assert shown.endswith(
        "[Stopped after 1.5 s; 0 of 2 files are done. Use a simpler pattern or a narrower path.]"
    )
    assert not list(children())


@pytest.mark.usefixtures("no_ripgrep")
def test_cancelling_the_agent_ends_the_search_and_its_process(context: ToolContext) -> None:
    put(context, "b", "a" * 60 + "!\n")
    agent = agent_with(search_files.tools(context), ("search_files", {"pattern": CATASTROPHE}))
    turn = threading.Thread(target=agent, args=("go",))
    turn.start()
    until(lambda: bool(list(children())))
    started = time.monotonic()
    agent.cancel()
    turn.join(30)
    assert not turn.is_alive()
    assert time.monotonic() - started < 10
    assert text(results(agent)[0]) == "Error: The call was cancelled before it was done"
    assert not list(children())


def test_a_worker_whose_parent_is_gone_ends_by_itself(context: ToolContext) -> None:
    put(context, "b", "a" * 60 + "!\n")
    worker = [sys.executable, "-P", "-m", "tau.tools.search_worker", "1", "10", CATASTROPHE, "b"]
    done = subprocess.run(worker, cwd=context.directory, timeout=30, check=False)
    assert done.returncode < 0


def test_modules_in_the_working_directory_are_not_imported(context: ToolContext) -> None:
    for name in ("re", "json", "tau", "signal", "base64"):
        put(context, f"{name}.py", "open('IMPORTED', 'w').close()\n# needle\n")
    assert len(search(context, "# needle", "")) == 6
    assert not (context.directory / "IMPORTED").exists()


def test_a_ripgrep_in_the_working_directory_is_not_run(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(context, "bin/rg", "#!/bin/sh\ntouch IMPORTED\n")
    (context.directory / "bin" / "rg").chmod(0o755)
    monkeypatch.chdir(context.directory)
    for path in (str(context.directory / "bin"), "bin"):
        monkeypatch.setenv("PATH", path)
        assert ripgrep(context.directory) == ""


def children() -> Iterator[int]:
    """The search processes that this process has."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"search_worker" in command and parent == os.getpid():
                yield int(entry.name)


def until(condition: Any, seconds: float = 30) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def guarded(tmp_path: Path, *closed: str) -> tuple[ToolContext, list[str]]:
    """A context in which files are closed, and the paths it is asked about."""
    asked: list[str] = []

    def is_closed(path: str) -> bool:
        asked.append(path)
        return path in closed

    return make_context(tmp_path.resolve() / "work", closed=is_closed), asked


def test_closed_files_are_left_out_and_counted(tmp_path: Path, rg: str) -> None:
    context, asked = guarded(tmp_path, ".env", "sub/.env")
    for name in (".env", "sub/.env", "sub/deep/.env", "a.txt"):
        put(context, name, "KEY=needle\n")
    (context.directory / "link").symlink_to(".env")
    assert search(context, "needle", rg) == [
        "a.txt:1: KEY=needle",
        "sub/deep/.env:1: KEY=needle",
        "[2 files are not searched: reading them is denied or asked about.]",
        "[2 matching lines.]",
    ]
    assert sorted(asked) == [".env", "a.txt", "sub/.env", "sub/deep/.env"]
    assert search(context, "needle", rg, "sub") == [
        "sub/deep/.env:1: KEY=needle",
        "[1 file is not searched: reading it is denied or asked about.]",
        "[1 matching line.]",
    ]
    assert search(context, "needle", rg, glob="*.txt") == ["a.txt:1: KEY=needle", "[1 matching line.]"]


@pytest.mark.parametrize("path", [".env", "link", "sub/../.env", "linked/.env"])
def test_a_closed_file_is_not_searched_by_any_name(tmp_path: Path, rg: str, path: str) -> None:
    context, _ = guarded(tmp_path, ".env", "sub/.env")
    put(context, ".env", "KEY=needle\n")
    put(context, "sub/.env", "KEY=needle\n")
    (context.directory / "link").symlink_to(".env")
    (context.directory / "linked").symlink_to("sub")
    with pytest.raises(Refused, match=r"\.env is not searched: reading it is denied or asked about"):
        search(context, "needle", rg, path)


def test_a_closed_file_through_a_linked_directory(tmp_path: Path, rg: str) -> None:
    context, _ = guarded(tmp_path, "sub/.env")
    put(context, "sub/.env", "KEY=needle\n")
    (context.directory / "linked").symlink_to("sub")
    rows = search(context, "needle", rg, "linked")
    assert rows[0] == "[1 file is not searched: reading it is denied or asked about.]"
    assert rows[1].startswith("[No line matches in 0 files in sub.")


def test_files_outside_are_judged_by_their_whole_path(tmp_path: Path, rg: str) -> None:
    outside = tmp_path.resolve() / "granted"
    outside.mkdir()
    (outside / "key").write_text("needle\n")
    (outside / "open").write_text("needle\n")
    context, asked = guarded(tmp_path, str(outside / "key"))
    context.grants.add(outside)
    rows = search(context, "needle", rg, str(outside))
    assert rows[0] == f"{outside}/open:1: needle"
    assert rows[1] == "[1 file is not searched: reading it is denied or asked about.]"
    assert sorted(asked) == [str(outside / "key"), str(outside / "open")]
    with pytest.raises(Refused, match="is not searched"):
        search(context, "needle", rg, str(outside / "key"))


def test_names_of_closed_files_are_found_and_listed(tmp_path: Path) -> None:
    context, asked = guarded(tmp_path, ".env")
    put(context, ".env", "KEY=needle\n")
    assert find_files.find(context, ".env", ".", watch=watch()) == ".env\n[1 file.]"
    assert list_files.listing(context, ".", watch=watch()) == ".env  11\n[1 entry.]"
    assert asked == []
