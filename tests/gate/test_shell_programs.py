"""What real programs do with the arguments that an approved ``*`` is taken to stand for.

Scripts and options of the programs that this machine has are changed at random. What is judged to be covered
runs in a small directory; no file may appear or change there, and no program may be started.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.gate.test_shell import allowed

REAL = (
    "sed",
    "awk",
    "mawk",
    "gawk",
    "find",
    "sort",
    "git",
    "grep",
    "tar",
    "rg",
    "uniq",
    "xxd",
    "jq",
    "file",
    "tree",
)
MARKERS = (
    "sh", "touch", "vi", "editor", "nano", "less", "more", "pager", "ssh", "rsh", "gpg",
    "python3", "perl", "x", "M", "man", "date",
)  # fmt: skip
READERS = (
    "diff", "log", "show", "grep", "blame", "status", "ls-files", "rev-parse", "shortlog", "describe",
    "cat-file", "ls-tree", "rev-list",
)  # fmt: skip
APPROVED = (
    "printf *",
    *(f"{name} *" for name in REAL if name != "git"),
    *(f"git {name} *" for name in READERS),
)

State = dict[str, tuple[int, int, bytes]]


class Sandbox:
    """A repository with a few files, and a PATH of real programs and of ones that leave a mark."""

    def __init__(self, place: Path) -> None:
        self.place = place / "work"
        self.place.mkdir()
        programs = place / "programs"
        programs.mkdir()
        for name in REAL:
            if found := shutil.which(name):
                (programs / name).symlink_to(found)
        for name in MARKERS:
            (programs / name).write_text('#!/bin/sh\n: > "$MARK"\n')
            (programs / name).chmod(0o755)
        self._environment = {
            "PATH": str(programs),
            "HOME": str(self.place),
            "TMPDIR": str(self.place),
            "MARK": str(self.place / "MARK"),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
        }
        for name, text in {"a": "touch P\na b\n2 3\n", "b": "M x\nq\n", "sub/c": "touch P\n"}.items():
            (self.place / name).parent.mkdir(exist_ok=True)
            (self.place / name).write_text(text)
        subprocess.run(["tar", "cf", "t.tar", "a", "sub"], cwd=self.place, check=True)
        identity = ["-c", "user.name=n", "-c", "user.email=n@localhost"]
        for command in (["init", "-q"], ["add", "a", "b"], [*identity, "commit", "-q", "-m", "x"]):
            subprocess.run(
                ["git", *command], cwd=self.place, check=True, env={**os.environ, "HOME": str(place)}
            )
        (self.place / "b").write_text("changed\n")
        self._before = self._state()
        self._copy = place / "copy"
        shutil.copytree(self.place, self._copy)

    def _state(self) -> State:
        """Size, time and content of every file below the directory."""
        found: State = {}
        for root, directories, names in os.walk(self.place):
            for name in (*directories, *names):
                path = Path(root, name)
                if name == "index":  # in which git keeps what it has seen of the files' times
                    continue
                status = path.lstat()
                is_file = path.is_file()
                time = status.st_mtime_ns if is_file else 0
                content = path.read_bytes() if is_file and ".git" not in path.parts else b""
                found[str(path.relative_to(self.place))] = (status.st_size if is_file else 0, time, content)
        return found

    def changes(self, command: str) -> list[str]:
        """Run a command for at most a second; the files that it changed, which are then as they were."""
        with subprocess.Popen(
            ["/bin/bash", "-c", command],
            cwd=self.place,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        after = self._state()
        changed = {name for name, _ in after.items() ^ self._before.items()}
        if changed:
            shutil.rmtree(self.place)
            shutil.copytree(self._copy, self.place)
            self._before = self._state()
        return sorted(changed)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return Sandbox(tmp_path_factory.mktemp("programs"))


def _spliced(seed: str, pieces: list[tuple[str, int, int]]) -> str:
    """A text with each piece put in at a place, over some characters of it."""
    for piece, place, over in pieces:
        at = place % (len(seed) + 1)
        seed = seed[:at] + piece + seed[at + over :]
    return seed


def _mutated(seeds: list[str], pieces: list[str], most: int = 3) -> st.SearchStrategy[str]:
    change = st.tuples(st.sampled_from(pieces), st.integers(0, 40), st.integers(0, 2))
    return st.builds(_spliced, st.sampled_from(seeds), st.lists(change, max_size=most))


SED = _mutated(
    [
        "s/a/b/", "s/[a-z]/x/g", "/a/p", "1,2p", "$p", "s|a|b|;p", "/a/,/b/d", "y/ab/cd/", "s/[[:alpha:]]/x/",
        "s/[^a]/;e M #/", "s/a/;w P/", "p;p", "s/\\(a\\)/\\1/2", "$!N;P;D", "s,a,b,;s:c:d:", "/[a]/!p",
        "s/[]/]/;s/;e M #/x/", "s/[^]/]/;s/;w P #/x/", "s/a/b/;e M", "s/x/[/;s/]/;w P/",
    ],
    [
        "/", "[", "]", "[^", "[]", "[]/]", "[^]/]", "[[.].]/]", "[[=]=]", "[[:alpha:]]", "[:alpha:]", ";",
        "\n",
        "e M", "w P", "e", "w", "P", "#", "{", "}", "!", "\\", "\\\n", "\\/", "|", ",", "@", ":", "s", "y",
        "p",
        "1", "$", "+1", "~2", "I", "M", "g", "&", "a\\", "r", "W", "R", "s/a/M/e", ";e M #", ";w P #", "i\\",
        "c", "F", "z", " ", "é", "-", "^", "*", "(", ")", "\\c", "\\n", "\\[", "\\]", "\\x5d", "b", "t", "T",
    ],
)  # fmt: skip
AWK = _mutated(
    [
        "{print $1}", "/a/", "/a/ {print}", "NR==1", "$1 ~ /b/ {n++} END {print n/2}", "{print $1, \"x\"}",
        "BEGIN {FS=\",\"} {print}", "!/a/", "{gsub(/a/, \"b\"); print}",
        "{a[$1]++} END {for (k in a) print k}",
        "NR/2", "NR\n/a/", "{printf \"%s\\n\", $1}", "{x = \"M\"; print x}", "{if ($1) print; else next}",
        "{print \"M\" /x/}", "NR\n/\"/ {system(\"M\")} /\"/", "{print a / b; x = \"/ | y\"}",
    ],
    [
        "/", "\"", "|", ">", ">>", ">=", "||", "&&", "system", "system(\"M\")", "getline", "\"M\"", "M", "P",
        "\\",
        "\\\n", "\n", ";", "{", "}", "(", ")", "[", "]", "[/]", "/\"/", "\"/\"", "#", "@", "=", "~", "!",
        "$0",
        "print", " ", ",", "n", "\\\"", "\\/", "| \"sh\"", "> \"P\"", "\"M\" | getline", "in", "length", "é",
        "-",
        "@include", "printf", "close", "0", "NR", "++", "/a/", "function", "'",
    ],
)  # fmt: skip
WORDS: dict[str, tuple[list[str], list[str]]] = {
    "sed": (
        ["-n p a", "-n -e p a", "-E p a b", "--expression=p a", "p a"],
        ["-i", "-ni", "-ne", "-e", "-f a", "-s", "-z", "--in-place", "--in-pl", "--posix", "-n", "-nie p",
         "-I",
         "'w P'", "'e M'", "-e 'w P'", "--expression='e M'", "--file=a", "-l 3", "--", "-ew\\ P", "--debug"],
    ),
    "awk": (
        ["'{print}' a", "-F, '{print $1}' a", "-v x=1 '{print x}' a", "-- '{print}' a"],
        ["-f a", "-v", "-F", "-W exec a", "-i inplace", "--", "-e", "x=1", "-vx=1", "-F:", "-o P", "-oP",
         "-dP",
         "-pP", "--dump-variables=P", "-f/dev/stdin", "-Wdump", "-E a", "--profile=P",
         "'BEGIN{system(\"M\")}'"],
    ),
    "find": (
        [". -name a", ". -type f -print", "sub -maxdepth 1", "-L . -mtime -7", ". -printf '%p\\n'",
         ". -exec grep a {} +", ". -name b -o -name a", ". -exec sed -n p {} \\;"],
        ["-delete", "-exec M {} +", "-exec M \\;", "-execdir M {} \\;", "-ok M \\;", "-fprint P",
         "-fprintf P x",
         "-fprint0 P", "-fls P", "-printf '%h'", "-printf", "-quit", "-D exec", "-O3", "-files0-from a",
         "-f", "!",
         "-size +1k", "-newermt 2020-01-01", "\\(", "\\)", "-o", "+", "\\;", "{}", "-exec", "grep",
         "-perm -u+x"],
    ),
    "sort": (
        ["a", "-u a b", "-k 1,1 a", "-t, -k2 a", "-rn a b", "-c a"],
        ["-o P", "-oP", "-uoP", "--output=P", "--outp=P", "--o=P", "--compress-program=M", "--comp=M",
         "-S 1b",
         "-T .", "-T P", "--files0-from=a", "-k", "-t", "--", "-m", "-o", "P", "--batch-size=2", "+1", "-1",
         "-z",
         "--parallel=2", "-kxo P", "-t -o P", "--random-source=a", "-rko", "-t- -oP"],
    ),
    "uniq": (["a", "-c a", "-f 1 a"], ["P", "-", "-d", "-f", "1", "+1", "-1", "--", "--group", "-cw",
        "--output=P"]),
    "xxd": (["a", "-l 4 a", "-p a"], ["P", "-r", "-i", "-s", "2", "-", "--", "-o 2", "-n x", "-c4", "-E"]),
    "tar": (
        ["-tf t.tar", "tf t.tar", "-t -v -f t.tar", "--list --file=t.tar", "tvf t.tar"],
        ["--to-command=M", "--to-com=M", "-I M", "-IM", "I", "--use-compress-program=M", "--checkpoint=1",
         "--checkpoint-action=exec=M", "-F M", "--info-script=M", "--rsh-command=M", "h:t.tar", "-f h:t.tar",
         "--index-file=P", "-g P", "-z", "-T a", "-M", "-vv", "--rmt-command=M", "-C sub", "a", "-tIM",
         "--force-local",
         "--volno-file=P", "-S", "--listed-incremental=P"],
    ),
    "rg": (
        ["a", "-n a .", "-e a sub", "-g '*.c' a", "--files"],
        ["--pre M", "--pre=M", "--pr=M", "--hostname-bin=M", "--hostname-bin M",
         "--hyperlink-format=default", "-z",
         "--search-zip", "-A 1", "-tpy", "--", "-f a", "--pre-glob=*", "-P", "-uuu", "--generate man",
         "--debug", "-uz"],
    ),
    "grep": (["a a", "-rn a .", "-E 'a|b' a"], ["-P", "-f a", "-o", "--include=*", "-z", "-L", "--", "-e x",
        "-d read"]),
    "jq": (["-n 1", ". a"], ["-f a", "input_filename", "env", "--args", "-L .", "$__loc__", "-i", "'@sh'",
        "--stream"]),
    "file": (["a", "-b a b"], ["-C", "-m a", "-Cm a", "--compile", "-z", "-i", "-f a", "-S", "--comp"]),
    "printf": (
        ["'%s\\n' a", "a", "'%d' 1"],
        ["-v x", "-vPATH", "%n", "'%n' x", "'%5n'", "'%*n' 1 x", "'%b' '\\x41'", "--", "'%(%s)T'",
         "'x[$(M)]'"],
    ),
    "git": (
        ["diff", "diff --stat", "log -n 1 -p", "show HEAD", "grep a", "blame a", "status -s", "ls-files",
         "rev-parse HEAD", "shortlog HEAD", "cat-file -p HEAD", "log --format=%h", "branch -a",
         "rev-list HEAD", "tag -l",
         "describe --always"],
        ["--output=P", "--output P", "--outp=P", "--ext-diff", "-O", "-OM", "-OP", "--open-files-in-pager=M",
         "-nOM",
         "--open=M", "--textconv", "--show-signature", "--show-sig", "--format=%G?", "--format='%h%G?'",
         "--pretty=raw",
         "--format='%(signature)'", "-c core.pager=M", "--paginate", "-p", "--no-index a b", "--", "-S x",
         "-L1,1:a",
         "--edit-description", "--contents a", "--ignore-revs-file=a", "-o P", "-U3", "--color", "--parseopt",
         "--filters", "--batch", "--word-diff", "-t", "--help", "-h", "x", "-d x", "-e", "--column",
         "--get-urlmatch",
         "--exec-path=.", "--git-dir=x", "--submodule=log", "-W", "--dirstat", "--stdin", "--no-pager",
         "--ext-dif"],
    ),
}  # fmt: skip


@st.composite
def _with_words(draw: st.DrawFn) -> str:
    """A program's arguments with options put in between, taken away or doubled."""
    program = draw(st.sampled_from(sorted(WORDS)))
    seeds, pieces = WORDS[program]
    words = shlex.split(draw(st.sampled_from(seeds)))
    for piece in draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=3)):
        at = draw(st.integers(0, len(words)))
        over = draw(st.integers(0, 1))
        words[at : at + over] = shlex.split(piece)
    return f"{program} {shlex.join(words)}"


def _script(form: str) -> Callable[[str], str]:
    return lambda text: form.replace("SCRIPT", shlex.quote(text))


COMMAND = st.one_of(
    SED.map(_script("sed SCRIPT a")),
    SED.map(_script("sed -n -e SCRIPT -e p a b")),
    AWK.map(_script("awk SCRIPT a b")),
    AWK.map(_script("awk -F, SCRIPT a")),
    _with_words(),
    _with_words(),
)


@given(COMMAND)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_star_covers_leaves_every_file_as_it_was(sandbox: Sandbox, command: str) -> None:
    assume(allowed(command, APPROVED))

    assert sandbox.changes(command) == []


@pytest.mark.parametrize(
    "command", ["sed 'w P' a", "sed 'e M' a", "sort -o P a", "grep a a; : > P", "find . -exec M \\;"]
)
def test_the_sandbox_sees_what_is_written_and_what_runs(sandbox: Sandbox, command: str) -> None:
    assert sandbox.changes(command) in (["P"], ["MARK"])
    assert sandbox.changes("sed p a") == []
