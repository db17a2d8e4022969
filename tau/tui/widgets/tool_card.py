"""One tool call in the chat: a line that says what, how and how long; its live output; its result, folded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from tau.calls import (
    CHANGES_FILES,
    ending,
    main_argument,
    main_argument_name,
    went_wrong,
    without_colour,
    without_ending,
)
from tau.diff_reader import Diff, parse
from tau.display import one_line, spelled_out, visible
from tau.events import Approval, ToolStatus
from tau.tools.unified_diff import difference
from tau.tui.finding import Row
from tau.tui.fit import duration, folded, keep_what_fits, newest, shorten_middle, spread
from tau.tui.widgets.block import Block, Piece
from tau.tui.widgets.diff import DiffLines, counts
from tau.tui.widgets.events_pane import denial
from tau.tui.widgets.lines import INDENT, Head, Indented, Listed, Stacked, drawn
from tau.tui.widgets.lines import Lines as LaidOut

CardStatus: TypeAlias = ToolStatus | Literal["running", "unknown"]

QUIET = "$quiet"
NAME_WIDTH = 12
LEAST_ARGUMENT = 24
"""Cells of the argument that go before what stands at the right."""

BESIDE_THE_POINT = 2
"""The rank up to which something at the right gives way to the whole of the argument."""

LAST_LINES = 8
"""Lines of live output, and of the result of a call that failed, that are shown while the card is closed."""

LIVE_SECONDS = 0.1
LIVE_CHARACTERS = 4_000
"""Characters of live output that are kept; what is shown of it is a part of them."""

RECOGNISED = 60
"""Characters at the end of the live output by which it is known whether a result has it."""

DIFF_LINES = 14
"""Lines of a diff that are shown while the card is closed."""

OPEN_LINES = 1_000
OPEN_CHARACTERS = 64_000
"""What an open card shows of a result, its beginning and its end."""

EXPORT = "tau sessions export has them"

_GLYPHS = {
    "running": ("●", "$accent"),
    "error": ("✗", "$error"),
    "cancelled": ("■", "$warning"),
    "unknown": ("?", "$warning"),
}


class ToolCard(Block, Widget, can_focus=True):
    """One tool call. Enter or a click opens and closes it.

    Args:
        name: The tool's name.
        arguments: The call's arguments.
        status: Whether it runs and how it ended; ``unknown`` when its end was never recorded.
        result: What the model was told.
        seconds: How long it took; None when that is not known.
        approval: How it came to run or not.
    """

    NAME = "tool call"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "turn", "Open or close", show=False)]

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        status: CardStatus = "running",
        result: str = "",
        seconds: float | None = None,
        approval: Approval = "",
    ) -> None:
        super().__init__()
        self.open = False
        self._tool = one_line(name, 60)
        self._arguments = arguments
        self._argument = main_argument(arguments, 400)
        self._argument_whole = False
        self._seconds = seconds
        self._approval = approval
        self._output = ""
        self._output_lines = 0
        self._live_output = ""
        self._update: Timer | None = None
        self._width = -1
        self._lines: LaidOut = Listed(())
        self._strips: dict[int, Strip] = {}
        self._end(status, result)
        self.set_class(self._shows_more, "-more")

    # What happens to the call ------------------------------------------------------------------

    def add_output(self, text: str) -> None:
        """Output of the running tool, drawn a little later. What came before costs nothing."""
        self._output_lines += text.count("\n")
        self._output = (self._output + text[-LIVE_CHARACTERS:])[-LIVE_CHARACTERS:]
        if self._update is None:
            self._update = self.set_timer(LIVE_SECONDS, self._show_output)

    def finish(self, status: ToolStatus, result: str, seconds: float, approval: Approval) -> None:
        """The call is over."""
        if self._update is not None:
            self._update.stop()
            self._update = None
        if status == "cancelled" and self._output.rstrip()[-RECOGNISED:] not in result:
            cut = "[What came earlier was not kept.]\n" if len(self._output) == LIVE_CHARACTERS else ""
            result = f"{cut}{self._output.rstrip()}\n{result}"
        self._output = self._live_output = ""
        self._seconds, self._approval = seconds, approval
        self._end(status, result)
        self._changed()

    def _end(self, status: CardStatus, result: str) -> None:
        self._status = status
        self._told = result
        self._ending = ending(self._tool, result)
        self._result = without_colour(without_ending(self._tool, result)).rstrip()
        reads = self._tool in ("read_file", "search_files", "recall")
        self._diff: Diff | None = parse(self._result) if status == "success" and not reads else None
        written = self._arguments.get("content")
        if (
            self._diff is None
            and status == "success"
            and self._tool == "write_file"
            and isinstance(written, str)
        ):
            # The result of a new file is one line; what was written stands in the call.
            path = str(self._arguments.get("path", ""))
            self._diff = parse(difference(None, written, path).text)

    def _show_output(self) -> None:
        self._update = None
        self._live_output = self._output
        self._changed()

    @property
    def label(self) -> str:
        """What its line begins with."""
        return self._tool

    @property
    def last_lines(self) -> int:
        """How many lines of output are shown while it is closed."""
        return LAST_LINES

    @property
    def _failed(self) -> bool:
        return self._status == "error" or went_wrong(self._ending)

    # As a block --------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The whole result as the model was told it, or the newest output while the call runs."""
        return self._output if self._status == "running" else self._told

    @property
    def pieces(self) -> Sequence[Piece]:
        """The command of a shell, or the arguments of another call."""
        command = self._arguments.get("command")
        if self._tool == "shell" and isinstance(command, str):
            return [Piece("command", command)]
        arguments = json.dumps(self._arguments, ensure_ascii=False, indent=2, default=str)
        return [Piece("arguments", arguments)] if self._arguments else []

    @property
    def opens(self) -> bool:
        """See `Block`."""
        return True

    @property
    def is_open(self) -> bool:
        """See `Block`."""
        return self.open

    def turn(self) -> None:
        """See `Block`."""
        self.action_turn()

    def rows(self, *, opened: bool) -> Sequence[Row]:
        """See `Block`."""
        width = self._width if self._width > 0 else self.size.width  # which takes long out of sight
        lines = self._lines_at(width)
        if opened and not self.open:
            lines = self._lines_of(width, opened=True)
        return [self._title_row(), *(lines.row(number) for number in range(1, len(lines)))]

    def _title_row(self) -> Row:
        argument = self._argument if self._argument_whole and not self._argument_again else ""
        return Row(f"{self.label.ljust(NAME_WIDTH)}  {argument}".rstrip(), 2)

    @property
    def _argument_again(self) -> bool:
        """Whether an open card shows the whole of what its first line is about once more."""
        value = self._arguments.get(main_argument_name(self._arguments) or "")
        return isinstance(value, str) and "\n" in value

    def redraw_found(self) -> None:
        """See `Block`."""
        self._strips.clear()
        self.refresh()

    # Opening and closing -----------------------------------------------------------------------

    def on_click(self) -> None:
        """Open or close, unless the click ended a selection."""
        if not self.screen.get_selected_text():
            self.action_turn()

    def action_turn(self) -> None:
        """Open or close."""
        self.open = not self.open
        self._changed()
        if self.open:
            self.call_after_refresh(self._show_beginning)

    def _show_beginning(self) -> None:
        """A card that is longer than the view is read from its first line."""
        view = self.parent
        if isinstance(view, VerticalScroll) and self.outer_size.height > view.size.height:
            view.release_anchor()
            self.scroll_visible(animate=False, top=True, immediate=True)

    def _changed(self) -> None:
        if self._shows_more != self.has_class("-more"):
            self.set_class(self._shows_more, "-more")
            if self.is_attached:
                self.app.stylesheet.update(self)  # at once, or else the chat would move twice
        height = len(self._lines)
        width, self._width = self._width, -1
        self._strips.clear()
        if width > 0 and len(self._lines_at(width)) == height:
            self.refresh()
        else:
            self.refresh(layout=True)

    # Lines -------------------------------------------------------------------------------------

    def _lines_at(self, width: int) -> LaidOut:
        if width != self._width:
            self._width = width
            self._strips.clear()
            self._lines = self._lines_of(width, opened=self.open)
            self.lines_changed()
        return self._lines

    def _lines_of(self, width: int, *, opened: bool) -> LaidOut:
        title = Listed([self._title(width)])
        return Stacked([title, *self._body(max(8, width - len(INDENT)), opened=opened)])

    def _title(self, width: int) -> Content:
        left = Content.assemble(self._glyph(), " ", (self.label.ljust(NAME_WIDTH), "bold"), "  ")
        dot = Content.assemble((" · ", "$faint"))
        facts, room, argument = self._facts(), width - left.cell_length - 2, cell_len(self._argument)
        if dot.join([fact for _, fact in facts]).cell_length > room - argument:
            facts = [(rank, fact) for rank, fact in facts if rank > BESIDE_THE_POINT]
        right = keep_what_fits(facts, max(12, room - min(argument, LEAST_ARGUMENT)), dot)
        room -= right.cell_length
        tail = 2 / 3 if main_argument_name(self._arguments) == "path" else 1 / 3
        shown = shorten_middle(self._argument, max(0, room), tail_share=tail)
        self._argument_whole = shown == self._argument and not self._argument.endswith("…")
        return spread(Content.assemble(left, shown), right, width)

    def _glyph(self) -> tuple[str, str]:
        if self._approval == "denied":
            return "⊘", "$warning"
        if self._failed:
            return _GLYPHS["error"]
        return _GLYPHS.get(self._status, ("▾" if self.open else "▸", QUIET))

    def _facts(self) -> list[tuple[int, Content]]:
        """What stands at the right, each with its rank."""
        facts: list[tuple[int, tuple[str, str] | Content]] = []
        if self._diff is not None:
            facts.append((6, counts(self._diff)))
        if self._approval in ("approved", "allowed"):
            facts.append((4, (self._approval, QUIET)))
        elif self._approval == "denied":
            facts.append((9, (denial(self._result), "$warning")))
        if self._status == "running":
            if self._output_lines > self.last_lines:
                facts.append((2, (f"{self._output_lines:,} lines", QUIET)))
            facts.append((9, ("running", "$accent")))
        elif self._status == "cancelled":
            facts.append((9, ("cancelled", "$warning")))
        elif self._status == "unknown":
            facts.append((9, ("outcome unknown", "$warning")))
        elif went_wrong(self._ending):
            facts.append((9, (self._ending, "$error")))
        elif self._failed and self._approval != "denied":
            facts.append((9, ("failed", "$error")))
        if self._seconds is not None and self._approval != "denied":
            facts.append((3, (duration(self._seconds), QUIET)))
        return [(rank, fact if isinstance(fact, Content) else Content.assemble(fact)) for rank, fact in facts]

    def _body(self, room: int, *, opened: bool) -> list[LaidOut]:
        if not self._shows_more and not opened:
            return []
        if self._status == "running":
            return [Listed(self._live(room))]
        if opened:
            return self._whole(room)
        if self._diff is not None and self._tool in CHANGES_FILES:
            return [Indented(Head(DiffLines(self._diff, room), DIFF_LINES, "Enter shows them"))]
        return [Listed(self._last(room))]

    @property
    def _shows_more(self) -> bool:
        """Whether there are lines under the first one."""
        if self._status == "running":
            return bool(self._live_output.strip())
        if self.open or (self._diff is not None and self._tool in CHANGES_FILES):
            return True
        stopped = self._failed or self._status == "cancelled"
        return stopped and self._approval != "denied" and bool(self._result)

    def _live(self, room: int) -> list[Content]:
        """The newest lines of the output, each cut to the room."""
        lines = without_colour(self._live_output).rstrip("\n").split("\n")[-self.last_lines :]
        shown = []
        for line in lines:
            last = line.rstrip("\r").rsplit("\r", 1)[-1]  # a program that draws over its line
            shown.append(_quiet(INDENT + newest(visible(last).expandtabs(4), room)))
        return shown

    def _last(self, room: int) -> list[Content]:
        """The last lines of the result."""
        text = self._result[-LIVE_CHARACTERS:]
        lines = visible(text).split("\n")
        rows = [(n, row) for n, line in enumerate(lines) for row in folded(line.expandtabs(4), room)]
        shown = rows[-self.last_lines :]
        drawn_rows = [_quiet(INDENT + row) for _, row in shown]
        if len(shown) < len(rows) or len(text) < len(self._result):
            above = self._result.count("\n") + 1 - len(lines) + shown[0][0]
            more = f"… {above:,} {'line' if above == 1 else 'lines'} above" if above else "… more above"
            drawn_rows.insert(0, _quiet(f"{INDENT}{more} · Enter shows all"))
        return drawn_rows

    def _whole(self, room: int) -> list[LaidOut]:
        """The arguments that the line does not show whole, then the result."""
        arguments = self._more_arguments(room)
        if self._diff is None:
            return [arguments, self._rows_of(self._result or "(no output)", room)]
        before, after = (
            self._rows_of(text, room) if text.strip() else Listed([])
            for text in (self._diff.before, self._diff.after)
        )
        diff = Indented(Head(DiffLines(self._diff, room), OPEN_LINES, EXPORT))
        return [arguments, before, diff, after]

    def _more_arguments(self, room: int) -> LaidOut:
        main = main_argument_name(self._arguments)
        lines: list[LaidOut] = []
        for name, value in self._arguments.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            said = self._argument_whole and "\n" not in text if name == main else self._diff is not None
            if not said:
                text = f"{one_line(str(name), 60)}: {spelled_out(text[:OPEN_CHARACTERS])}"
                lines.append(self._rows_of(text, room))
        return Stacked(lines)

    def _rows_of(self, text: str, room: int) -> LaidOut:
        rows = [
            Row(row, len(INDENT), "" if place else None)
            for line in _bounded(text)
            for place, row in enumerate(folded(line.expandtabs(4), room))
        ]
        return Listed([_quiet(INDENT + row.text) for row in rows], rows)

    # Drawing -----------------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width, of which the chat's layout has not taken the margin."""
        return len(self._lines_at(width - self.styles.margin.width))

    def render_line(self, y: int) -> Strip:
        """One line."""
        width = self.size.width
        lines = self._lines_at(width)
        if y >= len(lines):
            return Strip.blank(width, self.visual_style.rich_style)
        selection = self.text_selection
        if selection is None and y in self._strips:
            return self._strips[y]
        content = self.with_found(y, lines.line(y))
        if selection is not None and (span := selection.get_span(y)) is not None:
            chosen = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            start, end = span
            content = content.stylize(chosen, start, len(content.plain) if end == -1 else end)
        strip = drawn(self, content, width).apply_offsets(0, y)
        if selection is None:
            self._strips[y] = strip
        return strip

    def notify_style_update(self) -> None:
        """Draw anew when colours change."""
        self._strips.clear()
        super().notify_style_update()

    def render(self) -> Content:
        """The lines as one text, for selections."""
        lines = self._lines_at(self.size.width)
        return Content("\n").join([lines.line(number) for number in range(len(lines))])

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._strips.clear()
        self.refresh()


def _quiet(text: str) -> Content:
    return Content.assemble((text, QUIET))


def _bounded(text: str) -> list[str]:
    """The lines of a text, its middle left out and counted when it is long."""
    if len(text) > OPEN_CHARACTERS:
        half = OPEN_CHARACTERS // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown; {EXPORT}\n{text[-half:]}"
    lines = visible(text).split("\n")
    if len(lines) > OPEN_LINES:
        half = OPEN_LINES // 2
        lines[half:-half] = [f"… {len(lines) - 2 * half:,} lines not shown; {EXPORT}"]
    return lines
