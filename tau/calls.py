"""Says in words what a tool call is about and how it ended, for every channel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tau.display import one_line

MAIN_ARGUMENTS = ("command", "url", "pattern", "path", "query", "range", "name", "label", "text")

CHANGES_FILES = ("edit_file", "write_file")
"""Tools whose result is a diff."""

_ASKS = {
    "shell": ("run", ""),  # its command stands first, whole
    "edit_file": ("change", "path"),
    "write_file": ("write", "path"),
    "fetch_url": ("fetch", "url"),
    "request_file_grant": ("read", "path"),
    "remember": ("write", "label"),
    "record_lesson": ("write into", "section"),
}
_LONGEST_TARGET = 4_096
_ENDING = re.compile(r"\n?\[(exit (-?\d+)|killed by [^,\]\n]+), [^\]\n]*\]\s*\Z")
_ENDING_LENGTH = 200
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def main_argument_name(arguments: Mapping[str, Any]) -> str:
    """The name of the argument that says best what a call is about; empty when there are none."""
    return next((name for name in MAIN_ARGUMENTS if name in arguments), next(iter(arguments), ""))


def main_argument(arguments: Mapping[str, Any], limit: int = 200) -> str:
    """The argument that says best what a call is about, on one line of at most `limit` characters."""
    value = str(arguments.get(main_argument_name(arguments), ""))
    lines = [line for line in value[: limit * 4].split("\n") if line.strip()]
    return one_line(" ⏎ ".join(lines), limit)


class Asks(NamedTuple):
    """What a call would do, for the first line of a question.

    Attributes:
        verb: Such as ``change``.
        argument: The name of the argument that says what is touched; empty for none.
        target: What that argument says; empty where it is no text. Untrusted, of any number of lines.
        where: What the argument alone does not say of it, such as ``in every project``; may be empty.
    """

    verb: str
    argument: str
    target: str
    where: str = ""


def asks_to(tool: str, arguments: Mapping[str, Any], *, creates: bool = False) -> Asks:
    """What a call would do, and to what.

    Args:
        tool: The tool's name.
        arguments: Of the call.
        creates: Whether the file it writes does not exist yet.
    """
    verb, argument = _ASKS.get(tool) or ("run with", main_argument_name(arguments))
    value = arguments.get(argument)
    target = value if isinstance(value, str) and argument != "text" else ""
    if not target.strip():
        return Asks(verb if tool in _ASKS else "run", "", "")
    if len(target) > _LONGEST_TARGET:
        target = target[:_LONGEST_TARGET] + "…"
    where = ""
    if tool in CHANGES_FILES and creates:
        verb = "create"
    elif tool == "remember":
        where = "in every project" if target.strip().startswith("global/") else "in this project"
        if not str(arguments.get("content", "")).strip():
            verb = "delete"
    elif tool == "record_lesson":
        where = "in this project"
    return Asks(verb, argument, target, where)


def without_colour(text: str) -> str:
    """The output of a program without the sequences that only colour it."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def ending(tool: str, result: str) -> str:
    """How a command ended, by the last line of the shell's result: ``exit 1``; empty for any other result."""
    found = _ENDING.search(result[-_ENDING_LENGTH:]) if tool == "shell" else None
    return found[1] if found else ""


def without_ending(tool: str, result: str) -> str:
    """The result without the line that says how the command ended."""
    found = _ENDING.search(result[-_ENDING_LENGTH:]) if tool == "shell" else None
    return result[: max(0, len(result) - _ENDING_LENGTH) + found.start()] if found else result


def went_wrong(end: str) -> bool:
    """Whether a command that ended so did not do what it was meant to."""
    return end not in ("", "exit 0")
