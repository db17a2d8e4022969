"""The catalog: which sessions there are, by recency, name, id and the words in them.

It asks the store itself where that is fast, and an index beside it otherwise. Whatever is wrong with the
index, answers stay right and only become slower.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from tau.config.places import is_directory
from tau.errors import InvalidSessionId, SessionNotFound, SessionUnusable, TauError
from tau.sessions.chains import fronts
from tau.sessions.hits import scan, search_index
from tau.sessions.index import SCHEMA, Index, Row, Text
from tau.sessions.index_file import remove_unused
from tau.sessions.named import carriers, left_behind
from tau.sessions.names import pick
from tau.sessions.reconcile import RebuildReport, Reconciler, text_of
from tau.sessions.records import ListQuery, SearchHit, SessionSummary, StoredMessage
from tau.sessions.searching import parse, plain
from tau.sessions.store import SessionReader, SessionStore

EVERYTHING = 1_000_000_000
"""A limit that no listing reaches."""

RETRY_SECONDS = 30.0
"""How long the index is left alone after it failed."""

ATTEMPTS = 3
"""How often something is asked of an index that is deleted or damaged meanwhile."""

RESERVE_SECONDS = 600.0
"""How long a fresh name is kept for a session that is not recorded yet."""

SWEEP_SECONDS = 3600.0
"""How often every session is compared with the index in the background."""

OUTDATED_SECONDS = 7 * 86400.0
"""How long the index of an earlier version is kept for that version after it was last written."""

UPKEEP_SECONDS = (0.25, 60.0)
"""The pauses between pieces of work in the background: while there is some, and when there is none."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_VANISHED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def _keep_up_a_little(reconciler: Reconciler) -> bool:
    """Do a few milliseconds' worth of what is due; whether there may be more."""
    if reconciler.fill(limit=2) or reconciler.sweep(before=time.time() - SWEEP_SECONDS, limit=32):
        return True
    reconciler.index.tidy()
    return False


