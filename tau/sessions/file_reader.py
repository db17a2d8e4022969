"""Reading one session of the ``file`` store: from its files, and from its log where the files fall short."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from tau.errors import SessionUnusable
from tau.sessions import file_system as fs
from tau.sessions.file_damage import DamageSeen
from tau.sessions.file_events import FileEvents
from tau.sessions.file_folder import (
    AGENT_PART,
    MESSAGES_FOLDER,
    META_PART,
    SESSION_PART,
    Folder,
    message_index,
)
from tau.sessions.file_journal import Journal
from tau.sessions.file_messages import FileMessages
from tau.sessions.file_scratch import read_reply, read_results
from tau.sessions.file_states import FileStates
from tau.sessions.file_words import WordsSought
from tau.sessions.plain_json import NotJson, parse_stamp, stamp_text, state_from
from tau.sessions.records import FORMAT, AgentState, Damage, Meta, SessionSummary, StoredMessage
from tau.sessions.store import SessionReader

_FEW = 8
"""Up to so many messages are read from their files; more than that, and most of a session, from the log."""


class FileReader(SessionReader):
    """A session of the ``file`` store, open for reading. Owns the folder it is given."""

    def __init__(self, folder: Folder, journal: Journal | None = None) -> None:
        self.session_id = folder.session_id
        self._folder = folder
        self._journal = journal or Journal(folder.session_id, folder.root)
        self._damage = DamageSeen()
        self._states = FileStates(folder, self._journal, self._damage)
        self._messages = FileMessages(folder, self._journal, self._damage)
        self._recorded_events = FileEvents(folder, self._journal, self._damage)
        try:
            self._refuse_newer_format()
        except BaseException:
            self._journal.close()
            self._folder.close()
            raise

    def summary(self) -> SessionSummary:
        """What a listing shows; a record that is lost is made up for from the log and the messages."""
        last = self._messages.last()
        session = self._states.of(SESSION_PART).content or {}
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
        return self._states.of(META_PART).content or {}

    def count(self) -> int:
        """Messages in the log, and files beyond those."""
        return self._messages.count()

    def messages(self, *, offset: int = 0, limit: int | None = None) -> list[StoredMessage]:
        """A few from their files; most of a session from the log, where it still says what the files hold."""
        start, end, from_log = self._asked(offset, limit)
        if from_log:
            return self._messages.all(start, end)
        return list(self._messages.each(start, end))

    def stream(self, *, offset: int = 0, limit: int | None = None) -> Iterator[StoredMessage]:
        """From where `messages` has them; the log is read once, a piece of it in memory at a time."""
        start, end, from_log = self._asked(offset, limit)
        yield from self._messages.stream(start, end) if from_log else self._messages.each(start, end)

    def _asked(self, offset: int, limit: int | None) -> tuple[int, int, bool]:
        """The first index asked for, the end of them, and whether the log is the place to read them from."""
        count = self.count()
        start = min(max(offset, 0), count)
        end = count if limit is None else min(count, start + max(limit, 0))
        wanted = end - start
        return start, end, wanted > _FEW and wanted * 4 > count and self._messages.last() is not None

    def may_hold(self, words: Sequence[str]) -> bool:
        """By looking at the log, and at the files that are not as it has them."""
        sought = WordsSought(words)
        files = self._messages.files()
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
            self._damage.note(part, str(error), index=index)
        except OSError as error:
            self._damage.note(part, error.strerror or "unreadable", index=index)

    def scratch(self) -> str:
        """The content of ``.reply``."""
        return read_reply(self._folder)

    def kept_results(self) -> list[dict[str, Any]]:
        """The lines of ``.results``."""
        return read_results(self._folder)

    def agent_state(self) -> AgentState | None:
        """The state of ``agent.json``, or of the log where that is later."""
        content = self._states.of(AGENT_PART).content
        return None if content is None else state_from(content)

    def events(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        """The lines of ``events.jsonl``, and those of the log that it lost."""
        return self._recorded_events.read(limit)

    def damage(self) -> Sequence[Damage]:
        """One entry a part, the last thing seen of it."""
        return self._damage.all()

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        self._folder.close()

    def _refuse_newer_format(self) -> None:
        form = (self._states.of(SESSION_PART).content or {}).get("format", FORMAT)
        if isinstance(form, int) and form > FORMAT:
            raise SessionUnusable(
                self.session_id,
                f"Session {self.session_id} was written by a newer tau "
                f"(format {form}; this one knows {FORMAT})",
                "update tau",
            )
