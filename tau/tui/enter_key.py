"""Tells an Enter that sends from one that is a line of a paste, by when the keys around it were pressed."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual import events
from textual.timer import Timer
from textual.widget import Widget

BURST_SECONDS = 0.02
LATE_SECONDS = 0.05
"""A timer later than this means that the app was busy: what was typed meanwhile is still on its way."""

AT_ONCE_SECONDS = 0.005
"""Keys nearer to each other than this were not pressed by a person."""


class EnterKey:
    """Enter sends unless more keys follow at once.

    Those are a paste from a terminal that does not mark pastes, and Enter is then a line of it, as is the one
    at its end. When keys were pressed counts, and not when there was time for them.

    Args:
        widget: Gets the keys.
        send: Sends what was written.
        new_line: Begins a new line of it.

    Attributes:
        pressed_at: When the last key was pressed, in seconds of the clock of Textual's events.
    """

    def __init__(self, widget: Widget, *, send: Callable[[], None], new_line: Callable[[], None]) -> None:
        self.pressed_at = 0.0
        self._widget = widget
        self._send = send
        self._new_line = new_line
        self._timer: Timer | None = None
        self._since = 0.0  # how long after the key before it the last one was pressed
        self._lines_at_once = False  # whether the keys that came at once so far hold the end of a line

    @property
    def waits(self) -> bool:
        """Whether Enter was pressed, and what it is depends on what comes next."""
        return self._timer is not None

    @property
    def is_alone(self) -> bool:
        """Whether the last key is no part of a paste, as far as the keys before it can tell."""
        return self._timer is None and self._since >= AT_ONCE_SECONDS

    def came(self, event: events.Key | events.Paste) -> None:
        """A key was pressed, or a paste came from a terminal that marks them.

        A key that writes nothing may belong to what came at once before it, as Enter itself does.
        """
        self._since, self.pressed_at = event.time - self.pressed_at, event.time
        if self._since >= BURST_SECONDS:
            self._lines_at_once = False
        if self._timer is not None and (
            self._since >= BURST_SECONDS or isinstance(event, events.Paste) or event.is_printable
        ):
            self._go_on(self._timer)

    def press(self) -> None:
        """The key was Enter: send, unless more follows at once."""
        if self._timer is not None:
            self._go_on(self._timer)
        if self._lines_at_once:  # of a paste, whose last line ends here
            self._new_line()
        else:
            self._wait_for_more()

    def _go_on(self, timer: Timer) -> None:
        """More comes after Enter: at once, and Enter was a line of it; later, and Enter was meant."""
        timer.stop()
        self._timer = None
        if self._since < BURST_SECONDS:
            self._lines_at_once = True
            self._new_line()
        else:
            self._send()

    def _wait_for_more(self) -> None:
        """Send a moment later, if nothing came behind Enter by then."""
        latest = monotonic() + BURST_SECONDS + LATE_SECONDS
        self._timer = self._widget.set_timer(BURST_SECONDS, lambda: self._waited(latest))

    def _waited(self, latest: float) -> None:
        if monotonic() > latest:
            self._wait_for_more()
        else:  # behind the keys that are on their way already
            self._widget.app.call_later(self._widget.call_later, self._send_after, self._timer)

    def _send_after(self, timer: Timer | None) -> None:
        if self._timer is timer and timer is not None:
            self._timer = None
            self._send()
