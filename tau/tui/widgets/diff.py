"""A diff as lines to draw: unified where there is little room, old beside new where there is more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from rich.cells import cell_len
from textual.content import Content

from tau.diff_reader import Diff, DiffLine
from tau.display import spelled_out
from tau.tui.finding import Row
from tau.tui.fit import folded

SIDE_BY_SIDE_FROM = 120
"""Cells from which on old and new stand beside each other."""

TAB = 4
COMPARED_CHARACTERS = 400
"""Characters of a line up to which its changed words are looked for."""

_WORDS = re.compile(r"\w+|\s+|.")
_LOOKS = {
    "same": (" ", "$quiet", "", ""),
    "removed": ("-", "$removed", "$removed-text on $removed-fill", "bold on $removed-word"),
    "added": ("+", "$added", "$added-text on $added-fill", "bold on $added-word"),
}
"""Sign, its style, the style of the text and of the words that changed, by kind."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a line of the diff that fits into the room; `first` where the line begins."""

    index: int
    start: int
    end: int
    first: bool


def counts(diff: Diff) -> Content:
    """How many lines come and go: ``+3 −1``."""
    parts = []
    if diff.added or not diff.removed:
        parts.append(Content.assemble((f"+{diff.added:,}", "$added")))
    if diff.removed:
        parts.append(Content.assemble((f"−{diff.removed:,}", "$removed")))
    return Content(" ").join(parts)


class DiffLines:
    """A diff laid out for a width (see `tau.tui.widgets.lines.Lines`).

    Args:
        diff: The diff; what stands around it is not shown.
        width: Cells of a line.
    """

    def __init__(self, diff: Diff, width: int) -> None:
        self._lines = diff.lines
        self._texts = [_shown(line) for line in diff.lines]
        self._partners = _partners(diff.lines)
        self._spans: dict[int, list[tuple[int, int]]] = {}
        numbers = [n for line in diff.lines for n in (line.old, line.new) if n is not None]
        self._digits = max(2, len(str(max(numbers, default=0))))
        self._width = width
        self._beside = width >= SIDE_BY_SIDE_FROM and diff.added > 0 and diff.removed > 0
        self._column = (width - 1) // 2 if self._beside else width
        self._room = max(2, self._column - self._digits - 3)
        rows = self._rows(one_file=diff.files == 1)
        self._shown: Sequence[tuple[_Piece | None, _Piece | None]] = list(rows)

    def __len__(self) -> int:
        return len(self._shown)

    def line(self, number: int) -> Content:
        """See `Lines`."""
        left, right = self._shown[number]
        if not self._beside:
            assert left is not None
            return self._cell(left, self._width)
        if left is not None and self._lines[left.index].kind in ("file", "hunk", "note"):
            return self._cell(left, self._width)
        return Content.assemble(self._side(left, old=True), " ", self._side(right, old=False))

    def row(self, number: int) -> Row:
        """See `Lines`. Of what stands twice in a row, unchanged, the old one is found."""
        left, right = self._shown[number]
        start = self._digits + 3
        if not self._beside or right is None:
            return self._row(left, start)
        if left is None:
            return self._row(right, self._column + 1 + start)
        if left == right:
            return self._row(left, start)
        old, new = self._row(left, start), self._row(right, self._column + 1 + start)
        gap = " " * (new.start - old.start - len(old.text))
        return Row(old.text + gap + new.text, start, None)

    def _row(self, piece: _Piece | None, start: int) -> Row:
        if piece is None:
            return Row("")
        if self._lines[piece.index].kind == "file":
            start = 0
        text = self._texts[piece.index][piece.start : piece.end]
        if self._lines[piece.index].kind == "hunk":
            return Row("")
        return Row(text, start, None if piece.first or self._beside else "")

    # Laying out --------------------------------------------------------------------------------

    def _rows(self, *, one_file: bool) -> Iterator[tuple[_Piece | None, _Piece | None]]:
        removed: list[_Piece] = []
        added: list[_Piece] = []
        begun = False
        for index, line in enumerate(self._lines):
            if line.kind == "removed" and self._beside and not added:
                removed += self._pieces(index, self._room)
                continue
            if line.kind == "added" and self._beside:
                added += self._pieces(index, self._room)
                continue
            if line.kind == "note" and (removed or added):
                (added or removed).extend(self._pieces(index, self._room))
                continue
            yield from self._paired(removed, added)
            removed, added = [], []
            if line.kind == "removed" and self._beside:
                removed += self._pieces(index, self._room)
            elif line.kind == "same" and self._beside:
                yield from ((piece, piece) for piece in self._pieces(index, self._room))
            elif line.kind in ("same", "removed", "added", "note"):
                yield from ((piece, None) for piece in self._pieces(index, self._room))
            elif line.kind == "file" and not one_file:
                yield from ((piece, None) for piece in self._pieces(index, self._width - 2))
                begun = False
            elif line.kind == "hunk":
                if begun:
                    yield _Piece(index, 0, 0, first=True), None
                begun = True
        yield from self._paired(removed, added)

    def _paired(
        self, removed: Sequence[_Piece], added: Sequence[_Piece]
    ) -> Iterator[tuple[_Piece | None, _Piece | None]]:
        """Old beside new, each pair of lines beginning in the same row."""
        old, new = _by_line(removed), _by_line(added)
        for left, right in zip_longest(old, new, fillvalue=()):
            yield from zip_longest(left, right)

    def _pieces(self, index: int, room: int) -> list[_Piece]:
        text = self._texts[index]
        if len(text) <= room and (text.isascii() or cell_len(text) <= room):
            return [_Piece(index, 0, len(text), first=True)]
        pieces, place = [], 0
        for part in folded(text, max(1, room)):
            pieces.append(_Piece(index, place, place + len(part), first=not place))
            place += len(part)
        return pieces

    # Drawing -----------------------------------------------------------------------------------

    def _side(self, piece: _Piece | None, *, old: bool) -> Content:
        if piece is None:
            return Content(" " * self._column)
        cell = self._cell(piece, self._column, old=old)
        return cell.pad_right(max(0, self._column - cell.cell_length))

    def _cell(self, piece: _Piece, width: int, *, old: bool = False) -> Content:
        line = self._lines[piece.index]
        text = self._texts[piece.index][piece.start : piece.end]
        if line.kind == "hunk":
            return Content.assemble((f"{'⋯':>{self._digits}}", "$faint"))
        if line.kind == "file":
            return Content.assemble((text, "bold"))
        if line.kind == "note":
            return Content.assemble((f"{'':>{self._digits + 3}}{text}", "$quiet"))
        sign, sign_style, text_style, word_style = _LOOKS[line.kind]
        number = line.old if old or line.new is None else line.new
        shown_number = str(number) if piece.first and number is not None else ""
        body = Content(text + " " * max(0, width - self._digits - 3 - cell_len(text)))
        if text_style:
            body = body.stylize(text_style)
            for start, end in self._changed(piece.index):
                first, last = max(start - piece.start, 0), min(end, piece.end) - piece.start
                if first < last:
                    body = body.stylize(word_style, first, last)
        mark = f" {sign if piece.first else ' '} "
        return Content.assemble((f"{shown_number:>{self._digits}}", "$quiet"), (mark, sign_style), body)

    def _changed(self, index: int) -> list[tuple[int, int]]:
        """The parts of a line that its partner does not have."""
        if index not in self._spans:
            partner = self._partners.get(index)
            found: list[tuple[int, int]] = []
            if partner is not None:
                found = changed_words(self._texts[index], self._texts[partner])
            self._spans[index] = found
        return self._spans[index]


