"""Fits text into a number of terminal cells: shortening, spreading over a line, amounts in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len, chop_cells, set_cell_size
from textual.content import Content

from tau.display import visible


def shorten_end(text: str, width: int) -> str:
    """The text in at most `width` cells, its end replaced by ``…`` when it is longer."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def shorten_middle(text: str, width: int, *, tail_share: float = 2 / 3) -> str:
    """The text in at most `width` cells, its middle replaced by ``…`` when it is longer.

    Args:
        text: The text.
        width: Cells.
        tail_share: How much of what is kept comes from its end.
    """
    if cell_len(text) <= width:
        return text
    if width < 4:
        return shorten_end(text, width)
    tail_width = int((width - 1) * tail_share)
    head = set_cell_size(text, width - 1 - tail_width).rstrip()
    tail = text[-tail_width:]
    while cell_len(tail) > tail_width:
        tail = tail[1:]
    return f"{head}…{tail}"


def around(text: str, marks: Sequence[int], width: int) -> tuple[str, Sequence[int]]:
    """The part of the text in at most `width` cells that has its marks, and where they are in that.

    It is the beginning of the text where the marks are in that.

    Args:
        text: The text.
        marks: Places in it, rising.
        width: Cells.
    """
    start = 0
    if marks and cell_len(text[: marks[-1] + 1]) > width - 1 and cell_len(text) > width:
        start = max(0, min(marks[0], marks[-1] - width // 2) - width // 6)
    head = "…" if start else ""
    whole = text[start:]
    rest = shorten_end(whole, max(0, width - len(head)))
    end = start + (len(rest) if rest == whole else len(rest) - 1)
    return head + rest, [place - start + len(head) for place in marks if start <= place < end]


def newest(text: str, width: int) -> str:
    """The end of the text in at most `width` cells, after ``…`` when there is more before it."""
    if cell_len(text) <= width:
        return text
    tail = text[-width:]
    while cell_len(tail) >= width:
        tail = tail[1:]
    return f"…{tail}"


def shorten_path(path: str, home: str | None = None) -> str:
    """The path with the home directory as ``~``."""
    base = home if home is not None else str(Path.home())
    if path == base:
        return "~"
    return "~" + path[len(base) :] if base != "/" and path.startswith(base + "/") else path


def folded(line: str, width: int) -> list[str]:
    """The line in pieces of at most `width` cells, cut between words if possible; together they are it."""
    if len(line) <= width and (line.isascii() or cell_len(line) <= width):
        return [line]
    pieces, place, ascii_only = [], 0, line.isascii()
    while place < len(line):
        end = place + width
        if not ascii_only:
            end = place + max(1, len(chop_cells(line[place:end], width)[0]))
        if end < len(line) and (space := line.rfind(" ", place + width * 2 // 3, end)) > 0:
            end = space + 1
        pieces.append(line[place:end])
        place = end
    return pieces


def spread(left: Content, right: Content, width: int) -> Content:
    """Both on one line of `width` cells, `right` at its end; `left` gives way when there is no room."""
    room = max(0, width - right.cell_length - 1)
    if left.cell_length > room:
        left = left.truncate(room, ellipsis=True)
    gap = max(0, width - left.cell_length - right.cell_length)
    return Content.assemble(left, " " * gap, right)


def keep_what_fits(
    parts: Sequence[tuple[int, Content]], width: int, separator: Content, *, least: int | None = None
) -> Content:
    """The parts joined in their order, without those of the lowest rank for which there is no room.

    Args:
        parts: Rank and text of each.
        width: Cells.
        separator: What stands between two parts.
        least: Down to how many cells the last part is cut before another gives way; None: it is never cut.
    """
    kept = list(parts)
    while True:
        joined = separator.join([part for _, part in kept])
        over = joined.cell_length - width
        if over <= 0 or not kept:
            return joined
        if least is not None and kept[-1] is parts[-1] and kept[-1][1].cell_length - over >= least:
            return joined.truncate(width, ellipsis=True)
        kept.remove(min(kept, key=lambda part: part[0]))


def tokens(count: int) -> str:
    """A number of tokens as a person reads it: ``812``, ``4.1k``, ``41k``, ``1.2M``."""
    if count < 1_000:
        return str(count)
    if count < 10_000:
        return f"{count / 1_000:.1f}k"
    if count < 1_000_000:
        return f"{count // 1_000}k"
    return f"{count / 1_000_000:.1f}M"


def duration(seconds: float) -> str:
    """A time span as a person reads it: ``12 ms``, ``1.8 s``, ``41 s``, ``2 min 5 s``."""
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def size(count: float) -> str:
    """A number of bytes as a person reads it, in powers of ten: ``412 MB``, ``1.1 GB``."""
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    if count < 1_000_000_000:
        return f"{count / 1_000_000:.0f} MB"
    return f"{count / 1_000_000_000:.1f} GB"


def without_middle(text: str, characters: int, lines: int, then: str) -> list[str]:
    """The lines of a text, safe to show; of a long one the middle is left out and counted.

    Args:
        text: Any text.
        characters: Characters that are kept.
        lines: Lines that are kept.
        then: What follows on the count.
    """
    if len(text) > characters:
        half = characters // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown{then}\n{text[-half:]}"
    rows = visible(text).split("\n")
    if len(rows) > lines:
        half = lines // 2
        rows[half:-half] = [f"… {len(rows) - 2 * half:,} lines not shown{then}"]
    return rows