class Catalog:
    """Listing, finding and naming the sessions of one store. May be called from several threads.

    Args:
        store: The record. It is not closed here; close the catalog first.
        state_dir: The folder for what can be rebuilt; the index is kept in ``index/`` below it.
    """

    def __init__(self, store: SessionStore, *, state_dir: Path) -> None:
        self.store = store
        self._reconciler: Reconciler | None = None
        self._outdated: list[Path] = []
        capabilities = store.capabilities
        if capabilities.persistent and not capabilities.search:
            place = capabilities.location
            place = os.path.realpath(place) if is_directory(Path(place)) else place
            key = hashlib.sha256(f"{store.name}\0{place}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
            self._reconciler = Reconciler(store, Index(state_dir / "index" / f"{key}-{SCHEMA}"))
            self._outdated = [state_dir / "index" / f"{key}-{version}" for version in range(1, SCHEMA)]
        self._lock = threading.Lock()
        self._told = False
        self._retry_at = 0.0
        self._missed: set[str] = set()
        self._marks: dict[str, str] = {}
        self._stop = threading.Event()
        self._upkeep: threading.Thread | None = None

    # Listing ----------------------------------------------------------------------------------

    def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """The sessions `query` wants as the record has them, newest first, ties by id, descending."""
        found = self._indexed(lambda reconciler: reconciler.newest(query))
        return self._unindexed(query) if found is None else found

    def count(self, query: ListQuery) -> int:
        """How many sessions `query` wants, whatever its limit and offset."""

        def counted(reconciler: Reconciler) -> int:
            reconciler.catch_up()
            return reconciler.index.count(query)

        found = self._indexed(counted)
        every = structs.replace(query, limit=EVERYTHING, offset=0)
        return len(self._unindexed(every)) if found is None else found

    def _unindexed(self, query: ListQuery) -> list[SessionSummary]:
        if not query.fold_chains:
            return self.store.summaries(query)
        every = structs.replace(query, limit=EVERYTHING, offset=0, fold_chains=False, exclude=None)
        folded = fronts(self.store.summaries(every))
        found = [summary for summary in folded if summary.session_id != query.exclude]
        return found[query.offset :][: query.limit]

    def problems(self) -> dict[str, str]:
        """Why sessions are not listed although they are there, by id: those that cannot be read."""

        def known(reconciler: Reconciler) -> dict[str, str]:
            reconciler.catch_up()
            return dict(reconciler.index.problems())

        found = self._indexed(known)
        if found is not None:
            return found
        reasons: dict[str, str] = {}
        for session_id in self.store.session_ids():
            try:
                self.store.read(session_id).close()
            except SessionNotFound:
                continue
            except (TauError, OSError) as error:
                reasons[session_id] = str(error)
        return reasons

    def resolve(
        self, target: str, *, directory: str | None, exclude: str | None = None, one_shots: bool = False
    ) -> str:
        """The id of the session a person means.

        Args:
            target: Empty for the newest listed session; else an id, a name, or the beginning of an id.
            directory: The real path whose sessions are meant by recency and name; None for every one.
            exclude: A session never meant by recency (the current one).
            one_shots: Whether the newest session may be a one-shot.

        Raises:
            SessionNotFound: There is none, or several fit; it says where tau looked.
        """
        place = "any directory" if directory is None else plain(directory)
        if not target:
            query = ListQuery(directory=directory, limit=1, exclude=exclude, one_shots=one_shots)
            newest = self.summaries(query)
            if newest:
                return newest[0].session_id
            hint = (
                ""
                if directory is None
                else "--all looks everywhere; `tau sessions list --all` shows what there is"
            )
            raise SessionNotFound(target, f"No earlier session in {place}", hint)
        if self.is_id(target):
            return target
        named = dict(self._named(target, None))
        here = [session_id for session_id, where in named.items() if directory in (None, where)]
        here = carriers(self.store.read, here)
        shown = plain(target)[:60]
        if len({named[session_id] for session_id in here}) > 1:
            several = ", ".join(f"{session_id} in {plain(named[session_id])}" for session_id in here[:3])
            raise SessionNotFound(
                target, f"Sessions of several directories are called '{shown}'", f"give the id: {several}"
            )
        if here:
            return here[0]
        starting = self._starting(target)
        if len(starting) == 1:
            return starting[0]
        if starting:
            ids = ", ".join(starting[:3]) + (", …" if len(starting) > 3 else "")
            raise SessionNotFound(
                target, f"Several session ids begin with '{shown}'", f"give more of it: {ids}"
            )
        hint = "`tau sessions list --all` shows every session"
        if named:
            hint = (
                f"one of that name belongs to {plain(next(iter(named.values()))) or 'no directory'}: "
                f"--all finds it; {hint}"
            )
        raise SessionNotFound(target, f"No session '{shown}' in {place}", hint)

    def is_id(self, target: str) -> bool:
        """Whether a session has exactly this id, be it one that cannot be used."""
        try:
            self.store.read(target).close()
        except (InvalidSessionId, SessionNotFound):
            return False
        except SessionUnusable:
            return True
        return True

    # Names ------------------------------------------------------------------------------------

    def fresh_name(self, directory: str, *, taken: Collection[str] = ()) -> str:
        """A generated word that no session of this directory has, none about to be made, and not in `taken`.

        The word is kept for the caller for ten minutes, so that two processes starting at once differ.
        """

        def reserved(reconciler: Reconciler) -> str:
            reconciler.catch_up()
            used = {*taken, *reconciler.index.names(directory)}
            while True:
                word = pick(used)
                if reconciler.index.reserve_name(directory, word, seconds=RESERVE_SECONDS):
                    return word
                used.add(word)

        found = self._indexed(reserved)
        if found is not None:
            return found
        return pick({*taken, *(summary.text("name") for summary in self._all(directory))})

    def name_taken(self, name: str, directory: str, *, except_id: str | None = None) -> bool:
        """Whether a conversation of this directory has this name, other than that of session `except_id`."""
        others = {session_id for session_id, _ in self._named(name, directory)} - {except_id}
        if others and except_id:
            others -= left_behind(self.store.read, except_id)
        return bool(others)

    def is_called(self, target: str, *, directory: str | None) -> bool:
        """Whether this is a whole id, or a whole name of this directory; None for every one."""
        return self.is_id(target) or any(
            where == directory or directory is None for _, where in self._named(target, None)
        )

    def _named(self, name: str, directory: str | None) -> list[tuple[str, str]]:
        def known(reconciler: Reconciler) -> list[tuple[str, str]]:
            reconciler.catch_up()
            found = reconciler.index.ids_named(name, directory)
            rows = [(session_id, reconciler.index.row(session_id)) for session_id, _ in found]
            return reconciler.index.ids_named(name, directory) if reconciler.refresh(rows) else found

        found = self._indexed(known)
        if found is not None:
            return found
        return [(s.session_id, s.text("directory")) for s in self._all(directory) if s.text("name") == name]

    def _starting(self, prefix: str) -> list[str]:
        def known(reconciler: Reconciler) -> list[str]:
            reconciler.catch_up()
            return reconciler.index.ids_starting(prefix, 4)

        found = self._indexed(known)
        if found is not None:
            return found
        return sorted(session_id for session_id in self.store.session_ids() if session_id.startswith(prefix))[
            :4
        ]

    def _all(self, directory: str | None) -> list[SessionSummary]:
        return self.store.summaries(ListQuery(directory=directory, limit=EVERYTHING, include_unlisted=True))

    # Search -----------------------------------------------------------------------------------

    def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold every word, best first, then newest, summaries last; also names and titles.

        The last word may be the beginning of one; quotes make a phrase. A message that was copied to other
        sessions is found once, where it was first recorded if that is among the sessions. A hit in a name or
        title has the role ``title`` and index 0; of a chain the newest session is named.

        Args:
            words: What a person typed.
            query: Which sessions, how many hits and how many to skip. Chains are not folded.
        """
        query = structs.replace(query, fold_chains=False)
        terms = parse(words)
        if not terms:
            return []
        if self.store.capabilities.search:
            return self.store.search(words, query)
        found = self._indexed(lambda reconciler: search_index(reconciler, terms, query))
        return scan(self.store, terms, query) if found is None else found

    # Keeping up -------------------------------------------------------------------------------

    def record(self, session: SessionReader, appended: Sequence[StoredMessage] = ()) -> None:
        """Bring the index up to date after a turn; also after a rename or a redaction.

        Args:
            session: The session, read from the record here.
            appended: Messages appended or redacted since the last call, in order. Their words are read from
                the record, too: one may have been redacted since it was appended.
        """
        session_id = session.session_id
        first = min((stored.index for stored in appended), default=0)
        count = max((stored.index + 1 for stored in appended), default=0) - first

        def kept(reconciler: Reconciler) -> bool:
            reconciler.index.put([(Row(session.summary()), None)])
            if token := self._marks.get(session_id):  # the index may be a new one that lost the mark
                reconciler.index.mark_open(session_id, token)
            row = reconciler.index.row(session_id)
            seen = indexed = row.indexed if row else 0
            batch: list[Text] = []
            meta = session.meta()
            for text in (text_of(session_id, meta, s) for s in session.messages(offset=first, limit=count)):
                if text.index <= indexed:  # a gap is left to the next fill
                    indexed = max(indexed, text.index + 1)
                    batch.append(text)
            if batch:
                reconciler.index.put_texts([(session_id, batch, seen, indexed)])
            return True

        if self._indexed(kept) is None:
            self._missed.add(session_id)

    def mark_open(self, session_id: str) -> None:
        """Note that this process writes a session, so that listings read its record until it is closed."""
        token = self._marks[session_id] = secrets.token_hex(8)

        def marked(reconciler: Reconciler) -> bool:
            reconciler.index.mark_open(session_id, token)
            return reconciler.refresh([(session_id, reconciler.index.row(session_id))]) or True

        if self._indexed(marked) is None:
            self._missed.add(session_id)

    def mark_closed(self, session_id: str) -> None:
        """Note that this process writes a session no longer, and take in what it last wrote."""
        token = self._marks.pop(session_id, "")

        def closed(reconciler: Reconciler) -> bool:
            reconciler.refresh([(session_id, reconciler.index.row(session_id))])
            return reconciler.index.unmark(session_id, token)

        if self._indexed(closed) is None:
            self._missed.add(session_id)

    def rebuild(self) -> RebuildReport:
        """Read every session again and fill the index anew. Without an index, read only.

        Raises:
            StoreError: The store as a whole cannot be read.
        """
        begun = time.monotonic()

        def rebuilt(reconciler: Reconciler) -> RebuildReport:
            index = reconciler.index
            reconciler.catch_up()
            for session_id in index.ids():
                index.forget_texts(session_id)
                reconciler.refresh([(session_id, index.row(session_id))])
            reconciler.fill()
            index.tidy()
            everything = ListQuery(include_unlisted=True)
            return RebuildReport(index.count(everything), index.messages(), dict(index.problems()))

        report = self._indexed(rebuilt)
        if report is None:
            summaries = self._all(None)
            messages = sum(summary.message_count for summary in summaries)
            report = RebuildReport(len(summaries), messages, self.problems())
        return replace(report, seconds=time.monotonic() - begun)

    def close(self) -> None:
        """Stop the work in the background and let go of the index. May be called twice."""
        self._stop.set()
        if self._upkeep is not None:
            self._upkeep.join()
        if self._reconciler is not None:
            self._reconciler.index.close()

    # The index, or not ------------------------------------------------------------------------

    def _indexed(self, ask: Callable[[Reconciler], _T | None]) -> _T | None:
        """What the index answers, or None when there is none or it cannot be used now."""
        reconciler = self._reconciler
        if reconciler is None or self._stop.is_set() or time.monotonic() < self._retry_at:
            return None
        for attempt in range(1, ATTEMPTS + 1):
            reconciler.index.begin()
            try:
                if missed := set(self._missed):
                    reconciler.refresh([(i, reconciler.index.row(i)) for i in missed])
                answer = ask(reconciler)
            except (sqlite3.Error, OSError) as error:
                if attempt == ATTEMPTS or not self._mended(reconciler, error):
                    self._unusable(error)
                    return None
            except TauError as error:  # the store's own; asked again without the index, it says so itself
                _log.debug("not answered from the session index: %s", error)
                return None
            else:
                if (
                    reconciler.index.steady()
                ):  # else it was deleted meanwhile, and a part was done in a new one
                    self._missed -= missed
                    self._start_upkeep()
                    return answer
        return None

    def _mended(self, reconciler: Reconciler, error: Exception) -> bool:
        """Whether it is worth asking again: the index was deleted at this moment, or is set aside now."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _VANISHED or isinstance(error, FileNotFoundError):
            reconciler.index.reopen()
            return True
        if code not in _DAMAGED:
            return False
        _log.warning(
            "The session index in %s is damaged; it was set aside and is built anew", reconciler.index.folder
        )
        try:
            reconciler.index.set_aside()
        except OSError:
            return False
        return True

    def _unusable(self, error: Exception) -> None:
        with self._lock:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            told, self._told = self._told, True
        _log.log(
            logging.DEBUG if told else logging.WARNING,
            "The session index cannot be used (%s); listing and search go on without it, more slowly",
            error,
        )

    def _start_upkeep(self) -> None:
        with self._lock:
            if self._upkeep is None and not self._stop.is_set():
                self._upkeep = threading.Thread(target=self._keep_up, name="tau-session-index", daemon=True)
                self._upkeep.start()

    def _keep_up(self) -> None:
        """Take in what is behind and sweep, a little at a time, so that nobody waits for it."""
        remove_unused(self._outdated, seconds=OUTDATED_SECONDS)
        pause = UPKEEP_SECONDS[0]
        while not self._stop.wait(pause):
            busy = self._indexed(_keep_up_a_little)
            pause = UPKEEP_SECONDS[0] if busy else UPKEEP_SECONDS[1]
