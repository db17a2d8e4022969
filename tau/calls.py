"""Says in words what a tool call is about and how it ended, for every channel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tau.display import one_line

MAIN_ARGUMENTS = ("command", "url", "pattern", "path", "query", "range", "name", "label", "text")

CHANGES_FILES = ("edit_file", "write_file")
"""Tools whose result is a diff."""

_ASKS = {
    "shell": "run",
    "edit_file": "change",
    "write_file": "write",
    "fetch_url": "fetch",
    "request_file_grant": "read",
}
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


def asks_to(tool: str, *, creates: bool = False) -> tuple[str, str]:
    """What a call would do, as a verb (``change``), and the argument it does it to; empty for none.

    Args:
        tool: The tool's name.
        creates: Whether the file it writes does not exist yet.
    """
    if creates and tool in ("write_file", "edit_file"):
        return "create", "path"
    verb = _ASKS.get(tool, "run")
    return verb, "path" if verb in ("change", "write", "read") else ""


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
