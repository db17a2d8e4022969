"""A tool call as a card knows it: what was asked for, how it stands, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tau.calls import (
    ending,
    main_argument,
    main_argument_name,
    went_wrong,
    without_colour,
    without_ending,
)
from tau.diff_reader import Diff, parse
from tau.display import one_line
from tau.events import Approval, ToolStatus
from tau.tools.unified_diff import difference

CardStatus: TypeAlias = ToolStatus | Literal["running", "unknown"]

READERS = ("read_file", "search_files", "recall")
"""Tools whose results are texts of others: a diff in one is not what the call did."""

LIVE_CHARACTERS = 4_000
"""Characters of live output that are kept; what is shown of it is a part of them."""

RECOGNISED = 60
"""Characters at the end of the live output by which it is known whether a result has it."""


class ShownCall:
    """One call, from its start to its end.

    Args:
        name: The tool's name.
        arguments: The call's arguments.
        status: Whether it runs and how it ended; ``unknown`` when its end was never recorded.
        result: What the model was told.
        seconds: How long it took; None when that is not known.
        approval: How it came to run or not.

    Attributes:
        tool: The tool's name, as it can be shown.
        arguments: As given.
        argument: The argument that the call is about, on one line.
        status: As given, or as it ended since.
        told: The result, whole.
        result: The result without colours and without how it ended.
        ending: How a program ended that did not end well, or the empty string.
        diff: What the call changed, where that is known.
        seconds: As given, or as it took since.
        approval: As given, or as it was since.
        output: The newest output of a running tool.
        output_lines: How many lines of output there were.
    """

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        status: CardStatus,
        result: str,
        seconds: float | None,
        approval: Approval,
    ) -> None:
        self.tool = one_line(name, 60)
        self.arguments = arguments
        self.argument = main_argument(arguments, 400)
        self.output = ""
        self.output_lines = 0
        self._stands(status, result, seconds, approval)

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.status == "running"

    @property
    def failed(self) -> bool:
        """Whether it failed, by itself or by what it says of how it ended."""
        return self.status == "error" or went_wrong(self.ending)

    @property
    def argument_name(self) -> str | None:
        """The name of the argument that the call is about."""
        return main_argument_name(self.arguments)

    def add_output(self, text: str) -> None:
        """Output of the running tool. What came before costs nothing."""
        self.output_lines += text.count("\n")
        self.output = (self.output + text[-LIVE_CHARACTERS:])[-LIVE_CHARACTERS:]

    def end(self, status: ToolStatus, result: str, seconds: float, approval: Approval) -> None:
        """The call is over. What it said before it was stopped becomes part of the result."""
        if status == "cancelled" and self.output.rstrip()[-RECOGNISED:] not in result:
            cut = "[What came earlier was not kept.]\n" if len(self.output) == LIVE_CHARACTERS else ""
            result = f"{cut}{self.output.rstrip()}\n{result}"
        self.output = ""
        self._stands(status, result, seconds, approval)

    def _stands(self, status: CardStatus, result: str, seconds: float | None, approval: Approval) -> None:
        self.status = status
        self.told = result
        self.seconds = seconds
        self.approval = approval
        self.ending = ending(self.tool, result)
        self.result = without_colour(without_ending(self.tool, result)).rstrip()
        self.diff = self._changes() if status == "success" else None

    def _changes(self) -> Diff | None:
        diff = None if self.tool in READERS else parse(self.result)
        written = self.arguments.get("content")
        if diff is None and self.tool == "write_file" and isinstance(written, str):
            # The result of a new file is one line; what was written stands in the call.
            path = str(self.arguments.get("path", ""))
            diff = parse(difference(None, written, path).text)
        return diff
