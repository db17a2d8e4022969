"""What a tool is given when it is built: the directory it works in, and what it may read beyond it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tau.config.settings import ContextSettings


class Grants:
    """Paths outside the working directory that may be read in this run. Never stored.

    A granted directory opens everything below it. May be used from several threads.
    """

    def __init__(self) -> None:
        self._paths: frozenset[Path] = frozenset()
        self._lock = threading.Lock()

    def add(self, path: Path) -> None:
        """Open a path, as it resolves now: a link that later leads elsewhere opens nothing."""
        real = Path(os.path.realpath(path))
        with self._lock:
            self._paths |= {real}

    def covers(self, real: Path) -> bool:
        """Whether a path, resolved already, is granted itself or lies in a granted directory."""
        return not self._paths.isdisjoint((real, *real.parents))


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """What every tool of a run shares.

    Attributes:
        directory: The real path that tools work in; paths they are given are relative to it.
        state_dir: Where spilled results are kept.
        session_id: The session they are kept for, a plain name.
        context: How long a result may be.
        grants: What may be read outside `directory`.
    """

    directory: Path
    state_dir: Path
    session_id: str
    context: ContextSettings = field(default_factory=ContextSettings)
    grants: Grants = field(default_factory=Grants)

    @property
    def spill_dir(self) -> Path:
        """The folder of this session's spilled results."""
        return self.state_dir / "spill" / self.session_id

    @property
    def room(self) -> int:
        """Characters a tool may fill with content; its notes still fit below the size that is spilled."""
        return min(30_000, self.context.spill_result_chars - 800)
