"""Reads the messages of a session of the ``file`` store: from their files, or from its log."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tau.sessions import file_system as fs
from tau.sessions.file_damage import DamageSeen
from tau.sessions.file_folder import MESSAGES_FOLDER, Folder, message_index, message_name, message_part
from tau.sessions.file_journal import Journal, Place
from tau.sessions.file_journal_lines import MESSAGE, Record
from tau.sessions.file_records import stored_message
from tau.sessions.plain_json import NotJson
from tau.sessions.records import StoredMessage


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message in the log: the stamp of the file it was written to, and where its content is."""

    stamp: fs.Stamp
    place: Place


class FileMessages:
    """The messages of a session.

    Args:
        folder: The session's open folder.
        journal: Its log.
        damage: Where it is noted that a file is lost or not as it was written.
    """

    def __init__(self, folder: Folder, journal: Journal, damage: DamageSeen) -> None:
        self._folder = folder
        self._journal = journal
        self._damage = damage
        self._logged: dict[int, LoggedMessage] = {}
        self._logged_at: Record | None = None

    def count(self) -> int:
        """From the last line of the log, and by listing the files when there are more than it says."""
        last = self.last()
        logged = last.header.count if last is not None else 0
        directory = self._folder.messages
        if directory is None:
            return logged
        if last is not None and not fs.is_taken(message_name(logged), directory):
            return logged
        with self._folder.reading(MESSAGES_FOLDER):
            indexes = [index for name in fs.names(directory) if (index := message_index(name)) is not None]
        return max(logged, max(indexes, default=-1) + 1)

    def last(self) -> Record | None:
        """The last line of the log."""
        with self._folder.reading(".journal"):
            return self._journal.last()

    def each(self, start: int, end: int) -> Iterator[StoredMessage]:
        """The messages from an index on and before another, from their files; lost ones left out."""
        for index in range(start, end):
            message = self.one(index)
            if message is not None:
                yield message

    def stream(self, start: int, end: int) -> Iterator[StoredMessage]:
        """The same where the log still says what the files hold; a piece of it is in memory at a time."""
        with self._folder.reading(".journal"):
            files = self.files()
            for header, _begin, body in self._journal.scan_bodies():
                if header.kind != MESSAGE or not start <= header.key < end:
                    continue
                # What the log has elsewhere, or not as the file has it, is had one by one.
                yield from self.each(start, header.key)
                start = header.key
                if files.get(message_name(start)) == (header.size, header.mtime_ns):
                    with contextlib.suppress(NotJson):
                        message = stored_message(start, body)
                        start += 1
                        yield message
        yield from self.each(start, end)

    def all(self, start: int, end: int) -> list[StoredMessage]:
        """The same at once: what the files have not changed since it was logged comes from the log."""
        found: dict[int, StoredMessage] = {}
        with _no_collections():
            files = self.files()
            with self._folder.reading(".journal"):
                for header, _begin, body in self._journal.scan_bodies():
                    index = header.key
                    if header.kind == MESSAGE and start <= index < end:
                        there = files.get(f"{index:06}.json")  # message_name, inlined in the one hot loop
                        if there is None or there == (header.size, header.mtime_ns):
                            try:
                                found[index] = stored_message(index, body)
                            except NotJson:
                                continue
        messages = []
        for index in range(start, end):
            message = found.get(index) or self.one(index)
            if message is not None:
                messages.append(message)
        return messages

    def one(self, index: int) -> StoredMessage | None:
        """A message from its file, or from the log; None when neither has it."""
        directory = self._folder.messages
        reason = "missing"
        try:
            if directory is not None:
                data, _stamp = fs.read_file(message_name(index), directory)
                return stored_message(index, data)
        except FileNotFoundError:
            pass
        except NotJson as error:
            reason = str(error)
        except fs.NotRegular:
            with self._folder.reading(message_part(index)):
                raise
        except OSError as error:
            reason = error.strerror or "unreadable"
        return self._from_log(index, reason)

    def _from_log(self, index: int, reason: str) -> StoredMessage | None:
        logged = self.logged().get(index)
        message = None
        if logged is not None:
            try:
                message = stored_message(index, self.body_of(logged))
            except NotJson:
                logged = None
        if logged is None or reason != "missing":
            self._damage.note(message_part(index), reason, index=index, recovered=message is not None)
        return message

    def logged(self) -> dict[int, LoggedMessage]:
        """The messages that the log has, by index; kept while the log does not grow."""
        last = self.last()
        if last != self._logged_at:
            self._logged = {}
            with self._folder.reading(".journal"):
                for header, place, _body in self._journal.scan():
                    if header.kind == MESSAGE:
                        stamp = fs.Stamp(header.size, header.mtime_ns)
                        self._logged[header.key] = LoggedMessage(stamp, place)
            self._logged_at = last
        return self._logged

    def body_of(self, logged: LoggedMessage) -> bytes:
        """The content of a message in the log."""
        with self._folder.reading(".journal"):
            return self._journal.body_at(logged.place)

    def files(self) -> dict[str, tuple[int, int]]:
        """The message files that are there: name to size and time of modification, as in a `Stamp`.

        Raises:
            SessionUnusable: One is a symbolic link or no regular file.
        """
        directory = self._folder.messages
        files: dict[str, tuple[int, int]] = {}
        if directory is None:
            return files
        with self._folder.reading(MESSAGES_FOLDER), os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith("."):
                    continue
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    with self._folder.reading(f"{MESSAGES_FOLDER}/{name}"):
                        fs.stamp_of(name, directory)
                files[name] = status.st_size, status.st_mtime_ns
        return files


@contextmanager
def _no_collections() -> Iterator[None]:
    """No garbage collection in between: tens of thousands of objects are made that all stay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
