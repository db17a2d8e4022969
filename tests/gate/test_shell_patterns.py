"""Patterns of shell commands: what is offered reads back and covers, and what cannot be used is named."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.gate.shell import Command, beyond, check_pattern, covers, offer, read


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git log -n 3", ("git log *",)),
        ("git status; git diff | head", ("git status *", "git diff *", "head *")),
        ("git push origin main", ("git push origin main",)),
        ("git config user.name x", ("git config user.name x",)),
        ("ls -l src/*.py; ls", ("ls *",)),
        ("pytest -x 'a b'", ("pytest *",)),
        ("uv run pytest -x", ("uv run pytest *",)),
        ("python -m pytest -x", ("python -m pytest *",)),
        ("npm test", ("npm test *",)),
        ("npm run build", ("npm run build",)),
        ("rm -rf 'a b'", ("rm -rf 'a b'",)),
        ("mv a b && ls", ("mv a b", "ls *")),
        ("curl -s https://example.com", ("curl -s https://example.com",)),
        ("python -c 'print(1)'", ("python -c 'print(1)'",)),
        ("sort -o out in", ("sort -o out in",)),
        ("find . -delete", ("find . -delete",)),
        ("find . -name x -exec rm {} \\;", ()),
        ("find . -exec grep x {} +", ("find *", "grep *")),
        ("timeout 5 pytest", ("pytest *",)),
        ("ls | xargs grep x", ("ls *", "grep *")),
        ("ls | xargs rm", ()),
        ("ls > P", ()),
        ("rm *.pyc", ()),
        ("rm a*", ()),
        ("frobnicate", ("frobnicate",)),
        ("frobnicate '*'", ("frobnicate '*'",)),
        ("./run.sh a", ("./run.sh a",)),
        ("frobnicate " + "x" * 300, ()),
        ("frobnicate 'a\nb'", ()),
        ("true", ()),
        ("c1; c2; c3; c4; c5", ("c1", "c2", "c3", "c4", "c5")),
        ("c1; c2; c3; c4; c5; c6", ()),
        ("git commit", ("git commit",)),
        ("git commit -m x", ("git commit *",)),
        ("sed 's/[]/]/;e x#/' f", ("sed 's/[]/]/;e x#/' f",)),
        ("go test -test.trace=P", ("go test -test.trace=P",)),
        ("ls $X", ()),
    ],
)
def test_what_is_offered_is_narrow(command: str, offered: tuple[str, ...]) -> None:
    assert offer(read(command)) == offered


@pytest.mark.parametrize(
    ("command", "phrases"),
    [
        ("ls -l | sort -u", ()),
        ("ls | sort -o f", ("sort -o is not known to be harmless",)),
        ("find . -delete; find x -delete", ("find -delete is not known to be harmless",)),
        ("git -c a=b log", ("git -c changes what git runs",)),
        ("uv run pytest -p x", ("uv runs pytest", "pytest -p is not known to be harmless")),
        ("awk 'BEGIN { system(1) }'", ("the program of awk may write a file or run a command",)),
        ("python -c 'x'", ("python -c may run code that it is given",)),
    ],
)
def test_what_goes_beyond_a_star_is_named(command: str, phrases: tuple[str, ...]) -> None:
    assert beyond(read(command)) == phrases


WORD = st.one_of(
    st.sampled_from(
        [
            "ls", "git", "log", "status", "rm", "-rf", "*", "a*", "~", "a b", "'", '"', "\\", "$X", "{a,b}",
            "-o", "--output=x", "pytest", "uv", "run", "python", "-c", "-m", "sort", "find", "-delete", ";",
            "|", "#x", "!", "a=b", "", "é", "nice",
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=4),
)  # fmt: skip


@given(st.lists(st.lists(WORD, min_size=1, max_size=5), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_what_is_offered_covers_the_whole_command(commands: list[list[str]]) -> None:
    reading = read(
        "; ".join(" ".join("'" + word.replace("'", "'\\''") + "'" for word in each) for each in commands)
    )
    patterns = offer(reading)

    for pattern in patterns:
        assert check_pattern(pattern) == ""
    if patterns:
        for command in reading.commands:
            assert any(covers(pattern, command) for pattern in patterns)


@given(st.lists(WORD, min_size=1, max_size=5), st.lists(WORD, min_size=1, max_size=3))
@example(["nice", "ls"], ["ls"])
@example(["nice", "ls"], ["git"])
@settings(max_examples=300, deadline=None)
def test_a_pattern_of_one_command_never_covers_another_program(words: list[str], other: list[str]) -> None:
    reading = read(" ".join("'" + word.replace("'", "'\\''") + "'" for word in words))
    programs = {command.words[0] for command in reading.commands}  # of ``nice ls`` it is both

    for pattern in offer(reading):
        if other[0] not in programs:
            assert not covers(pattern, Command(tuple(other)))


@pytest.mark.parametrize(
    "pattern",
    [
        "ls", "ls *", "git status", "git log *", "git *", "  pytest   *  ", "echo '*'", "./run.sh *",
        "python *", "python -m pytest *", "uv run pytest *", "bash *", "make test", "find . -delete",
        "sort -o out *", "npm run build", "docker compose up *", "cd *", "git commit -m 'a; b'",
    ],
)  # fmt: skip
def test_what_names_one_command_can_be_used(pattern: str) -> None:
    assert check_pattern(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("*", "it names no command"),
        ("* x", "may become an option"),
        ("ls a*", "* may stand only at the end"),
        ("git * --stat", "may become an option"),
        ("ls; rm", "more than one command"),
        ("ls | cat *", "more than one command"),
        ("ls > f", "more than one command"),
        ("ls 'x", "a quote has no end"),
        ("ls $X *", "computed"),
        ("$(ls) *", "computed"),
        ("ls {a,b}", "braces"),
        ("'a b' *", "name is not a plain one"),
        ("X=1 ls *", "sets X"),
        ("sudo *", "sudo runs other commands, and always asks"),
        ("eval *", "eval changes how later commands run"),
        ("sh", "sh runs what it reads"),
        ("python", "python runs what it reads"),
        ("env *", "env is looked through"),
        ("timeout 5 pytest *", "timeout is looked through"),
        ("xargs *", "xargs is looked through"),
        ("sh -c 'ls'", "sh is looked through"),
        ("uv run *", "name the program that uv run is to run"),
        ("npx *", "name the program that npx is to run"),
        ("python -m *", "name the program that python -m is to run"),
        ("ls \u202e", "has the character U+202E"),
        ("ls \x1b *", "has the character U+001B"),
    ],
)
def test_what_cannot_be_used_says_why(pattern: str, why: str) -> None:
    assert why in check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["sudo *", "eval *", "env *", "sh", "python *", "uv run *", "rm *"])
def test_what_denies_may_name_what_always_asks(pattern: str) -> None:
    assert check_pattern(pattern, approves=False) == ""


@pytest.mark.parametrize("pattern", ["", "*", "ls; rm", "ls 'x", "ls a*"])
def test_what_denies_has_to_be_a_pattern_all_the_same(pattern: str) -> None:
    assert check_pattern(pattern, approves=False)


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status *", "git status", True),
        ("git status *", "git status -s", True),
        ("git status *", "git stat", False),
        ("git *", "git push --force", True),
        ("git *", "git config x y", False),
        ("git config *", "git config x y", True),
        ("git *", "git -c x=y log", False),
        ("git *", "git bisect run x", False),
        ("git branch *", "git branch -D x", True),
        ("ls '*'", "ls '*'", True),
        ("ls '*'", "ls x", False),
        ("ls 'a b'", "ls a\\ b", True),
        ("ls 'a b'", "ls a b", False),
        ("cat '~/x'", "cat ~/x", False),
        ("cat 'a*'", "cat a*", False),
        ("cat *", "cat a*", True),
        ("sort -o f *", "sort -o f in", True),
        ("sort -o f *", "sort -o f -o g", False),
        ("sort -o f in", "sort -o f in", True),
        ("sed -i *", "sed -i s/a/b/ f", sys.platform == "linux"),
        ("sed -i *", "sed -i 'e touch P' f", False),
        ("sed -i *", "sed -i -f x f", False),
        ("sed -e 'w P' *", "sed -e 'w P' f", True),
        ("sed -e 'w P' *", "sed -e 'w P' -e 'e x' f", False),
        ("sed -f x *", "sed -f x -e 'w P' f", False),
        ("awk -f x *", "awk -f x 'BEGIN { system(1) }'", False),
        ("awk '{ print > 1 }' *", "awk '{ print > 1 }' f", True),
        ("awk '{ print > 1 }' *", "awk '{ print > 1 }' f -f x", False),
        ("git bisect *", "git bisect run x", False),
        ("git config *", "git config --global x y", False),
        ("docker compose up *", "docker compose up web", True),
        ("python x.py", "python x.py", True),
        ("python -c 'x'", "python -c 'x'", True),
        ("python *", "python -c 'x'", False),
        ("python *", "python -m http.server", False),
        ("python -m http.server *", "python -m http.server 80", True),
        ("uv run pytest *", "uv run pytest -x", True),
        ("uv run pytest *", "uv run pytest -p x", False),
        ("./ls *", "./ls -l", True),
        ("./ls *", "ls -l", False),
        ("ls *", "./ls -l", False),
        ("ls; rm *", "ls", False),
    ],
)
def test_a_pattern_covers_word_by_word(pattern: str, command: str, expected: bool) -> None:
    reading = read(command)

    assert reading.unclear == ()
    assert all(covers(pattern, one) for one in reading.commands if not one.free) is expected
