"""Reading one session of the ``file`` store: from its files, and from its log where the files fall short."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tau.errors import SessionUnusable
from tau.sessions import file_system as fs
from tau.sessions.file_folder import (
    AGENT_PART,
    EVENTS_PART,
    MESSAGES_FOLDER,
    META_PART,
    SESSION_PART,
    Folder,
    message_index,
    message_name,
    message_part,
)
from tau.sessions.file_journal import Journal, Place
from tau.sessions.file_journal_lines import EVENT, MESSAGE, Record
from tau.sessions.file_records import KIND_OF_PART, is_object, state_content, stored_message
from tau.sessions.file_scratch import read_reply, read_results
from tau.sessions.file_words import WordsSought
from tau.sessions.plain_json import (
    NotJson,
    decode_object,
    parse_stamp,
    stamp_text,
    state_from,
)
from tau.sessions.records import FORMAT, AgentState, Damage, Meta, SessionSummary, StoredMessage
from tau.sessions.store import SessionReader

_FEW = 8
"""Up to so many messages are read from their files; more than that, and most of a session, from the log."""

_TAIL_BYTES = 1 << 16


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


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message in the log: the stamp of the file it was written to, and where its content is."""

    stamp: fs.Stamp
    place: Place


class FileReader(SessionReader):
    """A session of the ``file`` store, open for reading. Owns the folder it is given."""

    def __init__(self, folder: Folder, journal: Journal | None = None) -> None:
        self.session_id = folder.session_id
        self._folder = folder
        self._journal = journal or Journal(folder.session_id, folder.root)
        self._damage: dict[str, Damage] = {}
        self._logged: dict[int, LoggedMessage] = {}
        self._logged_at: Record | None = None
        self._session: _KnownState | None = None
        try:
            self._refuse_newer_format()
        except BaseException:
            self._journal.close()
            self._folder.close()
            raise

    def summary(self) -> SessionSummary:
        """What a listing shows; a record that is lost is made up for from the log and the messages."""
        last = self._last()
        session = self._state(SESSION_PART).content or {}
        count = self.count()
        updated = max(parse_stamp(session.get("updated_at")) or 0, last.header.stamp if last else 0)
        created = parse_stamp(session.get("created_at")) or 0
        if last is None and count:
            newest = self.messages(offset=count - 1)
            updated = max(updated, (parse_stamp(newest[0].created_at) or 0) if newest else 0)
        if not updated:
            with self._folder.reading(""):
                updated = os.fstat(self._folder.root).st_mtime_ns // 1000
        if not created and count:
            first = self.messages(limit=1)
            created = (parse_stamp(first[0].created_at) or 0) if first else 0
        return SessionSummary(
            session_id=self.session_id,
            updated_at=stamp_text(updated),
            created_at=stamp_text(created or updated),
            message_count=count,
            meta=self.meta(),
        )

    def meta(self) -> Meta:
        """The metadata of ``meta.json``, or of the log where that is later."""
        return self._state(META_PART).content or {}

    def count(self) -> int:
        """From the last line of the log, and by listing the files when there are more than it says."""
        last = self._last()
        logged = last.header.count if last is not None else 0
        directory = self._folder.messages
        if directory is None:
            return logged
        if last is not None and not self._is_there(message_name(logged)):
            return logged
        with self._folder.reading(MESSAGES_FOLDER):
            indexes = [index for name in fs.names(directory) if (index := message_index(name)) is not None]
        return max(logged, max(indexes, default=-1) + 1)

    def messages(self, *, offset: int = 0, limit: int | None = None) -> list[StoredMessage]:
        """A few from their files; most of a session from the log, where it still says what the files hold."""
        start, end, from_log = self._asked(offset, limit)
        if from_log:
            return self._many(start, end)
        return list(self._each(start, end))

    def stream(self, *, offset: int = 0, limit: int | None = None) -> Iterator[StoredMessage]:
        """From where `messages` has them; the log is read once, a piece of it in memory at a time."""
        start, end, from_log = self._asked(offset, limit)
        if from_log:
            with self._folder.reading(".journal"):
                files = self.message_files()
                for header, _begin, body in self._journal.scan_bodies():
                    if header.kind != MESSAGE or not start <= header.key < end:
                        continue
                    # What the log has elsewhere, or not as the file has it, is had one by one.
                    yield from self._each(start, header.key)
                    start = header.key
                    if files.get(message_name(start)) == (header.size, header.mtime_ns):
                        with contextlib.suppress(NotJson):
                            message = stored_message(start, body)
                            start += 1
                            yield message
        yield from self._each(start, end)

    def _asked(self, offset: int, limit: int | None) -> tuple[int, int, bool]:
        """The first index asked for, the end of them, and whether the log is the place to read them from."""
        count = self.count()
        start = min(max(offset, 0), count)
        end = count if limit is None else min(count, start + max(limit, 0))
        wanted = end - start
        return start, end, wanted > _FEW and wanted * 4 > count and self._last() is not None

    def _each(self, start: int, end: int) -> Iterator[StoredMessage]:
        for index in range(start, end):
            message = self._message_from_file(index)
            if message is not None:
                yield message

    def may_hold(self, words: Sequence[str]) -> bool:
        """By looking at the log, and at the files that are not as it has them."""
        sought = WordsSought(words)
        files = self.message_files()
        with self._folder.reading(META_PART):
            files[META_PART] = fs.stamp_of(META_PART, self._folder.root) or (0, 0)
        with self._folder.reading(".journal"):
            sought.look_at_log(self._journal.scan_bodies(), files)
        for name in files:
            if not sought.lacking:
                break
            self._look_at_file(name, sought)
        return not sought.lacking

    def _look_at_file(self, name: str, sought: WordsSought) -> None:
        is_meta, index = name == META_PART, message_index(name)
        if index is None and not is_meta:
            return
        directory = self._folder.root if is_meta else self._folder.messages
        part = name if is_meta else f"{MESSAGES_FOLDER}/{name}"
        try:
            if directory is not None:
                data, _stamp = fs.read_file(name, directory)
                sought.look_at(data, is_meta=is_meta)
        except FileNotFoundError:
            pass
        except NotJson as error:
            self._note(part, str(error), index=index)
        except OSError as error:
            self._note(part, error.strerror or "unreadable", index=index)

    def scratch(self) -> str:
        """The content of ``.reply``."""
        return read_reply(self._folder)

    def kept_results(self) -> list[dict[str, Any]]:
        """The lines of ``.results``."""
        return read_results(self._folder)

    def agent_state(self) -> AgentState | None:
        """The state of ``agent.json``, or of the log where that is later."""
        content = self._state(AGENT_PART).content
        return None if content is None else state_from(content)

    def events(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        """The lines of ``events.jsonl``, and those of the log that it lost."""
        if limit is not None and limit <= 0:
            return []
        missing = self.missing_events()
        own = None if limit is None else max(limit - len(missing), 0)
        lines = self._event_lines(own) + missing
        events: list[dict[str, Any]] = []
        bad = 0
        for line in lines:
            try:
                events.append(decode_object(line))
            except NotJson:
                bad += bool(line.strip())
        if bad:
            self._note(EVENTS_PART, f"{bad} lines cut short" if bad > 1 else "1 line cut short")
        return events if limit is None else events[-limit:]

    def damage(self) -> Sequence[Damage]:
        """One entry a part, the last thing seen of it."""
        return tuple(self._damage.values())

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        self._folder.close()

    # What a writer needs too ----------------------------------------------------------------------

    def missing_events(self) -> list[bytes]:
        """Lines of events that the log has and ``events.jsonl`` lost, in order."""
        with self._folder.reading(EVENTS_PART):
            last = self._journal.latest(EVENT)
            if last is None:
                return []
            line = last.body + b"\n"
            try:
                descriptor = fs.open_file(EVENTS_PART, self._folder.root)
            except FileNotFoundError:
                there = b""
            else:
                try:
                    if fs.read_at(descriptor, last.header.key, len(line)) == line:
                        return []
                    there = fs.read_all(descriptor)
                finally:
                    os.close(descriptor)
            left = Counter(there.split(b"\n"))
            missing = []
            logged = {
                (header.key, bytes(body)): None
                for header, _begin, body in self._journal.scan_bodies()
                if header.kind == EVENT
            }
            for _key, body in logged:
                if left[body]:
                    left[body] -= 1
                else:
                    missing.append(body)
            return missing

    def _last(self) -> Record | None:
        with self._folder.reading(".journal"):
            return self._journal.last()

    def _state(self, part: str) -> State:
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
            self._note(part, reason, recovered=record is not None)
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

    def _message_from_file(self, index: int) -> StoredMessage | None:
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
        return self._message_from_log(index, reason)

    def _message_from_log(self, index: int, reason: str) -> StoredMessage | None:
        logged = self.logged_messages().get(index)
        message = None
        if logged is not None:
            try:
                message = stored_message(index, self.logged_body(logged))
            except NotJson:
                logged = None
        if logged is None or reason != "missing":
            self._note(message_part(index), reason, index=index, recovered=message is not None)
        return message

    def logged_messages(self) -> dict[int, LoggedMessage]:
        """The messages that the log has, by index; kept while the log does not grow."""
        last = self._last()
        if last != self._logged_at:
            self._logged = {}
            with self._folder.reading(".journal"):
                for header, place, _body in self._journal.scan():
                    if header.kind == MESSAGE:
                        stamp = fs.Stamp(header.size, header.mtime_ns)
                        self._logged[header.key] = LoggedMessage(stamp, place)
            self._logged_at = last
        return self._logged

    def logged_body(self, logged: LoggedMessage) -> bytes:
        """The content of a message in the log."""
        with self._folder.reading(".journal"):
            return self._journal.body_at(logged.place)

    def _many(self, start: int, end: int) -> list[StoredMessage]:
        """Most of a session: what the files have not changed since it was logged comes from the log."""
        found: dict[int, StoredMessage] = {}
        with _no_collections():
            files = self.message_files()
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
            message = found.get(index) or self._message_from_file(index)
            if message is not None:
                messages.append(message)
        return messages

    def message_files(self) -> dict[str, tuple[int, int]]:
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

    def _is_there(self, name: str) -> bool:
        directory = self._folder.messages
        return directory is not None and fs.is_taken(name, directory)

    def _event_lines(self, limit: int | None) -> list[bytes]:
        """Whole lines of ``events.jsonl``, at least the last `limit` sound ones of them."""
        if limit == 0:
            return []
        with self._folder.reading(EVENTS_PART):
            try:
                descriptor = fs.open_file(EVENTS_PART, self._folder.root)
            except FileNotFoundError:
                return []
            try:
                size = os.fstat(descriptor).st_size
                window = size if limit is None else _TAIL_BYTES
                while True:
                    start = max(0, size - window)
                    lines = fs.read_at(descriptor, start, size - start).split(b"\n")[:-1]
                    if start == 0:
                        return lines
                    lines = lines[1:]
                    if limit is not None and sum(map(is_object, lines[-2 * limit :])) >= limit:
                        return lines[-2 * limit :]
                    window *= 8
            finally:
                os.close(descriptor)

    def _note(self, part: str, reason: str, *, index: int | None = None, recovered: bool = False) -> None:
        self._damage[part] = Damage(part=part, reason=reason, index=index, recovered=recovered)

    def _refuse_newer_format(self) -> None:
        form = (self._state(SESSION_PART).content or {}).get("format", FORMAT)
        if isinstance(form, int) and form > FORMAT:
            raise SessionUnusable(
                self.session_id,
                f"Session {self.session_id} was written by a newer tau "
                f"(format {form}; this one knows {FORMAT})",
                "update tau",
            )


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
