"""A store whose calls can be made to fail, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tau.conversation import core
from tau.errors import StoreWriteFailed
from tau.sessions.registry import open_store

_READERS = ("create", "hold", "read")


class Faults:
    """Which call fails: the one of this number, or that and all after it, counted from `arm` on.

    Only what the engine asks of the store is counted, not what the index reads in the background.
    """

    def __init__(self) -> None:
        self.fired = False
        self._at = 0
        self._lasting = False
        self._calls = 0

    def arm(self, at: int, *, lasting: bool) -> None:
        self._at, self._lasting, self._calls, self.fired = at, lasting, 0, False

    def disarm(self) -> None:
        self._at = 0

    def call(self, name: str, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        failing = False
        if self._at and threading.current_thread().name == "tau-engine":
            self._calls += 1
            failing = self._calls == self._at or (self._lasting and self._calls > self._at)
        if not failing:
            return real(*args, **kwargs)
        self.fired = True
        if name == "close":  # which lets go of the session all the same
            real(*args, **kwargs)
        raise StoreWriteFailed(f"The disk refused ({name})")


class Faulty:
    """A store, or a session of one, every call of which may fail."""

    def __init__(self, real: Any, faults: Faults) -> None:
        self._real = real
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if not callable(real):
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            made = self._faults.call(name, real, *args, **kwargs)
            return Faulty(made, self._faults) if name in _READERS else made

        return call

    def __enter__(self) -> Faulty:
        return self

    def __exit__(self, *_: object) -> None:
        self._real.close()


def with_faults(monkeypatch: pytest.MonkeyPatch) -> tuple[Faults, list[Any]]:
    """Have conversations use stores that may fail.

    Returns:
        Which calls fail, and the real stores as they are opened.
    """
    faults, stores = Faults(), []

    def opened(*args: Any, **kwargs: Any) -> Any:
        stores.append(open_store(*args, **kwargs))
        return Faulty(stores[-1], faults)

    monkeypatch.setattr(core, "open_store", opened)
    return faults, stores
