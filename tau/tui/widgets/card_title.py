"""The first line of a tool call's card: what was called, on what, how it stands and how long it took."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from tau.calls import went_wrong
from tau.tui.finding import Row
from tau.tui.fit import duration, keep_what_fits, shorten_middle, spread
from tau.tui.widgets.diff import counts
from tau.tui.widgets.events_pane import denial
from tau.tui.widgets.shown_call import ShownCall

QUIET = "$quiet"
NAME_WIDTH = 12
LEAST_ARGUMENT = 24
"""Cells of the argument that go before what stands at the right."""

BESIDE_THE_POINT = 2
"""The rank up to which something at the right gives way to the whole of the argument."""

_GLYPHS = {
    "running": ("●", "$accent"),
    "error": ("✗", "$error"),
    "cancelled": ("■", "$warning"),
    "unknown": ("?", "$warning"),
}


class Title(NamedTuple):
    """The line.

    Attributes:
        line: What is drawn.
        row: What can be found in it.
        argument_whole: Whether it shows the whole of the argument that the call is about.
    """

    line: Content
    row: Row
    argument_whole: bool


def title(call: ShownCall, width: int, *, label: str, opened: bool, least_lines: int) -> Title:
    """Lay the line out.

    Args:
        call: The call.
        width: Cells of the line.
        label: What it begins with.
        opened: Whether the card is open.
        least_lines: Lines of output up to which they are not counted, as all are in sight.
    """
    name = label.ljust(NAME_WIDTH)
    left = Content.assemble(_glyph(call, opened=opened), " ", (name, "bold"), "  ")
    dot = Content.assemble((" · ", "$faint"))
    facts, room, argument = _facts(call, least_lines), width - left.cell_length - 2, cell_len(call.argument)
    if dot.join([fact for _, fact in facts]).cell_length > room - argument:
        facts = [(rank, fact) for rank, fact in facts if rank > BESIDE_THE_POINT]
    right = keep_what_fits(facts, max(12, room - min(argument, LEAST_ARGUMENT)), dot)
    room -= right.cell_length
    tail = 2 / 3 if call.argument_name == "path" else 1 / 3
    shown = shorten_middle(call.argument, max(0, room), tail_share=tail)
    whole = shown == call.argument and not call.argument.endswith("…")
    found = call.argument if whole and not _is_shown_again(call) else ""
    return Title(
        spread(Content.assemble(left, shown), right, width), Row(f"{name}  {found}".rstrip(), 2), whole
    )


def _is_shown_again(call: ShownCall) -> bool:
    """Whether an open card shows the whole of what its first line is about once more."""
    value = call.arguments.get(call.argument_name or "")
    return isinstance(value, str) and "\n" in value


def _glyph(call: ShownCall, *, opened: bool) -> tuple[str, str]:
    if call.approval == "denied":
        return "⊘", "$warning"
    if call.failed:
        return _GLYPHS["error"]
    return _GLYPHS.get(call.status, ("▾" if opened else "▸", QUIET))


def _facts(call: ShownCall, least_lines: int) -> list[tuple[int, Content]]:
    """What stands at the right, each with its rank."""
    facts: list[tuple[int, tuple[str, str] | Content]] = []
    if call.diff is not None:
        facts.append((6, counts(call.diff)))
    if call.approval in ("approved", "allowed"):
        facts.append((4, (call.approval, QUIET)))
    elif call.approval == "denied":
        facts.append((9, (denial(call.result), "$warning")))
    if call.running:
        if call.output_lines > least_lines:
            facts.append((2, (f"{call.output_lines:,} lines", QUIET)))
        facts.append((9, ("running", "$accent")))
    elif call.status == "cancelled":
        facts.append((9, ("cancelled", "$warning")))
    elif call.status == "unknown":
        facts.append((9, ("outcome unknown", "$warning")))
    elif went_wrong(call.ending):
        facts.append((9, (call.ending, "$error")))
    elif call.failed and call.approval != "denied":
        facts.append((9, ("failed", "$error")))
    if call.seconds is not None and call.approval != "denied":
        facts.append((3, (duration(call.seconds), QUIET)))
    return [(rank, fact if isinstance(fact, Content) else Content.assemble(fact)) for rank, fact in facts]
