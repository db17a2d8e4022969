"""Finding messages: through the index, each hit compared with the record, or by reading every session."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from tau.errors import TauError
from tau.masking import mask_content
from tau.sessions.excerpts import excerpt
from tau.sessions.index import LABELS, Text
from tau.sessions.index_search import found_texts
from tau.sessions.reconcile import Reconciler, labels, labels_of, text_of
from tau.sessions.records import SUMMARY, ListQuery, SearchHit
from tau.sessions.searching import Term, clean, occurrences, plain
from tau.sessions.store import SessionReader, SessionStore

SCAN_PAGE = 500
"""Messages a search without an index reads at a time."""

_log = logging.getLogger(__name__)

_Found = tuple[tuple[bool, int, str, str, int], Text]
"""What hits are ordered by, the best the highest: no summary, how often, when, which session and message."""


def _hit(text: Text, terms: Sequence[Term]) -> SearchHit:
    found = excerpt(mask_content(text.text), terms)  # half a secret is not known for one
    return SearchHit(text.session_id, max(text.index, 0), plain(text.role), found.text, found.marks)


def search_index(reconciler: Reconciler, terms: Sequence[Term], query: ListQuery) -> list[SearchHit] | None:
    """Hits from the index, each compared with the record; None when the record changes too fast."""
    reconciler.catch_up()
    for _ in range(4):
        reconciler.fill()
        texts: list[Text] = []
        with closing(found_texts(reconciler.index, terms, query)) as found:
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
            text = text_of(session_id, meta, stored)
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
    return [
        ((text.role != SUMMARY, times, summary.updated_at, session_id, -text.index), text)
        for times, text in found
    ]


def _correct(reconciler: Reconciler, texts: Sequence[Text]) -> bool:
    """Compare texts and their sessions with the record; whether the index had to be corrected."""
    ids = {text.session_id for text in texts}
    wrong = reconciler.refresh([(session_id, reconciler.index.row(session_id)) for session_id in ids])
    for session_id in ids:
        mine = [text for text in texts if text.session_id == session_id]
        try:
            with reconciler.store.read(session_id) as reader:
                meta = reader.meta()
                recorded = [
                    labels_of(reader)
                    if text.index == LABELS
                    else next(
                        (
                            text_of(session_id, meta, stored)
                            for stored in reader.messages(offset=text.index, limit=1)
                        ),
                        None,
                    )
                    for text in mine
                ]
        except (TauError, OSError):
            recorded = []
        if [text and replace(text, text=clean(text.text)) for text in recorded] != mine:
            reconciler.index.forget_texts(session_id)
            wrong = True
    return wrong


def scan(store: SessionStore, terms: Sequence[Term], query: ListQuery) -> list[SearchHit]:
    """Hits without an index: every message of every session that is wanted is read."""
    originals: set[tuple[str, int]] = set()
    copies: dict[tuple[str, int], _Found] = {}
    titles: dict[str, tuple[_Found, str]] = {}

    def hits() -> Iterator[_Found]:
        for session_id in store.session_ids():
            try:
                with store.read(session_id) as reader:
                    for found in _scan_session(reader, terms, query):
                        text = found[1]
                        if text.index == LABELS:
                            titles[session_id] = found, reader.summary().text("compacted_to")
                        elif text.origin is None:
                            originals.add((session_id, text.index))
                            yield found
                        else:
                            copies[text.origin] = max(found, copies.get(text.origin, found), key=_order)
            except (TauError, OSError) as error:
                _log.info("not searched: session %s: %s", session_id, error)
        yield from (found for origin, found in copies.items() if origin not in originals)
        for found, continued_by in titles.values():
            later = titles.get(continued_by)
            if later is None or later[0][0][2:4] < found[0][2:4]:
                yield found

    best = heapq.nlargest(query.offset + query.limit, hits(), key=_order)
    return [_hit(text, terms) for _, text in best[query.offset :]]


def _order(found: _Found) -> tuple[bool, int, str, str, int]:
    return found[0]
