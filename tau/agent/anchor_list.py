"""The list of facts as text: written within a budget, and read again where a text holds an earlier one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from tau.agent.anchor_budget import cost
from tau.agent.anchor_tokens import Kind
from tau.agent.window_summary import is_note

MORE = "… and {} more; recall finds them"


class Source(IntEnum):
    """Who a fact comes from, the best first."""

    PERSON = 0
    MODEL = 1
    TOOLS = 2


HEADINGS = {
    Source.PERSON: "The person also said:",
    Source.MODEL: "The model also said:",
    Source.TOOLS: "Tools also showed:",
}
"""What stands above the lines of a source. By these a list is recognised when its text is compacted again."""

_ITEM = "- "
_RUN = "$ "
_MORE_LINE = re.compile(re.escape(MORE).replace(r"\{\}", r"(\d{1,10})"))
_HEADINGS_BY_TEXT = {text: source for source, text in HEADINGS.items()}
_KINDS_BY_LABEL = {kind.value: kind for kind in Kind}


@dataclass(slots=True)
class Listed:
    """What the lists in a text have, in their order.

    Attributes:
        lines: What was said, and by whom.
        items: Bare facts of tools.
        more: How many had no room.
        rest: The text without the lists.
    """

    lines: list[tuple[Source, str]] = field(default_factory=list)
    items: list[tuple[Kind, str]] = field(default_factory=list)
    more: int = 0
    rest: str = ""


def listed(text: str) -> Listed:
    """Take the lists out of a text, line by line."""
    found = Listed()
    rest: list[str] = []
    source: Source | None = None
    for line in text.split("\n"):
        if line in _HEADINGS_BY_TEXT:
            source = _HEADINGS_BY_TEXT[line]
        elif (counted := _MORE_LINE.fullmatch(line)) is not None:
            found.more += int(counted[1])
        elif is_note(line):
            continue
        elif source is None:
            rest.append(line)
        elif line.startswith(_ITEM):
            _take(found, source, flat(line.removeprefix(_ITEM)))
        else:
            source = None
            rest.append(line)
    found.rest = "\n".join(rest)
    return found


def _take(found: Listed, source: Source, line: str) -> None:
    if not line:
        return
    if source is not Source.TOOLS:
        found.lines.append((source, line))
    elif line.startswith(_RUN):
        found.items.append((Kind.COMMAND, line.removeprefix(_RUN)))
    else:
        label, _, values = line.partition(": ")
        kind = _KINDS_BY_LABEL.get(label)
        if kind is not None:
            found.items.extend((kind, value) for value in values.split(", ") if value)


def item_cost(line: str) -> int:
    """What a line costs in the list, as an item of it."""
    return cost(_ITEM + line) + cost("\n")


def render(
    lines: Sequence[tuple[Source, str]], items: Sequence[tuple[Kind, str]], budget: int, more: int
) -> str:
    """The list, cut at an item where the budget ends, with everything that stands between counted.

    Args:
        lines: What was said, ranked.
        items: Of tools, ranked.
        budget: What the list may cost.
        more: What had no room before, which is counted too.
    """
    reserve = cost(MORE.format(more + len(lines) + len(items))) + cost("\n\n")
    whole = _fill(lines, items, budget)
    if whole[1] == more == 0:
        return whole[0]
    text, left = _fill(lines, items, budget - reserve)
    if not text and reserve > budget:
        return ""
    return "\n".join(filter(None, (text, MORE.format(more + left))))


def _fill(
    lines: Sequence[tuple[Source, str]], items: Sequence[tuple[Kind, str]], budget: int
) -> tuple[str, int]:
    blocks: dict[Source, list[str]] = {}
    groups: dict[Kind, list[str]] = {}
    left = 0

    def pay(source: Source, text: str) -> bool:
        nonlocal budget
        price = cost(text) + (0 if source in blocks else cost(HEADINGS[source] + "\n\n"))
        if price > budget:
            return False
        budget -= price
        blocks.setdefault(source, [])
        return True

    for source, line in lines:
        if pay(source, f"{_ITEM}{line}\n"):
            blocks[source].append(_ITEM + line)
        else:
            left += 1
    for kind, value in items:
        if kind is Kind.COMMAND:
            if pay(Source.TOOLS, f"{_ITEM}{_RUN}{value}\n"):
                blocks[Source.TOOLS].append(f"{_ITEM}{_RUN}{value}")
            else:
                left += 1
        elif pay(Source.TOOLS, f", {value}" if kind in groups else f"{_ITEM}{kind}: {value}\n"):
            groups.setdefault(kind, []).append(value)
        else:
            left += 1
    for kind, values in groups.items():
        blocks[Source.TOOLS].append(f"{_ITEM}{kind}: {', '.join(values)}")
    return "\n\n".join("\n".join([HEADINGS[source], *rows]) for source, rows in sorted(blocks.items())), left


def flat(text: str) -> str:
    """The text on one line, without characters that are not shown."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())
