"""The one place that decides whether a tool call runs, asks a person, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tau.config.settings import ApprovalSettings
from tau.display import one_line
from tau.errors import ConfigError
from tau.gate import patterns
from tau.gate.patterns import Pattern
from tau.tools import paths
from tau.tools.refusals import Refused
from tau.tools.subject import Subject

if TYPE_CHECKING:
    from tau.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen with a call.

    Attributes:
        action: ``run`` it, ``ask`` a person, or ``refuse`` it.
        reason: Why it is refused, a sentence for the model; empty otherwise.
        rule: The pattern by which a call of tier 2 runs, or is denied; several are separated by commas.
        offers: Patterns that a person may approve for the session; together they cover the call.
        unclear: Why a person must look, a phrase each.
    """

    action: Literal["run", "ask", "refuse"]
    reason: str = ""
    rule: str = ""
    offers: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


RUN = Verdict("run")


class Gate:
    """Judges the calls of one session. What a person approves for the session is kept here, in memory only.

    Args:
        approvals: ``[approvals]``.
        context: The working directory and the grants, by which paths are judged.

    Raises:
        ConfigError: A pattern of ``[approvals]`` cannot be used.
    """

    def __init__(self, approvals: ApprovalSettings, context: ToolContext) -> None:
        check(approvals)
        self._allow = [patterns.parse(entry) for entry in approvals.allow]
        self._ask = [patterns.parse(entry) for entry in approvals.ask]
        self._deny = [patterns.parse(entry) for entry in approvals.deny]
        self._session: list[Pattern] = []
        self._context = context

    def approve(self, entries: Sequence[str]) -> None:
        """Let calls that these patterns cover run for the rest of the session."""
        self._session += [patterns.parse(entry) for entry in entries]

    def judge(self, tool: Any, arguments: Mapping[str, Any]) -> Verdict:
        """Decide about a call. Nothing is run, and no file is read.

        ``deny`` goes before ``ask``, ``ask`` before what was approved; what nobody approved asks.

        Args:
            tool: A strands tool; its ``tier`` (2 where it has none), ``subject`` and ``asks`` count.
            arguments: The call's.
        """
        name: str = tool.tool_name
        tier = int(getattr(tool, "tier", 2))
        given = getattr(tool, "subject", None)
        subject = given if isinstance(given, Subject) else None
        value = arguments.get(subject.argument) if subject is not None else ""
        if not isinstance(value, str):
            argument = subject.argument if subject is not None else ""
            if tier >= 2:
                return Verdict("refuse", f"The argument {argument} is missing, or is no text")
            return RUN  # the tool says itself what is wrong, and does nothing
        call = _CALLS[subject.kind](value, self._context) if subject is not None else _Named()
        for pattern in patterns.of_tool(self._deny, name):
            if not pattern.text or call.mentions(pattern.text):
                reason = (
                    f"Refused: the person's configuration denies {pattern}. "
                    "It is final; do not try it in another way."
                )
                return Verdict("refuse", reason, str(pattern))
        for pattern in patterns.of_tool(self._ask, name):
            if not pattern.text or call.mentions(pattern.text):
                return Verdict("ask", unclear=(f"your configuration asks for {pattern}", *call.unclear))
        if bool(getattr(tool, "asks", False)):
            return Verdict("ask", unclear=call.unclear)
        if tier < 2:
            return RUN
        approved = patterns.of_tool([*self._allow, *self._session], name)
        if any(not pattern.text for pattern in approved):
            return Verdict("run", rule=name)
        missing = call.missing([pattern.text for pattern in approved])
        if missing is None:
            return Verdict("ask", unclear=call.unclear)
        if not missing:
            covering = [pattern for pattern in approved if call.needs(pattern.text)]
            return Verdict("run", rule=", ".join(dict.fromkeys(map(str, covering))))
        return Verdict("ask", offers=tuple(str(Pattern(name, text)) for text in missing))


class _Named:
    """A call that is judged by its tool's name alone."""

    unclear: tuple[str, ...] = ()

    def mentions(self, text: str) -> bool:
        return False

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        return ("",)

    def needs(self, text: str) -> bool:
        return False


class _Command:
    """A shell command, judged by what it would run."""

    def __init__(self, value: str, context: ToolContext) -> None:
        from tau.gate import shell

        self._shell = shell
        self._reading = shell.read(value)
        self.unclear = (*self._reading.unclear, *shell.beyond(self._reading))

    def mentions(self, text: str) -> bool:
        return any(self._shell.mentions(text, command) for command in self._reading.commands)

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        """The patterns to offer for what is not approved: empty when all is, None when there are none."""
        if self._reading.unclear or not self._reading.commands:
            return None
        open_ones = [
            command
            for command in self._reading.commands
            if not any(self._shell.covers(text, command) for text in approved)
        ]
        if not open_ones:
            return ()
        return tuple(self._shell.offer(self._shell.Reading(tuple(open_ones), ()))) or None

    def needs(self, text: str) -> bool:
        """Whether a pattern covers a part of the command that is not free anyway."""
        return any(
            not command.free and self._shell.covers(text, command) for command in self._reading.commands
        )


class _PathCall:
    """A file, judged where its links lead."""

    def __init__(self, value: str, context: ToolContext) -> None:
        self.unclear: tuple[str, ...] = ()
        try:
            real = paths.resolved(context, value)
        except Refused:
            real = Path("/")  # the tool refuses it; no pattern covers it
        self._given = value
        self._inside = context.directory in real.parents
        self._path = str(real.relative_to(context.directory) if self._inside else real)
        if not self._inside:
            self.unclear = (f"outside the working directory: {one_line(str(real))}",)

    def mentions(self, text: str) -> bool:
        return any(patterns.matches_path(text, path) for path in (self._path, self._given))

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        if any(patterns.covers_path(text, self._path) for text in approved):
            return ()
        if not self._inside or not patterns.covers_path("**", self._path):
            return None
        return ("**",)

    def needs(self, text: str) -> bool:
        return patterns.covers_path(text, self._path)


class _Address:
    """An address, judged by its site and path."""

    unclear: tuple[str, ...] = ()

    def __init__(self, value: str, context: ToolContext) -> None:
        self._url = value

    def mentions(self, text: str) -> bool:
        return patterns.mentions_url(text, self._url)

    def missing(self, approved: Sequence[str]) -> tuple[str, ...] | None:
        if any(patterns.covers_url(text, self._url) for text in approved):
            return ()
        site = patterns.host_pattern(self._url)
        return (site,) if site else None

    def needs(self, text: str) -> bool:
        return patterns.covers_url(text, self._url)


_CALLS: dict[str, Callable[[str, ToolContext], _Command | _PathCall | _Address]] = {
    "command": _Command,
    "path": _PathCall,
    "url": _Address,
}


def check(approvals: ApprovalSettings) -> None:
    """Look at every pattern of ``[approvals]``.

    Raises:
        ConfigError: One cannot be used; names it, and says why.
    """
    for table in ("allow", "ask", "deny"):
        for entry in getattr(approvals, table):
            pattern = patterns.parse(entry)
            if pattern.tool != "shell" or not pattern.text:
                continue
            from tau.gate.shell import check_pattern

            if problem := check_pattern(pattern.text, approves=table == "allow"):
                raise ConfigError(
                    f'[approvals] {table} has "{one_line(entry)}", which cannot be used: {problem}',
                    "a pattern is a command word by word, with * as the last word for any further ones",
                )
