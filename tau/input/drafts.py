"""What is being written and what waits to be sent, kept until it is sent, whatever becomes of the process.

Each window has one small file, replaced whole within half a second of a change and flushed to the disk, on
a thread. The window holds a kernel lock (``flock``) on it, which ends with the process however that ends: a
file that nobody has locked was left behind, whatever process has its owner's number now. The new file is
locked before it takes the old one's name, so that there is no moment in which a living draft could be taken.

A draft is not masked: it is the person's own text, which must come back as it was, in a file (0600) that goes
when the text is sent or emptied.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tau.input.history_file import is_time
from tau.input.places import directory_key, drafts_folder, make_folder, opened
from tau.input.writer import Writer
from tau.sessions import file_system as fs
from tau.sessions.plain_json import NotJson, decode_object, encode

DELAY = 0.4
"""Seconds from a change until it is written."""

_PATIENCE = 2.0
_TRIES = 12
_PAUSE_SECONDS = 0.01
"""Whoever looks whether a draft is held locks it for a moment; a `take` that meets that tries again."""

_STALE_SECONDS = 86_400
_NAME = re.compile(r"(?P<key>[^~]+)~(?P<session>[^~]*)~[0-9a-f]{16}\.json")


@dataclass(frozen=True)
class Draft:
    """Texts that were not sent.

    Attributes:
        text: What stood in the prompt.
        queue: The messages that waited, the next one first.
        at: When it was written, in seconds since 1970.
        directory: Where, as a real path.
        session: The session it was written in; empty when none was open yet.
        file: The name of its file.
        offered: Whether it was offered in another session than its own.
    """

    text: str
    queue: Sequence[str]
    at: float
    directory: str
    session: str
    file: str = ""
    offered: bool = False

    @property
    def texts(self) -> list[str]:
        """All of them, in the order in which they would have been sent."""
        return [*self.queue, *([self.text] if self.text.strip() else [])]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self.text.strip() and not self.queue


class Drafts:
    """The drafts of one window, and those that others left. Nothing is made until there is something to keep.

    Args:
        state_dir: tau's state directory.
        directory: The working directory.
    """

    def __init__(self, state_dir: Path, directory: Path) -> None:
        self.problem = ""
        """One line that says why drafts cannot be kept; empty while they can."""
        self._folder = drafts_folder(state_dir)
        self._directory = os.path.realpath(directory)
        self._key = directory_key(directory)
        self._token = secrets.token_hex(8)
        self._writer = Writer("tau-drafts")
        self._lock = threading.Lock()
        self._session = ""
        self._text = ""
        self._queue: tuple[str, ...] = ()
        self._written: tuple[str, str, tuple[str, ...]] | None = None  # session, text, queue
        self._own: tuple[str, int] | None = None  # name and locked descriptor of this window's file
        self._taken: dict[str, int] = {}

    def keep(self, text: str, queue: Sequence[str] = ()) -> None:
        """Keep what stands in the prompt and what waits, in place of what was kept before. Never waits."""
        with self._lock:
            self._text, self._queue = text, tuple(queue)
        self._writer.later(self._save, DELAY)

    def attach(self, session_id: str) -> Draft | None:
        """Have what is kept belong to a session from now on. Blocks.

        Returns:
            The newest draft that was left in that session, taken as by `take`, or None.
        """
        with self._lock:
            self._session = session_id
        self._writer.later(self._save, DELAY)
        for draft in self._left(f"~{session_id}~"):
            if draft.session == session_id and self.take(draft):
                return draft
        return None

    def leftovers(self) -> list[Draft]:
        """The drafts of this directory whose window is gone and that nobody was offered yet. Blocks.

        Returns:
            The newest first.
        """
        return [draft for draft in self._left(f"{self._key}~") if not draft.offered]

    def note_offered(self, draft: Draft) -> None:
        """A draft is offered now, which is done once; it stays where it is kept, for its session. Blocks."""
        if not self.take(draft):
            return
        descriptor = self._taken.pop(draft.file)
        with suppress(OSError, NotJson), opened(self._folder) as folder:
            record = {**decode_object(fs.read_all(descriptor)), "offered": True}
            temporary = fs.temporary_name(f"{self._key}~{self._token}")
            fs.write_temporary(temporary, folder, encode(record), sync=True)
            fs.replace(temporary, draft.file, folder)
        os.close(descriptor)

    def take(self, draft: Draft) -> bool:
        """Make a draft this window's alone; False when it is gone or another window has it. Blocks.

        Its file stays until `release`, so that it is not lost if this window ends before.
        """
        if draft.file in self._taken:
            return True
        with suppress(OSError), opened(self._folder) as folder:
            descriptor = fs.open_file(draft.file, folder)
            if _locked(descriptor) and _is_still(draft.file, descriptor, folder):
                self._taken[draft.file] = descriptor
                return True
            os.close(descriptor)
        return False

    def release(self, draft: Draft) -> None:
        """Let go of a draft whose texts are in the prompt, queue or history now: its file goes. Blocks.

        What was kept in the meantime is written first, and if it cannot be, the file stays.
        """
        if draft.file not in self._taken or not self.flush() or self.problem:
            return
        descriptor = self._taken.pop(draft.file)
        with suppress(OSError), opened(self._folder) as folder:
            os.unlink(draft.file, dir_fd=folder)
            os.fsync(folder)
        os.close(descriptor)

    def flush(self, seconds: float = _PATIENCE) -> bool:
        """Write what was kept now; whether that was done in time. Blocks."""
        return self._writer.flush(seconds)

    def close(self, seconds: float = _PATIENCE) -> bool:
        """Write what was kept, and leave it to the next window; whether that was done in time. Blocks."""
        done = self._writer.close(seconds)
        if done:
            held = [*self._taken.values(), *([self._own[1]] if self._own else [])]
            self._taken.clear()
            self._own = None
            for descriptor in held:
                os.close(descriptor)
        return done

    # Writing, on the thread ---------------------------------------------------------------------

    def _save(self) -> None:
        with self._lock:
            wanted = (self._session, self._text, self._queue)
        is_empty = not wanted[1].strip() and not wanted[2]
        if wanted == self._written or (is_empty and self._own is None):
            return
        try:
            if is_empty:
                self._remove()
            else:
                self._write(*wanted)
        except OSError as error:
            self.problem = f"What you are writing is not kept: {self._folder}: {error.strerror or error}"
        else:
            self.problem = ""
            self._written = wanted

    def _write(self, session: str, text: str, queue: tuple[str, ...]) -> None:
        make_folder(self._folder)
        name = f"{self._key}~{session}~{self._token}.json"
        record = {
            "at": time.time(),
            "directory": self._directory,
            "session": session,
            "text": text,
            "queue": list(queue),
        }
        with opened(self._folder) as folder:
            temporary = fs.temporary_name(f"{self._key}~{self._token}")
            fs.write_temporary(temporary, folder, encode(record), sync=True)
            descriptor = fs.open_file(temporary, folder)
            try:
                with suppress(OSError):  # no locks on this file system: `_left` then finds nothing
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fs.replace(temporary, name, folder)
            except BaseException:
                os.close(descriptor)
                raise
            before, self._own = self._own, (name, descriptor)
            if before is not None:
                if before[0] != name:
                    os.unlink(before[0], dir_fd=folder)
                os.close(before[1])
            os.fsync(folder)

    def _remove(self) -> None:
        assert self._own is not None
        name, descriptor = self._own
        with opened(self._folder) as folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            os.fsync(folder)
        self._own = None
        os.close(descriptor)

    # Looking ------------------------------------------------------------------------------------

    def _left(self, part: str) -> Iterator[Draft]:
        """The drafts that nobody holds whose file names have a part, newest first."""
        found = []
        with suppress(OSError), opened(self._folder) as folder:
            for name in fs.names(folder):
                if part in name and _NAME.fullmatch(name):
                    with suppress(OSError, NotJson), _unheld(name, folder) as data:
                        draft = _draft(name, data)
                        if not draft.is_empty:
                            found.append(draft)
                elif name.endswith(".tmp"):
                    _clear(name, folder)
        found.sort(key=lambda draft: -draft.at)
        yield from found


@contextmanager
def _unheld(name: str, folder: int) -> Iterator[bytes]:
    """The bytes of a file that nobody holds.

    Raises:
        OSError: Somebody does, or it cannot be read.
    """
    descriptor = fs.open_file(name, folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if not _is_still(name, descriptor, folder):
            raise FileNotFoundError(name)
        yield fs.read_all(descriptor)
    finally:
        os.close(descriptor)


def _draft(name: str, data: bytes) -> Draft:
    """The draft in a file.

    Raises:
        NotJson: It holds none.
    """
    record = decode_object(data)
    text, queue, at = record.get("text"), record.get("queue"), record.get("at")
    if not isinstance(text, str) or not isinstance(queue, list) or not is_time(at):
        raise NotJson("no draft")
    waiting = tuple(item for item in queue if isinstance(item, str))
    return Draft(
        text,
        waiting,
        float(at),
        str(record.get("directory", "")),
        str(record.get("session", "")),
        name,
        record.get("offered") is True,
    )


def _locked(descriptor: int) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _is_still(name: str, descriptor: int, folder: int) -> bool:
    """Whether a name still stands for an open file, which was not replaced or removed before the lock."""
    opened_file, named = os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False)
    return (opened_file.st_dev, opened_file.st_ino) == (named.st_dev, named.st_ino)


def _clear(name: str, folder: int) -> None:
    """Remove a file that was never finished, once nobody can be writing it any more."""
    with suppress(OSError):
        if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _STALE_SECONDS:
            os.unlink(name, dir_fd=folder)
