"""What a tool answers instead of a result: one line that tells the model what is wrong and what to do."""

from __future__ import annotations

import threading
import time


class Refused(ValueError):
    """A call that cannot or may not be carried out; its text is the result the model gets."""


class Cancelled(Refused):
    """The person stopped the turn while the tool ran."""

    def __init__(self) -> None:
        super().__init__("The call was cancelled before it was done")


class Watch:
    """Tells a running tool when to stop: at once when the turn is cancelled, and when its time is up.

    Args:
        cancelled: Set when the turn is cancelled, or None where nothing can cancel.
        seconds: The time the tool may take.
    """

    def __init__(self, cancelled: threading.Event | None, seconds: float) -> None:
        self._cancelled = cancelled
        self._ends = time.monotonic() + seconds
        self.seconds = seconds

    def check(self) -> None:
        """Go on, unless the turn is cancelled.

        Raises:
            Cancelled: It is.
        """
        if self._cancelled is not None and self._cancelled.is_set():
            raise Cancelled

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self._ends


def os_reason(error: OSError) -> str:
    """What the system says, without Python's number and file name."""
    return error.strerror or str(error) or type(error).__name__
