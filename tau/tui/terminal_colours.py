"""Asks the terminal for its background colour while the app is being imported, and reads the answer after.

The question is OSC 11; one for the terminal's attributes follows, which every terminal answers, so that one
that knows nothing of colours is not waited for (xterm's control sequences, *Operating System Commands* and
*Primary DA*). Meanwhile the terminal echoes nothing, and what was typed is handed on.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.ending import EndsAtOnce

NEAR_SECONDS, FAR_SECONDS = 0.25, 1.0
"""How long an answer may take from when it was asked for: of this machine's terminal, and through SSH."""

_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
_PART = rb"([0-9a-fA-F]{1,4})"
_COLOUR = re.compile(rb"\x1b\]11;rgba?:%b/%b/%b[^\x07\x1b]*(?:\x07|\x1b\\)" % (_PART, _PART, _PART))
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the terminal said.

    Attributes:
        light: Whether its background is light; None when it did not say.
        typed: What the person typed meanwhile.
    """

    light: bool | None
    typed: str


class Asked:
    """A terminal that is asked, and listened to later.

    Args:
        fd: Of the terminal that keys come from.
        out: Of the terminal that is drawn on.
    """

    def __init__(self, fd: int, out: int) -> None:
        self._fd = fd
        self._out = out
        self._before = termios.tcgetattr(fd)
        self._until = 0.0
        self._heard = b""

    def ask(self, patience: float) -> None:
        """Ask.

        Args:
            patience: Seconds from now that an answer is waited for.
        """
        self._until = time.monotonic() + patience
        tty.setcbreak(self._fd, termios.TCSANOW)
        os.write(self._out, _QUESTION)

    def listen(self) -> Answer:
        """Read the answer; the terminal is then as it was before it was asked."""
        try:
            while not _ATTRIBUTES.search(self._heard):
                left = self._until - time.monotonic()
                if not select.select([self._fd], [], [], max(left, 0))[0]:
                    break
                piece = os.read(self._fd, 4096)
                if not piece:
                    break
                self._heard += piece
        finally:
            self._until = 0.0
            termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
        return understand(self._heard)

    def forget(self) -> None:
        """Leave the terminal as it was, also in the middle of `ask` or `listen`.

        An answer that is still to come is taken: whoever has the terminal next would find it typed.
        """
        with suppress(OSError, termios.error):  # the terminal may be gone
            if self._until:
                self.listen()


def understand(heard: bytes) -> Answer:
    """Take the answers out of what came from the terminal."""
    colour = _COLOUR.search(heard)
    typed = _ATTRIBUTES.sub(b"", _COLOUR.sub(b"", heard)).decode("utf-8", "replace")
    typed = typed.replace("\n", "\r")  # until the app reads it, the terminal makes of Enter the end of a line
    if colour is None:
        return Answer(None, typed)
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in colour.groups())
    return Answer(0.299 * red + 0.587 * green + 0.114 * blue > 0.5, typed)  # Rec. 601 luma


def ask(environment: Mapping[str, str], ending: EndsAtOnce) -> Asked | None:
    """Ask the terminal; None where there is none to ask.

    Args:
        environment: Of the process.
        ending: What a signal does until the terminal was listened to.
    """
    if environment.get("TERM") in (None, "dumb", "linux") or sys.__stdin__ is None or sys.__stderr__ is None:
        return None
    far = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    try:
        fd, out = sys.__stdin__.fileno(), sys.__stderr__.fileno()
        if not (os.isatty(fd) and os.isatty(out)):
            return None
        asked = Asked(fd, out)
        ending.undo = asked.forget
        asked.ask(FAR_SECONDS if far else NEAR_SECONDS)
    except (OSError, ValueError, termios.error):
        return None
    return asked