def changed_words(text: str, other: str) -> list[tuple[int, int]]:
    """Where words of `text` are that `other` has not; nothing when the two have little in common."""
    if max(len(text), len(other)) > COMPARED_CHARACTERS:
        return []
    words, others = _WORDS.findall(text), _WORDS.findall(other)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < 0.5:
        return []
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    spans = [
        (places[start], places[end])
        for kind, start, end, _, _ in matcher.get_opcodes()
        if kind != "equal" and end > start
    ]
    return [span for span in spans if span != (0, len(text))]


def _shown(line: DiffLine) -> str:
    """The text of a line as it is drawn: safe, with tabs as spaces."""
    text = spelled_out(line.text)
    if "\t" not in text:
        return text
    out, column = [], 0
    for part in text.split("\t"):
        out.append(part)
        column += cell_len(part)
        out.append(" " * (TAB - column % TAB))
        column += TAB - column % TAB
    return "".join(out[:-1])


def _partners(lines: Sequence[DiffLine]) -> dict[int, int]:
    """For each line that was replaced, the index of the other one; lines pair in their order."""
    pairs: dict[int, int] = {}
    removed: list[int] = []
    for index, line in enumerate(lines):
        if line.kind == "removed":
            if index and lines[index - 1].kind == "added":
                removed = []
            removed.append(index)
        elif line.kind == "added" and removed:
            old = removed.pop(0)
            pairs[index], pairs[old] = old, index
        elif line.kind not in ("added", "note"):
            removed = []
    return pairs


def _by_line(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    lines: list[list[_Piece]] = []
    for piece in pieces:
        if piece.first:
            lines.append([])
        lines[-1].append(piece)
    return lines
