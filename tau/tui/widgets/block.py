"""What every block of the transcript can do: give its source, be pointed at, show what was found in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.content import Content

from tau.tui.finding import Row, joined, places

if TYPE_CHECKING:
    from textual.widget import Widget as Mixed
else:
    Mixed = object  # textual takes the styles and the keys of the first base that is a widget

FOUND = "$accent on $chosen"
FOUND_HERE = "bold reverse $accent"


class Piece(NamedTuple):
    """A part of a block that can be copied by itself.

    Attributes:
        name: What it is called.
        source: Its text.
        first: Its first line in the block; None where it has no lines of its own there.
        height: How many lines it has there.
    """

    name: str
    source: str
    first: int | None = None
    height: int = 0


class Block(Mixed):
    """What is mixed into the widget of a block.

    Attributes:
        message_index: The index in its session of the message that it shows; None when that is not known.
    """

    NAME: ClassVar[str] = "block"
    """What the line of keys calls it."""

    message_index: int | None = None
    _pattern: re.Pattern[str] | None = None
    _here: int = -1
    _marks: dict[int, list[tuple[int, int, str]]] | None = None
    _text: str | None = None

    @property
    def source(self) -> str:
        """Its text as it was written or as it is on record, whatever the screen shows of it."""
        raise NotImplementedError

    @property
    def pieces(self) -> Sequence[Piece]:
        """The code in it, or the call of a tool."""
        return ()

    @property
    def opens(self) -> bool:
        """Whether it can be opened and closed."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether all of it is shown."""
        return True

    def turn(self) -> None:
        """Open or close it."""

    def point(self, piece: int | None) -> None:
        """The cursor is on it, or on a piece of it."""
        self.add_class("-pointed")

    def point_away(self) -> None:
        """The cursor has left it."""
        self.remove_class("-pointed")

    # Finding -----------------------------------------------------------------------------------

    def rows(self, *, opened: bool) -> Sequence[Row]:
        """Its lines at the present width, as they are or as they were if it was open."""
        raise NotImplementedError

    def redraw_found(self) -> None:
        """Draw it with other marks."""
        raise NotImplementedError

    def count(self, pattern: re.Pattern[str]) -> int:
        """How often something can be found in it once it is open."""
        if self._text is None:
            self._text = joined(self.rows(opened=True))
        return sum(1 for _ in pattern.finditer(self._text))

    def show_found(self, pattern: re.Pattern[str] | None, here: int = -1) -> None:
        """Mark what is found, and number `here` of it as the one that was reached."""
        if (self._pattern, self._here) != (pattern, here):
            self._pattern, self._here = pattern, here
            self._marks = None
            self.redraw_found()

    def row_of(self, number: int) -> int | None:
        """The line in which a match begins, as the block stands; None when it is not among what is shown."""
        if self._pattern is None:
            return None
        found = places(self.rows(opened=False), self._pattern)
        return found[number][0].row if number < len(found) and found[number] else None

    def lines_changed(self) -> None:
        """Its lines are others than before."""
        self._marks = self._text = None

    def with_found(self, row: int, line: Content) -> Content:
        """A line with what is found in it."""
        if self._pattern is None:
            return line
        if self._marks is None:
            self._marks = {}
            for number, spans in enumerate(places(self.rows(opened=False), self._pattern)):
                style = FOUND_HERE if number == self._here else FOUND
                for span in spans:
                    self._marks.setdefault(span.row, []).append((span.start, span.end, style))
        for start, end, style in self._marks.get(row, ()):
            line = line.stylize(style, start, end)
        return line
