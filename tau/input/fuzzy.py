"""Fuzzy matching: the letters of a query in their order, scored by where in the text they stand.

The scores are those of fzf, the finder that people know: 16 a letter, more at the beginning of a word, a name
or a hump of camelCase, double for the first letter, less for each gap. One is changed: a letter that follows
the one before counts the same wherever the run began. With that the best way to lay the query over the
text is found exactly, and a run that begins a word goes before letters that begin words here and there.

Case and accents make no difference; an upper-case letter in the query prefers its like.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import NamedTuple, TypeVar

T = TypeVar("T")

LETTER = 16
GAP = 3
LONGER_GAP = 1
NEXT = 11
SAME_CASE = 1
STARTS_NAME = 10
STARTS_WORD = 8
STARTS_HUMP = 7
IN_LAST_NAME = 10

_STARTS = "/\\\n\t "


class Match(NamedTuple):
    """How a query lies in a text.

    Attributes:
        score: Higher is better; comparable between texts for one query.
        positions: Where in the text its letters stand, rising.
    """

    score: int
    positions: tuple[int, ...]


def fold(text: str) -> str:
    """The text without case and accents, each character still in its place."""
    if text.isascii():
        return text.lower()
    return "".join(map(_folded, text))


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    base = unicodedata.normalize("NFD", character)[0].lower()
    return base if len(base) == 1 else character


def best(query: str) -> int:
    """The score of a text that begins with the query."""
    cased = SAME_CASE * len(query) if _is_cased(query) else 0
    return LETTER * len(query) + 2 * STARTS_NAME + NEXT * (len(query) - 1) + cased if query else 0


def match(query: str, text: str, folded: str | None = None) -> Match | None:
    """The best way to lay a query over a text, or None when its letters are not in it in this order.

    The time is in proportion to how often the letters of the query are in the text.

    Args:
        query: What was typed. An empty one lies over everything.
        text: The text.
        folded: What `fold` made of the text, where that is known.
    """
    wanted = fold(query)
    if not wanted:
        return Match(0, ())
    where = fold(text) if folded is None else folded
    ends = _last_places(wanted, where)
    if ends is None:
        return None
    cased = query if _is_cased(query) else ""
    before: list[tuple[int, int, int]] = []  # place, score up to it, index of the place before in its row
    rows: list[list[tuple[int, int, int]]] = []
    for index, letter in enumerate(wanted):
        row: list[tuple[int, int, int]] = []
        from_gap, from_index = -(1 << 60), -1  # the best score before a gap, raised by its place
        done = 0
        start = before[0][0] + 1 if index else 0
        at = where.find(letter, start, ends[index] + 1)
        while at >= 0:
            bonus = _bonus(text, at)
            same = SAME_CASE if cased and text[at] == cased[index] else 0
            if not index:
                row.append((at, LETTER + 2 * bonus + same, -1))
            else:
                while done < len(before) and before[done][0] < at - 1:
                    if before[done][1] + LONGER_GAP * before[done][0] >= from_gap:
                        from_gap, from_index = before[done][1] + LONGER_GAP * before[done][0], done
                    done += 1
                score, parent = from_gap - GAP - LONGER_GAP * (at - 2) + bonus, from_index
                if done < len(before) and before[done][0] == at - 1:
                    joined = before[done][1] + max(NEXT, bonus)
                    if joined >= score or parent < 0:
                        score, parent = joined, done
                row.append((at, LETTER + score + same, parent))
            at = where.find(letter, at + 1, ends[index] + 1)
        rows.append(row)
        before = row
    chosen = max(range(len(before)), key=lambda place: (before[place][1], -before[place][0]))
    score = before[chosen][1]
    positions = []
    for row in reversed(rows):
        positions.append(row[chosen][0])
        chosen = row[chosen][2]
    return Match(score, tuple(reversed(positions)))


def match_path(query: str, path: str, folded: str | None = None) -> Match | None:
    """As `match`, over a path: in its last name where the query is in that, which counts more.

    Args:
        query: What was typed; with a ``/`` it is looked for in the whole path.
        path: With ``/`` between names, and at the end of a directory.
        folded: What `fold` made of the path, where that is known.
    """
    folded = fold(path) if folded is None else folded
    if "/" not in query and query:
        name = path.rfind("/", 0, len(path) - 1) + 1
        found = match(query, path[name:], folded[name:])
        if found is not None:
            return Match(found.score + IN_LAST_NAME, tuple(name + place for place in found.positions))
    return match(query, path, folded)


def ranked(
    query: str,
    items: Iterable[T],
    text: Callable[[T], str],
    *,
    limit: int,
    others: Callable[[T], Sequence[str]] = lambda _: (),
) -> list[tuple[T, Match]]:
    """The items that a query finds, the best first.

    Those that begin with it go before all others, and what is shown before the other texts.

    Args:
        query: What was typed; an empty one finds everything, in the given order.
        items: What to look through.
        text: What an item is found by and shown as.
        limit: How many at most.
        others: Other texts it is found by; where only one of those matches, no positions are told.
    """
    wanted = fold(query)
    found: list[tuple[tuple[bool, bool, int, int, int], T, Match]] = []
    for number, item in enumerate(items):
        shown = text(item)
        lies = match(query, shown)
        if lies is not None:
            begins = not fold(shown).startswith(wanted)
            length = len(shown) if query else 0
            found.append(((begins, False, -lies.score, length, number), item, lies))
            continue
        hits = [(other, hit) for other in others(item) if (hit := match(query, other)) is not None]
        if hits:
            other, hit = max(hits, key=lambda pair: pair[1].score)
            begins = not fold(other).startswith(wanted)
            found.append(((begins, True, -hit.score, len(other), number), item, Match(hit.score, ())))
    return [(item, lies) for _, item, lies in nsmallest(limit, found, key=lambda entry: entry[0])]


def _last_places(wanted: str, where: str) -> list[int] | None:
    """The last place each letter can have, or None when they are not there in this order."""
    at = len(where)
    places = []
    for letter in reversed(wanted):
        at = where.rfind(letter, 0, at)
        if at < 0:
            return None
        places.append(at)
    places.reverse()
    return places


def _is_cased(query: str) -> bool:
    return query != query.lower()


def _bonus(text: str, at: int) -> int:
    """What a place is worth: the beginning of a name, of a word, of a hump, or nothing."""
    if at == 0:
        return STARTS_NAME
    before, here = text[at - 1], text[at]
    if before in _STARTS:
        return STARTS_NAME
    if not before.isalnum():
        return STARTS_WORD if here.isalnum() else 0
    if here.isupper() and not before.isupper():
        return STARTS_HUMP
    return STARTS_HUMP if here.isdigit() and not before.isdigit() else 0
