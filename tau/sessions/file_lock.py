"""One writer a session: a kernel lock on a file in the session's folder, with the holder's name in it.

The lock is `flock`, so it ends with its process however that ends, whatever process has its number now, and a
suspended holder keeps it. The file is never deleted; what it says matters only while the lock is held, and
after a crash on another machine: a file system on the network may not carry locks from one to the other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import time
from contextlib import suppress
from typing import Any

from tau.errors import SessionHeld, SessionReadOnly, StoreError
from tau.sessions import file_system as fs
from tau.sessions.boot import boot_id
from tau.sessions.plain_json import NotJson, decode_object, encode, now_stamp, stamp_text
from tau.sessions.records import Holder

LOCK_NAME = ".lock"
_HELD = (errno.EAGAIN, errno.EACCES)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_TRIES = 12
_PAUSE_SECONDS = 0.01
"""A `holder` that looks takes the lock for some microseconds; a hold that meets one tries again."""


class SessionLock:
    """A session's lock, held from `__init__` to `release`.

    Args:
        session_id: The session.
        directory: Its open folder.
        path: The whole path of the lock, for messages.
        channel: The channel that holds it.

    Raises:
        SessionHeld: Somebody else holds it.
        SessionReadOnly: It is in a place that takes no writes.
        StoreError: The file system has no locks.
        OSError: The lock file cannot be opened.
    """

    def __init__(self, session_id: str, directory: int, path: str, channel: str) -> None:
        try:
            self._descriptor = fs.open_for_append(LOCK_NAME, directory)
        except OSError as error:
            if error.errno in _READ_ONLY:
                raise SessionReadOnly(session_id, path, os.strerror(error.errno)) from error
            raise
        try:
            self._take(session_id)
            self._refuse_other_machine(session_id)
            self._describe(channel)
        except BaseException:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Let go. May be called once."""
        with suppress(OSError):  # a full or vanished disk; the lock itself ends with the descriptor
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def _take(self, session_id: str) -> None:
        for attempt in range(_TRIES):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _HELD:
                    raise StoreError(
                        f"Session {session_id} cannot be locked: {os.strerror(error.errno or 0)}",
                        "its file system has no locks; set TAU_DATA_DIR to a folder on another one",
                    ) from None
            else:
                return
            if attempt < _TRIES - 1:
                time.sleep(_PAUSE_SECONDS)
        raise SessionHeld(session_id, _phrase(_read(self._descriptor)))

    def _refuse_other_machine(self, session_id: str) -> None:
        """Nobody holds it here, but the last holder never let go and ran elsewhere: a person must know."""
        left = _read(self._descriptor)
        if left.get("host", platform.node()) == platform.node() or left.get("boot") == boot_id() != "":
            return
        error = SessionHeld(session_id, _phrase(left))
        error.hint = f"another machine; if tau no longer runs there, empty the session's {LOCK_NAME} file"
        raise error

    def _describe(self, channel: str) -> None:
        record = {
            "pid": os.getpid(),
            "host": platform.node(),
            "channel": channel,
            "since": stamp_text(now_stamp()),
            "boot": boot_id(),
        }
        os.ftruncate(self._descriptor, 0)
        fs.write_all(self._descriptor, encode(record))


def current_holder(directory: int) -> Holder | None:
    """Who holds the lock of the session whose folder is open, or None.

    Raises:
        OSError: The lock file cannot be looked at.
    """
    try:
        descriptor = fs.open_file(LOCK_NAME, directory)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _HELD:
                return None
            return _holder(_read(descriptor))
        return None
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> dict[str, Any]:
    try:
        return decode_object(fs.read_all(descriptor))
    except NotJson:
        return {}


def _holder(record: dict[str, Any]) -> Holder:
    pid = record.get("pid")
    return Holder(
        pid=pid if isinstance(pid, int) else 0,
        host=str(record.get("host", "an unknown machine")),
        channel=str(record.get("channel", "")),
        since=str(record.get("since", "")),
    )


def _phrase(record: dict[str, Any]) -> str:
    return _holder(record).phrase() if record else "another process"
