"""No change to an approved command that adds an effect lets it run without a question."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tau.gate.shell import mentions, read
from tests.gate.test_shell import allowed

APPROVED = (
    "git status",
    "git diff *",
    "ls *",
    "cat *",
    "grep *",
    "find *",
    "sort *",
    "sed *",
    "head *",
    "echo *",
    "uv run pytest *",
)
COMMANDS = (
    "git status", "git diff --stat HEAD -- src", "ls -la 'a b'", "cat src/*.py",
    "grep -rn 'a;b' src | head -n 5", "find . -name '*.py' -exec grep -l x {} +", "sort -u f && ls",
    "sed -n '1,5p' f", 'echo "a | b" # a comment', "if ls; then cat x; fi", "{ ls; cat x; } 2>&1",
    "(ls; cat x) | sort", "cat <<'EOF' | grep x\n$X\nEOF\nls", "timeout 5 nice grep x f",
    "sh -c 'ls; cat x'", "find . -print0 | xargs -0 grep x", "ls \\\n -l", "uv run pytest -x",
)  # fmt: skip

Mutation = Callable[[str, random.Random], str]

PAYLOADS = (
    "touch P",
    "rm f",
    "'touch' P",
    "to\\uch P",
    "$'touch' P",
    "/bin/touch P",
    "X=1 touch P",
    "$X",
    "sh",
    "eval ls",
)
WRAPPED = (
    "env", "nice -n 1", "nohup", "timeout 9", "command", "exec", "time", "xargs", "stdbuf -oL", "sudo",
    "setsid", "env X=1", "find . -exec", "builtin", "sh -c", "strace", "uv run", "busybox",
)  # fmt: skip
JOINS = (
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "\n",
    " ; ",
    "\n\n",
    " \\\n; ",
    ";\t",
    " # x\n",
    ";#x\n",
    " " * 300 + ";",
    "&\n",
)
WORDS = (
    "$X", "${X}", '"$X"', "`touch P`", "$(touch P)", '"$(touch P)"', "<(touch P)", ">(touch P)",
    "$'\\x2dx'", "{a,b}", "*", "-*", "$((1+1))", "${X:=y}", "$IFS", "\u202e", "\u200b", "\x1b[2J", "\u00a0",
    "$\"x\"", "?", "[a-]x", "\r", "\x00",
)  # fmt: skip
ASSIGNMENTS = ("X=1 ", "PATH=/tmp ", "export X=1; ", "X+=1 ", "X[0]=1; ", "declare X; ", "LD_PRELOAD=x ")
REDIRECTIONS = (
    ">P", "> P", ">>P", ">|P", "&>P", "&>>P", ">&P", "2>P", "<>P", ">'P'", "> $X", "</dev/tcp/a/1", "< $X",
    "< <(ls)", "> /dev/null/../P", ">\\\nP",
)  # fmt: skip
OPTIONS = {
    "git diff": ("--output=P", "--output P", "--outp=P", "--ext-diff", "-- --output=P", "--stat --o=P"),
    "find": (
        "-delete",
        "-fprint P",
        "-exec touch P \\;",
        "-execdir rm {} +",
        "-fls P",
        "'-delete'",
        "-d\\elete",
    ),
    "sort": ("-o P", "-oP", "--output=P", "--compress-program=sh", "-uoP", "--o P", "f -- -o P", "-k1 -T P"),
    "sed": (
        "-i", "-e 'w P'", "-f x", "--in-place", "-n -i.bak", "'s/[]/]/;s/;e touch P #/x/'",
        "'/[^]/]/;w P #/p'", "'s/[[.].]/]/;s/;e touch P #/x/'", "'s/a/b/w P'", "'1!e touch P'",
        "--expr='w P'", "p -e 'w P'",
    ),
    "pytest": ("-p x", "--basetemp=P", "-oX=y", "--junitxml=P"),
}  # fmt: skip


def _chained(command: str, chance: random.Random) -> str:
    pieces = [command, chance.choice(PAYLOADS)]
    if chance.random() < 0.3 and "<<" not in command and "#" not in command:
        pieces.reverse()
    joined = chance.choice(JOINS)
    # A comment ends with its line, and so does a here-document.
    return (joined if "#" not in pieces[0] and "<<" not in pieces[0] else "\n").join(pieces)


def _quoted(command: str, chance: random.Random) -> str:
    """A chained command whose name is split by quotes."""
    return (
        command + "\n" + chance.choice(("t'ou'ch P", '"touch" P', "r''m f", "\\rm f", "r\\m f", "'r'\"m\" f"))
    )


def _with_word(command: str, chance: random.Random) -> str:
    return f"ls {chance.choice(WORDS)}\n{command}"


def _redirected(command: str, chance: random.Random) -> str:
    redirection = chance.choice(REDIRECTIONS)
    if chance.random() < 0.5 and not any(mark in command for mark in "#<\n"):
        return f"{command} {redirection}"
    return f"{redirection} ls\n{command}" if chance.random() < 0.3 else f"ls {redirection}\n{command}"


def _wrapped(command: str, chance: random.Random) -> str:
    return f"{chance.choice(WRAPPED)} {chance.choice(PAYLOADS)}\n{command}"


def _assigned(command: str, chance: random.Random) -> str:
    return chance.choice(ASSIGNMENTS) + command


def _with_option(command: str, chance: random.Random) -> str:
    program = chance.choice(sorted(OPTIONS))
    start = {"find": "find .", "pytest": "uv run pytest"}.get(program, program)
    return f"{start} {chance.choice(OPTIONS[program])}\n{command}"


def _grouped(command: str, chance: random.Random) -> str:
    payload = chance.choice(PAYLOADS)
    forms = (
        "( {} )", "{{ {}; }}", "if {}; then ls; fi", "if ls; then {}; fi", "while {}; do ls; done", "! {}",
        "f() {{ {}; }}", "for x in a; do {}; done", "case a in a) {};; esac", "until ls; do\n{}\ndone",
        "echo `{}`", "echo $({})",
    )  # fmt: skip
    return chance.choice(forms).format(payload) + "\n" + command


def _in_document(command: str, chance: random.Random) -> str:
    end = chance.choice(("EOF", '"EOF"', "-EOF", "E"))
    body = chance.choice(("$(touch P)", "`touch P`", "x\\\nEOF", "$X"))
    plain = end.strip('"-')
    if '"' in end:  # nothing is computed in it, so that the danger has to stand behind it
        return f"cat <<{end}\n{body}\n{plain}\ntouch P\n{command}"
    return f"cat <<{end}\n{body}\n{plain}\n{command}"


MUTATIONS: tuple[Mutation, ...] = (
    _chained, _quoted, _with_word, _redirected, _wrapped, _assigned, _with_option, _grouped, _in_document,
)  # fmt: skip


def _harmless(command: str, chance: random.Random) -> str:
    """A change without an effect of its own, to hide what another one adds."""
    forms = (
        "{}\nls",
        "ls\n{}",
        "\n{}",
        "# x\n{}",
        "  {}",
        "true\n{}",
        "{}\n# it's `x` $(y)",
        "ls \\\n -l\n{}",
        "echo 'a\n#'\n{}",
    )
    return chance.choice(forms).replace("{}", command)


def test_the_commands_that_are_changed_are_allowed() -> None:
    for command in COMMANDS:
        assert allowed(command, APPROVED), command


@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.randoms(use_true_random=False),
)
@settings(max_examples=1000, deadline=None)
def test_no_mutation_that_adds_an_effect_passes(
    command: str, mutations: list[Mutation], hidden: list[bool], chance: random.Random
) -> None:
    for mutation, hide in zip(mutations, hidden, strict=False):
        command = mutation(command, chance)
        if hide:
            command = _harmless(command, chance)

    assert not allowed(command, APPROVED), command


@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(MUTATIONS), max_size=2),
    st.randoms(use_true_random=False),
)
@settings(max_examples=400, deadline=None)
def test_a_denied_command_is_found_behind_any_mutation(
    command: str, mutations: list[Mutation], chance: random.Random
) -> None:
    for mutation in mutations:
        command = mutation(command, chance)
    if "\x00" not in command:
        command += "\nrm f"

        assert any(mentions("rm *", one) for one in read(command).commands), command
