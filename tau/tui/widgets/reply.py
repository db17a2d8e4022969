"""The model's reply as markdown, streamed into one widget; nothing in it can act on the app."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from textual.content import Content
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions
from textual.widget import Widget
from textual.worker import Worker

from tau.display import visible
from tau.tui import markdown
from tau.tui.finding import Row
from tau.tui.markdown import Line, lay_out, parse
from tau.tui.messages import LinkChosen
from tau.tui.widgets.block import Block, Piece

READING_WIDTH = 110
"""Cells of the longest line: longer ones are hard to follow."""

COLOURED_WHILE_STREAMING = 4_000
"""Characters of the part being written above which its code is coloured only at the end."""

READ_AT_ONCE = 10_000
"""Characters of a finished reply above which it is read beside the screen: it takes about 2 ms a thousand."""

READ_SHARE = 4
"""A long last part is read again after so many times as long as reading it took."""


@dataclass(frozen=True)
class _Reading:
    """A text from some place on as blocks, and as lines where a width is given.

    Attributes:
        settled: Blocks that nothing that follows can change.
        last: The others.
        links: The addresses of the links of all of them, of which `settled_links` are in settled ones.
        settled_to: How many characters are settled.
        width: For which they are laid out.
    """

    settled: list[markdown.Block]
    last: list[markdown.Block]
    links: list[str]
    settled_links: int
    settled_to: int
    width: int | None
    settled_lines: list[Line]
    last_lines: list[Line]


@lru_cache(maxsize=64)
def read_whole(source: str, width: int, *, ansi: bool) -> tuple[markdown.Parsed, list[Line]]:
    """A long text as one document. The last are kept: what was read on a thread is there for its widget.

    Args:
        source: The text, safe to show.
        width: Cells that a line may have.
        ansi: Whether the theme keeps to the terminal's colours.

    Returns:
        Its blocks, and its lines, which are not to be changed.
    """
    parsed = parse(source, ansi=ansi)
    return parsed, lay_out(parsed.blocks, width, begins=True)


def _read(
    source: str, width: int | None, *, links_before: int, begins: bool, ansi: bool, whole: bool
) -> _Reading:
    if whole and width is not None and len(source) > READ_AT_ONCE:
        parsed, lines = read_whole(source, width, ansi=ansi)
        return _Reading([], list(parsed.blocks), list(parsed.links), 0, 0, width, [], list(lines))
    colour = whole or len(source) <= COLOURED_WHILE_STREAMING
    parsed = parse(source, links_before=links_before, ansi=ansi, colour=colour)
    blocks, links, settled_to = list(parsed.blocks), list(parsed.links), 0
    settled: list[markdown.Block] = []
    settled_links = 0
    if not whole and parsed.last_line > 0:
        before = "".join(source.splitlines(keepends=True)[: parsed.last_line])
        part = parse(before, links_before=links_before, ansi=ansi)
        settled, settled_links, settled_to = list(part.blocks), len(part.links), len(before)
        blocks = blocks[len(settled) :]
    settled_lines, last_lines = [], []
    if width is not None:
        settled_lines = lay_out(settled, width, begins=begins)
        last_lines = lay_out(blocks, width, begins=begins and not settled)
    return _Reading(settled, blocks, links, settled_links, settled_to, width, settled_lines, last_lines)


class Reply(Block, Widget):
    """One assistant message.

    While it streams, only its last part (a paragraph, a list, a piece of code) is parsed and laid out
    again; what comes before is settled.
    """

    NAME = "reply"

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._written = text
        self._source = visible(text)
        self._pointed_piece: int | None = None
        self._following: Worker[None] | None = None
        self._settled: list[markdown.Block] = []
        self._last: list[markdown.Block] = []
        self._links: list[str] = []
        self._settled_links = 0
        self._read_to = 0
        self._parsed = False
        self._width = -1
        self._settled_lines: list[Line] = []
        self._last_lines: list[Line] = []
        self._laid_out = False
        self._drawn = 0
        self._strips: dict[int, Strip] = {}

    @property
    def source(self) -> str:
        """The text as the model wrote it, as far as it has come."""
        return self._written

    def write(self, piece: str) -> None:
        """Show a further piece of the reply."""
        self._written += piece
        self._source += visible(piece)
        if self._width <= 0:  # not laid out yet
            self._take(self._reader(None)())
            self.refresh(layout=True)
        elif len(self._source) - self._read_to > READ_AT_ONCE:
            if self._following is None or self._following.is_finished:
                self._following = self.run_worker(self._follow())
        else:
            self._show(self._reader(self._width)())

    def finish(self, text: str) -> None:
        """Show the whole reply once more, as one document: pieces may have been read differently."""
        self._written, self._source = text, visible(text)
        if self._following is not None:
            self._following.cancel()
        if len(text) > READ_AT_ONCE and self._width > 0:
            self._following = self.run_worker(self._read_again())
            return
        self._begin_again()
        self._take(self._reader(None, whole=True)())
        self.refresh(layout=True)

    # Reading -----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Read a long last part beside the screen for as long as it grows, and seldom enough."""
        read = -1
        while read < len(self._source) and len(self._source) - self._read_to > READ_AT_ONCE:
            read, begin = len(self._source), time.monotonic()
            self._show(await asyncio.to_thread(self._reader(self._width)))
            await asyncio.sleep(READ_SHARE * (time.monotonic() - begin))
        if read < len(self._source):
            self._show(self._reader(self._width)())

    async def _read_again(self) -> None:
        """Read a long text as one document, beside the screen, which goes on with what it has."""
        reading = await asyncio.to_thread(self._reader(self._width, whole=True))
        self._begin_again()
        self._show(reading)

    def _begin_again(self) -> None:
        self._settled, self._settled_lines, self._settled_links, self._read_to = [], [], 0, 0
        self._strips.clear()
        self._drawn = 0

    def _reader(self, width: int | None, *, whole: bool = False) -> Callable[[], _Reading]:
        """What reads the text from where it is settled, on whatever thread."""
        return partial(
            _read,
            self._source[0 if whole else self._read_to :],
            width,
            links_before=0 if whole else self._settled_links,
            begins=whole or not self._settled,
            ansi=self.app.native_ansi_color,
            whole=whole,
        )

    def _show(self, reading: _Reading) -> None:
        """Draw what was read: the lines from the settled ones on, or all the screen where there are more."""
        width, drawn = self._width, self._drawn
        height = len(self._settled_lines) + len(self._last_lines)
        self._take(reading)
        settled, last = self._lines_at(width)
        if len(settled) + len(last) == height:
            self.refresh(Region(0, drawn, self.size.width, height - drawn))
        else:
            self.refresh(layout=True)

    def _take(self, reading: _Reading) -> None:
        self._links[self._settled_links :] = reading.links
        self._settled += reading.settled
        self._settled_links += reading.settled_links
        self._read_to += reading.settled_to
        self._last = reading.last
        self._parsed = True
        self._laid_out = False
        if reading.width == self._width:
            self._settled_lines += reading.settled_lines
            self._lay_out(reading.last_lines)
        else:
            self._width = -1

    def _lines_at(self, width: int) -> tuple[list[Line], list[Line]]:
        width = min(width, READING_WIDTH)
        if not self._parsed:
            self._width = width
            self._take(self._reader(width, whole=True)())
        if self._width != width:
            self._width = width
            self._settled_lines = lay_out(self._settled, width, begins=True)
            self._strips.clear()
            self._laid_out = False
        if not self._laid_out:
            self._lay_out(lay_out(self._last, width, begins=not self._settled))
        return self._settled_lines, self._last_lines

    def _lay_out(self, last_lines: list[Line]) -> None:
        """Have other last lines behind the settled ones."""
        for y in range(self._drawn, self._drawn + len(self._last_lines)):
            self._strips.pop(y, None)
        self._last_lines = last_lines
        self._drawn = len(self._settled_lines)
        self._laid_out = True
        self.lines_changed()

    def _laid_out_lines(self) -> tuple[list[Line], list[Line]]:
        """The lines as they were laid out; to ask for the size of what is out of sight would take long."""
        return self._lines_at(self._width if self._width > 0 else self.size.width)

    def _line(self, y: int, width: int) -> Line | None:
        settled, last = self._lines_at(width)
        if y < len(settled):
            return settled[y]
        return last[y - len(settled)] if y - len(settled) < len(last) else None

    # Drawing -----------------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the text takes at this width; the chat's layout leaves the margin in it."""
        settled, last = self._lines_at(width - self.styles.margin.width)
        return max(1, len(settled) + len(last))

    def render_line(self, y: int) -> Strip:
        """One line."""
        width = self.size.width
        line = self._line(y, width)
        selection = self.text_selection
        if line is None:
            return Strip.blank(width, self.visual_style.rich_style)
        if selection is None and y in self._strips:
            return self._strips[y]
        content = self._pointed(line)
        content = self.with_found(y, content)
        if selection is not None and (span := selection.get_span(y)) is not None:
            chosen = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            start, end = span
            content = content.stylize(chosen, start, len(content.plain) if end == -1 else end)
        options = RenderOptions(self._get_style, {"text_wrap": "nowrap"}, None, None)
        strips = content.render_strips(width, 1, self.visual_style, options) or [Strip([])]
        strip = strips[0].apply_offsets(0, y).adjust_cell_length(width, self.visual_style.rich_style)
        if selection is None:
            self._strips[y] = strip
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in a region, from those kept here.

        Textual keeps lines of its own, with borders and padding; a reply has neither, and all of those would
        be made again with every line that is added below.
        """
        if not self.is_attached:  # just removed; the next layout leaves it out
            blank = Strip.blank(crop.width)
            return [self._strips.get(y, blank).crop(*crop.column_span) for y in crop.line_range]
        if self.hover_style.link_id or self.styles.border_left[0]:  # or the cursor is on it
            return super().render_lines(crop)
        background = self.background_colors[1]
        strips = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for line_filter in self.get_line_filters():
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def notify_style_update(self) -> None:
        """Draw anew when colours change."""
        self._strips.clear()
        super().notify_style_update()

    # Pointing and finding ----------------------------------------------------------------------

    @property
    def pieces(self) -> Sequence[Piece]:
        """The code in it."""
        settled, last = self._laid_out_lines()
        found: list[Piece] = []
        block = None
        for y, line in enumerate(settled + last):
            if _is_code(line):
                if line.block is not block:
                    assert line.block is not None
                    found.append(Piece("code", line.block.code, y, 0))
                found[-1] = found[-1]._replace(height=found[-1].height + 1)
            block = line.block
        if self._source != self._written:  # as it was written, not as it is safe to show
            raw = [block.code for block in parse(self._written, colour=False).blocks if block.kind == "code"]
            if len(raw) == len(found):
                found = [piece._replace(source=code) for piece, code in zip(found, raw, strict=True)]
        return found

    def point(self, piece: int | None) -> None:
        """See `Block`."""
        self._pointed_piece = piece
        self._strips.clear()
        if piece is None:
            super().point(piece)
        else:
            super().point_away()
        self.refresh()

    def point_away(self) -> None:
        """See `Block`."""
        super().point_away()
        self._pointed_piece = None
        self.redraw_found()

    def _pointed(self, line: Line) -> Content:
        """A line; of code that the cursor is on, with a bar."""
        if self._pointed_piece is None or not _is_code(line):
            return line.content
        blocks = [block for block in (*self._settled, *self._last) if block.kind == "code"]
        if self._pointed_piece >= len(blocks) or blocks[self._pointed_piece] is not line.block:
            return line.content
        content = line.content.stylize("on $chosen", line.indent)
        bar = Content.styled("▌", "$accent on $chosen")
        return content[: line.indent] + bar + content[line.indent + 1 :]

    def rows(self, *, opened: bool) -> Sequence[Row]:
        """See `Block`."""
        settled, last = self._laid_out_lines()
        return rows_of(settled + last)

    def redraw_found(self) -> None:
        """See `Block`."""
        self._strips.clear()
        self.refresh()

    # Selecting and links -----------------------------------------------------------------------

    def render(self) -> Content:
        """The text as one, for selections."""
        settled, last = self._lines_at(self.size.width)
        return Content("\n").join([line.content for line in settled + last])

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The selected text, with lines that were only wrapped put together again."""
        pieces: list[str] = []
        settled, last = self._lines_at(self.size.width)
        for y, line in enumerate(settled + last):
            if (span := selection.get_span(y)) is None:
                continue
            start, end = span
            plain = line.content.plain
            if line.gap is not None or _is_code(line):
                start = max(start, line.indent + _is_code(line))
            if line.gap is not None and pieces:
                pieces[-1] += line.gap + plain[start : len(plain) if end == -1 else end].rstrip()
            else:
                pieces.append(plain[start : len(plain) if end == -1 else end].rstrip())
        return "\n".join(pieces), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._strips.clear()
        self.refresh()

    def action_link(self, number: int) -> None:
        """Let the app decide what a click on a link does."""
        if 0 <= number < len(self._links):
            self.post_message(LinkChosen(self._links[number]))


def _is_code(line: Line) -> bool:
    """Whether a line is one of code, which stands a cell further in."""
    return line.block is not None and line.block.kind == "code"


def rows_of(lines: Sequence[Line]) -> list[Row]:
    """What can be found in the lines of a reply."""
    rows = []
    for line in lines:
        plain, start = line.content.plain.rstrip(), line.indent + _is_code(line)
        lead = "" if line.gap is not None or _is_code(line) else plain[: line.indent]
        rows.append(Row(lead + plain[start:], start - len(lead), line.gap))
    return rows
