"""Keeping an index true to the record: what is new, what is gone, what changed, which words are missing.

Only the store's contract is used. Three things make a listing right without reading every session: the
folder of the record shows whether sessions came or went; sessions that are being written are marked and
read again; and the rows about to be shown are compared with the record. A slow sweep finds the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tau.errors import SessionNotFound, TauError
from tau.sessions.attached import own_text
from tau.sessions.index import LABELS, Index, Row, Text
from tau.sessions.records import (
    SUMMARY,
    TITLE_BY,
    ListQuery,
    MetaValue,
    SessionSummary,
    StoredMessage,
    message_text,
    origin_of,
    summary_of,
    title_of,
)
from tau.sessions.searching import clean
from tau.sessions.store import SessionReader, SessionStore

_log = logging.getLogger(__name__)

BATCH_SESSIONS = 64
"""Sessions taken into the index in one transaction, so that other processes wait for moments only."""

BATCH_CHARACTERS = 4_000_000
"""Characters of text after which a transaction ends."""

FILL_PAGE = 400
"""Messages of one session whose words are taken in at a time."""

MOST_MESSAGES = 2**31
"""No session has so many; an origin beyond is none."""

SETTLED_SECONDS = 2.0
"""A folder changed more recently may change again within one tick of its clock, and is looked at again."""


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild found.

    Attributes:
        sessions: Sessions that can be read.
        messages: Messages whose words are in the index.
        damaged: Why a session cannot be read, by id.
        seconds: How long it took.
    """

    sessions: int
    messages: int
    damaged: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class Reconciler:
    """Compares one store with its index.

    Args:
        store: The record.
        index: The index of this store.
    """

    def __init__(self, store: SessionStore, index: Index) -> None:
        self.store = store
        self.index = index

    # Reading the record -----------------------------------------------------------------------

    def current(self, session_id: str) -> Row | None:
        """What the record says of a session now; None when there is no such session."""
        try:
            with self.store.read(session_id) as reader:
                return Row(reader.summary())
        except SessionNotFound:
            return None
        except (TauError, OSError) as error:
            return _unreadable(session_id, error)

    def refresh(self, rows: Iterable[tuple[str, Row | None]]) -> bool:
        """Compare rows of the index with the record and correct them; whether any was wrong."""
        changes: list[tuple[Row, int | None]] = []
        gone: list[str] = []
        for session_id, known in rows:
            current = self.current(session_id)
            if current is None:
                gone.append(session_id)
            elif known is None:
                changes.append((current, -1))
            elif (current.summary, current.problem) != (known.summary, known.problem):
                changes.append((current, known.revision))
        if changes:
            self.index.put(changes)
        if gone:
            self.index.remove(gone)
        return bool(changes or gone)

    # Sessions ---------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Make the index know every session there is, and the newest state of those being written."""
        self._look_for_new_and_gone()
        for session_id, token in self.index.marked():
            held = self._held(session_id)
            self.refresh([(session_id, self.index.row(session_id))])
            if not held:  # its writer is gone, so what was just read is its last state
                self.index.unmark(session_id, token)

    def _look_for_new_and_gone(self) -> None:
        place = self._place()
        if place and place == self.index.fact("place"):
            return
        recorded = set(self.store.session_ids())
        known = self.index.ids()
        fresh = sorted(recorded - known, reverse=True)
        for start in range(0, len(fresh), BATCH_SESSIONS):
            batch = fresh[start : start + BATCH_SESSIONS]
            self.refresh((session_id, None) for session_id in batch)
        if fresh:
            self._mark_held(set(fresh))
        if gone := sorted(known - recorded):
            self.refresh((session_id, self.index.row(session_id)) for session_id in gone)
        if place and recorded <= {entry.name for entry in Path(self.store.capabilities.location).iterdir()}:
            self.index.remember("place", place)

    def _mark_held(self, ids: set[str]) -> None:
        """Mark those of these sessions that are being written; they are among the newest.

        One that is not was perhaps let go of since it was read, so it is read again.
        """
        free: list[tuple[str, Row]] = []
        for row in self.index.newest(ListQuery(include_unlisted=True, limit=20)):
            session_id = row.summary.session_id
            if session_id not in ids:
                continue
            if self._held(session_id):
                self.index.mark_open(session_id, "found")
            else:
                free.append((session_id, row))
        self.refresh(free)

    def _held(self, session_id: str) -> bool:
        """Whether somebody writes a session, as far as that can be told."""
        try:
            return self.store.holder(session_id) is not None
        except (TauError, OSError):
            return True

    def _place(self) -> str:
        """What changes whenever an entry of the record's folder comes or goes; empty when unsure."""
        location = self.store.capabilities.location
        if not location:
            return ""
        try:
            found = Path(location).stat()
        except OSError:
            return ""
        if abs(time.time() - found.st_ctime) < SETTLED_SECONDS:
            return ""
        return f"{found.st_dev}:{found.st_ino}:{found.st_mtime_ns}:{found.st_ctime_ns}"

    def newest(self, query: ListQuery) -> list[SessionSummary] | None:
        """The sessions a query wants as the record has them; None when they change too fast to tell."""
        self.catch_up()
        compared: set[str] = set()
        for _ in range(8):
            rows = self.index.newest(query)
            unsure = [(row.summary.session_id, row) for row in rows if row.summary.session_id not in compared]
            if not self.refresh(unsure):
                return [row.summary for row in rows]
            compared.update(session_id for session_id, _ in unsure)
        return None

    def sweep(self, *, before: float, limit: int = BATCH_SESSIONS) -> int:
        """Compare the sessions not looked at since `before` (seconds since the epoch), at most `limit`.

        Returns:
            How many were compared; 0 when all are up to date.
        """
        rows = self.index.least_checked(before, limit)
        if rows:
            self.refresh((row.summary.session_id, row) for row in rows)
            self.index.checked([row.summary.session_id for row in rows])
        return len(rows)

    # Words ------------------------------------------------------------------------------------

    def fill(self, *, limit: int | None = None) -> int:
        """Take in words of sessions that are behind, `FILL_PAGE` messages at a time; at most `limit` times.

        Returns:
            How many times something was taken in; 0 when nothing is behind.
        """
        done = 0
        while limit is None or done < limit:
            behind = self.index.behind(BATCH_SESSIONS if limit is None else min(BATCH_SESSIONS, limit - done))
            if not behind:
                break
            batch: list[tuple[str, Sequence[Text], int, int]] = []
            size = 0
            for row in behind:
                texts, indexed = self._words(row)
                batch.append((row.summary.session_id, texts, row.indexed, indexed))
                size += sum(len(text.text) for text in texts)
                if size > BATCH_CHARACTERS:
                    break
            self.index.put_texts(batch)
            done += len(batch)
        return done

    def _words(self, row: Row) -> tuple[list[Text], int]:
        """A session's texts that are not in the index yet, and how many messages are in with them."""
        session_id = row.summary.session_id
        try:
            with self.store.read(session_id) as reader:
                summary = reader.summary()
                page = reader.messages(offset=row.indexed, limit=FILL_PAGE)
                meta = reader.meta()
                texts = [*(text_of(session_id, meta, stored) for stored in page), labels_of(reader)]
            if summary.message_count < row.summary.message_count:
                self.index.put([(Row(summary), None)])  # the record shrank
            return texts, max(row.indexed, min(row.indexed + FILL_PAGE, summary.message_count))
        except SessionNotFound:
            self.index.remove([session_id])
            return [], row.indexed
        except (TauError, OSError) as error:
            _log.info("not searched: session %s: %s", session_id, error)
            return [Text(session_id, LABELS, "title", "")], row.summary.message_count


