"""Finds texts in the index: each message once, the best first, then the newest, summaries last."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence

from tau.sessions.index import LABELS, Index, Text, where_of
from tau.sessions.records import SUMMARY, ListQuery
from tau.sessions.searching import Term, has_literals, match_expression

_TEXT = """
SELECT t.session_id, t.place, t.role, t.origin, t.origin_place, t.text, s.continued_by
FROM texts t JOIN sessions s ON s.id = t.session_id WHERE t.number = ?
"""
_SUMMARIES = f"SELECT number FROM texts WHERE role = '{SUMMARY}'"  # noqa: S608 - a constant


def found_texts(index: Index, terms: Sequence[Term], query: ListQuery) -> Generator[Text, None, None]:
    """Texts that hold every term, of the sessions a query wants; its limit and offset do not matter.

    A copy of a message is left out where that is found itself, or another copy of it was. The name and title
    of a session are where those of a newer one are found that continues it.

    Raises:
        sqlite3.Error: The index cannot be used.
        OSError: Likewise.
    """
    where, values = where_of(query)
    expression = match_expression(terms)
    joined = "texts t JOIN sessions s ON s.id = t.session_id"
    order = "s.updated_at DESC, s.id DESC, t.place"
    if expression:
        joined, where = f"words JOIN {joined}", f"words MATCH ? AND t.number = words.rowid AND {where}"
        values, order = [expression, *values], f"bm25(words), {order}"
    copied: set[tuple[str, int]] = set()
    with index.connection() as connection:
        rows = connection.execute(
            f"SELECT t.number FROM {joined} WHERE {where} ORDER BY {order}",  # noqa: S608 - constants only
            values,
        )
        numbers = [number for (number,) in rows]
        summaries = {number for (number,) in connection.execute(_SUMMARIES)}
        for number in sorted(numbers, key=summaries.__contains__) if summaries else numbers:
            found = connection.execute(_TEXT, [number]).fetchone()
            if found is None or not has_literals(found[5], terms):
                continue
            session_id, place, role, origin, origin_place, body, continued_by = found
            copy_of = None if origin is None else (origin, origin_place)
            text = Text(session_id, place, role, body, copy_of)
            if place == LABELS and continued_by:
                if _found_at(connection, terms, query, (continued_by, LABELS), newer_than=session_id):
                    continue
            elif copy_of is not None:
                if copy_of in copied or _found_at(connection, terms, query, copy_of):
                    continue
                copied.add(copy_of)
            yield text


def _found_at(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    query: ListQuery,
    place: tuple[str, int],
    *,
    newer_than: str | None = None,
) -> bool:
    """Whether a search finds the text at a place: a session, perhaps only a newer one, and an index."""
    where, values = where_of(query)
    if newer_than is not None:
        where += " AND (s.updated_at, s.id) > (SELECT o.updated_at, o.id FROM sessions o WHERE o.id = ?)"
        values.append(newer_than)
    found = connection.execute(
        "SELECT t.number, t.text FROM texts t JOIN sessions s ON s.id = t.session_id "  # noqa: S608 - as above
        f"WHERE t.session_id = ? AND t.place = ? AND {where}",
        [*place, *values],
    ).fetchone()
    if found is None or not has_literals(found[1], terms):
        return False
    expression = match_expression(terms)
    if not expression:
        return True
    rows = connection.execute("SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?", [expression, found[0]])
    return rows.fetchone() is not None
