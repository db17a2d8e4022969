"""What calls of a kind are about (a command, a path, an address), and which patterns mean or cover them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.display import one_line
from tau.gate import patterns
from tau.tools import addresses, paths
from tau.tools.refusals import Refused
from tau.tools.subject import Subject

if TYPE_CHECKING:
    from tau.tools.context import ToolContext


MOST_REASONS = 10
"""Reasons why a person must look that are named; the rest is counted."""


class Call:
    """A call that is judged by its tool's name alone; those of a kind are told apart below.

    Attributes:
        unclear: Why a person must look, a phrase each.
        unread: Whether the call could not be read completely, so that a rule may be about it unnoticed.
        real: The path that it is judged by; None when it has none.
    """

    unclear: tuple[str, ...] = ()
    unread: bool = False
    real: Path | None = None

    def mentions(self, text: str) -> bool:
        """Whether a pattern of ``deny`` or ``ask`` means the call."""
        return True

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        """The patterns to offer for what is not approved: empty when all is, None when there are none."""
        return ("",)

    def needs(self, text: str) -> bool:
        """Whether a pattern covers a part of the call that needs one."""
        return False


def call_of(subject: Subject | None, value: str, context: ToolContext) -> Call:
    """A call, ready to be judged.

    Args:
        subject: What the tool's calls act on; None where its name alone counts.
        value: The argument that names it.
        context: The working directory, and where paths lead.
    """
    if subject is None:
        return Call()
    if subject.kind == "command":
        return _Command(value)
    return _Path(value, context) if subject.kind == "path" else _Address(value)


class _Command(Call):
    """A shell command, judged by what it would run."""

    def __init__(self, value: str) -> None:
        from tau.gate import shell

        self._shell = shell
        self._reading = shell.read(value)
        self.unread = bool(self._reading.unclear)
        reasons = (*self._reading.unclear, *shell.beyond(self._reading))
        more = len(reasons) - MOST_REASONS
        self.unclear = (*reasons[:MOST_REASONS], f"{more:,} more reasons") if more > 0 else reasons

    def mentions(self, text: str) -> bool:
        return any(self._shell.mentions(text, command) for command in self._reading.commands)

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        if self.unread or not self._reading.commands:
            return None
        left = [
            command
            for command in self._reading.commands
            if not any(self._shell.covers(text, command) for text in approved)
        ]
        if not left:
            return ()
        return tuple(self._shell.offer(self._shell.Reading(tuple(left), ()))) or None

    def needs(self, text: str) -> bool:
        return any(
            not command.free and self._shell.covers(text, command) for command in self._reading.commands
        )


class _Path(Call):
    """A file or directory, judged where its links lead, by the function that the tools resolve it with."""

    def __init__(self, value: str, context: ToolContext) -> None:
        self._given = value
        try:
            self.real = paths.resolved(context, value)
        except Refused:  # no path at all: the tool says why, and no pattern covers it
            self._path = ""
            self.unclear = ("this can be no path",)
            return
        inside = context.directory in self.real.parents
        self._path = str(self.real.relative_to(context.directory) if inside else self.real)
        if not inside and self.real != context.directory:
            self.unclear = (f"outside the working directory: {one_line(str(self.real))}",)

    def mentions(self, text: str) -> bool:
        given = self._given.removeprefix("./")
        whole = str(self.real) if text.startswith("/") and self.real is not None else ""
        return any(patterns.matches_path(text, name) for name in (self._path, given, whole) if name)

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        if any(self.needs(text) for text in approved):
            return ()
        return ("**",) if not self.unclear and patterns.covers_path("**", self._path) else None

    def needs(self, text: str) -> bool:
        return bool(self._path) and patterns.covers_path(text, self._path)


class _Address(Call):
    """An address, judged in the form in which it is requested."""

    def __init__(self, value: str) -> None:
        try:
            self._url = addresses.judged_url(value)
        except ValueError:  # the tool says why it cannot be fetched
            self._url = ""
            self.unread = True
            self.unclear = ("this can be no address",)

    def mentions(self, text: str) -> bool:
        return bool(self._url) and patterns.mentions_url(text, self._url)

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        if any(self.needs(text) for text in approved):
            return ()
        site = patterns.host_pattern(self._url)
        return (site,) if site else None

    def needs(self, text: str) -> bool:
        return bool(self._url) and patterns.covers_url(text, self._url)
