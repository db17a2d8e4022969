"""Checkouts with a work log, on the real file system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tau.config.settings import MemorySettings, Places, Settings
from tau.config.trust import Trust
from tau.journal.work_desk import WorkDesk
from tau.journal.work_place import switched_on


@dataclass
class Checkout:
    """A trusted directory whose `.memory/` is there.

    Attributes:
        root: The directory.
        places: Where tau keeps its own things.
    """

    root: Path
    places: Places

    @property
    def memory(self) -> Path:
        return self.root / ".memory"

    @property
    def long_term(self) -> Path:
        return self.memory / "long-term.md"

    def desk(self, *, bare: bool = False, max_chars: int = 24_000) -> WorkDesk:
        settings = Settings(
            places=self.places, directory=self.root, memory=MemorySettings(max_chars=max_chars)
        )
        return WorkDesk(settings, bare=bare)

    def write(self, path: str, text: str | bytes) -> Path:
        """A file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    base = tmp_path.resolve()
    root = base / "w"
    root.mkdir()
    places = Places(data=base / "data", state=base / "state", config=base / "config")
    Trust(places).add(root)
    switched_on(root, places)
    return Checkout(root, places)
