"""Takes a shell command apart: what it would run, and why a person must look at it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tau.display import one_line
from tau.gate import shell_runners, shell_tree, shell_words
from tau.gate.shell_command import Command
from tau.gate.shell_guesses import guesses
from tau.gate.shell_words import Token, Unclear

LONGEST = 32 * 1024
"""How many bytes a command may have to be read."""

_LONGEST_COMPUTED = (
    8 * 1024
)  # some that cannot be parsed take time that grows with the square of their length
_DEEPEST_SCRIPT = 4  # how many times sh -c 'sh -c …' is followed
_MOST_COMMANDS = 1000
_LONGEST_SCRIPTS = 8 * 1024
_MOST_SCRIPTS = 100

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
    return _read(command, 0, _Allowance())


@dataclass(slots=True)
class _Allowance:
    """How much is left of what is followed in one command, so that the time is bounded.

    Attributes:
        scripts: How many scripts in arguments may still be read.
        characters: How long those may be together.
        commands: How many commands may still be found.
    """

    scripts: int = _MOST_SCRIPTS
    characters: int = _LONGEST_SCRIPTS
    commands: int = 2 * _MOST_COMMANDS


def _read(command: str, depth: int, left: _Allowance) -> Reading:
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return Reading(guesses(command), ("has characters that cannot be shown",))
    if size > LONGEST:
        return Reading(guesses(command), (f"is longer than {LONGEST // 1024} kB",))
    reasons = _characters(command)
    try:
        script = shell_words.script(command)
    except Unclear as problem:
        script = None
        reasons.append(str(problem))
    commands: list[list[Token]] = [] if script is None else script.commands
    if len(commands) > _MOST_COMMANDS:
        return Reading(guesses(command), (*reasons, "runs too many commands"))
    guessed = True
    if script is not None or size <= _LONGEST_COMPUTED:
        try:
            sketch = shell_tree.sketch(command)
        except Unclear as problem:
            return Reading(guesses(command), (*reasons, str(problem)))
        guessed = not sketch.whole
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
    found = _Found([], reasons, left)
    for words in commands:
        loose = frozenset(index for index, word in enumerate(words) if word.loose)
        found.follow(Command(tuple(word.text for word in words), loose), depth)
    if any(one.name in ("cd", "pushd", "popd") for one in found.commands):
        reasons += [
            f"runs {one_line(one.words[0], 40)} in another directory"
            for one in found.commands
            if "/" in one.words[0] and not one.words[0].startswith("/")
        ]
    if guessed or found.cut or any(reason.endswith(shell_runners.RUNS_INPUT) for reason in reasons):
        found.commands += guesses(command)
    return Reading(tuple(found.commands), tuple(dict.fromkeys(reasons)))


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


@dataclass(slots=True)
class _Found:
    """The commands that were found so far, and why a person must look.

    Attributes:
        commands: In order, each before what it runs.
        reasons: A phrase each.
        left: How much may still be followed.
        cut: Whether something was not followed.
    """

    commands: list[Command]
    reasons: list[str]
    left: _Allowance
    cut: bool = False

    def follow(self, command: Command, depth: int) -> None:
        """Append a command and all that it runs."""
        if depth > _DEEPEST_SCRIPT * 4:
            self._end("is nested too deeply")
            return
        if self.left.commands <= 0:
            self._end("runs too many commands")
            return
        look = shell_runners.look(command)
        self.reasons += look.unclear
        self.left.commands -= 1 + len(look.guesses)
        self.commands.append(Command(command.words, command.loose, command.more, free=look.free))
        self.commands += [Command(one.words, one.loose, one.more, free=True) for one in look.guesses]
        for inner in look.inner:
            self.follow(inner, depth + 1)
        for text in look.scripts:
            self.left.scripts -= 1
            self.left.characters -= len(text)
            if self.left.scripts < 0 or self.left.characters < 0:
                self._end("runs too many scripts")
                return
            below = _read(text, depth + 4, self.left)
            self.commands += below.commands
            self.reasons += below.unclear

    def _end(self, reason: str) -> None:
        self.cut = True
        self.reasons.append(reason)
