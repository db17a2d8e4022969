"""What line mode writes: the reply alone on stdout, everything else on stderr, nothing unsafe on either."""

from __future__ import annotations

import os
import sys

from tau.display import one_line, visible
from tau.events import (
    ApprovalAsked,
    MessageEnd,
    ModelRetrying,
    Notice,
    TextDelta,
    ToolUseEnded,
    TurnEnd,
    TurnEvent,
)


def note(text: str) -> None:
    """Write lines to stderr, dimmed where it shows colour. That stderr is closed or full is no failure."""
    dim = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    shown = visible(text)
    try:
        sys.stderr.write(f"\x1b[2m{shown}\x1b[22m\n" if dim else f"{shown}\n")
        sys.stderr.flush()
    except OSError:
        return


class ReplyWriter:
    """Writes the reply of one turn to stdout and what happens beside it to stderr.

    A terminal sees the reply as it comes. Anything else gets it once, when the turn is over and did not
    fail, so that a script never takes half an answer for a whole one.

    Args:
        live: Write text as it comes.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._messages: list[str] = []
        self._current: list[str] = []
        self._line_open = False
        self._held = ""

    def show(self, event: TurnEvent) -> None:
        """Render one event.

        Raises:
            BrokenPipeError: Nobody reads stdout any more.
        """
        match event:
            case TextDelta(text=text):
                self._begin()
                self._current.append(text)
                self._write(text)
            case MessageEnd(text=text):
                if text and not self._current:
                    self._begin()
                    self._write(text)
                if text or self._current:
                    self._messages.append(text or "".join(self._current))
                self._current.clear()
            case ApprovalAsked():
                self._close_line()  # the question comes next
            case ToolUseEnded(name=name, status=status, duration=duration, result=result, approval=approval):
                asked = f" · {approval}" if approval in ("approved", "denied") else ""
                ok = status == "success"
                outcome = asked if ok else f"{asked} · {status}: {one_line(result, 200)}"
                self.note(f"{name}  {_duration(duration)}{outcome}")
            case ModelRetrying(attempt=attempt, delay=delay, reason=reason):
                self.note(f"{reason}; try {attempt + 1} in {delay:.0f} s")
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
            self._close_line()
            return
        if self._current:
            self._messages.append("".join(self._current))
        reply = "\n\n".join(text.strip("\n") for text in self._messages if text.strip())
        if reply and not failed:
            sys.stdout.write(visible(reply) + "\n")
            sys.stdout.flush()

    def _write(self, text: str) -> None:
        text, self._held = self._held + text, ""
        if text.endswith("\r"):  # the first half of a line's end, perhaps
            text, self._held = text[:-1], "\r"
        if self._live and text:
            sys.stdout.write(visible(text))
            sys.stdout.flush()
            self._line_open = not text.endswith("\n")

    def _close_line(self) -> None:
        if self._line_open:
            self._write("\n")


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
