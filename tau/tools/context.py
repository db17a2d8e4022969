"""What a tool is given when it is built: the directory it works in, and what it may read beyond it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tau.config.settings import ContextSettings
from tau.journal.work_desk import WorkDesk
from tau.memory.desk import Desk
from tau.sessions.lineage import Record
from tau.tasks.desk import TaskDesk

DIGEST = hashlib.sha256
"""What the content of files is compared by."""

MOST_CHANGED_BYTES = 10_000_000
"""The largest file that tools change; what was read of a larger one is not remembered."""


class Grants:
    """Paths outside the working directory that are open in this run. Never stored.

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


class SeenFiles:
    """What the model knows of files: the digest of each as it was last read or written.

    Held in memory for one session. May be used from several threads.
    """

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        self._lock = threading.Lock()

    def note(self, real: Path, digest: str) -> None:
        """Remember the content of a file, by its digest."""
        with self._lock:
            self._digests[real] = digest

    def digest(self, real: Path) -> str:
        """The digest remembered for a file, or the empty string."""
        with self._lock:
            return self._digests.get(real, "")


class JudgedCalls:
    """What the calls that are under way were judged by, and what a person was shown of them.

    Held in memory, by the id of the call: ``toolUseId``. May be used from several threads.
    """

    def __init__(self) -> None:
        self._calls: dict[str, tuple[Path | None, str]] = {}
        self._given_up: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def begin(self, use_id: str, real: Path | None) -> None:
        """Hold a call to the path it was judged by; what an earlier call of that id left is forgotten.

        Args:
            use_id: Of the call.
            real: The path, resolved, or None for a call that was judged by no path.
        """
        with self._lock:
            self._calls[use_id] = real, ""
            self._given_up[use_id] = threading.Event()

    def give_up(self) -> None:
        """Nobody waits any more for the calls that are under way."""
        with self._lock:
            for given_up in self._given_up.values():
                given_up.set()

    def given_up(self, use_id: str) -> Callable[[], bool]:
        """What says whether nobody waits any more for the call that has this id now; also when it is over."""
        with self._lock:
            return self._given_up.setdefault(use_id, threading.Event()).is_set

    def show(self, use_id: str, basis: str) -> None:
        """Hold a call to what its preview was made of.

        Args:
            use_id: Of the call.
            basis: Not empty, and another text whenever the preview could have been another one.
        """
        with self._lock:
            real, _ = self._calls.get(use_id, (None, ""))
            self._calls[use_id] = real, basis

    def held(self, use_id: str) -> tuple[Path | None, str]:
        """The path a call was judged by, or None, and the basis of its preview, or the empty string."""
        with self._lock:
            return self._calls.get(use_id, (None, ""))

    def end(self, use_id: str) -> None:
        """Forget a call that is over, if it was under way."""
        with self._lock:
            self._calls.pop(use_id, None)
            self._given_up.pop(use_id, None)


class Heard:
    """From where content has come into a conversation since the person's last message.

    May be used from several threads.
    """

    def __init__(self) -> None:
        self._from: dict[str, None] = {}
        self._lock = threading.Lock()

    def begin(self) -> None:
        """The person said something: what comes now is not theirs."""
        with self._lock:
            self._from.clear()

    def note(self, where: str) -> None:
        """Content came in, such as from ``fetch_url https://example.org/``."""
        with self._lock:
            self._from.setdefault(where)

    def origins(self) -> list[str]:
        """From where, each once, in the order in which it came."""
        with self._lock:
            return list(self._from)


def never_closed(path: str) -> bool:
    """Leaves every file open to searches."""
    return False


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """What every tool of a run shares.

    Attributes:
        directory: The real path that tools work in; paths they are given are relative to it.
        state_dir: Where spilled results are kept.
        session_id: The session they are kept for, a plain name.
        context: How long a result may be.
        grants: What may be read outside `directory`.
        seen: What the model knows of files.
        calls: What calls are held to from their judgement on.
        granted_hosts: Hosts that may be fetched from although their addresses are private, as ``HOST`` or
            ``HOST:PORT`` in lower case.
        own: Where tau keeps its record and its configuration, which tools do not change.
        closed: Whether reading a file is denied or asked about, so that a search leaves it out. Given its
            real path, relative to `directory`, or absolute where it is outside.
        record: Where what was said is read; None where there is no record.
        heard: From where content has come in since the person's last message.
        desk: The memory of the directory; None where there is none.
        tasks: Its task memory; None where there is none.
        work: The work log of its checkout; None where there is none.
    """

    directory: Path
    state_dir: Path
    session_id: str
    context: ContextSettings = field(default_factory=ContextSettings)
    grants: Grants = field(default_factory=Grants)
    seen: SeenFiles = field(default_factory=SeenFiles)
    calls: JudgedCalls = field(default_factory=JudgedCalls)
    granted_hosts: frozenset[str] = frozenset()
    own: Sequence[Path] = ()
    closed: Callable[[str], bool] = never_closed
    record: Record | None = None
    heard: Heard = field(default_factory=Heard)
    desk: Desk | None = None
    tasks: TaskDesk | None = None
    work: WorkDesk | None = None

    def take_news(self) -> list[str]:
        """What the person is to be told of what tools wrote since the last call, a line each."""
        return [line for desk in (self.desk, self.work) if desk is not None for line in desk.take_news()]

    @property
    def spill_dir(self) -> Path:
        """The folder of this session's spilled results."""
        return self.state_dir / "spill" / self.session_id

    def own_places(self) -> list[Path]:
        """Where tau keeps its own files, `state_dir` among them, as these places resolve now."""
        return [Path(os.path.realpath(place)) for place in (self.state_dir, *self.own)]

    def own_place(self, real: Path) -> Path | None:
        """The place of tau's own files that a resolved path is, or lies in, by whatever name."""
        above = (real, *real.parents)
        return next((place for place in self.own_places() if any(_same(place, path) for path in above)), None)

    @property
    def room(self) -> int:
        """Characters a tool may fill with content; its notes still fit below the size that is spilled."""
        return min(30_000, self.context.spill_result_chars - 800)


def _same(place: Path, path: Path) -> bool:
    """Whether two paths are one file or directory, also where upper and lower case are one."""
    try:
        return place == path or place.samefile(path)
    except OSError:  # one of them is not there
        return False
