"""Takes a shell command apart: what it would run, and why a person must look at it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tau.display import one_line
from tau.gate import shell_runners, shell_tree, shell_words
from tau.gate.shell_command import Command
from tau.gate.shell_words import Token, Unclear

LONGEST = 32 * 1024
"""How many bytes a command may have to be read."""

_LONGEST_COMPUTED = (
    8 * 1024
)  # some that cannot be parsed take time that grows with the square of their length
_DEEPEST_SCRIPT = 4  # how many times sh -c 'sh -c …' is followed
_MOST_COMMANDS = 1000

_TO_DESCRIPTOR = re.compile("[0-9]{1,3}|-")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a shell command would do.

    Attributes:
        commands: Every simple command in it: in chains, pipes, groups, conditions, loops and functions, in
            substitutions, and behind programs that run others.
        unclear: Why a person must look, a short phrase each; empty when every effect is in `commands`.
    """

    commands: tuple[Command, ...]
    unclear: tuple[str, ...] = ()


def read(command: str) -> Reading:
    """Read a command as ``bash -c`` would run it. Nothing is run, and no file is looked at.

    It is clear only when two readers agree on every word of it: a strict one of our own, which knows the part
    of the language where nothing is computed, and tree-sitter's grammar of bash.

    Args:
        command: Of any length and content; what cannot be read with certainty is unclear.
    """
    return _read(command, 0)


def _read(command: str, depth: int) -> Reading:
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return Reading((), ("has characters that cannot be shown",))
    if size > LONGEST:
        return Reading((), (f"is longer than {LONGEST // 1024} kB",))
    reasons = _characters(command)
    try:
        script = shell_words.script(command)
    except Unclear as problem:
        script = None
        reasons.append(str(problem))
    commands: list[list[Token]] = [] if script is None else script.commands
    if len(commands) > _MOST_COMMANDS:
        return Reading((), (*reasons, "runs too many commands"))
    if script is not None or size <= _LONGEST_COMPUTED:
        sketch = shell_tree.sketch(command)
        if script is None:
            commands = sketch.commands
            reasons += [*sketch.reasons, *_redirections(sketch.redirections)]
        elif not _agree(script, sketch):
            reasons.append("cannot be parsed with certainty" if sketch.whole else "cannot be parsed")
            commands = commands + sketch.commands
    if script is not None:
        reasons += _redirections(script.redirections)
        if not commands and not reasons:
            reasons.append("runs nothing")
    found: list[Command] = []
    for words in commands:
        loose = frozenset(index for index, word in enumerate(words) if word.loose)
        _follow(Command(tuple(word.text for word in words), loose), depth, found, reasons)
    if any(one.name in ("cd", "pushd", "popd") for one in found):
        reasons += [
            f"runs {one_line(one.words[0], 40)} in another directory"
            for one in found
            if "/" in one.words[0] and not one.words[0].startswith("/")
        ]
    return Reading(tuple(found), tuple(dict.fromkeys(reasons)))


def _characters(command: str) -> list[str]:
    """Controls, and characters that hide, reorder or look like a space."""
    for character in command:
        if character in " \n\t" or " " < character <= "~":
            continue
        if unicodedata.category(character)[0] in "CZ":
            return [f"has the character U+{ord(character):04X}"]
    return []


def _agree(script: shell_words.Script, sketch: shell_tree.Sketch) -> bool:
    """Whether both readers see the same words, commands, redirections, comments and here-documents."""
    return (
        sketch.whole
        and not sketch.reasons
        and _places(script.commands) == _places(sketch.commands)
        and [(operator.replace("<<-", "<<"), word.text) for operator, word in script.redirections]
        == [(operator.replace("<<-", "<<"), word.text) for operator, word in sketch.redirections]
        and [(one.start, one.end) for one in script.tokens if one.kind == "comment"] == sketch.comments
        and [one.end for one in script.tokens if one.kind == "document"] == sketch.documents
    )


def _places(commands: Sequence[Sequence[Token]]) -> list[list[tuple[int, int]]]:
    return [[(word.start, word.end) for word in words] for words in commands]


def _redirections(redirections: Sequence[tuple[str, Token]]) -> list[str]:
    reasons = []
    for operator, target in redirections:
        if operator in ("<<", "<<-", "<<<"):
            continue
        path = re.sub("/+", "/", target.text)
        shown = one_line(target.raw, 80)
        if "dev/tcp" in path or "dev/udp" in path:
            reasons.append("opens a network connection")
        elif operator in ("<&", ">&") and _TO_DESCRIPTOR.fullmatch(target.raw):
            continue
        elif operator in ("<", "<&"):
            if operator == "<" and not target.loose:
                continue
            reasons.append(f"reads {shown}")
        elif target.raw != "/dev/null" or operator == "<>":
            reasons.append(f"writes to {shown}")
    return reasons


def _follow(command: Command, depth: int, found: list[Command], reasons: list[str]) -> None:
    """Append a command and all that it runs to `found`."""
    if depth > _DEEPEST_SCRIPT * 4:
        reasons.append("is nested too deeply")
        return
    look = shell_runners.look(command)
    reasons += look.unclear
    found.append(Command(command.words, command.loose, command.more, free=look.free))
    found += [Command(one.words, one.loose, one.more, free=True) for one in look.guesses]
    for inner in look.inner:
        _follow(inner, depth + 1, found, reasons)
    for text in look.scripts:
        below = _read(text, depth + 4)
        found += below.commands
        reasons += below.unclear
