"""What the app remembers from one start to the next: the chosen theme, and what the palette was used for.

It is a small file in the state directory. Windows that change it at once may lose one another's change, which
is a theme to be chosen again; a file that cannot be read is as none.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tau.config.places import make_private
from tau.input.writer import Writer

FILE = "tui.json"
MOST_RECENT = 12
"""How many uses of the palette are remembered."""

_MOST_BYTES = 65_536

log = logging.getLogger(__name__)


class Remembered:
    """What is remembered; read at once, written on a thread.

    Args:
        state_dir: Where tau keeps what can be lost.

    Attributes:
        theme: What ``/theme`` was last given; empty for nothing.
        recent: What the palette was used for, the newest first.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / FILE
        self._writer = Writer("tau-remembered")
        self.theme, self.recent = _read(self._path)

    def choose_theme(self, name: str) -> None:
        """Keep a theme for the next start."""
        self.theme = name
        self._writer.submit(lambda: self._write(theme=name))

    def use(self, key: str) -> None:
        """Something of the palette was used."""
        self.recent = _first(key, self.recent)
        self._writer.submit(lambda: self._write(used=key))

    def close(self, seconds: float = 1.0) -> None:
        """Write what waits."""
        self._writer.close(seconds)

    def _write(self, *, theme: str | None = None, used: str = "") -> None:
        known_theme, recent = _read(self._path)
        data = {
            "theme": known_theme if theme is None else theme,
            "recent": _first(used, recent) if used else recent,
        }
        temporary = self._path.with_name(f".{FILE}.{os.getpid()}")
        try:
            make_private(self._path.parent)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(descriptor, 0o600)
                json.dump(data, file)
            temporary.replace(self._path)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error)
            with suppress(OSError):
                temporary.unlink()


def _first(key: str, recent: Sequence[str]) -> list[str]:
    return [key, *(other for other in recent if other != key)][:MOST_RECENT]


def _read(path: Path) -> tuple[str, Sequence[str]]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return "", ()
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read: %s", path, error)
        return "", ()
    if not isinstance(data, dict):
        return "", ()
    theme, recent = data.get("theme"), data.get("recent")
    return (
        theme if isinstance(theme, str) else "",
        [key for key in recent if isinstance(key, str)] if isinstance(recent, list) else (),
    )
