"""`tau.path_patterns`: what git says of the same patterns and paths, and a bound that no pattern passes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.path_patterns import LONGEST, PathPatterns, matches

GIT = shutil.which("git") or "git"

FILES = [
    "a", "b", "ab", "abb", "ba", "-", "]", "[", "^a", "a b", "a ", "!a", "#a", "a*b", "a\\b", "a.b", ".a",
    "A", "d/a", "d/b", "d/ab", "d/a.b", "d/d/a", "d/d/ab", "d/d/d/b", "ad/a", "ad/d/ab", "ad/.d/a", ".d/a",
    ".d/d/b",
]  # fmt: skip
DIRECTORIES = sorted({parent for file in FILES for parent in map(str, Path(file).parents)} - {"."})
PATHS = sorted([*FILES, *DIRECTORIES])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("patterns")
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    git(root, "init", "--quiet")
    return root


def git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    command = [GIT, "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, input=given, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def ignored_by_git(root: Path, content: str) -> set[str]:
    (root / ".gitignore").write_bytes(content.encode())
    given = "\0".join(PATHS).encode()
    return set(
        git(root, "check-ignore", "--no-index", "-z", "--stdin", given=given).decode().split("\0")[:-1]
    )


def ignored(content: str) -> set[str]:
    """As a walk finds it: what is below an ignored directory is not looked at."""
    patterns = PathPatterns(content.split("\n"))
    left_out: set[str] = set()
    for path in PATHS:
        parent = str(Path(path).parent)
        if parent in left_out or patterns.matches(path, is_dir=path in DIRECTORIES):
            left_out.add(path)
    return left_out


SETS = st.one_of(
    st.sampled_from([
        "[ab]", "[!a]", "[^b-]", "[]a]", "[!]a]", "[a-c]", "[a\\-b]", "[\\]]", "[c-a]", "[[]", "[a-]", "[-a]",
        "[a-b-z]", "[a-\\]]", "[[:alpha:]]", "[![:punct:]b]", "[[:upper:]-a]", "[[:oops:]]", "[[:a]",
        "[[::]]", "[a/b]", "[a", "[]", "[!]", "[\\",
    ]),
    st.text("ab-]![:\\^", max_size=5).map(lambda inner: f"[{inner}]"),
)  # fmt: skip
PIECES = st.one_of(
    st.sampled_from([*"abdA.-^", "*", "?", "\\", "\\*", "\\a", " ", "!", "#", "]", "d", "ad"]), SETS
)
NAMES = st.lists(PIECES, min_size=1, max_size=4).map("".join)
SEGMENTS = st.one_of(NAMES, st.sampled_from(["**", "*", "a", "d", "***", ""]))


def is_clear(line: str) -> bool:
    """Whether git has one opinion: its stars in a row depend on what is before them, outside a whole name."""
    return not re.search(r"[^/!*]\*\*|\*\*[^/* ]", line)


LINES = (
    st.tuples(
        st.sampled_from(["", "", "", "!", "/", "!/", "#"]),
        st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join),
        st.sampled_from(["", "", "", "/", " ", "\\ ", "\r", "/ "]),
    )
    .map("".join)
    .filter(is_clear)
)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(lines=st.lists(LINES, max_size=5))
def test_a_file_of_patterns_means_what_it_means_to_git(repository: Path, lines: list[str]) -> None:
    content = "\n".join(lines)
    assert ignored(content) == ignored_by_git(repository, content)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(line=LINES)
def test_a_single_pattern_means_what_it_means_to_git(repository: Path, line: str) -> None:
    line = line.rstrip("\r")
    in_a_file = f"\\{line}" if line.startswith(("!", "#")) else line
    try:
        matched = {path for path in PATHS if matches(line, path + "/" * (path in DIRECTORIES))}
    except ValueError:
        matched = set()
    assert matched == ignored_by_git(repository, in_a_file)


@pytest.mark.parametrize(
    ("content", "path", "is_dir", "verdict"),
    [
        ("*\n!*/\n!*.py", "d", True, False),  # which a matcher of whole paths gets wrong
        ("*\n!*/\n!*.py", "d/x.py", False, False),
        ("*\n!*/\n!*.py", "d/x.c", False, True),
        ("a/", "a", False, None),
        ("a/", "a", True, True),
        ("a", "a/b", False, None),  # the directory is what is ignored
        ("a/**", "a", True, None),
        ("a/**", "a/b/c", False, True),
        ("**/a/b", "a/b", False, True),
        ("a/**/b", "a/b", False, True),
        ("a/**/b", "a/x/y/b", False, True),
        ("/*.c", "d/x.c", False, None),
        ("d/*.c", "x/d/x.c", False, None),
        ("a**b", "axxb", False, True),
        ("a**/b", "ax/y/b", False, None),
        ("?", "ä", False, True),
        ("[ß-ü]x", "äx", False, True),
        ("x\u2028y", "x\u2028y", False, True),
        ("a\n# a\n\n  \n", "a", False, True),
        ("!", "!", False, None),
        ("a\\\\ ", "a\\", False, True),  # the second backslash is what is escaped, not the space
        ("//a", "a", False, None),
        ("[a\\-c]", "b", False, None),
        ("[a-]x", "-x", False, True),
        ("[a-c-e]", "d", False, None),
        ("[[:digit:]-z]", "b", False, None),
        ("[[:digit:]-z]", "-", False, True),
        ("*ab*ab*", "xab", False, None),
        ("*ab*ab*", "abxab", False, True),
    ],
)
def test_verdicts(content: str, path: str, is_dir: bool, verdict: bool | None) -> None:
    assert PathPatterns(content.split("\n")).matches(path, is_dir=is_dir) is verdict


def test_no_pattern_has_no_opinion() -> None:
    assert not PathPatterns(["", "# a\n", "[", "a\\", "/", "x" * (LONGEST + 1)])
    assert PathPatterns(["a\r\n"]).matches("a") is True


def test_names_that_are_no_text_match() -> None:
    name = os.fsdecode(b"caf\xe9.log")
    assert PathPatterns(["*.log"]).matches(name) is True
    assert PathPatterns([os.fsdecode(b"caf\xe9.*")]).matches(name) is True
    assert PathPatterns(["caf?.lo[a-g]"]).matches(name) is True
    assert matches("d/[!x]af?.*", f"d/{name}")


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        (".env", ".env", True),
        (".env", "sub/.env", True),
        (".env", ".env/x", True),
        ("/.env", "sub/.env", False),
        ("secrets/", "secrets/a/b", True),
        ("secrets/", "secrets", False),
        ("secrets/", "secrets/", True),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/*", "src/a/b", True),
        ("**/x/*.py", "a/x/b.py", True),
        ("!a", "!a", True),
        ("!a", "b", False),
        ("#a", "d/#a", True),
        ("*", "", True),
    ],
)
def test_a_single_pattern_covers_what_is_below(pattern: str, path: str, matched: bool) -> None:
    assert matches(pattern, path) is matched


@pytest.mark.parametrize("pattern", ["", " ", "/", "a\\", "[a", "[[:oops:]]", "a/[b", "a" * (LONGEST + 1)])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"it |a \[|there is"):
        matches(pattern, "a")


LONG = "a" * 255
DEEP = "/".join(["a" * 100] * 40)


HARD = {
    "stars": ("a*" * 12 + "b", "a" * 100),
    "stars-in-long": ("a*" * 4_900 + "b", LONG),
    "leading-stars": ("*a" * 4_900 + "b", LONG),
    "questions": ("?*" * 4_900 + "b", LONG),
    "sets": ("*[a-c]" * 1_600 + "b", LONG),
    "one-block": ("*" + "[!b]" * 200 + "b*" + "?" * 60, LONG),
    "only-stars": ("*" * 9_000 + "b", LONG),
    "deep": ("**/a*/" * 1_600 + "b", DEEP),
    "stars-in-deep": ("**/" + "*" * 9_900 + "a/b", "/".join(["a"] * 2_000)),
    "only-deep": ("**/" * 3_000 + "b", DEEP),
    "deep-and-stars": ("**/*a*a*a*a*a*b/" * 500 + "x", DEEP),
    "deep-blocks": ("/".join(["**", *["*a*?*"] * 20] * 20) + "/b", "/".join(["aaa"] * 1_000)),
    "ranges": ("[" + "b-c" * 3_000 + "]*" * 2, LONG),
    "classes": ("[[:" * 3_000 + "]", LONG),
    "brackets": ("[" * 9_000 + "]", LONG),
    "backslashes": ("\\" * 9_999 + " ", LONG),
}


@pytest.mark.parametrize(("pattern", "path"), HARD.values(), ids=HARD)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    began = time.process_time()
    assert PathPatterns([pattern]).matches(path) is None
    assert time.process_time() - began < 2
