"""What a transcript is made of beside replies and tool cards: the person's rows, reasoning, notices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from tau.display import visible
from tau.events import Level
from tau.sessions.records import SUMMARY_OPENING
from tau.tui.fit import without_middle
from tau.tui.widgets.hanging import Hanging, Line

QUIET = "$quiet"
SHOWN_LINES = 200
SHOWN_CHARACTERS = 20_000
TAB = 4
_POINT = re.compile(r" {0,12}(?:(?:[-*•]|\d{1,3}[.)]) +)?")
"""What a line goes on behind: its indentation and the mark of a list."""


def capped(text: str) -> str:
    """A text that is cheap to lay out: its head and its tail, with what is left out said between them."""
    return "\n".join(without_middle(text, SHOWN_CHARACTERS, SHOWN_LINES, " …"))


class PlainRow(Hanging):
    """Lines as they are.

    Args:
        text: The text; where it is long, its middle is not shown.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._source = text
        lines = capped(text.rstrip()).split("\n")
        self.show([Line(Content(), Content(line.expandtabs(TAB))) for line in lines])

    @property
    def source(self) -> str:
        """The whole text."""
        return self._source


class UserRow(PlainRow):
    """What the person said, with the accent bar."""

    NAME = "your message"


class NoticeRow(Hanging):
    """One sentence: what happened, to what, and what to do."""

    NAME = "notice"
    MARKS: ClassVar[dict[Level, tuple[str, str]]] = {
        "info": ("·", "$quiet"),
        "warning": ("!", "$warning"),
        "error": ("✗", "$error"),
    }

    def __init__(self, text: str, level: Level = "info") -> None:
        super().__init__()
        self._source = text
        mark, style = self.MARKS.get(level, self.MARKS["info"])
        first, *others = visible(text).split("\n")
        body = "" if level != "info" else QUIET
        lines = [Line(Content.styled(f"{mark} ", style), Content.styled(first, body))]
        lines += [Line(Content("  "), Content.styled(other, body)) for other in others]
        self.show(lines)
        self.add_class(f"-{level}")

    @property
    def source(self) -> str:
        """The sentence."""
        return self._source


class LinesRow(PlainRow):
    """Plain lines a command said."""

    NAME = "output"
    MARGIN: ClassVar[int] = 1
    """Columns at its left, as the style sheet has them."""


class Folded(Hanging, can_focus=True):
    """A line that opens to show more; a click turns it, and the screen's key that chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.open = False

    def on_mount(self) -> None:
        """Draw the line."""
        self.redraw()

    def on_click(self) -> None:
        """Open or close, unless the click ended a selection."""
        if not self.screen.get_selected_text():
            self.action_turn()

    def action_turn(self) -> None:
        """Open or close."""
        self.open = not self.open
        self.redraw()

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

    def redraw(self) -> None:
        """Draw the line and, when open, what it folds."""
        self.set_class(self.open, "-open")
        self.show(self.lines_if(opened=self.open))

    def lines_if(self, *, opened: bool) -> Sequence[Line]:
        """See `Hanging`."""
        lines = [Line(Content.styled("▾ " if self.open else "▸ ", QUIET), self.title_line())]
        if (opened or self.open) and (body := self.body()):
            for line in body.split("\n"):
                begin = _POINT.match(line).end()  # type: ignore[union-attr]  # it matches nothing at least
                mark, text = f"  {line[:begin]}", line[begin:]
                lines.append(Line(Content.styled(mark, QUIET), Content.styled(text, QUIET)))
        return lines

    def title_line(self) -> Content:
        """The line."""
        raise NotImplementedError

    def body(self) -> str:
        """What is folded, safe to show."""
        raise NotImplementedError


class SummaryBlock(Folded):
    """The summary with which a session continues another one; open where it was just written.

    Args:
        text: As the model reads it, its first line naming the session.
        fresh: Whether it was just written.
    """

    NAME = "summary"

    def __init__(self, text: str, *, fresh: bool = False) -> None:
        super().__init__()
        heading, _, self._notes = text.strip().partition("\n")
        self._session = heading.removeprefix(SUMMARY_OPENING).removesuffix("):")
        self.open = fresh

    def title_line(self) -> Content:
        """Which session is summarized, and how long the summary is."""
        words = len(self._notes.split())
        return Content.assemble(
            (f"Summary of session {visible(self._session)}", f"{QUIET} italic"),
            (f" · {words:,} word{'' if words == 1 else 's'}", QUIET),
        )

    @property
    def source(self) -> str:
        """The whole summary."""
        return self._notes.strip()

    def body(self) -> str:
        """The summary."""
        return capped(self._notes.strip())


class ReasoningBlock(Folded):
    """The model's reasoning, folded."""

    NAME = "reasoning"

    def __init__(self, text: str = "", *, live: bool = False) -> None:
        super().__init__()
        self._parts = [text] if text else []
        self._live = live

    def add(self, text: str) -> None:
        """Add a piece."""
        self._parts.append(text)
        if self.open:
            self.redraw()

    def finish(self) -> None:
        """The reasoning is over."""
        self._live = False
        self.redraw()

    def title_line(self) -> Content:
        """Whether the model thinks or has thought, and the first words."""
        if self._live:
            return Content.assemble(("Thinking…", f"{QUIET} italic"))
        words = len("".join(self._parts).split())
        return Content.assemble(
            ("Thought", f"{QUIET} italic"), (f" · {words:,} word{'' if words == 1 else 's'}", QUIET)
        )

    @property
    def source(self) -> str:
        """The whole reasoning, as far as it has come."""
        return "".join(self._parts)

    def body(self) -> str:
        """The reasoning."""
        return capped("".join(self._parts).strip())
