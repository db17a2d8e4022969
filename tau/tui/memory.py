"""Collects garbage where no frame waits for it: Python's own collections stop the screen when they please."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.timer import Timer

COLLECT_SECONDS = 1.0
"""How often garbage is collected while a turn runs: many a line that Textual draws is a reference cycle."""

LONG_SECONDS = 0.01
"""A collection that took longer has looked at much that stays: that is set aside, so that the next one need
not. A reply of 60,000 characters would take a fifth of a second to look through, each second."""

FRAME_SECONDS = 0.01
"""How long after a frame: later than what came due meanwhile, and long before the next one."""

REST_SECONDS = 5.0
REST_TIMES = 20
"""Set aside so often, everything is gone through, which takes longer, once no turn has run for a while."""

OF_A_SESSION = 5
"""A session that was left counts as so many times."""

YOUNG, MIDDLE, OLD = 700, 5, 1_000
"""Python's thresholds. What is young it still collects itself, in a millisecond or two; what is old only when
nothing here has for a long time."""


def settle() -> None:
    """Keep what is there out of later collections: a session is on the screen.

    Nothing is collected, which would take the better part of a second once the SDK is there: start-up has
    left little garbage, and what the session before has left is found at rest.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.enable()


class Collector:
    """Collects the garbage of the turns on a screen, between two frames.

    What stays of a turn that is over, or that writes much, is set aside, so that the next collection looks at
    little. What of it goes later is then found at rest only.
    """

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._rest: Timer | None = None
        self._set_aside = 0

    def settle(self) -> None:
        """Another session is on the screen, or the model is there: see `settle`."""
        settle()
        self._set_aside += OF_A_SESSION
        self._rest_if_due()

    def begin(self) -> None:
        """A turn runs."""
        if self._rest is not None:
            self._rest.stop()
        if self._timer is None:
            collect = partial(self._after_frame, self._collect)
            self._timer = self._screen.set_interval(COLLECT_SECONDS, collect)

    def end(self) -> None:
        """No turn runs any more."""
        if self._timer is None:
            return
        self._timer.stop()
        self._timer = None
        self._after_frame(self._end)
        self._rest_if_due()

    def _rest_if_due(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        if self._set_aside >= REST_TIMES and self._timer is None:
            self._rest = self._screen.set_timer(REST_SECONDS, self._collect_all)

    def _collect(self) -> None:
        begin = time.thread_time()
        gc.collect()
        if time.thread_time() - begin > LONG_SECONDS:
            self._freeze()

    def _end(self) -> None:
        gc.collect(1)  # the rest was looked through within the last second; what is missed, at rest
        self._freeze()

    def _freeze(self) -> None:
        gc.freeze()
        self._set_aside += 1

    def _collect_all(self) -> None:
        self._set_aside = 0
        gc.unfreeze()
        gc.collect()
        settle()

    def _after_frame(self, collect: Callable[[], object]) -> None:
        self._screen.call_after_refresh(self._screen.set_timer, FRAME_SECONDS, collect)
