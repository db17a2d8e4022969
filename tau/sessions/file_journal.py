"""The write-ahead log of one session: what makes a turn durable with a single wait for the disk.

Every write of a session is first one line of ``.journal`` and then a change of the session's files. `flush`
waits for this one file. After a power cut, files that are missing, empty or of an earlier version are had
from the lines; `tau.sessions.file_journal_lines` says what they look like.

When a wait fails, nobody knows what the disk has. What was written since the last good wait is then written
again to a new file, ``.journal-1`` and so on; together they are the log.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from tau.sessions import file_system as fs
from tau.sessions.file_journal_lines import (
    LINKED,
    Entry,
    Header,
    Record,
    is_sound,
    make_line,
    parse_line,
    scan_lines,
    seal_of,
)

JOURNAL_NAME = ".journal"

_FIRST_WINDOW = 4096
_MAX_PENDING = 32 << 20
"""Bytes kept in memory against a failing wait; past them, `append` waits by itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body is: the number of the log's file, its begin there, and its length."""

    number: int
    begin: int
    length: int


class Journal:
    """A session's log, for reading. Sees what a writer elsewhere has appended since.

    Args:
        session_id: The session; lines of another one are not sound here.
        directory: Its open folder; stays the caller's.
    """

    def __init__(self, session_id: str, directory: int) -> None:
        self.seed = crc32(session_id.encode())
        self._directory = directory
        self._descriptors: list[int] = []
        self._looked_at = -1
        self._tails: dict[int, tuple[int, int, Record | None]] = {}

    def last(self) -> Record | None:
        """The last sound record; None when there is none."""
        self._look_for_files()
        for descriptor in reversed(self._descriptors):
            last = self._last_of(descriptor, os.fstat(descriptor))
            if last is not None:
                return last
        return None

    def latest(self, kind: str) -> Record | None:
        """The latest sound record of a kind other than `MESSAGE`, whole; None when there is none."""
        self._look_for_files()
        place = LINKED.index(kind)
        for descriptor in reversed(self._descriptors):
            last = self._last_of(descriptor, os.fstat(descriptor))
            if last is None:
                continue
            if last.header.kind == kind:
                return last
            link = last.header.links()[place]
            if link < 0:
                continue
            record = self._record_at(descriptor, link)
            if record is None or record.header.kind != kind:
                record = self._search_for(descriptor, kind)
            if record is not None:
                return record
        return None

    def scan(self) -> Iterator[tuple[Header, Place, memoryview]]:
        """Every sound record, oldest first. The body is valid until the next one is asked for."""
        self._look_for_files()
        for number, descriptor in enumerate(self._descriptors):
            for header, begin, body in scan_lines(descriptor, self.seed):
                yield header, Place(number, begin, len(body)), body

    def scan_bodies(self) -> Iterator[tuple[Header, int, memoryview]]:
        """As `scan`, but with the begin of the body in its file alone, and faster.

        Where the writer left its seal nobody has written to the file since, and checksums are not looked at.
        """
        self._look_for_files()
        for descriptor in self._descriptors:
            status = os.fstat(descriptor)
            trusted = _is_sealed(self._last_of(descriptor, status), status)
            yield from scan_lines(descriptor, self.seed, trusted=trusted, size=status.st_size)

    def body_at(self, place: Place) -> bytes:
        """The body that `scan` found at a place."""
        return fs.read_at(self._descriptors[place.number], place.begin, place.length)

    def close(self) -> None:
        """Let go of the files. May be called twice."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self._tails.clear()
        self._looked_at = -1

    def _look_for_files(self) -> None:
        """Open the files of the log that came into the folder since the last time."""
        changed = os.fstat(self._directory).st_mtime_ns
        if changed == self._looked_at:
            return
        while True:
            try:
                descriptor = fs.open_file(file_name(len(self._descriptors)), self._directory)
            except FileNotFoundError:
                break
            self._descriptors.append(descriptor)
        if fs.tells_changes(changed):
            self._looked_at = changed

    def _last_of(self, descriptor: int, status: os.stat_result) -> Record | None:
        """The last sound record of a file; not looked for again while the file is as it was."""
        size, mtime_ns, last = self._tails.get(descriptor, (-1, 0, None))
        if (size, mtime_ns) == (status.st_size, status.st_mtime_ns):
            return last
        last = self._find_last(descriptor, status.st_size)
        if fs.tells_changes(status.st_mtime_ns):
            self._tails[descriptor] = status.st_size, status.st_mtime_ns, last
        return last

    def _find_last(self, descriptor: int, size: int) -> Record | None:
        window = _FIRST_WINDOW
        while True:
            start = max(0, size - window)
            data = fs.read_at(descriptor, start, size - start)
            end = data.rfind(b"\n")
            while end >= 0:
                before = data.rfind(b"\n", 0, end)
                if before < 0 and start > 0:
                    break
                record = parse_line(data[before + 1 : end], start + before + 1, self.seed)
                if record is not None:
                    return record
                end = before
            if start == 0:
                return None
            window *= 16

    def _record_at(self, descriptor: int, begin: int) -> Record | None:
        window = _FIRST_WINDOW
        while True:
            data = fs.read_at(descriptor, begin, window)
            end = data.find(b"\n")
            if end >= 0:
                return parse_line(data[:end], begin, self.seed)
            if len(data) < window:
                return None
            window *= 16

    def _search_for(self, descriptor: int, kind: str) -> Record | None:
        found = None
        for header, begin, body in scan_lines(descriptor, self.seed):
            if header.kind == kind:
                found = Record(header, begin, bytes(body))
        return found


class JournalWriter(Journal):
    """A session's log, for the one writer. Made when it is not there.

    Raises:
        OSError: The disk refused.
    """

    def __init__(self, session_id: str, directory: int) -> None:
        super().__init__(session_id, directory)
        self._look_for_files()
        self._made = not self._descriptors
        self._number = max(len(self._descriptors) - 1, 0)
        self._out = fs.open_for_append(file_name(self._number), directory)
        status = os.fstat(self._out)
        self._size = status.st_size
        self._ends_whole = self._size == 0 or fs.read_at(self._out, self._size - 1, 1) == b"\n"
        last = self._find_last(self._out, self._size)
        self._is_trusted = self._size == 0 or _is_sealed(last, status)
        self._links = _links_after(last)
        self._pending: list[Entry] = []
        self._pending_bytes = 0
        self._before: tuple[int, list[int], int] | None = None
        self._suspect = False

    def append(self, entry: Entry) -> None:
        """Write one record; it survives a kill when this returns.

        Raises:
            OSError: The disk refused; the log is as it was.
        """
        if self._pending_bytes > _MAX_PENDING:
            self.flush()
        line = make_line(entry, self._links, self.seed)
        start = self._size
        if not self._ends_whole:
            line = b"\n" + line
            start += 1
        self._before = (self._size, list(self._links), self._pending_bytes)
        try:
            fs.write_all(self._out, line)
        except OSError:
            self._cut(self._size)
            raise
        self._size += len(line)
        self._ends_whole = True
        if entry.kind in LINKED:
            self._links[LINKED.index(entry.kind)] = start
        self._pending.append(entry)
        self._pending_bytes += len(line)

    def undo(self) -> None:
        """Take back the last record, whose file could not be written."""
        if self._before is not None:
            size, self._links, self._pending_bytes = self._before
            self._pending.pop()
            self._cut(size)
            self._before = None

    def flush(self) -> None:
        """Return when every record survives a power cut; at once when there is none since the last time.

        Raises:
            OSError: It may not survive. A later flush writes all of it again.
        """
        if not self._pending and not self._made:
            return
        if self._suspect:
            self._write_again()
        else:
            try:
                fs.sync_data(self._out)
                if self._made:
                    os.fsync(self._directory)
            except OSError:
                self._suspect = True
                self._write_again()
        self._made = False
        self._pending.clear()
        self._pending_bytes = 0
        self._before = None

    def close(self) -> None:
        """Let go of the files, unflushed; the last one is sealed if all was flushed. May be called twice."""
        if self._out >= 0:
            with contextlib.suppress(OSError):  # without a seal, readers look at checksums
                last = self._find_last(self._out, self._size)
                if last is not None and not self._pending and self._is_all_sound():
                    os.utime(self._out, ns=(seal_of(last.header),) * 2)
            os.close(self._out)
            self._out = -1
        super().close()

    def _is_all_sound(self) -> bool:
        return self._is_trusted or is_sound(self._out, self.seed)

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._out, size)
        except OSError:
            size = os.fstat(self._out).st_size
            self._ends_whole = False
        self._size = size

    def _write_again(self) -> None:
        number = self._number + 1
        while fs.is_taken(file_name(number), self._directory):
            number += 1
        temporary = f"{file_name(number)}.tmp"
        fs.remove_temporary(temporary, self._directory)
        descriptor = fs.open_for_append(temporary, self._directory)
        links = [-1] * len(LINKED)
        size = 0
        try:
            for entry in self._pending:
                line = make_line(entry, links, self.seed)
                if entry.kind in LINKED:
                    links[LINKED.index(entry.kind)] = size
                fs.write_all(descriptor, line)
                size += len(line)
            fs.sync_data(descriptor)
            fs.replace(temporary, file_name(number), self._directory)
            os.fsync(self._directory)
        except OSError:
            os.close(descriptor)
            fs.remove_temporary(temporary, self._directory)
            raise
        os.close(self._out)
        self._out, self._number, self._size, self._links = descriptor, number, size, links
        self._ends_whole, self._suspect, self._is_trusted = True, False, True


def _is_sealed(last: Record | None, status: os.stat_result) -> bool:
    """Whether a file of the log that ends with this record bears its writer's seal."""
    return last is not None and status.st_mtime_ns == seal_of(last.header)


def _links_after(last: Record | None) -> list[int]:
    """Where the latest record of each kind begins in a file of the log that ends with this record."""
    if last is None:
        return [-1] * len(LINKED)
    links = last.header.links()
    if last.header.kind in LINKED:
        links[LINKED.index(last.header.kind)] = last.begin
    return links


def file_name(number: int) -> str:
    """The name of the log's file with this number, from 0."""
    return f"{JOURNAL_NAME}-{number}" if number else JOURNAL_NAME
