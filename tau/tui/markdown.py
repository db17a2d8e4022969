"""Markdown as lines of text: parsed into blocks once, laid out for a width, drawn a line at a time.

Textual's own Markdown makes a dozen widgets of every reply, and each change of the screen visits them all;
a transcript of forty turns would cost more than a frame. Here a reply is one widget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content, Span
from textual.highlight import ANSIDarkHighlightTheme, HighlightTheme, highlight
from textual.style import Style

CODE_FILL = "on $panel"
PLAIN_CODE_FROM = 20_000
"""Characters of code above which it is not coloured."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is drawn.

    Attributes:
        content: What stands in it.
        gap: What stood between it and the line before, when it goes on with that one (a wrapped line).
        indent: How many characters lead it.
        block: What it is a line of; None for a line between two.
    """

    content: Content
    gap: str | None = None
    indent: int = 0
    block: Block | None = None


@dataclass(slots=True)
class Block:
    """A paragraph, heading, list entry, piece of code, table or rule.

    Attributes:
        kind: How it is laid out.
        text: Its text; of code, with newlines.
        code: Code as it was written.
        rows: The cells of a table, the heading first.
        first: What leads its first line: bullets, numbers, quote bars.
        rest: What leads its other lines.
        apart: Whether a blank line comes before it.
    """

    kind: Literal["text", "code", "table", "rule"]
    text: Content = field(default_factory=Content)
    code: str = ""
    rows: list[list[Content]] = field(default_factory=list)
    first: str = ""
    rest: str = ""
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Parsed:
    """Blocks of a text, the addresses of its links, and the line at which its last part begins."""

    blocks: Sequence[Block]
    links: Sequence[str]
    last_line: int


def parse(source: str, *, links_before: int = 0, ansi: bool = False, colour: bool = True) -> Parsed:
    """The blocks of a markdown text.

    HTML is shown as the text it is, and no link is made of a bare file name.

    Args:
        source: The text, safe to show.
        links_before: Links counted before this part; a link's action is its number.
        ansi: Whether the theme keeps to the terminal's colours.
        colour: Whether code is coloured.
    """
    tokens = _parser().parse(source)
    reader = _Reader(links_before, ansi=ansi, colour=colour)
    for token in tokens:
        reader.take(token)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    return Parsed(reader.blocks, reader.links, starts[-1] if starts else 0)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("gfm-like", {"html": False, "linkify": False})


class _Reader:
    """Walks the tokens, keeping what leads the lines of the list entries and quotes it is inside."""

    def __init__(self, links_before: int, *, ansi: bool, colour: bool) -> None:
        self.blocks: list[Block] = []
        self.links: list[str] = []
        self._links_before = links_before
        self._theme = ANSIDarkHighlightTheme if ansi else HighlightTheme
        self._colour = colour
        self._numbers: list[int | None] = []
        self._leads: list[list[str]] = []
        self._style = ""
        self._apart = True
        self._tight = False
        self._rows: list[list[Content]] | None = None

    def take(self, token: Token) -> None:
        """One token."""
        kind = token.type
        if kind == "heading_open":
            self._style = "bold $accent" if token.tag == "h1" else "bold"
        elif kind == "paragraph_open":
            self._tight = token.hidden
        elif kind == "inline":
            self._inline(token)
        elif kind in ("heading_close", "paragraph_close"):
            self._style, self._tight = "", False
        elif kind in ("fence", "code_block"):
            self._add(Block("code", self._code(token), token.content.removesuffix("\n")))
        elif kind == "hr":
            self._add(Block("rule"))
        elif kind in ("bullet_list_open", "ordered_list_open"):
            start = token.attrs.get("start", 1)
            self._numbers.append(int(start) if kind == "ordered_list_open" else None)
            self._apart = self._apart and len(self._numbers) == 1
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._numbers.pop()
            self._apart = not self._numbers
        elif kind == "list_item_open":
            self._item()
        elif kind == "blockquote_open":
            self._leads.append(["▎ ", "▎ "])
        elif kind in ("list_item_close", "blockquote_close"):
            self._leads.pop()
        elif kind == "table_open":
            self._rows = []
        elif kind == "tr_open" and self._rows is not None:
            self._rows.append([])
        elif kind == "table_close" and self._rows is not None:
            self._add(Block("table", rows=self._rows))
            self._rows = None

    def _item(self) -> None:
        number = self._numbers[-1]
        if number is None:
            mark = "• " if len(self._numbers) == 1 else "◦ "
        else:
            mark = f"{number}. "
            self._numbers[-1] = number + 1
        self._leads.append([mark, " " * len(mark)])

    def _inline(self, token: Token) -> None:
        text = self._styled(token.children or ())
        if self._rows is not None:
            self._rows[-1].append(text)
        else:
            self._add(Block("text", text.stylize(self._style) if self._style else text))

    def _add(self, block: Block) -> None:
        block.first = "".join(first for first, _ in self._leads)
        block.rest = "".join(rest for _, rest in self._leads)
        for lead in self._leads:
            lead[0] = lead[1]
        block.apart = self._apart or not self._tight
        self._apart = not self._numbers
        self.blocks.append(block)

    def _code(self, token: Token) -> Content:
        code = token.content.rstrip("\n")
        if not self._colour or len(code) > PLAIN_CODE_FROM:
            return Content(code)
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else "text"
        return highlight(code, language=language, theme=self._theme)

    def _styled(self, children: Iterable[Token]) -> Content:
        pieces: list[str] = []
        spans: list[Span] = []
        opened: list[tuple[int, list[Style | str]]] = []
        place = 0

        def close() -> None:
            start, styles = opened.pop()
            spans.extend(Span(start, place, style) for style in styles)

        for child in children:
            words = ""
            if child.type == "text":
                words = child.content
            elif child.type == "softbreak":
                words = " "
            elif child.type == "hardbreak":
                words = "\n"
            elif child.type == "code_inline":
                words = child.content
                spans.append(Span(place, place + len(words), CODE_FILL))
            elif child.type == "image":
                words = f"[image: {child.content or child.attrs.get('src', '')}]"
            elif child.type == "em_open":
                opened.append((place, ["italic"]))
            elif child.type == "strong_open":
                opened.append((place, ["bold"]))
            elif child.type == "s_open":
                opened.append((place, ["strike"]))
            elif child.type == "link_open":
                self.links.append(str(child.attrs.get("href", "")))
                number = self._links_before + len(self.links) - 1
                opened.append((place, ["underline $accent", Style.from_meta({"@click": f"link({number})"})]))
            elif child.type.endswith("_close") and opened:
                close()
            pieces.append(words)
            place += len(words)
        return Content("".join(pieces), spans=spans)


# Layout -------------------------------------------------------------------------------------------


def lay_out(blocks: Sequence[Block], width: int, *, begins: bool) -> list[Line]:
    """The lines of the blocks at a width; `begins` when nothing comes before them."""
    lines: list[Line] = []
    for place, block in enumerate(blocks):
        if block.apart and not (begins and place == 0):
            within = place > 0 and blocks[place - 1].rest == block.rest
            lines.append(Line(Content(block.rest.rstrip() if within else "").stylize("$accent")))
        lines += _lines_of(block, max(8, width))
    return lines


def _lines_of(block: Block, width: int) -> list[Line]:
    room = max(4, width - len(block.rest))
    bodies: list[tuple[Content, str | None]]
    if block.kind == "rule":
        bodies = [(Content.assemble(("─" * room, "$faint")), None)]
    elif block.kind == "code":
        bodies = list(_code_lines(block.text, room))
    elif block.kind == "table":
        bodies = [(line, None) for line in _table_lines(block.rows, room)]
    else:
        bodies = list(_text_lines(block.text, room)) or [(Content(), None)]
    lines = []
    for place, (body, gap) in enumerate(bodies):
        lead = block.rest if place else block.first
        content = Content.assemble((lead, "$accent"), body) if lead else body
        lines.append(Line(content, gap, len(lead), block))
    return lines


def _text_lines(text: Content, room: int) -> Iterable[tuple[Content, str | None]]:
    for part in text.split("\n", allow_blank=True):
        plain, place = part.plain, 0
        for number, line in enumerate(part.wrap(room)):
            start = max(place, plain.find(line.plain.rstrip(), place))
            yield line, plain[place:start] if number else None
            place = start + len(line.plain.rstrip())


def _code_lines(code: Content, room: int) -> Iterable[tuple[Content, str | None]]:
    for line in code.split("\n", allow_blank=True):
        gap = None
        for piece in line.expand_tabs(4).fold(room - 2):
            padded = piece.pad(1, max(1, room - 1 - piece.cell_length))
            yield padded.stylize_before(CODE_FILL), gap
            gap = piece.plain[len(piece.plain.rstrip()) :]


def _table_lines(rows: Sequence[Sequence[Content]], room: int) -> Iterable[Content]:
    count = max((len(row) for row in rows), default=0)
    if not count:
        return
    widths = [max((row[n].cell_length for row in rows if n < len(row)), default=1) for n in range(count)]
    while sum(widths) + 3 * (count - 1) > room and max(widths) > 4:
        widths[widths.index(max(widths))] -= 1
    for number, row in enumerate(rows):
        cells = [row[n].wrap(widths[n]) if n < len(row) and row[n] else [Content()] for n in range(count)]
        for level in range(max(len(cell) for cell in cells)):
            parts = [cell[level] if level < len(cell) else Content() for cell in cells]
            padded = [
                part.pad_right(max(0, size - part.cell_length))
                for part, size in zip(parts, widths, strict=True)
            ]
            line = Content("   ").join(padded)
            yield line.stylize("bold") if number == 0 else line
        if number == 0:
            yield Content.assemble(("───".join("─" * size for size in widths), "$faint"))
