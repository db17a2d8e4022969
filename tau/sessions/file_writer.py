"""Writing one session of the ``file`` store: a line of the log first, then the change of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tau.errors import MessageExists, StoreError
from tau.sessions import file_system as fs
from tau.sessions.boot import boot_number
from tau.sessions.file_folder import (
    AGENT_PART,
    EVENTS_PART,
    MESSAGES_FOLDER,
    META_PART,
    REPLY_PART,
    RESULTS_PART,
    SESSION_PART,
    Folder,
    message_index,
    message_name,
    message_part,
)
from tau.sessions.file_journal import JournalWriter
from tau.sessions.file_journal_lines import EVENT, MESSAGE, Entry
from tau.sessions.file_lock import SessionLock
from tau.sessions.file_reader import FileReader
from tau.sessions.file_records import KIND_OF_PART, agent_file, stored_message
from tau.sessions.file_scratch import ScratchFile
from tau.sessions.plain_json import (
    NotJson,
    decode_object,
    encode,
    next_stamp,
    now_stamp,
    parse_stamp,
    patched,
    stamp_text,
    state_object,
)
from tau.sessions.records import AGENT_ID, FORMAT, AgentState, Message, Meta, MetaValue, StoredMessage
from tau.sessions.store import SessionWriter


class FileWriter(FileReader, SessionWriter):
    """A session of the ``file`` store, held for writing. Owns the folder and the lock it is given.

    Args:
        folder: The session's open folder.
        lock: The lock, already held.
        closed: Called once when the writer is closed.
    """

    _journal: JournalWriter

    def __init__(self, folder: Folder, lock: SessionLock, closed: Callable[[FileWriter], None]) -> None:
        self._lock: SessionLock | None = lock
        self._closed = closed
        self._events = -1
        self._reply = ScratchFile(folder, REPLY_PART)
        self._results = ScratchFile(folder, RESULTS_PART)
        self._count = self._stamp = 0
        self._created_at = ""
        self._recorded = 0
        journal: JournalWriter | None = None
        try:
            folder.complete()
            with folder.writing(".journal"):
                journal = JournalWriter(folder.session_id, folder.root)
            super().__init__(folder, journal)
            self._restore()
            self._begin()
        except BaseException:
            if journal is not None:
                journal.close()
            folder.close()
            lock.release()
            raise

    def append(self, index: int, message: Message) -> StoredMessage:
        """A temporary file, a line of the log, then the final name."""
        messages = self._held()
        if 0 <= index < self._count:
            raise MessageExists(f"Session {self.session_id} already has a message {index}")
        if index != self._count:
            raise ValueError(f"message {index} would leave a gap after {self._count} messages")
        if not isinstance(message, dict):
            raise ValueError("a message is a JSON object")
        stamp = next_stamp(self._stamp)
        at = stamp_text(stamp)
        body = encode(
            {
                "message": message,
                "message_id": index,
                "redact_message": None,
                "created_at": at,
                "updated_at": at,
            }
        )
        name = message_name(index)
        temporary = fs.temporary_name(name)
        try:
            with self._folder.writing(message_part(index)):
                written = fs.write_temporary(temporary, messages, body)
                try:
                    self._log(MESSAGE, index, written, body, count=index + 1, stamp=stamp)
                    try:
                        fs.publish(temporary, name, messages, body, written)
                    except BaseException:
                        self._journal.undo()
                        raise
                except BaseException:
                    fs.remove_temporary(temporary, messages)
                    raise
        except StoreError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise MessageExists(
                    f"{self._folder.path(message_part(index))} is there already; it was not touched",
                    "close the session and open it again",
                ) from None
            raise
        self._count, self._stamp = index + 1, stamp
        return stored_message(index, body)

    def redact(self, index: int, message: Message) -> None:
        """The file keeps the original beside what is shown; waits for the disk at once."""
        messages = self._held()
        current = self._content_of(index)
        current["redact_message"] = message
        current["updated_at"] = stamp_text(now_stamp())
        body = encode(current)
        temporary = fs.temporary_name(message_name(index))
        with self._folder.writing(message_part(index)):
            written = fs.write_temporary(temporary, messages, body, sync=True)
            try:
                self._log(MESSAGE, index, written, body)
                try:
                    if self._is_damaged(index, messages):
                        fs.set_aside(message_name(index), messages)
                    fs.replace(temporary, message_name(index), messages)
                except BaseException:
                    self._journal.undo()
                    raise
                os.fsync(messages)
            except BaseException:
                fs.remove_temporary(temporary, messages)
                raise

    def write_agent_state(self, state: AgentState) -> None:
        """Replace ``agent.json``, and ``session.json`` if it is behind."""
        self._held()
        self._write_session_record(self._stamp)
        now = stamp_text(now_stamp())
        before = self._states.of(AGENT_PART).content or {}
        created = before.get("created_at")
        self._put_state(
            AGENT_PART,
            agent_file(state_object(state), AGENT_ID, created if isinstance(created, str) else now, now),
        )

    def patch_meta(self, changes: Mapping[str, MetaValue], *, touch: bool = True) -> Meta:
        """Replace ``meta.json``, from what it says now, and ``session.json`` if it is behind or moves."""
        self._held()
        meta = patched(self.meta(), changes)
        self._write_session_record(next_stamp(self._stamp) if touch else self._stamp)
        self._put_state(META_PART, meta)
        return meta

    def append_event(self, event: Mapping[str, Any]) -> None:
        """A line of the log, then a line of ``events.jsonl``."""
        self._held()
        body = encode(dict(event))
        line = body + b"\n"
        with self._folder.writing(EVENTS_PART):
            start = os.fstat(self._events).st_size
            if start and fs.read_at(self._events, start - 1, 1) != b"\n":
                line = b"\n" + line
            place = start + len(line) - len(body) - 1
            self._log(EVENT, place, fs.Stamp(len(body) + 1, 0), body)
            try:
                fs.write_all(self._events, line)
            except BaseException:
                self._journal.undo()
                os.ftruncate(self._events, start)
                raise

    def append_scratch(self, text: str) -> None:
        """A write to ``.reply``, which is no part of the log."""
        self._held()
        self._reply.append(text.encode("utf-8", "replace"))

    def clear_scratch(self) -> None:
        """Cut ``.reply`` down to nothing."""
        self._held()
        self._reply.clear()

    def keep_result(self, result: Mapping[str, Any]) -> None:
        """A line of ``.results``, which is no part of the log."""
        self._held()
        self._results.append_line(encode(dict(result)))

    def clear_kept_results(self) -> None:
        """Cut ``.results`` down to nothing."""
        self._held()
        self._results.clear()

    def flush(self) -> None:
        """Wait once, for the log."""
        self._held()
        with self._folder.writing(".journal"):
            self._journal.flush()

    def close(self) -> None:
        """Flush, and let go of the session whether or not the disk took it."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            # What was said comes first: bringing the session's record up to date may fail on a full disk.
            with self._folder.writing(".journal"):
                self._journal.flush()
            self._write_session_record(self._stamp)
            with self._folder.writing(".journal"):
                self._journal.flush()
        finally:
            os.close(self._events)
            self._reply.close()
            self._results.close()
            super().close()
            lock.release()
            self._closed(self)

    def count(self) -> int:
        """Messages recorded, as this writer counts them."""
        return self._count

    def _held(self) -> int:
        """The open folder of the messages.

        Raises:
            StoreError: The writer is closed.
        """
        messages = self._folder.messages if self._lock is not None else None
        if messages is None:
            raise StoreError(f"Session {self.session_id} is no longer held for writing")
        return messages

    def _log(
        self,
        kind: str,
        key: int,
        written: fs.Stamp,
        body: bytes,
        *,
        count: int | None = None,
        stamp: int | None = None,
    ) -> None:
        self._journal.append(
            Entry(
                kind=kind,
                key=key,
                size=written.size,
                mtime_ns=written.mtime_ns,
                count=self._count if count is None else count,
                stamp=self._stamp if stamp is None else stamp,
                body=body,
            )
        )

    def _put_state(self, part: str, content: Mapping[str, Any], *, stamp: int | None = None) -> None:
        body = encode(content)
        directory, name = self._folder.directory_of(part)
        if directory is None:
            raise StoreError(f"{self._folder.path(part)} has no folder any more")
        kind = KIND_OF_PART[part]
        temporary = fs.temporary_name(name)
        with self._folder.writing(part):
            if self._states.of(part).damaged:
                fs.set_aside(name, directory)
            before = self._journal.latest(kind)
            there = fs.stamp_of(name, directory)
            after = max(
                before.header.mtime_ns if before is not None else 0,
                there.mtime_ns if there is not None else 0,
            )
            written = fs.write_temporary(temporary, directory, body, later_than=after)
            try:
                self._log(kind, 0, written, body, stamp=stamp)
                try:
                    fs.replace(temporary, name, directory)
                except BaseException:
                    self._journal.undo()
                    raise
            except BaseException:
                fs.remove_temporary(temporary, directory)
                raise

    def _write_session_record(self, stamp: int) -> None:
        """Bring ``session.json`` up to `stamp`, unless it says so already. Until then the log says it."""
        if stamp == self._recorded:
            return
        record = {
            **(self._states.of(SESSION_PART).content or {}),
            "session_id": self.session_id,
            "session_type": "AGENT",
            "created_at": self._created_at,
            "updated_at": stamp_text(stamp),
            "format": FORMAT,
        }
        self._put_state(SESSION_PART, record, stamp=stamp)
        self._stamp = self._recorded = stamp

    def _content_of(self, index: int) -> dict[str, Any]:
        """The whole content of a message's file.

        Raises:
            KeyError: No message is recorded at this index, or none that can be read.
        """
        found = self._messages.one(index) if 0 <= index < self._count else None
        if found is None:
            raise KeyError(index)
        messages = self._held()
        name = message_name(index)
        if fs.is_taken(name, messages) and not self._is_damaged(index, messages):
            return decode_object(fs.read_file(name, messages)[0])
        return decode_object(self._messages.body_of(self._messages.logged()[index]))

    def _is_damaged(self, index: int, messages: int) -> bool:
        try:
            stored_message(index, fs.read_file(message_name(index), messages)[0])
        except FileNotFoundError:
            return False
        except NotJson:
            return True
        return False

    # Opening --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Read what every later write builds on."""
        with self._folder.writing(EVENTS_PART):
            self._events = fs.open_for_append(EVENTS_PART, self._folder.root)
        summary = self.summary()
        self._stamp = parse_stamp(summary.updated_at) or 0
        content = self._states.of(SESSION_PART).content or {}
        self._recorded = parse_stamp(content.get("updated_at")) or 0
        self._created_at = summary.created_at

    def _restore(self) -> None:
        """Bring the files up to what the log has, after a kill or a power cut."""
        messages = self._folder.messages
        if messages is None:
            raise StoreError(f"{self._folder.path(MESSAGES_FOLDER)} is not there")
        last = self._messages.last()
        if last is not None:
            self._count, self._stamp = last.header.count, last.header.stamp
        if (
            last is None
            or last.header.boot != boot_number()
            or not boot_number()
            or not self._ends_well(messages)
        ):
            self._restore_messages(messages)
        for index in (self._count - 1, self._count):
            fs.remove_temporary(fs.temporary_name(message_name(index)), messages)
        for part in KIND_OF_PART:
            self._restore_state(part)
        self._restore_events()

    def _ends_well(self, messages: int) -> bool:
        """Whether the newest message has its file and none is beyond it: all that a kill can have undone."""
        if self._count:
            with self._folder.reading(message_part(self._count - 1)):
                newest = fs.stamp_of(message_name(self._count - 1), messages)
            if newest is None or not newest.size:
                return False
        return not fs.is_taken(message_name(self._count), messages)

    def _restore_messages(self, messages: int) -> None:
        """Write again the messages whose file is missing, or empty and not touched since it was logged."""
        files = self._messages.files()
        logged = self._count
        indexes = (index for name in files if (index := message_index(name)) is not None)
        self._count = max(logged, max(indexes, default=-1) + 1)
        for index in range(logged):
            name = message_name(index)
            there = files.get(name)
            if there is not None and there[0]:
                continue
            entry = self._messages.logged().get(index)
            if entry is None or (there is not None and there[1] > entry.stamp.mtime_ns):
                continue
            body = self._messages.body_of(entry)
            temporary = fs.temporary_name(name)
            with self._folder.writing(message_part(index)):
                written = fs.write_temporary(temporary, messages, body, mtime_ns=entry.stamp.mtime_ns)
                if there is None:
                    fs.publish(temporary, name, messages, body, written)
                else:
                    fs.replace(temporary, name, messages)

    def _restore_state(self, part: str) -> None:
        """Write again a state file of which the log has a later version; a damaged one is left."""
        state = self._states.of(part)
        directory, name = self._folder.directory_of(part)
        if directory is None:
            return
        temporary = fs.temporary_name(name)
        fs.remove_temporary(temporary, directory)
        if state.record is None or state.damaged:
            return
        with self._folder.writing(part):
            mtime_ns = state.record.header.mtime_ns
            fs.write_temporary(temporary, directory, state.record.body, mtime_ns=mtime_ns)
            fs.replace(temporary, name, directory)

    def _restore_events(self) -> None:
        missing = self._recorded_events.missing()
        if missing:
            with self._folder.writing(EVENTS_PART):
                descriptor = fs.open_for_append(EVENTS_PART, self._folder.root)
                try:
                    end = os.fstat(descriptor).st_size
                    torn = end > 0 and fs.read_at(descriptor, end - 1, 1) != b"\n"
                    fs.write_all(descriptor, (b"\n" if torn else b"") + b"\n".join(missing) + b"\n")
                finally:
                    os.close(descriptor)
