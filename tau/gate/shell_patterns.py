"""Patterns of shell commands: whether they cover a command, mention one, can be offered, can be used."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache

from tau.gate.shell_command import Command
from tau.gate.shell_effects import effects
from tau.gate.shell_options import HARMLESS
from tau.gate.shell_reading import Reading, read
from tau.gate.shell_runners import RUNS_ANYTHING, is_interpreter, launched
from tau.gate.shell_words import Token, Unclear, scan

LONGEST_OFFER = 200
"""How many characters an offered pattern may have, so that all of it is seen."""

MOST_OFFERS = 5
"""How many patterns a person can be expected to weigh at once; a command that needs more offers none."""

_STAR = re.compile(r"(.*(?<!\\)\s|)\*", re.DOTALL)
_WHOLE_PROGRAMS = HARMLESS | {
    "awk",
    "fd",
    "file",
    "find",
    "mypy",
    "pytest",
    "rg",
    "sed",
    "sort",
    "tree",
    "uniq",
}
_SUBCOMMANDS = {
    "cargo": {"bench", "build", "check", "clippy", "doc", "metadata", "test", "tree"},
    "docker": {"images", "inspect", "logs", "ps"},
    "gh": {"search", "status"},
    "git": {
        "add", "blame", "cat-file", "commit", "describe", "diff", "grep", "log", "ls-files", "ls-tree",
        "merge-base", "rev-list", "rev-parse", "shortlog", "show", "status",
    },
    "go": {"doc", "list", "test", "version", "vet"},
    "kubectl": {"describe", "explain", "get", "logs", "top"},
    "npm": {"ls", "outdated", "test", "view"},
    "pip": {"check", "freeze", "list", "show"},
    "pnpm": {"list", "outdated", "test"},
    "ruff": {"check"},
    "yarn": {"list", "test"},
}  # fmt: skip
_LAUNCHED = frozenset({"mypy", "pytest"})


@lru_cache(maxsize=512)
def _parsed(pattern: str) -> tuple[tuple[str, ...], bool] | None:
    """The words of a pattern, and whether a star ends it; None for what is no pattern."""
    try:
        words, star = _split(pattern)
    except Unclear:
        return None
    if not words or any(word.kind != "word" or word.loose for word in words):
        return None
    return tuple(word.text for word in words), star


def _split(pattern: str) -> tuple[list[Token], bool]:
    """A pattern's tokens without its final star, and whether it has one.

    Raises:
        Unclear: It cannot be read.
    """
    start = _STAR.fullmatch(pattern.strip())
    return (scan(start[1]), True) if start else (scan(pattern.strip()), False)


def covers(pattern: str, command: Command) -> bool:
    """Whether an approved pattern covers one simple command.

    Words are compared one by one and to the letter. A final ``*`` stands for any further words that do not
    make the program do something else. A command that has no effect of its own is covered by any pattern.

    Args:
        pattern: The words of a command, in the shell's quoting.
        command: One of `Reading.commands`, of a reading in which nothing is unclear.
    """
    if command.free:
        return True
    parsed = _parsed(pattern)
    if parsed is None:
        return False
    words, star = parsed
    count = len(words)
    if command.words[:count] != words or any(index < count for index in command.loose):
        return False
    if command.more and not (star and command.name in HARMLESS):
        return False
    if not star:
        return len(command.words) == count
    return all(effect.place < count for effect in effects(command))


def mentions(pattern: str, command: Command) -> bool:
    """Whether a pattern of ``deny`` or ``ask`` means a command: more generous than `covers`.

    The program counts whatever directory it lies in; further words of the pattern have to occur in their
    order, with anything between and behind them.

    Args:
        pattern: The words of a command, in the shell's quoting.
        command: One of `Reading.commands`.
    """
    parsed = _parsed(pattern)
    if parsed is None:
        return False
    words, _ = parsed
    name = words[0].rpartition("/")[2]
    if name.casefold() != command.name.casefold():
        return False
    rest = iter(command.words[1:])
    return all(any(word == given for given in rest) for word in words[1:])


def beyond(reading: Reading) -> tuple[str, ...]:
    """What the arguments do that no final ``*`` covers, a short phrase each, to show with a question."""
    return tuple(dict.fromkeys(
        effect.why for command in reading.commands if not command.free for effect in effects(command)
    ))  # fmt: skip


def offer(reading: Reading) -> tuple[str, ...]:
    """The patterns to offer for all of a command; empty when there are none, as when anything is unclear.

    Args:
        reading: What `tau.gate.shell.read` made of the command.
    """
    if reading.unclear:
        return ()
    patterns: list[str] = []
    for command in reading.commands:
        if command.free or any(covers(pattern, command) for pattern in patterns):
            continue
        pattern = _offered(command) if len(patterns) < MOST_OFFERS else ""
        if not pattern:
            return ()
        patterns.append(pattern)
    return tuple(patterns)


def _offered(command: Command) -> str:
    words = command.words
    name = words[0]
    start = launched(words)
    count = 0
    if name in _WHOLE_PROGRAMS:
        count = 1
    elif len(words) > 1 and words[1] in _SUBCOMMANDS.get(name, ()):
        count = 2
    elif start and len(words) > start and words[start] in _LAUNCHED:
        count = start + 1
    exact = shlex.join(words)
    for pattern in ([f"{shlex.join(words[:count])} *"] if count else []) + [exact]:
        plain = len(pattern) <= LONGEST_OFFER and pattern.isprintable()
        if plain and not check_pattern(pattern) and covers(pattern, command):
            return pattern
    return ""


def check_pattern(pattern: str, *, approves: bool = True) -> str:
    """Why a pattern that a person wrote cannot be used, or the empty string.

    Args:
        pattern: As it stands in ``[approvals]``, without the tool's name.
        approves: Whether it is to let commands run; what denies or asks may also name what always asks.
    """
    if not pattern.strip():
        return "it is empty"
    parsed = _parsed(pattern)
    if parsed is None:
        try:
            tokens, _ = _split(pattern)
        except Unclear as problem:
            return str(problem)
        if not tokens:
            return "it names no command"
        if any(token.kind != "word" for token in tokens):
            return "it is more than one command; write a pattern for each"
        return "* may stand only at the end, as a word of its own; quote what is meant as it is written"
    return _unusable(*parsed) if approves else ""


def _unusable(words: tuple[str, ...], star: bool) -> str:
    name = words[0].rpartition("/")[2]
    if name in RUNS_ANYTHING:
        return f"{name} runs other commands, and always asks"
    if star and launched(words) == len(words):
        return f"name the program that {' '.join(words)} is to run"
    sample = (*words, "x") if star and (len(words) == 1 or is_interpreter(name)) else words
    reading = read(shlex.join(sample))
    if reading.unclear:
        return reading.unclear[0]
    if reading.commands[0].free:
        return f"{name} is looked through; write a pattern for the command that it runs"
    return ""
