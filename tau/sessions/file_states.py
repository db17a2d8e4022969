"""Reads the state files of a session of the ``file`` store, or their copies in its log."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from tau.sessions import file_system as fs
from tau.sessions.file_damage import DamageSeen
from tau.sessions.file_folder import SESSION_PART, Folder
from tau.sessions.file_journal import Journal
from tau.sessions.file_journal_lines import Record
from tau.sessions.file_records import KIND_OF_PART, state_content
from tau.sessions.plain_json import NotJson


@dataclass(frozen=True, slots=True)
class State:
    """A state file as it counts: its content, and the record it was had from when it was not the file."""

    content: dict[str, Any] | None
    record: Record | None = None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class _KnownState:
    """A state file as it was read: valid while its stamp and its latest copy in the log are these."""

    state: State
    stamp: fs.Stamp
    logged: Record | None


class FileStates:
    """The state files of a session: ``session.json``, ``meta.json`` and ``agent.json``.

    Args:
        folder: The session's open folder.
        journal: Its log.
        damage: Where it is noted that a file is not as it was written.
    """

    def __init__(self, folder: Folder, journal: Journal, damage: DamageSeen) -> None:
        self._folder = folder
        self._journal = journal
        self._damage = damage
        self._session: _KnownState | None = None

    def of(self, part: str) -> State:
        """A state file, or its copy in the log when the file is damaged, lost or of an earlier version."""
        directory, name = self._folder.directory_of(part)
        with self._folder.reading(".journal"):
            record = self._journal.latest(KIND_OF_PART[part])
        known = self._session if part == SESSION_PART else None
        if known is not None and known.logged == record:
            with contextlib.suppress(OSError):  # what is wrong comes out below
                if fs.stamp_of(name, self._folder.root) == known.stamp:
                    return known.state
        content, stamp, reason = None, None, ""
        try:
            if directory is not None:
                data, stamp = fs.read_file(name, directory)
                if (
                    data or record is None or stamp.mtime_ns > record.header.mtime_ns
                ):  # else a power cut emptied it
                    content = state_content(part, data)
        except FileNotFoundError:
            pass
        except NotJson as error:
            reason = str(error)
        except fs.NotRegular:
            with self._folder.reading(part):
                raise
        except OSError as error:
            reason = error.strerror or "unreadable"
        if reason:
            self._damage.note(part, reason, recovered=record is not None)
        if record is not None and (
            content is None or stamp is None or stamp.mtime_ns < record.header.mtime_ns
        ):
            try:
                return State(state_content(part, record.body), record, damaged=bool(reason))
            except NotJson:
                pass
        state = State(content, damaged=bool(reason))
        if part == SESSION_PART and stamp is not None and not reason and fs.tells_changes(stamp.mtime_ns):
            self._session = _KnownState(state, stamp, record)
        return state
