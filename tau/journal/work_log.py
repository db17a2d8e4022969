"""The session files of a checkout: listed, held while a conversation lives, written, deleted when done."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from tau.config.places import make_private
from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import session_file
from tau.journal.kept_in_state import open_kept, write_kept
from tau.journal.markdown import Markdown, edit
from tau.journal.session_file import LAST_ACTIVE, STATUS, TASK, LogLine, WorkSession
from tau.journal.work_place import FOLDER, LARGEST_SESSION, SESSION, WorkPlace, write_new
from tau.sessions import file_system as fs

PATIENCE = 1.0
"""Seconds that a file is waited for at which another process only looks."""

KEPT = 100
"""Files that were done of which a copy is kept."""

_DIGITS = 8
_NUMBERED = re.compile(rf"\d{{{_DIGITS}}}-")
_LONGEST_KEPT = 200
"""Bytes of the name of a copy behind its number."""

_MOST_NAMED = 10_000
_END = 500_000
"""Bytes of the beginning and of the end of a long file."""

_ID = re.compile(r"\d{8}-(?P<rest>\d{6}-[0-9a-f]{4})")
"""The id of a conversation."""

_LONGEST_WORDS = 40
_PAUSE = 0.01
_HELD = (errno.EAGAIN, errno.EACCES)


class WorkLog:
    """The session files of one checkout. May be used from any thread.

    A file that a living conversation writes is held by a lock in the state directory, which ends with its
    process however that ends.

    Args:
        place: The checkout, whose `.memory/` is in use.
        state: The state directory.
    """

    def __init__(self, place: WorkPlace, state: Path) -> None:
        self._place = place
        self._state = state
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()

    # Looking ------------------------------------------------------------------------------------

    def sessions(self) -> tuple[list[WorkSession], list[str]]:
        """The files that can be read, those written last first, and why others cannot be, a line each.

        Raises:
            JournalRefused: The folder cannot be read.
        """
        found, unread = [], []
        for name in self._place.files(SESSION):
            try:
                found.append((self._written(name), name, self._read(name)))
            except FileNotFoundError:  # it was done, and another window has deleted it
                continue
            except JournalRefused as error:
                unread.append(error.line())
        listed = [session for _, _, session in sorted(found, key=lambda each: each[:2], reverse=True)]
        return listed, unread

    def read(self, name: str) -> WorkSession:
        """One file.

        Raises:
            JournalRefused: It is not there or cannot be read.
        """
        try:
            return self._read(name)
        except FileNotFoundError:
            raise JournalRefused(f"{one_line(path_of(name))} is not there any more") from None

    def is_held(self, name: str) -> bool:
        """Whether a living conversation of this person writes the file, here or in another process."""
        with self._locks() as folder:
            try:
                descriptor = fs.open_file(self._lock_of(name), folder)
            except FileNotFoundError:
                return False
            try:
                return not _locked(descriptor, fcntl.LOCK_SH)
            finally:
                os.close(descriptor)

    # Holding ------------------------------------------------------------------------------------

    def hold(self, name: str) -> bool:
        """Hold a file until `release`; False when another conversation holds it.

        Raises:
            JournalRefused: The state directory cannot be written.
        """
        with self._lock:
            if name in self._held:
                return True
            until = time.monotonic() + PATIENCE
            while (descriptor := self._locked_file(name)) is None:
                if time.monotonic() > until:
                    return False
                time.sleep(_PAUSE)
            self._held[name] = descriptor
            return True

    def release(self, name: str) -> None:
        """Let go of a file, if it is held here."""
        with self._lock:
            descriptor = self._held.pop(name, None)
            if descriptor is not None:
                with suppress(JournalRefused), self._locks() as folder:  # nobody else has it: it is locked
                    os.unlink(self._lock_of(name), dir_fd=folder)
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    # Writing ------------------------------------------------------------------------------------

    def begin(self, called: str, task: str, at: datetime) -> str:
        """Begin a file for a conversation, and hold it. Returns its name.

        Args:
            called: The conversation's name or id.
            task: The current task; may be empty.
            at: When, in local time.

        Raises:
            JournalRefused: It cannot be written.
        """
        base = f"{at.strftime(session_file.DATE)}-{_short_name(called, task)}"
        data = session_file.begun(f"Session {called}", at, task)
        for number in range(1, _MOST_NAMED):
            name = f"{base}.md" if number == 1 else f"{base}-{number}.md"
            if self._is_own(name) or self._is_there(name) or not self.hold(name):
                continue
            try:  # it is held before anybody can see it
                write_new(self._place, SESSION, name, data)
            except FileExistsError:
                self.release(name)
                continue
            except BaseException:
                self.release(name)
                raise
            return name
        raise JournalRefused(f"There are too many files called {base} in {FOLDER}/{SESSION}")

    def write(
        self,
        name: str,
        *,
        lines: Sequence[LogLine] = (),
        fields: Mapping[str, str] | None = None,
        task: str = "",
    ) -> None:
        """Add lines to the log of a file and change fields; everything else stays byte for byte.

        Args:
            name: Of the file. One that was deleted meanwhile is begun again.
            lines: What happened.
            fields: Fields with what they are to hold.
            task: The current task, where the file says none.

        Raises:
            JournalRefused: It cannot be written; it is as it was.
        """
        at = lines[-1].at if lines else datetime.now().astimezone()

        def change(document: Markdown) -> None:
            now = _fields(name, document)
            wanted = {
                **({TASK: session_file.as_task(task)} if task and not now.task else {}),
                **(fields or {}),
            }
            session_file.change(document, wanted, lines)

        fresh = session_file.begun(f"Session {Path(name).stem}", at, task)
        edit(self._place.folder / SESSION / name, change, create=fresh, root=self._place.root)

    def set_status(self, name: str, status: str, *, only_from: str = "") -> bool:
        """Set the status of a file, and its last day of activity.

        Args:
            name: Of the file.
            status: What it is to be.
            only_from: What it must be now, or empty.

        Returns:
            Whether it has that status now.

        Raises:
            JournalRefused: It is not there, or cannot be written.
        """
        set_now = False

        def change(document: Markdown) -> None:
            nonlocal set_now
            now = _fields(name, document)
            set_now = not only_from or now.status == only_from
            if set_now and now.status != status:
                today = datetime.now().astimezone().strftime(session_file.DATE)
                session_file.change(document, {STATUS: status, LAST_ACTIVE: today}, ())

        edit(self._place.folder / SESSION / name, change, root=self._place.root)
        return set_now

    def drop_done(self) -> None:
        """Delete the files that say they are done, but for those that a living conversation holds.

        What may be no session's file stays. A copy of each is kept in the state directory.

        Raises:
            JournalRefused: The folder cannot be read.
        """
        for session in self.sessions()[0]:
            if session.status == "done" and session.was_kept:
                with suppress(JournalRefused, OSError):
                    self._drop(session.name)

    def _drop(self, name: str) -> None:
        if self.is_held(name) or not self.hold(name):
            return
        try:
            if self.read(name).status != "done":
                return
            with self._place.opened(FOLDER, SESSION) as folder:
                data, _ = fs.read_file(name, folder)
                if session_file.read(name, data, with_log=False).status == "done":
                    self._keep(name, data)
                    os.unlink(name, dir_fd=folder)
        finally:
            self.release(name)

    def _keep(self, name: str, data: bytes) -> None:
        """Keep what a file holds that is about to be deleted.

        Raises:
            OSError: The state directory cannot be written.
        """
        of = sha256(os.fsencode(self._place.folder)).hexdigest()[:32]
        folder = open_kept(self._state, ("journal", "done", of))
        try:
            there = sorted(each for each in fs.names(folder) if _NUMBERED.match(each))
            number = int(there[-1][:_DIGITS]) + 1 if there else 1
            short = os.fsdecode(os.fsencode(name)[-_LONGEST_KEPT:])
            write_kept(f"{number:0{_DIGITS}}-{short}", folder, data)
            for old in there[: 1 - KEPT]:
                os.unlink(old, dir_fd=folder)
        finally:
            os.close(folder)

    # ---------------------------------------------------------------------------------------------

    def _is_own(self, name: str) -> bool:
        with self._lock:
            return name in self._held

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self._place.folder / SESSION / name)

    def _read(self, name: str) -> WorkSession:
        """A file; of a long one its fields and the end of its log."""
        ends = self._place.ends(path_of(name), _END)
        data = session_file.of_ends(*ends) if ends is not None else None
        return session_file.read(name, data or self._place.read(path_of(name), LARGEST_SESSION))

    def _written(self, name: str) -> int:
        """When a file was written last, in nanoseconds; 0 when it is gone."""
        try:
            with self._place.opened(FOLDER, SESSION) as folder:
                stamp = fs.stamp_of(name, folder)
        except OSError:
            return 0
        return stamp.mtime_ns if stamp else 0

    def _lock_of(self, name: str) -> str:
        """The name of the file whose lock stands for a session's file; it is there while that is held."""
        path = os.fsencode(self._place.folder / SESSION / name)
        return f"{sha256(path).hexdigest()[:32]}.lock"

    def _locked_file(self, name: str) -> int | None:
        """That file, open and locked until it is closed; None when somebody else has it."""
        with self._locks() as folder:
            own = self._lock_of(name)
            descriptor = fs.open_for_append(own, folder)
            try:
                if _locked(descriptor, fcntl.LOCK_EX) and _is_named(descriptor, own, folder):
                    kept, descriptor = descriptor, -1
                    return kept
                return None
            finally:
                if descriptor >= 0:
                    os.close(descriptor)

    @contextmanager
    def _locks(self) -> Iterator[int]:
        """The open folder of the files whose locks stand for files of sessions.

        Raises:
            JournalRefused: The state directory cannot be written.
        """
        try:
            make_private(self._state)
            above = os.open(self._state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                journal, _ = fs.open_or_make_directory("journal", above)
                try:
                    folder, _ = fs.open_or_make_directory("held", journal)
                    try:
                        yield folder
                    finally:
                        os.close(folder)
                finally:
                    os.close(journal)
            finally:
                os.close(above)
        except OSError as error:
            shown = one_line(str(self._state))
            raise JournalRefused(f"{shown} cannot be written: {error.strerror}") from error


def path_of(name: str) -> str:
    """The path of a session's file from the root of the checkout."""
    return f"{FOLDER}/{SESSION}/{name}"


def _short_name(called: str, task: str) -> str:
    """What the name of a file says behind the day.

    A conversation without a name is called by an id, which is a day and a time: its file is named by the
    first words of its task.
    """
    found = _ID.fullmatch(called)
    if found is None:
        said = re.findall(r"[A-Za-z0-9]+", called) or ["session"]
        return "-".join(said)[:60].strip("-")
    name = ""
    for word in re.findall(r"[^\W_]+", session_file.as_task(task).lower()):
        if len(name) + 1 + len(word) > _LONGEST_WORDS:
            break
        name = f"{name}-{word}" if name else word
    return name or found["rest"]


def _fields(name: str, document: Markdown) -> WorkSession:
    """What a file that is about to be changed says above its log.

    Raises:
        JournalRefused: It is too large to be changed.
    """
    data = document.data
    if len(data) > LARGEST_SESSION and not session_file.has_plain_log(data):
        limit = f"{LARGEST_SESSION // 1000:,} kB"
        raise JournalRefused(
            f"{one_line(path_of(name))} is larger than {limit} and has more than entries in its log, "
            "so it is not changed",
            "/work new begins another",
        )
    return session_file.read(name, data, with_log=False)


def _is_named(descriptor: int, name: str, folder: int) -> bool:
    """Whether an open file still has its name: who let go of it meanwhile has removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _locked(descriptor: int, kind: int) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            raise JournalRefused(f"The state directory has no locks: {error.strerror}") from error
        return False
    return True
