"""The whole of a call as lines: every character of its arguments, nothing of them out of sight."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from textual.content import Content

from tau.calls import main_argument_name
from tau.display import MARK, spelled_out, visible
from tau.tui.fit import folded
from tau.tui.widgets.lines import Listed

INDENT = "  "
TAB = 4
PROMPT = "$ "


class CallLines(Listed):
    """The arguments of a call, laid out for a width (see `tau.tui.widgets.lines.Lines`).

    Lines of a value are indented and names are not, so that no value can look like another argument. Ends of
    lines are marked, so that a line that was only wrapped is not taken for two.

    Args:
        tool: The tool; the command of a shell stands first and without its name.
        arguments: The call's arguments.
        width: Cells of a line.
    """

    def __init__(self, tool: str, arguments: Mapping[str, Any], width: int) -> None:
        width = max(width, len(INDENT) + 4)
        rest = dict(arguments)
        lines: list[Content] = []
        if tool == "shell" and isinstance(rest.get("command"), str):
            command = _value_lines(rest.pop("command"))
            lines += _laid_out(PROMPT, command, width, name_style="$accent bold")
        main = main_argument_name(rest)
        for name in sorted(rest, key=lambda name: name != main):
            label = f"{_on_one_line(str(name))}: "
            lines += _laid_out(label, _value_lines(rest[name]), width, name_style="$quiet")
        super().__init__(lines)


class OfferLines(Listed):
    """Patterns, whole, each beginning in a line of its own.

    Args:
        offers: The patterns.
        width: Cells of a line.
    """

    def __init__(self, offers: Sequence[str], width: int) -> None:
        lines: list[Content] = []
        for offer in offers:
            first, *rest = folded(_on_one_line(offer), max(4, width - 4))
            lines.append(marked(INDENT + first))
            lines += [marked(INDENT * 2 + piece) for piece in rest]
        super().__init__(lines)


def marked(text: str, style: str = "") -> Content:
    """The text with what `spelled_out` counts set apart."""
    content = Content.assemble((text, style))
    for found in MARK.finditer(text):
        content = content.stylize("bold $warning", found.start(), found.end())
    return content


def _on_one_line(name: str) -> str:
    return spelled_out(name).replace("\n", "\\n").replace("\t", "\\t")


def _value_lines(value: object) -> list[str]:
    """The lines of a text as they are, each but the last with its end; of anything else as JSON."""
    if isinstance(value, str):
        return [line.expandtabs(TAB) for line in spelled_out(value).splitlines(keepends=True)] or [""]
    return visible(json.dumps(value, ensure_ascii=False, indent=2, default=str)).split("\n")


def _laid_out(name: str, value: list[str], width: int, *, name_style: str) -> list[Content]:
    """An argument as lines of a name and pieces of the value."""
    *above, last = folded(name, width)
    lines = [Content.assemble((piece, name_style)) for piece in above]
    room = width - len(INDENT) - 1
    if name != PROMPT and len(value) > 1:
        first, rest = "", [piece for line in value for piece in _folded(line, room)]
    else:
        first = _folded(value[0], max(1, width - cell_len(last) - 1))[0]
        more = _folded(value[0][len(first) :], room) if first != value[0] else []
        rest = [*more, *(piece for line in value[1:] for piece in _folded(line, room))]
    lines.append(_line((last, name_style), first))
    return [*lines, *(_line((INDENT, ""), piece) for piece in rest)]


def _folded(line: str, room: int) -> list[str]:
    """The line in pieces; its end takes no room."""
    pieces = folded(line.removesuffix("\n"), room)
    if line.endswith("\n"):
        pieces[-1] += "\n"
    return pieces


def _line(lead: tuple[str, str], piece: str) -> Content:
    end = ("⏎", "$faint") if piece.endswith("\n") else ""
    return Content.assemble(lead, marked(piece.removesuffix("\n")), end)
