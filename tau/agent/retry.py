"""Retrying a throttled provider, with a word to the person before each wait."""

from __future__ import annotations

from collections.abc import Callable

from strands.event_loop._retry import ModelRetryStrategy
from strands.hooks import AfterModelCallEvent

from tau.events import ModelRetrying
from tau.models.failures import describe

ATTEMPTS = 5
FIRST_WAIT = 2
LONGEST_WAIT = 30


class Retry(ModelRetryStrategy):
    """The SDK's back-off, announced: it says why and how long before it sleeps, not after.

    Args:
        announce: Called before each wait.
    """

    def __init__(self, announce: Callable[[ModelRetrying], None]) -> None:
        super().__init__(max_attempts=ATTEMPTS, initial_delay=FIRST_WAIT, max_delay=LONGEST_WAIT)
        self._announce = announce

    async def _handle_after_model_call(self, event: AfterModelCallEvent) -> None:
        error = event.exception
        attempt = self._current_attempt + 1
        if error is not None and self.is_retryable(error) and attempt < self._max_attempts:
            delay = self._calculate_delay(self._current_attempt)
            self._announce(ModelRetrying(attempt, float(delay), describe(error)))
        await super()._handle_after_model_call(event)
