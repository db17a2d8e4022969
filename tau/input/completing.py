"""What can be completed at the cursor: commands and their arguments after a slash, files after an ``@``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tau.display import one_line
from tau.input import fuzzy
from tau.input.files import FileFinder, FileHit
from tau.input.mentions import begun, mention, pieces

_OPTIONAL = re.compile(r"\[([^\]]+)\]")
_SPELT_OUT = re.compile(r"[a-z]{2,}")


class Command(Protocol):
    """A slash command, as `tau.conversation.commands` describes it."""

    @property
    def name(self) -> str:
        """Without the slash."""

    @property
    def usage(self) -> str:
        """How it is written: ``/resume [ID]``."""

    @property
    def help(self) -> str:
        """What it does, in one line."""

    @property
    def aliases(self) -> Sequence[str]:
        """Its other names."""


@dataclass(frozen=True)
class Option:
    """What an argument of a command can be."""

    value: str
    help: str = ""


@dataclass(frozen=True)
class Context:
    """What there is to choose from.

    Attributes:
        commands: In the order in which they are shown where nothing is typed yet.
        arguments: By the name of a command: what can stand behind it, given what is typed there so far. May
            give more than fit; they are ranked here.
        files: What finds files, or None where none are to be completed.
    """

    commands: Sequence[Command] = ()
    arguments: Mapping[str, Callable[[str], Iterable[Option]]] = field(default_factory=dict)
    files: FileFinder | None = None


@dataclass(frozen=True)
class Candidate:
    """One way to go on.

    Attributes:
        text: What takes the place of the characters from `start` to `end`.
        start: Where in the text that begins.
        end: Where it ends, which is the cursor.
        after: What is typed behind it once it is chosen: a space, or nothing.
        display: What is shown in a list; safe for a terminal, on one line.
        positions: The characters of `display` that were typed, rising.
        help: What it does or is, on one line.
        kind: ``command``, ``argument``, ``word``, ``file`` or ``directory``; a ``word`` is an argument that
            the usage of its command spells out, where anything else may stand as well.
    """

    text: str
    start: int
    end: int
    after: str
    display: str
    positions: Sequence[int]
    help: str
    kind: str


def starts_completion(text: str, cursor: int) -> str:
    """Whether there is anything to complete at the cursor, found without looking at the disk.

    Returns:
        ``command``, ``argument`` or ``file``, or the empty string.
    """
    head = text[:cursor]
    command = _command_part(head)
    if command is not None and command[1] is None:
        return "command"
    if begun(text, cursor) is not None:
        return "file"
    return "argument" if command is not None else ""


def complete(text: str, cursor: int, context: Context, limit: int = 50) -> list[Candidate]:
    """The ways to go on at the cursor, the best first. Reads the disk: call it on a thread.

    Args:
        text: The whole prompt.
        cursor: Where in it, in characters.
        context: What there is to choose from.
        limit: How many at most.
    """
    kind = starts_completion(text, cursor)
    if kind == "file":
        return _files(text, cursor, context, limit)
    command = _command_part(text[:cursor])
    if not kind or command is None:
        return []
    name, rest = command
    if rest is None:
        return _commands(name, cursor, context, limit)
    return _arguments(name, rest, cursor, context, limit)


def argument(text: str, cursor: int, commands: Sequence[Command]) -> tuple[str, str, bool]:
    """The command whose argument is typed at the cursor, the argument, and whether a number can be meant."""
    name, rest = _command_part(text[:cursor]) or ("", None)
    known = _known(name, commands)
    takes_number = known is not None and re.search(r"\bN\b", known.usage) is not None
    return known.name if known is not None else name.lower(), (rest or "").strip(), takes_number


def tree(text: str, cursor: int, context: Context, limit: int = 200) -> list[Candidate]:
    """The entries of the one directory that the ``@`` at the cursor is in. Reads the disk."""
    place = begun(text, cursor)
    if place is None or context.files is None:
        return []
    start, path = place
    return [_file(hit, start, cursor) for hit in context.files.tree(path)[:limit]]


def _command_part(head: str) -> tuple[str, str | None] | None:
    """The command that a text before the cursor is: its name, and what follows, None where nothing does."""
    line = head.lstrip()
    if not line.startswith("/") or "\n" in line:
        return None
    name, space, rest = line[1:].partition(" ")
    if "/" in name:
        return None
    return name, rest.lstrip() if space else None


def _commands(typed: str, cursor: int, context: Context, limit: int) -> list[Candidate]:
    found = fuzzy.ranked(
        typed,
        context.commands,
        lambda command: command.name,
        limit=limit,
        others=lambda command: command.aliases,
    )
    return [
        Candidate(
            text=f"/{command.name}",
            start=cursor - len(typed) - 1,
            end=cursor,
            after=" " if " " in command.usage else "",
            display=one_line(command.usage),
            positions=[place + 1 for place in lies.positions],
            help=command.help,
            kind="command",
        )
        for command, lies in found
    ]


def _arguments(name: str, typed: str, cursor: int, context: Context, limit: int) -> list[Candidate]:
    known = _known(name, context.commands)
    given = context.arguments.get(known.name if known is not None else name.lower())
    if given is None and known is None:
        return []
    options = given(typed) if given is not None else _words(known.usage) if known is not None else ()
    found = fuzzy.ranked(
        typed, options, lambda option: option.value, limit=limit, others=lambda option: (option.help,)
    )
    return [
        Candidate(
            text=option.value,
            start=cursor - len(typed),
            end=cursor,
            after="",
            display=one_line(option.value),
            positions=lies.positions if one_line(option.value) == option.value else (),
            help=one_line(option.help),
            kind="argument" if given is not None else "word",
        )
        for option, lies in found
    ]


def _words(usage: str) -> list[Option]:
    """What a usage such as ``/memory [show LABEL|history|undo]`` spells out, with what belongs behind it."""
    ways = [way for group in _OPTIONAL.findall(usage) for way in group.split("|")]
    firsts = [way.split(maxsplit=1) for way in ways]
    return [Option(first[0], "".join(first[1:])) for first in firsts if _SPELT_OUT.fullmatch(first[0])]


def _known(name: str, commands: Sequence[Command]) -> Command | None:
    lowered = name.lower()
    return next((one for one in commands if lowered in (one.name, *one.aliases)), None)


def _files(text: str, cursor: int, context: Context, limit: int) -> list[Candidate]:
    place = begun(text, cursor)
    if place is None or context.files is None:
        return []
    start, path = place
    if path.startswith(("/", "~/", "../")):  # the listing has what is below the working directory
        hits: Sequence[FileHit] = context.files.tree(path)[:limit]
    else:
        found = context.files.find(path.removeprefix("./"), limit).hits
        hits = [
            replace(hit, path=f"./{hit.path}", positions=[place + 2 for place in hit.positions])
            if hit.path.startswith("~/")
            else hit
            for hit in found
        ]
    return [_file(hit, start, cursor) for hit in hits]


def _file(hit: FileHit, start: int, cursor: int) -> Candidate:
    written = mention(hit.path)
    if hit.is_directory and written.endswith('"'):
        written = written[:-1]  # so that it goes on
    shown = pieces(hit.path)
    starts = [0]
    for piece in shown:
        starts.append(starts[-1] + len(piece))
    positions = [at for place in hit.positions for at in range(starts[place], starts[place + 1])]
    return Candidate(
        text=written,
        start=start,
        end=cursor,
        after="" if hit.is_directory else " ",
        display="".join(shown),
        positions=positions,
        help="ignored" if hit.ignored else "",
        kind="directory" if hit.is_directory else "file",
    )
