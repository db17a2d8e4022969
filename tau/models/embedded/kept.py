"""Beginnings of prompts that were read once, kept on disk: reading takes seconds, restoring does not.

A file holds what the runtime wrote for one slot. Its name says what it belongs to and gives the hash of its
content: the runtime aborts on damaged files, so one that is not what its name says is removed instead.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tau.models.embedded import RUNTIME
from tau.models.embedded.server import SETTINGS
from tau.models.embedded.weights import make_folder

MOST_FILES = 8
"""How many files are kept for one weights file; those used last stay."""

MOST_BYTES = 128 * 10**6
"""Bytes all files of one weights file may take; the newest stays whatever its size."""

_SUFFIX = ".prompt"
_PARTIAL = ".partial"
_STALE_SECONDS = 600

Head = Sequence[Mapping[str, str]]
"""The messages a prompt begins with."""

log = logging.getLogger(__name__)


class Kept:
    """The kept beginnings for one weights file and one window.

    The methods block. None raises for what goes wrong with a file: that is logged and costs speed only.

    Args:
        folder: Where the files are; made with the first one.
        weights: The GGUF file.
        window: Tokens of context.
    """

    def __init__(self, folder: Path, weights: Path, window: int) -> None:
        self.folder = folder
        self._weights = weights
        self._window = window

    def find(self, slot: int, head: Head) -> tuple[Path, bool] | None:
        """A sound file to restore into the slot, and whether it is of this very beginning.

        When there is none of this beginning, the newest of another one is given: the runtime compares the
        tokens and uses as much as is the same.
        """
        try:
            prefix = self._prefix(slot)
            exact = f"{prefix}{_hash(head)}-"
            files = [path for _, _, path in _newest_first(self.folder, f"{prefix}*{_SUFFIX}")]
            for path in sorted(files, key=lambda path: not path.name.startswith(exact)):
                if self._is_sound(path):
                    os.utime(path)
                    return path, path.name.startswith(exact)
        except OSError as error:
            log.warning("The prompts kept in %s cannot be used: %s", self.folder, error.strerror or error)
        return None

    def partial(self) -> Path | None:
        """A name for the runtime to write to; None when the folder cannot be made."""
        try:
            make_folder(self.folder)
        except OSError as error:
            self.give_up(None, error.strerror or str(error))
            return None
        return self.folder / f"{os.urandom(8).hex()}{_PARTIAL}"

    def accept(self, partial: Path, size: int, slot: int, head: Head) -> None:
        """Give a file its final name, and remove the oldest of these weights when there are too many.

        Args:
            partial: The file, under the name that `partial` gave.
            size: Bytes the runtime says it wrote.
            slot: The slot it was saved from.
            head: The beginning that was in the slot.
        """
        try:
            digest, written = _digest(partial)
            if not written or written != size:
                self.give_up(partial, f"{written} of {size} bytes were written")
                return
            partial.replace(self.folder / f"{self._prefix(slot)}{_hash(head)}-{digest}{_SUFFIX}")
            self._prune()
        except OSError as error:
            self.give_up(partial, error.strerror or str(error))

    def give_up(self, partial: Path | None, reason: str) -> None:
        """Log that a beginning is not kept, and remove what was written of it."""
        log.warning("A prompt cannot be kept in %s, so the next start is slower: %s", self.folder, reason)
        if partial is not None:
            _unlink(partial)

    def drop(self, path: Path, reason: str) -> None:
        """Remove a file that cannot be used."""
        log.warning("The kept prompt %s is removed: %s", path, reason)
        _unlink(path)

    def _prefix(self, slot: int) -> str:
        """What the names of the files begin with that fit the slot."""
        from importlib.metadata import version

        found = self._weights.stat()
        belongs = [version(RUNTIME), SETTINGS, self._window, found.st_size, found.st_mtime_ns]
        return f"{_prefix_of(self._weights)}{_hash(belongs)}-{slot}-"

    def _is_sound(self, path: Path) -> bool:
        try:
            digest, _ = _digest(path)
        except FileNotFoundError:  # another tau removed it
            return False
        except OSError as error:
            self.drop(path, error.strerror or str(error))
            return False
        if digest != path.stem.rpartition("-")[2]:
            self.drop(path, "it is damaged")
            return False
        return True

    def _prune(self) -> None:
        total = 0
        for count, (_, size, path) in enumerate(
            _newest_first(self.folder, f"{_prefix_of(self._weights)}*{_SUFFIX}")
        ):
            total += size
            if count and (count >= MOST_FILES or total > MOST_BYTES):
                _unlink(path)
        _sweep(self.folder)


def forget(folder: Path, weights: Path) -> None:
    """Remove everything that is kept for a weights file."""
    for path in folder.glob(f"{_prefix_of(weights)}*{_SUFFIX}"):
        path.unlink(missing_ok=True)
    _sweep(folder)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed left half written."""
    for changed, _, path in _newest_first(folder, f"*{_PARTIAL}"):
        if time.time() - changed > _STALE_SECONDS:
            _unlink(path)


def _prefix_of(weights: Path) -> str:
    return f"{_hash(str(weights))[:16]}-"


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _newest_first(folder: Path, pattern: str) -> list[tuple[float, int, Path]]:
    """Time of change, size and path of each file there is."""
    found = []
    for path in folder.glob(pattern):
        try:
            about = path.lstat()
        except FileNotFoundError:  # another tau removed it
            continue
        found.append((about.st_mtime, about.st_size, path))
    return sorted(found, reverse=True)


def _digest(path: Path) -> tuple[str, int]:
    """The hash of a file's content and its size in bytes; no link is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError("it is not a file")
        return hashlib.file_digest(file, "sha256").hexdigest(), about.st_size


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", path, error.strerror or error)