def _unreadable(session_id: str, error: Exception) -> Row:
    return Row(SessionSummary(session_id, "", "", 0, {}), str(error) or type(error).__name__)


def text_of(session_id: str, meta: Mapping[str, MetaValue], stored: StoredMessage) -> Text:
    """The words of a message, as the index keeps them."""
    origin, source = origin_of(stored.message), meta.get("compacted_from")
    sums_up = summary_of(stored, source) or (stored.index == 1 and source and origin is None)
    role = SUMMARY if sums_up else clean(str(stored.message.get("role", "")))
    copied = None if origin is None or not 0 <= origin[1] < MOST_MESSAGES else (clean(origin[0]), origin[1])
    return Text(session_id, stored.index, role, message_text(stored.message), copied)


def labels(session_id: str, meta: Mapping[str, MetaValue], first: str) -> Text:
    """A session's name and title as one text.

    The title only where it says more than the first message. One that is carried over from another session is
    that session's first message, but in a session that continues another, where the model wrote it: of those
    of a chain, the newest is found.
    """
    title = meta.get("title")
    first_said = meta.get("compacted_from") and meta.get(TITLE_BY) is None
    carried = first_said or meta.get("forked_from")
    shown = [meta.get("name"), None if carried or title == title_of(first) else title]
    return Text(
        session_id, LABELS, "title", "\n".join(part for part in shown if isinstance(part, str) and part)
    )


def labels_of(reader: SessionReader) -> Text:
    """The name and title of a session that is open."""
    first = reader.messages(limit=1)
    text = own_text(first[0].message) if first and first[0].index == 0 else ""
    return labels(reader.session_id, reader.meta(), text)
