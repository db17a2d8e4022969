"""Collects garbage where no frame waits for it: Python's own collections stop the screen when they please."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.timer import Timer

COLLECT_SECONDS = 1.0
"""How often garbage is collected while a turn runs: many a line that Textual draws is a reference cycle."""

FRAME_SECONDS = 0.01
"""How long after a frame: later than what came due meanwhile, and long before the next one."""

REST_SECONDS = 5.0
REST_TURNS = 20
"""After so many turns everything is gone through, which takes longer, once no turn has run for a while."""

YOUNG, MIDDLE, OLD = 700, 5, 100
"""Python's thresholds. What is young it still collects itself, in a millisecond or two; what is old only when
nothing here has for a long time."""


def settle() -> None:
    """Keep what is there out of later collections: a session is on the screen.

    At first that is what start-up allocated while it did without collections. Later on, what the session
    before has left is collected first.
    """
    if gc.isenabled():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.enable()


class Collector:
    """Collects the garbage of the turns on a screen, between two frames.

    What stays of a turn that is over is set aside, so that a collection in the next one looks at little.
    Widgets that are removed later are then found at rest only.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._rest: Timer | None = None
        self._turns = 0

    def begin(self) -> None:
        """A turn runs."""
        if self._rest is not None:
            self._rest.stop()
        if self._timer is None:
            self._timer = self._screen.set_interval(COLLECT_SECONDS, partial(self._after_frame, _collect))

    def end(self) -> None:
        """No turn runs any more."""
        if self._timer is None:
            return
        self._timer.stop()
        self._timer = None
        self._turns += 1
        self._after_frame(_set_aside)
        if self._turns >= REST_TURNS:
            self._rest = self._screen.set_timer(REST_SECONDS, self._collect_all)

    def _collect_all(self) -> None:
        self._turns = 0
        settle()

    def _after_frame(self, collect: Callable[[], object]) -> None:
        self._screen.call_after_refresh(self._screen.set_timer, FRAME_SECONDS, collect)


def _collect() -> None:
    gc.collect()  # given as it is, Textual would work out its signature, which takes longer


def _set_aside() -> None:
    gc.collect(1)  # the rest was looked through within the last second; what is missed, at rest
    gc.freeze()
