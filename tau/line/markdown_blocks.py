"""Markdown as a flat run of blocks, of which only the last can still grow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markdown_it.token import Token

from tau.line.markdown_inline import parser

_BLANK = re.compile(r"[\s>]*\Z")
_UNDECIDED = re.compile(
    r"(?:[\s>\-*+=_`~|:#.]|\d{1,9}[.)]?(?=\s|\Z))*\Z"  # marks alone: what they begin shows with what follows
    r"|[\s>\-*+\d.)]*(?:```|~~~)"  # a fence: whole with its line
)


@dataclass(slots=True)
class Block:
    """A paragraph, heading, piece of code, table or rule, wherever it stands.

    Attributes:
        kind: Which of them.
        source: Its inline markdown, or its code.
        level: Of a heading, from 1.
        fences: The lines before and after code, where the source has them.
        closed: Whether nothing can be added to it any more, as far as it says itself.
        rows: The cells of a table as inline markdown, the heading first.
        aligned: Where the columns of a table stand: ``left``, ``right`` or ``center``.
        first: What leads its first line: bullets, numbers, bars of quotes.
        rest: What leads its other lines.
        apart: Whether a blank line comes before it.
        begins: Whether no block of the same outermost block comes before it.
        outer: The line of the source at which the outermost block around it begins.
    """

    kind: Literal["text", "heading", "code", "table", "rule"]
    source: str = ""
    level: int = 0
    fences: tuple[str, str] | None = None
    closed: bool = False
    rows: list[list[str]] = field(default_factory=list)
    aligned: list[Literal["left", "right", "center"]] = field(default_factory=list)
    first: str = ""
    rest: str = ""
    apart: bool = True
    begins: bool = False
    outer: int = 0


def decided(source: str) -> str:
    """The source without a last line of which it is open what kind of block it begins or goes on with."""
    last = source.rfind("\n") + 1
    return source[:last] if _UNDECIDED.match(source, last) else source


def blocks(source: str) -> Sequence[Block]:
    """The blocks of a markdown text, in order."""
    reader = _Reader(source)
    for token in parser().parse(source):
        reader.take(token)
    return reader.blocks


class _Reader:
    """Walks the tokens, keeping what leads the lines of the list entries and quotes it is inside."""

    def __init__(self, source: str) -> None:
        self.blocks: list[Block] = []
        self._lines = source.split("\n")
        self._numbers: list[int | None] = []
        self._leads: list[list[str]] = []
        self._heading = 0
        self._outer = 0
        self._table: Block | None = None

    def take(self, token: Token) -> None:
        """One token."""
        if token.level == 0 and token.map:
            self._outer = token.map[0]
        match token.type:
            case "heading_open":
                self._heading = int(token.tag[1:])
            case "heading_close":
                self._heading = 0
            case "inline" if self._table is not None:
                self._table.rows[-1].append(token.content)
            case "inline":
                kind: Literal["heading", "text"] = "heading" if self._heading else "text"
                block = Block(kind, token.content, level=self._heading)
                block.closed = self._ended(token, blank=kind == "text")
                self._add(block, token)
            case "fence" | "code_block":
                self._add(self._code(token), token)
            case "hr":
                self._add(Block("rule", closed=self._ended(token)), token)
            case "bullet_list_open":
                self._numbers.append(None)
            case "ordered_list_open":
                self._numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                self._leads.append(self._mark())
            case "blockquote_open":
                self._leads.append(["▎ ", "▎ "])
            case "list_item_close" | "blockquote_close":
                if token.type == "list_item_close" and self._leads[-1][0] != self._leads[-1][1]:
                    self._add(Block("text", apart=False), None)  # an entry without anything
                self._leads.pop()
            case "table_open":
                self._table = Block("table", closed=self._ended(token, blank=True))
                self._add(self._table, token)
            case "th_open" if self._table is not None:
                style = str(token.attrs.get("style", ""))
                self._table.aligned.append(
                    "right" if style.endswith("right") else "center" if style.endswith("center") else "left"
                )
            case "tr_open" if self._table is not None:
                self._table.rows.append([])
            case "table_close":
                self._table = None

    def _mark(self) -> list[str]:
        number = self._numbers[-1]
        if number is None:
            mark = "• " if len(self._numbers) == 1 else "◦ "
        else:
            mark = f"{number}. "
            self._numbers[-1] = number + 1
        return [mark, " " * len(mark)]

    def _ended(self, token: Token, *, blank: bool = False) -> bool:
        """Whether the last line of the token ends in the source; with `blank`, whether one follows it."""
        return token.map is not None and token.map[1] < len(self._lines) - blank

    def _code(self, token: Token) -> Block:
        code = token.content.removesuffix("\n")
        if token.type != "fence" or token.map is None:
            return Block("code", code)
        count = code.count("\n") + 1 if token.content else 0
        closed = token.map[1] - token.map[0] == count + 2
        return Block("code", code, fences=(token.markup + token.info.rstrip(), token.markup), closed=closed)

    def _add(self, block: Block, token: Token | None) -> None:
        block.first = "".join(first for first, _ in self._leads)
        block.rest = "".join(rest for _, rest in self._leads)
        for lead in self._leads:
            lead[0] = lead[1]
        block.outer = self._outer
        if token is not None and token.map is not None:
            start = token.map[0]
            block.begins = start == self._outer
            block.apart = block.begins or _BLANK.match(self._lines[start - 1]) is not None
        self.blocks.append(block)
