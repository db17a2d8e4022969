"""The one place that decides whether a tool call runs, asks a person, or is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tau.config.settings import ApprovalSettings
from tau.gate import patterns
from tau.gate.calls import Call, call_of
from tau.gate.patterns import Pattern
from tau.tools.subject import Subject

if TYPE_CHECKING:
    from tau.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen with a call.

    Attributes:
        action: ``run`` it, ``ask`` a person, ``deny`` it, or turn it back as ``invalid``.
        reason: Why it does not run, a sentence for the model; empty otherwise.
        rule: The pattern by which a call of tier 2 runs; several are separated by commas.
        offers: Patterns that a person may approve for the session; together they cover the call.
        unclear: Why a person must look, a phrase each.
        real: The path that the call was judged by; None when it has none.
    """

    action: Literal["run", "ask", "deny", "invalid"]
    reason: str = ""
    rule: str = ""
    offers: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    real: Path | None = None


class Gate:
    """Judges the calls of one session. What a person approves for the session is kept here, in memory only.

    Args:
        approvals: ``[approvals]``.
        context: The working directory, by which paths are judged.

    Raises:
        ConfigError: A pattern of ``[approvals]`` cannot be used.
    """

    def __init__(self, approvals: ApprovalSettings, context: ToolContext) -> None:
        patterns.check(approvals)
        self._allow = [patterns.parse(entry) for entry in approvals.allow]
        self._ask = [patterns.parse(entry) for entry in approvals.ask]
        self._deny = [patterns.parse(entry) for entry in approvals.deny]
        self._session: list[Pattern] = []
        self.context = context

    def approve(self, entries: Sequence[str]) -> None:
        """Let calls that these patterns cover run for the rest of the session."""
        self._session += [patterns.parse(entry) for entry in entries]

    def judge(self, tool: Any, arguments: Mapping[str, Any]) -> Verdict:
        """Decide about a call. Nothing is run, and no file is read but what a tool's `doubts` look at.

        ``deny`` goes before ``ask``, ``ask`` before what was approved; what nobody approved asks.

        Args:
            tool: A strands tool; its ``tier`` (2 where it has none), ``subject``, ``asks``, ``wary`` and
                ``doubts`` count.
            arguments: The call's.
        """
        name: str = tool.tool_name
        given = getattr(tool, "subject", None)
        subject = given if isinstance(given, Subject) else None
        denied = patterns.of_tool(self._deny, name)
        asked = patterns.of_tool(self._ask, name)
        for pattern in denied:
            if not pattern.text or subject is None:
                return _denied(pattern)
        value = _value(tool, subject, arguments)
        if value is None:
            assert subject is not None
            return Verdict("invalid", f"The argument {subject.argument} is missing, or is no text")
        call = call_of(subject, value, self.context)
        for pattern in denied:
            if call.mentions(pattern.text):
                return _denied(pattern, call.real)
        for pattern in asked:
            if not pattern.text or subject is None or call.mentions(pattern.text):
                said = f"your configuration asks for {pattern}"
                why = (said, *self._doubts(tool, arguments), *call.unclear)
                return Verdict("ask", unclear=why, real=call.real)
        if call.unread and (rules := [pattern for pattern in (*denied, *asked) if pattern.text]):
            # What cannot be read may be just what a rule is about.
            said = f"it cannot be told whether {rules[0]} is about this"
            return Verdict("ask", unclear=(said, *call.unclear), real=call.real)
        return self._approved(tool, name, call, arguments)

    def _approved(self, tool: Any, name: str, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        """The verdict where no rule is about the call: by its tier, and by what was approved."""
        if bool(getattr(tool, "asks", False)):
            return Verdict("ask", unclear=call.unclear, real=call.real)
        if doubts := self._doubts(tool, arguments):
            return Verdict("ask", unclear=(*doubts, *call.unclear), real=call.real)
        if int(getattr(tool, "tier", 2)) < 2:
            return Verdict("run", real=call.real)
        approved = patterns.of_tool([*self._allow, *self._session], name)
        if any(not pattern.text for pattern in approved):
            return Verdict("run", rule=name, real=call.real)
        missing = call.missing([pattern.text for pattern in approved])
        if missing is None:
            return Verdict("ask", unclear=call.unclear, real=call.real)
        if missing:
            offers = tuple(str(Pattern(name, text)) for text in missing)
            return Verdict("ask", offers=offers, real=call.real)
        covering = [str(pattern) for pattern in approved if call.needs(pattern.text)]
        return Verdict("run", rule=", ".join(dict.fromkeys(covering)), real=call.real)

    def _doubts(self, tool: Any, arguments: Mapping[str, Any]) -> list[str]:
        """Why a tool that may run otherwise asks this time."""
        doubts = list(tool.doubts(arguments)) if getattr(tool, "doubts", None) else []
        if bool(getattr(tool, "wary", False)) and (origins := self.context.heard.origins()):
            doubts.insert(0, f"it comes after content that is not yours: {', '.join(origins)}")
        return doubts


def _denied(pattern: Pattern, real: Path | None = None) -> Verdict:
    reason = (
        f"Refused: the person's configuration denies {pattern}. It is final; do not try it in another way."
    )
    return Verdict("deny", reason, real=real)


def _value(tool: Any, subject: Subject | None, arguments: Mapping[str, Any]) -> str | None:
    """What a call acts on: its argument, or the default of it; None when it is no text."""
    if subject is None:
        return ""
    try:
        schema = tool.tool_spec["inputSchema"]["json"]["properties"][subject.argument]
    except (AttributeError, KeyError, TypeError):
        schema = {}
    value = arguments.get(subject.argument, schema.get("default"))
    return value if isinstance(value, str) else None
