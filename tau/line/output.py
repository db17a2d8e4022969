"""What line mode writes: the reply alone on stdout, everything else on stderr, nothing unsafe on either."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

from tau.calls import CHANGES_FILES, ending, main_argument, went_wrong, without_colour, without_ending
from tau.diff_reader import parse
from tau.display import one_line, visible
from tau.events import (
    ApprovalAsked,
    Compacted,
    MessageEnd,
    ModelRetrying,
    Notice,
    TextDelta,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnd,
    TurnEvent,
    TurnStarted,
)

if TYPE_CHECKING:
    from tau.line.drawn_reply import DrawnReply

LAST_LINES = 8
"""Lines of the result of a call that failed."""

_CODES = {
    "dim": ("\x1b[2m", "\x1b[22m"),
    "bold": ("\x1b[1m", "\x1b[22m"),
    "red": ("\x1b[31m", "\x1b[39m"),
    "green": ("\x1b[32m", "\x1b[39m"),
    "yellow": ("\x1b[33m", "\x1b[39m"),
    "cyan": ("\x1b[36m", "\x1b[39m"),
}


def write_lines(lines: Iterable[tuple[str, str]], *, fold: bool = False) -> None:
    """Write lines to stderr, each in its colour (``red``, ``dim``, …, or none) where stderr shows colour.

    That stderr is closed or full is no failure.

    Args:
        lines: The lines and their colours.
        fold: Break lines that are too long for the terminal and indent what follows, so that it cannot be
            taken for a line of its own.
    """
    coloured = shows_colour(sys.stderr)
    shown = []
    for text, colour in lines:
        begin, end = _CODES[colour] if coloured and colour else ("", "")
        pieces = _folded(visible(text)) if fold else [visible(text)]
        shown += [f"{begin}{piece}{end}\n" for piece in pieces]
    try:
        sys.stderr.write("".join(shown))
        sys.stderr.flush()
    except OSError:
        return


def shows_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which colours are wanted."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def draws_markdown() -> bool:
    """Whether a reply on stdout is drawn, or shown as the text it is."""
    return shows_colour(sys.stdout) and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def note(text: str) -> None:
    """Write lines to stderr, dimmed where it shows colour."""
    write_lines([(text, "dim")])


def note_columns() -> int | None:
    """The columns that `note` writes in; None where stderr is no terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or None
    except (OSError, ValueError):
        return None


def cut_to_width(line: str) -> str:
    """The line as one line of the terminal, cut with ``…`` where it is too long."""
    from rich.cells import cell_len, set_cell_size

    width = get_terminal_size((120, 24)).columns - 1
    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


