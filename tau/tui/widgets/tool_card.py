"""One tool call in the chat: a line that says what, how and how long; its live output; its result, folded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from tau.calls import CHANGES_FILES
from tau.events import Approval, ToolStatus
from tau.tui.finding import Row
from tau.tui.keys import hint
from tau.tui.widgets import card_body
from tau.tui.widgets.block import Block, Piece
from tau.tui.widgets.card_title import title
from tau.tui.widgets.lines import INDENT, Listed, Stacked, drawn
from tau.tui.widgets.lines import Lines as LaidOut
from tau.tui.widgets.shown_call import CardStatus, ShownCall

LAST_LINES = 8
"""Lines of live output, and of the result of a call that failed, that are shown while the card is closed."""

LIVE_SECONDS = 0.1


class ToolCard(Block, Widget, can_focus=True):
    """One tool call. A click opens and closes it, and the screen's key that chooses.

    Args:
        name: The tool's name.
        arguments: The call's arguments.
        status: Whether it runs and how it ended; ``unknown`` when its end was never recorded.
        result: What the model was told.
        seconds: How long it took; None when that is not known.
        approval: How it came to run or not.
    """

    NAME = "tool call"

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
        self._call = ShownCall(
            name, arguments, status=status, result=result, seconds=seconds, approval=approval
        )
        self._live_output = ""  # as it was drawn last
        self._update: Timer | None = None
        self._width = -1
        self._lines: LaidOut = Listed(())
        self._strips: dict[int, Strip] = {}
        self.set_class(self._shows_more, "-more")

    # What happens to the call ------------------------------------------------------------------

    def add_output(self, text: str) -> None:
        """Output of the running tool, drawn a little later. What came before costs nothing."""
        self._call.add_output(text)
        if self._update is None:
            self._update = self.set_timer(LIVE_SECONDS, self._show_output)

    def finish(self, status: ToolStatus, result: str, seconds: float, approval: Approval) -> None:
        """The call is over."""
        if self._update is not None:
            self._update.stop()
            self._update = None
        self._live_output = ""
        self._call.end(status, result, seconds, approval)
        self._changed()

    def _show_output(self) -> None:
        self._update = None
        self._live_output = self._call.output
        self._changed()

    @property
    def label(self) -> str:
        """What its line begins with."""
        return self._call.tool

    @property
    def last_lines(self) -> int:
        """How many lines of output are shown while it is closed."""
        return LAST_LINES

    # As a block --------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The whole result as the model was told it, or the newest output while the call runs."""
        return self._call.output if self._call.running else self._call.told

    @property
    def pieces(self) -> Sequence[Piece]:
        """The command of a shell, or the arguments of another call."""
        arguments = self._call.arguments
        command = arguments.get("command")
        if self._call.tool == "shell" and isinstance(command, str):
            return [Piece("command", command)]
        source = json.dumps(arguments, ensure_ascii=False, indent=2, default=str)
        return [Piece("arguments", source)] if arguments else []

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
        return [lines.row(number) for number in range(len(lines))]

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
        first = title(self._call, width, label=self.label, opened=self.open, least_lines=self.last_lines)
        body = self._body(max(8, width - len(INDENT)), opened=opened, argument_whole=first.argument_whole)
        return Stacked([Listed([first.line], [first.row]), body])

    def _body(self, room: int, *, opened: bool, argument_whole: bool) -> LaidOut:
        call = self._call
        if not self._shows_more and not opened:
            return Listed([])
        if call.running:
            return card_body.live(self._live_output, room, self.last_lines)
        if opened:
            return card_body.whole(call, room, argument_whole=argument_whole)
        if call.diff is not None and call.tool in CHANGES_FILES:
            return card_body.changes(call.diff, room, hint(self, "choose", "shows them"))
        return card_body.end_of(call.result, room, self.last_lines, hint(self, "choose", "shows all"))

    @property
    def _shows_more(self) -> bool:
        """Whether there are lines under the first one."""
        call = self._call
        if call.running:
            return bool(self._live_output.strip())
        if self.open or (call.diff is not None and call.tool in CHANGES_FILES):
            return True
        stopped = call.failed or call.status == "cancelled"
        return stopped and call.approval != "denied" and bool(call.result)

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
