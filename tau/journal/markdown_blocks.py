"""Where the headings and items of a Markdown text stand: what `tau.journal.markdown` edits by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 100
"""Lists in lists that are told apart."""

_CHECKBOX = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_FRONT_MATTER_END = ("---", "...")
_UNTIL = {
    "<!--": "-->",
    "<?": "?>",
    "<![CDATA[": "]]>",
    "<!": ">",
    "<script": "</script>",
    "<pre": "</pre>",
    "<style": "</style>",
    "<textarea": "</textarea>",
}
"""What ends a block of HTML that blank lines do not end."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        level: 1 to 6.
        title: Its text, on one line, without marks.
        line: The number of its first line, from 0.
        body: The number of the line behind it, which is two on where it is underlined.
    """

    level: int
    title: str
    line: int
    body: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what belongs to it: everything up to the next heading of its level or above.

    Attributes:
        title: Of the heading.
        level: Of the heading.
        line: The number of the heading's line, from 0.
        body: The number of the first line behind the heading.
        own_end: The line before which its own text ends, where its first subsection begins.
        end: The line before which it ends.
        edition: Of the document that it was found in; it says nothing of a later one.
    """

    title: str
    level: int
    line: int
    body: int
    own_end: int
    end: int
    edition: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list.

    Attributes:
        first: The number of its first line, from 0.
        last: The number of its last line, with all that is nested in it.
        text: Its first paragraph, without marker and checkbox; empty when it begins with none.
        checked: Whether its checkbox is ticked; None when it has none.
        depth: 0 in a list that is in no other.
        parent: The number of the first line of the item that it is nested in, or None.
        text_first: The number of the first line of the paragraph.
        text_last: The number of its last line.
        markers: How many markers stand before its text on its first line, as in ``- - text``.
        edition: As of `Section`.
    """

    first: int
    last: int
    text: str
    checked: bool | None
    depth: int
    parent: int | None
    text_first: int
    text_last: int
    markers: int
    edition: int = field(default=0, compare=False, repr=False)

    @property
    def holds_more(self) -> bool:
        """Whether there is more in it than its text, such as a nested list: that goes when it is removed."""
        return self.last > self.text_last


@dataclass(frozen=True, slots=True)
class Blocks:
    """A text as it was read.

    Attributes:
        headings: In their order. Those in quotes, items, code, comments and front matter are none.
        items: In their order. Those in quotes are none.
        lists: First and last line of each list that is in no other.
        open_from: The line where code or a comment begins that never ends, else the number of lines.
    """

    headings: Sequence[Heading]
    items: Sequence[Item]
    lists: Sequence[tuple[int, int]]
    open_from: int


def read(lines: Sequence[str]) -> Blocks:
    """Find the blocks of a text, given as lines without their ends."""
    shown = list(lines)
    front = front_matter(lines)
    shown[:front] = [""] * front
    tokens = _parser().parse("\n".join(shown))
    headings: list[Heading] = []
    items: list[Item] = []
    lists: list[tuple[int, int]] = []
    open_from = len(lines)
    stack: list[_Open] = []
    quotes = 0
    for number, token in enumerate(tokens):
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif quotes:
            continue
        elif token.type == "heading_open" and token.level == 0:
            first, behind = _range(token)
            title = " ".join(line.strip() for line in tokens[number + 1].content.split("\n"))
            headings.append(Heading(int(token.tag[1:]), title, first, behind))
        elif token.type in ("bullet_list_open", "ordered_list_open") and token.level == 0:
            lists.append(_trimmed(lines, *_range(token)))
        elif token.type == "list_item_open":
            stack.append(_Open(token, *_trimmed(lines, *_range(token))))
        elif token.type == "list_item_close":
            stack.pop()
        if token.type == "list_item_open":
            items.append(_item(tokens, number, stack))
        elif token.level == 0 and _never_ends(token, lines):
            open_from = _range(token)[0]
    return Blocks(headings, items, lists, open_from)


@dataclass(frozen=True, slots=True)
class _Open:
    token: Token
    first: int
    last: int


def _item(tokens: Sequence[Token], number: int, stack: Sequence[_Open]) -> Item:
    own = stack[-1]
    text, text_first, text_last, checked = "", own.first, own.first, None
    inside = tokens[number + 1]
    if inside.type == "paragraph_open":
        text_first, behind = _range(inside)
        text_last = behind - 1
        text = "\n".join(line.strip() for line in tokens[number + 2].content.split("\n"))
        if box := _CHECKBOX.match(text):
            checked = box[1] != " "
            text = text[box.end() :]
    same_line = [each for each in stack if each.first == own.first]
    parent = stack[-2].first if len(stack) > 1 else None
    return Item(
        own.first, own.last, text, checked, len(stack) - 1, parent, text_first, text_last, len(same_line)
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 2 * _DEEPEST})
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.disable("reference")  # `[x]: done` is a checkbox to a person, and no link
    return parser


def front_matter(lines: Sequence[str]) -> int:
    """How many lines the front matter of a text has, given as lines without their ends."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in _FRONT_MATTER_END:
            return number
    return 0


def _range(token: Token) -> tuple[int, int]:
    assert token.map is not None
    return token.map[0], token.map[1]


def _trimmed(lines: Sequence[str], first: int, behind: int) -> tuple[int, int]:
    """First and last line of a block without the blank lines at its end."""
    last = behind - 1
    while last > first and not lines[last].strip():
        last -= 1
    return first, last


def _never_ends(token: Token, lines: Sequence[str]) -> bool:
    """Whether everything that is written behind a block would belong to it."""
    if token.type == "fence":
        first, behind = _range(token)
        last = lines[behind - 1].strip()
        closed = behind - 1 > first and last == token.markup[0] * len(last) and len(last) >= len(token.markup)
        return not closed
    if token.type == "html_block":
        text = token.content.lstrip().lower()
        for begin, end in _UNTIL.items():
            if text.startswith(begin.lower()):
                return end.lower() not in text
    return False
