"""A thread that writes, so that nobody who draws or reads keys waits for the disk."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]


class Writer:
    """Runs jobs one after another on a thread of its own, which begins with the first.

    A job answers for its own errors.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._later: Job | None = None
        self._due = 0.0
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Run a job after those that wait. After `close` it runs at once, on the caller's thread."""
        with self._changed:
            if not self._closed:
                self._jobs.append(job)
                self._begin()
                return
        job()

    def later(self, job: Job, seconds: float) -> None:
        """Run a job in some seconds, once, however often it is asked for until then."""
        with self._changed:
            if self._closed or self._later is not None:
                return
            self._later, self._due = job, time.monotonic() + seconds
            self._begin()

    def flush(self, seconds: float) -> bool:
        """Run what waits now; whether all of it was done within `seconds`."""
        with self._changed:
            self._due = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(self._is_idle, timeout=seconds)

    def close(self, seconds: float) -> bool:
        """As `flush`; the thread ends when it is done. May be called again."""
        with self._changed:
            self._closed = True
        return self.flush(seconds)

    def _is_idle(self) -> bool:
        return not self._jobs and self._later is None and not self._busy

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while job := self._next():
            try:
                job()
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            while True:
                if self._jobs:
                    self._busy = True
                    return self._jobs.popleft()
                if self._later is not None:
                    wait = self._due - time.monotonic()
                    if wait <= 0:
                        job, self._later = self._later, None
                        self._busy = True
                        return job
                    self._changed.wait(wait)
                elif self._closed:
                    return None
                else:
                    self._changed.wait()
