"""Finding messages: through the index, each hit compared with the record, or by reading every session."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing

from tau.errors import TauError
from tau.sessions.index import LABELS, Text
from tau.sessions.reconcile import Reconciler, labels, labels_of, text_of
from tau.sessions.records import ListQuery, SearchHit
from tau.sessions.searching import Term, clean, occurrences, plain, snippet
from tau.sessions.store import SessionReader, SessionStore

SCAN_PAGE = 500
"""Messages a search without an index reads at a time."""

_log = logging.getLogger(__name__)

_Found = tuple[tuple[int, str, str, int], Text]


def _hit(text: Text, terms: Sequence[Term]) -> SearchHit:
    role = plain(text.role)
    return SearchHit(text.session_id, max(text.index, 0), role, snippet(text.text, terms))


def search_index(reconciler: Reconciler, terms: Sequence[Term], query: ListQuery) -> list[SearchHit] | None:
    """Hits from the index, each compared with the record; None when the record changes too fast."""
    reconciler.catch_up()
    for _ in range(4):
        reconciler.fill()
        texts: list[Text] = []
        with closing(reconciler.index.search(terms, query)) as found:
            for skipped, text in enumerate(found):
                if skipped >= query.offset + query.limit:
                    break
                if skipped >= query.offset:
                    texts.append(text)
        if not _correct(reconciler, texts):
            return [_hit(text, terms) for text in texts]
    return None


def _scan_session(reader: SessionReader, terms: Sequence[Term], query: ListQuery) -> list[_Found]:
    """The texts of a session that hold the terms, each with what hits are ordered by."""
    words = [token for term in terms for token in term.tokens if token.isascii()]
    if words and not reader.may_hold(words):
        return []
    session_id, meta = reader.session_id, reader.meta()
    if query.directory not in (None, meta.get("directory")):
        return []
    found: list[tuple[int, Text]] = []
    first, offset, more = "", 0, True
    while more:
        page = reader.messages(offset=offset, limit=SCAN_PAGE)
        for stored in page:
            text = text_of(session_id, stored)
            first = text.text if stored.index == 0 else first
            if times := occurrences(text.text, terms):
                found.append((times, text))
        offset += SCAN_PAGE
        more = (len(page) == SCAN_PAGE or bool(reader.damage())) and offset < reader.count()
    label = labels(session_id, meta, first)
    if times := occurrences(label.text, terms):
        found.append((times, label))
    if not found:
        return []
    summary = reader.summary()
    if not query.wants(summary):
        return []
    return [((times, summary.updated_at, session_id, -text.index), text) for times, text in found]


def _correct(reconciler: Reconciler, texts: Sequence[Text]) -> bool:
    """Compare texts and their sessions with the record; whether the index had to be corrected."""
    ids = {text.session_id for text in texts}
    wrong = reconciler.refresh([(session_id, reconciler.index.row(session_id)) for session_id in ids])
    for session_id in ids:
        mine = [text for text in texts if text.session_id == session_id]
        try:
            with reconciler.store.read(session_id) as reader:
                recorded = [
                    labels_of(reader)
                    if text.index == LABELS
                    else next(
                        (
                            text_of(session_id, stored)
                            for stored in reader.messages(offset=text.index, limit=1)
                        ),
                        None,
                    )
                    for text in mine
                ]
        except (TauError, OSError):
            recorded = []
        if [clean(text.text) if text else None for text in recorded] != [text.text for text in mine]:
            reconciler.index.forget_texts(session_id)
            wrong = True
    return wrong


def scan(store: SessionStore, terms: Sequence[Term], query: ListQuery) -> list[SearchHit]:
    """Hits without an index: every message of every session that is wanted is read."""

    def hits() -> Iterator[_Found]:
        for session_id in store.session_ids():
            try:
                with store.read(session_id) as reader:
                    yield from _scan_session(reader, terms, query)
            except (TauError, OSError) as error:
                _log.info("not searched: session %s: %s", session_id, error)

    best = heapq.nlargest(query.offset + query.limit, hits(), key=lambda hit: hit[0])
    return [_hit(text, terms) for _, text in best[query.offset :]]