class ReplyWriter:
    """Writes the reply of one turn to stdout and what happens beside it to stderr.

    A terminal sees the reply as it comes. Anything else gets it once, when the turn is over and did not
    fail, so that a script never takes half an answer for a whole one.

    Args:
        live: Write text as it comes.
        drawn: Draw it as markdown, with the terminal's colours; only with `live`.
    """

    def __init__(self, *, live: bool, drawn: bool = False) -> None:
        self._live = live
        self._draws = live and drawn
        self._reply: DrawnReply | None = None
        self._messages: list[str] = []
        self._current: list[str] = []
        self._line_open = False
        self._held = ""
        self._about: dict[str, str] = {}

    def show(self, event: TurnEvent) -> None:
        """Render one event.

        Raises:
            BrokenPipeError: Nobody reads stdout any more.
        """
        match event:
            case TurnStarted() if self._draws:
                self._write("\n")
                self._reply = _drawn_reply()  # imported while the model is called
            case TextDelta(text=text):
                self._begin()
                self._current.append(text)
                self._write_reply(text)
            case MessageEnd(text=text):
                if text and not self._current:
                    self._begin()
                    self._write_reply(text)
                if text or self._current:
                    self._messages.append(text or "".join(self._current))
                self._current.clear()
                self._finish_reply()
            case ApprovalAsked():
                self._close_line()  # the question comes next
            case ToolUseStarted(tool_use_id=tool_use_id, arguments=arguments):
                self._about[tool_use_id] = main_argument(arguments)
            case ToolUseEnded():
                self._close_line()
                write_lines(call_lines(event, self._about.pop(event.tool_use_id, "")))
            case ModelRetrying(attempt=attempt, delay=delay, reason=reason):
                self.note(f"{reason}; try {attempt + 1} in {delay:.0f} s")
            case Compacted(line=line):
                self.note(line)
            case Notice(text=text):
                self.note(text)
            case TurnEnd(stop_reason=reason, notice=notice):
                self._end(failed=reason in ("error", "busy"))
                if notice:
                    self.note(notice)
            case _:
                pass

    def note(self, text: str) -> None:
        """Write a line to stderr, on a line of its own where both go to one terminal."""
        self._close_line()
        note(text)

    def _begin(self) -> None:
        if self._live and self._messages and not self._current:
            self._close_line()
            self._write("\n")

    def _end(self, *, failed: bool) -> None:
        if self._live:
            self._finish_reply()
            self._close_line()
            if self._draws:
                self._write("\n")
            return
        if self._current:
            self._messages.append("".join(self._current))
        reply = "\n\n".join(text.strip("\n") for text in self._messages if text.strip())
        if reply and not failed:
            sys.stdout.write(visible(reply) + "\n")
            sys.stdout.flush()

    def _finish_reply(self) -> None:
        if self._reply is not None:
            self._reply.finish()
            self._reply = None

    def _write_reply(self, text: str) -> None:
        if self._draws:
            self._reply = self._reply or _drawn_reply()
            self._reply.add(text)
        else:
            self._write(text)

    def _write(self, text: str) -> None:
        text, self._held = self._held + text, ""
        if text.endswith("\r"):  # the first half of a line's end, perhaps
            text, self._held = text[:-1], "\r"
        if self._live and text:
            sys.stdout.write(visible(text))
            sys.stdout.flush()
            self._line_open = not text.endswith("\n")

    def _close_line(self) -> None:
        if self._reply is not None:
            self._reply.break_line()
        if self._line_open:
            self._write("\n")


def _drawn_reply() -> DrawnReply:
    from tau.line.drawn_reply import DrawnReply

    return DrawnReply()


def call_lines(ended: ToolUseEnded, about: str) -> list[tuple[str, str]]:
    """A call that is over as one line, and the last lines of its result when it failed, with their colours.

    Args:
        ended: The call.
        about: Its main argument, on one line; cut where the terminal is too narrow.
    """
    end = ending(ended.name, ended.result)
    denied = ended.approval == "denied"
    failed = (ended.status == "error" or went_wrong(end)) and not denied
    facts: list[str] = [ended.approval] if ended.approval in ("approved", "allowed", "denied") else []
    diff = parse(ended.result) if ended.status == "success" and ended.name in CHANGES_FILES else None
    if diff is not None:
        facts.append(f"+{diff.added} -{diff.removed}")
    if went_wrong(end):
        facts.append(end)
    elif failed or ended.status == "cancelled":
        facts.append("failed" if failed else "cancelled")
    if not denied:
        facts.append(_duration(ended.duration))
    name, how = one_line(ended.name, 60), " · ".join(facts)
    room = get_terminal_size((120, 24)).columns - len(name) - len(how) - 5
    line = f"{name}  {_cut(about, max(room, 20))}  {how}" if about else f"{name}  {how}"
    lines = [(line, "red" if failed else "dim")]
    if denied:
        return [*lines, (f"  {one_line(ended.result, 200)}", "dim")]
    if failed:
        text = without_colour(without_ending(ended.name, ended.result)).strip("\n")
        lines += [(f"  {row}", "dim") for row in _last_lines(text)]
    return lines


def _folded(line: str) -> list[str]:
    """The line in pieces that fit into the terminal's width, all but the first indented."""
    from rich.cells import chop_cells

    width = note_columns()
    if width is None:
        return [line]
    line = line.expandtabs(4)
    first = chop_cells(line, max(8, width))[0] if line else ""
    rest = line[len(first) :]
    return [first, *(f"    {piece}" for piece in chop_cells(rest, max(8, width - 4)) if piece)]


def _last_lines(text: str) -> list[str]:
    rows = [one_line(row, 400) if len(row) > 400 else row for row in text[-8_000:].split("\n")]
    return [row for row in rows[-LAST_LINES:] if row.strip()]


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return f"{text[: room - 1 - tail]}…{text[-tail:]}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
