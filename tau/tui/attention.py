"""Tells a person who looks elsewhere how things stand: the terminal's title, a bell, a notification."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from shutil import which
from typing import TYPE_CHECKING, Literal

from tau.display import one_line

if TYPE_CHECKING:
    from textual.app import App

Notify = Literal["off", "bell", "desktop"]

TITLE_CHARACTERS, LINE_CHARACTERS = 60, 120
PROGRAM_SECONDS = 5.0
"""How long a program that shows a notification may take."""

_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
_BELL = "\x07"
_END = "\x1b\\"


class Mood(Enum):
    """What the title begins with."""

    RESTING = "τ"
    WORKING = "✻ τ"
    ASKING = "? τ"
    NEWS = "● τ"


class Attention:
    """The title of the terminal, and what happens when nobody is looking at it.

    Nothing that was said stands in a title or a notification: other programs and people see them.

    Args:
        app: Its driver reaches the terminal; a terminal that reports no focus counts as looked at.
        notify: What happens when a turn is over or a question waits while the terminal has no focus.
        environment: Which terminal it is; None takes the process's.
    """

    def __init__(self, app: App[None], notify: Notify, environment: Mapping[str, str] | None = None) -> None:
        self._app = app
        self._notify = notify
        self._environment = os.environ if environment is None else environment
        self._place = ""
        self._mood = Mood.RESTING
        self._shown = ""
        self._begun = False
        self._is_away = False

    def begin(self) -> None:
        """Keep the title that the terminal has; `leave` puts it back."""
        self._begun = self._write(_PUSH_TITLE)

    @property
    def leave(self) -> str:
        """What the terminal is to be sent at the end, so that it has its title back."""
        return _POP_TITLE if self._begun else ""

    def at(self, place: str) -> None:
        """Show this in the title: a session's name, or the directory's."""
        self._place = place
        self._show()

    def show(self, *, working: bool) -> None:
        """Show whether something runs; what ended while nobody looked stays marked until somebody does."""
        if working:
            self._set(Mood.WORKING)
        elif self._mood is not Mood.NEWS:
            self._set(Mood.RESTING)

    def give_away(self) -> None:
        """The terminal is another program's: leave it alone."""
        self._is_away = True

    def take_back(self) -> None:
        """The terminal is tau's again: show how things stand."""
        self._is_away = False
        self._show()

    def asks(self) -> None:
        """A question waits for the person."""
        self._set(Mood.ASKING)
        self._call("a question waits for you")

    def over(self, what: str) -> None:
        """A turn is over.

        Args:
            what: How it ended, as it goes on after the name of the session.
        """
        self._set(Mood.RESTING if self._app.app_focus else Mood.NEWS)
        self._call(what)

    def seen(self) -> None:
        """Somebody looks at the terminal."""
        if self._mood is Mood.NEWS:
            self._set(Mood.RESTING)

    def _set(self, mood: Mood) -> None:
        self._mood = mood
        self._show()

    def _show(self) -> None:
        title = f"{self._mood.value} {self._place}".strip()
        if not self._is_away and title != self._shown:
            self._shown = title
            self._write(f"\x1b]2;{one_line(title, TITLE_CHARACTERS)}{_END}")

    def _call(self, what: str) -> None:
        """Ring or notify, unless somebody looks."""
        if self._app.app_focus or self._notify == "off":
            return
        if self._notify == "bell":
            self._write(_BELL)
            return
        text = one_line(f"tau · {self._place}: {what}" if self._place else f"tau: {what}", LINE_CHARACTERS)
        sequence = notification(text, self._environment)
        if sequence:
            self._write(sequence)
        else:
            self._app.run_worker(self._call_with_program(text), group="notify", exclusive=True)

    async def _call_with_program(self, text: str) -> None:
        if not await show_with_program(text, self._environment):
            self._write(_BELL)

    def _write(self, sequence: str) -> bool:
        """Send the terminal a sequence; False where there is none."""
        driver = self._app._driver  # textual has no public way to write beside the screen
        if self._is_away or driver is None or driver.is_headless or driver.is_web:
            return False
        driver.write(sequence)
        return True


def notification(text: str, environment: Mapping[str, str]) -> str:
    """The sequence by which a terminal shows a notification; empty where it knows none.

    kitty has OSC 99, foot and rxvt-unicode have OSC 777, iTerm2, Ghostty, WezTerm and Windows Terminal have
    OSC 9, as the manuals of these terminals say. tmux and screen keep them to themselves.

    Args:
        text: One line without control characters.
        environment: Of the process.
    """
    if "TMUX" in environment or environment.get("TERM", "").startswith(("screen", "tmux")):
        return ""
    terminal, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "KITTY_WINDOW_ID" in environment or terminal == "xterm-kitty":
        return f"\x1b]99;i=tau:d=1;{text}{_END}"
    if terminal.startswith(("foot", "rxvt")):
        return f"\x1b]777;notify;tau;{text}{_END}"
    if program in ("iTerm.app", "ghostty", "WezTerm") or "WT_SESSION" in environment:
        return f"\x1b]9;{text}{_END}"
    return ""


def notifier(text: str, environment: Mapping[str, str], platform: str = sys.platform) -> Sequence[str]:
    """The command that shows a notification on this desktop; empty where there is none to reach."""
    if "SSH_CONNECTION" in environment or "SSH_TTY" in environment:
        return ()
    if platform == "darwin":
        script = ("on run argv", 'display notification (item 1 of argv) with title "tau"', "end run")
        return ("osascript", *(word for line in script for word in ("-e", line)), text)
    if "DISPLAY" in environment or "WAYLAND_DISPLAY" in environment:
        return ("notify-send", "--app-name=tau", "--", "tau", text)
    return ()


async def show_with_program(text: str, environment: Mapping[str, str]) -> bool:
    """Show a notification with a program of the desktop. Returns whether it did."""
    command = notifier(text, environment)
    if not command or which(command[0]) is None:
        return False
    nothing = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=nothing, stdout=nothing, stderr=nothing
        )
    except OSError:
        return False
    try:
        return await asyncio.wait_for(process.wait(), PROGRAM_SECONDS) == 0
    except TimeoutError:
        process.kill()
        return False
