"""What the judge says a command would run, against what the shell runs.

Commands that are read as clear are given to real shells in an empty directory, with programs that only write
down their arguments. Nothing may run that was not read, and nothing may be written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tau.gate.shell import Command, Reading, read

RECORDED = ("ls", "cat", "grep", "git", "sort", "head", "wc", "rm", "touch", "a", "b", "x")
REAL = ("env", "nice", "nohup", "timeout", "xargs", "find", "bash", "sh")
FILES = ["x", "y.py"]
SHELLS = [each for each in ("bash", "sh") if shutil.which(each)]

Ran = list[tuple[str, ...]]


class Machine:
    """A directory to run commands in, and a PATH of programs that record how they were called."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._programs = place / "programs"
        self._programs.mkdir()
        for name in RECORDED:
            program = self._programs / name
            program.write_text('#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" END >> "$RECORD"\n')
            program.chmod(0o755)
        for name in REAL:
            (self._programs / name).symlink_to(str(shutil.which(name)))
        self._runs = 0

    def run(self, shell: str, command: str) -> tuple[Ran, list[str]]:
        """What ran, and the files that there are afterwards; waits for what runs in the background too."""
        self._runs += 1
        directory = self._place / f"run{self._runs}"
        directory.mkdir()
        for name in FILES:
            (directory / name).touch()
        record = self._place / f"record{self._runs}"
        record.touch()
        ended, alive = os.pipe()
        try:
            subprocess.run(
                [str(shutil.which(shell)), "-c", command],
                cwd=directory,
                env={"PATH": str(self._programs), "HOME": "/nowhere", "RECORD": str(record)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(alive,),
                timeout=20,
                check=False,
            )
        finally:
            os.close(alive)
            with os.fdopen(ended, "rb") as pipe:
                pipe.read()
        calls = record.read_bytes().decode().split("\0END\0")
        return [tuple(call.split("\0")) for call in calls if call], sorted(os.listdir(directory))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


def was_read(call: Sequence[str], reading: Reading) -> bool:
    return any(_matches(command, call) for command in reading.commands)


def _matches(command: Command, call: Sequence[str], word: int = 0, given: int = 0) -> bool:
    """Whether a call is one of a command; a loose word may have become several."""
    if word == len(command.words):
        return command.more or given == len(call)
    if given >= len(call):
        return False
    if word in command.loose:
        return any(_matches(command, call, word + 1, after) for after in range(given + 1, len(call) + 1))
    expected = command.name if word == 0 else command.words[word]
    return expected == call[given] and _matches(command, call, word + 1, given + 1)


ARGUMENT = st.sampled_from(
    [
        "-l", "x", "'a b'", '"a;b"', "a\\ b", "y*", "./*", "~/z", "a#b", "'$X'", '"\\$X"', "'`a`'", '"a$"',
        "{}", "@{1}", "a=b", "!", "'it'\\''s'", '""', "''", '"a\\\\"', "\\;", "\\#", "\"'\"", "'\"'", "é",
        "2", "-", "--", "'\n'", '"\\\n"', "a\\'b", "x[1]", "%", "^", "}", "do", "then", "'>'", "\\>", '"&"',
        "a:~", "=", "if", "]", "x,y", "#'",
    ]
)  # fmt: skip
REDIRECTION = st.sampled_from(
    [
        "2>&1",
        ">/dev/null",
        "2>/dev/null",
        "&>/dev/null",
        "<x",
        "2<x",
        "12>&1",
        "<<< 'a; b'",
        "2>&-",
        "> /dev/null",
        "< 'x'",
        "1>&2",
    ]
)
PREFIX = st.sampled_from(
    [
        "env ",
        "nice ",
        "nice -n 1 ",
        "timeout 5 ",
        "time ",
        "command ",
        "exec ",
        "xargs -n 2 ",
        "nohup ",
        "env nice ",
    ]
)
SIMPLE = st.builds(
    lambda prefix, name, words: " ".join([prefix + name, *words]),
    st.one_of(st.just(""), PREFIX),
    st.sampled_from(["ls", "cat", "grep", "git", "'ls'", "l\\s", '"cat"', "a", "true", "false", "echo"]),
    st.lists(st.one_of(ARGUMENT, REDIRECTION), max_size=5),
)
DOCUMENT = st.builds(
    lambda name, end, body: f"{name} <<{end}\n{body}\n" + end.lstrip("-").strip("'\"\\"),
    st.sampled_from(["cat", "grep x", "ls | cat", "cat -n 2>&1"]),
    st.sampled_from(["EOF", "'EOF'", '"EOF"', "\\EOF", "-EOF", "-'EOF'"]),
    st.sampled_from(["plain", "it's", '"', "\tEOF x", " EOF", "EOFF", "touch P", "; touch P", "a\\\\b"]),
)
FIND = st.builds(
    lambda inner, end: f"find . -name 'x' -exec {inner} {end}",
    st.sampled_from(["ls {}", "grep a {}", "cat './{}' b", "nice cat {}", "sh -c 'ls; cat x'"]),
    st.sampled_from(["\\;", "';'", "{} +"]),
)
SCRIPT = st.sampled_from(
    ["sh -c 'ls; cat x'", "bash -c \"ls 'a b' && cat\"", "sh -ec 'ls | sh -c \"cat x\"'"]
)
JOIN = st.sampled_from(
    ["; ", " && ", " || ", " | ", " |& ", " & ", "\n", ";", "&&", " # ' x\n", "\n\n", " &&\n"]
)
LINE = st.recursive(
    st.one_of(SIMPLE, SIMPLE, SIMPLE, DOCUMENT, FIND, SCRIPT),
    lambda inner: st.one_of(
        st.builds(lambda a, join, b: a + join + b, inner, JOIN, inner),
        st.builds("({})".format, inner),
        st.builds("{{ {}\n}}".format, inner),
        st.builds("! {}".format, inner),
        st.builds("if {}\nthen {}\nelse {}\nfi 2>&1".format, inner, inner, inner),
        st.builds("while false; do {}\ndone".format, inner),
        st.builds("if [ -f x ]; then {}\nfi".format, inner),
        st.builds("[[ -f x ]] && {}".format, inner),
    ),
    max_leaves=4,
)  # fmt: skip


def _strewn(line: str, pieces: list[str], places: list[int]) -> str:
    for piece, place in zip(pieces, places, strict=False):
        line = line[:place] + piece + line[place:]
    return line


PIECES = st.sampled_from(
    [
        "ls", "cat", "git", "touch P", "rm x", " ", " ", " ", "\t", "'", '"', "\\", ";", "&&", "||", "|",
        "&", "\n", "#", " #", "{ ", " }", "; }", "(", ")", "! ", "if ", "; then ", "; fi", "; else ",
        "while false; do ", "; done", ">", " > /dev/null", "2>&1", "<", "<<EOF\n", "<<'EOF'\n", "\nEOF\n",
        "*", "[", "]", "[ ", " ]", "[[ ", " ]]", "~", "$", "=", "a", "a=b", "x", "y.py", "{", "}", ",",
        "..", "time ", "env ", "command ", "exec ", "xargs ", "sh -c ", "find . -exec ", " {} \\;", "\\\n",
        " \\\n", "!", "^", "1", "21>&1", ">&", "`", "$(", "$'", "é", "-x", "--", "<(", "=(", "case x in ",
        "esac", "function ", "f() ",
    ]
)  # fmt: skip
NOISE = st.builds(
    _strewn,
    st.one_of(SIMPLE, LINE),
    st.lists(PIECES, min_size=1, max_size=4),
    st.lists(st.integers(0, 60), min_size=4, max_size=4),
)


def _check(machine: Machine, command: str) -> None:
    reading = read(command)
    assume(not reading.unclear)
    # What a script runs is not in the command; the shell looks for one in PATH too.
    assume(not any(one.name in ("bash", "sh") and not one.free for one in reading.commands))
    for shell in SHELLS:
        ran, files = machine.run(shell, command)
        for call in ran:
            assert was_read(call, reading), (shell, command, call, reading)
        assert files == FILES, (shell, command, files)


@given(LINE)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_clear_command_runs_what_was_read_and_nothing_else(machine: Machine, command: str) -> None:
    _check(machine, command)


@given(NOISE)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_command_with_noise_in_it_is_clear_only_when_the_shell_agrees(
    machine: Machine, command: str
) -> None:
    _check(machine, command)


@given(st.lists(SIMPLE, min_size=1, max_size=4), st.sampled_from([";", "\n", " & ", "\n# x\n"]))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_all_that_was_read_runs(machine: Machine, commands: list[str], join: str) -> None:
    command = join.join(commands)
    assume("exec" not in command and "<" not in command and "&-" not in command)
    reading = read(command)
    assume(not reading.unclear)

    ran, _ = machine.run("bash", command)

    for one in reading.commands:
        if one.name in RECORDED and not one.free:
            assert any(_matches(one, call) for call in ran), (command, one, ran)


def test_the_machine_sees_what_runs_and_what_is_written(machine: Machine) -> None:
    ran, files = machine.run("bash", "ls $(rm 'a b') & env touch P; echo > P; x=grep; $x \"\"")

    assert sorted(ran) == [("grep", ""), ("ls",), ("rm", "a b"), ("touch", "P")]
    assert files == ["P", *FILES]
