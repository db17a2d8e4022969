"""What stands under the first line of a tool call's card: live output, the end of a result, or all of it."""

from __future__ import annotations

import json

from textual.content import Content

from tau.calls import without_colour
from tau.diff_reader import Diff
from tau.display import one_line, spelled_out, visible
from tau.tui.finding import Row
from tau.tui.fit import folded, newest, without_middle
from tau.tui.widgets.diff import DiffLines
from tau.tui.widgets.lines import INDENT, Head, Indented, Lines, Listed, Stacked
from tau.tui.widgets.shown_call import ShownCall

END_CHARACTERS = 4_000
"""Characters at the end of a result of which its last lines are shown."""

DIFF_LINES = 14
"""Lines of a diff that are shown while the card is closed."""

OPEN_LINES = 1_000
OPEN_CHARACTERS = 64_000
"""What an open card shows of a result, its beginning and its end."""

EXPORT = "tau sessions export has them"


def live(output: str, room: int, limit: int) -> Lines:
    """The newest lines of the output of a running tool, each cut to the room.

    Args:
        output: The output.
        room: Cells of a line behind the indent, here and below.
        limit: How many lines are shown.
    """
    shown = []
    for line in without_colour(output).rstrip("\n").split("\n")[-limit:]:
        last = line.rstrip("\r").rsplit("\r", 1)[-1]  # a program that draws over its line
        shown.append(_quiet(INDENT + newest(visible(last).expandtabs(4), room)))
    return Listed(shown)


def changes(diff: Diff, room: int, rest: str) -> Lines:
    """The beginning of a diff; `rest` is how to see the others, behind a dot."""
    return Indented(Head(DiffLines(diff, room), DIFF_LINES, rest))


def end_of(result: str, room: int, limit: int, rest: str) -> Lines:
    """The last lines of a result; `rest` is how to see the others, behind a dot."""
    text = result[-END_CHARACTERS:]
    lines = visible(text).split("\n")
    rows = [(n, row) for n, line in enumerate(lines) for row in folded(line.expandtabs(4), room)]
    shown = rows[-limit:]
    drawn_rows = [_quiet(INDENT + row) for _, row in shown]
    if len(shown) < len(rows) or len(text) < len(result):
        above = result.count("\n") + 1 - len(lines) + shown[0][0]
        more = f"… {above:,} {'line' if above == 1 else 'lines'} above" if above else "… more above"
        drawn_rows.insert(0, _quiet(f"{INDENT}{more}{rest}"))
    return Listed(drawn_rows)


def whole(call: ShownCall, room: int, *, argument_whole: bool) -> Lines:
    """The arguments that the first line does not show whole, then the result.

    Args:
        call: The call.
        room: Cells of a line behind the indent.
        argument_whole: Whether the first line shows the whole of the argument that the call is about.
    """
    arguments = _arguments(call, room, argument_whole=argument_whole)
    if call.diff is None:
        return Stacked([*arguments, _rows_of(call.result or "(no output)", room)])
    before, after = (
        _rows_of(text, room) if text.strip() else Listed([]) for text in (call.diff.before, call.diff.after)
    )
    diff = Indented(Head(DiffLines(call.diff, room), OPEN_LINES, f" · {EXPORT}"))
    return Stacked([*arguments, before, diff, after])


def _arguments(call: ShownCall, room: int, *, argument_whole: bool) -> list[Lines]:
    main = call.argument_name
    lines: list[Lines] = []
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        said = argument_whole and "\n" not in text if name == main else call.diff is not None
        if not said:
            text = f"{one_line(str(name), 60)}: {spelled_out(text[:OPEN_CHARACTERS])}"
            lines.append(_rows_of(text, room))
    return lines


def _rows_of(text: str, room: int) -> Lines:
    rows = [
        Row(row, len(INDENT), "" if place else None)
        for line in without_middle(text, OPEN_CHARACTERS, OPEN_LINES, f"; {EXPORT}")
        for place, row in enumerate(folded(line.expandtabs(4), room))
    ]
    return Listed([_quiet(INDENT + row.text) for row in rows], rows)


def _quiet(text: str) -> Content:
    return Content.assemble((text, "$quiet"))
