"""Finds what was said: the messages that hold a phrase, all words of it, most of them, or words like them.

Words are read as every search reads them (`tau.sessions.searching`). Where no message has all of them, those
with most come first; a word counts for more the fewer messages have it, so that questions can be asked.
A summary of other messages has words of many of them: it never takes the place of what was said, and comes
last among what has as much of the query.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tau.sessions.lineage import Original
from tau.sessions.spoken import Place, Said, speaker
from tau.sessions.wanted import ALL, PHRASE, Look, NearWords, Wanted

LENGTH = 480
"""Characters a passage has, about."""

ENOUGH = 5
"""Messages with all the words from which on others are not looked at."""

RANKED = 100
"""Messages of a kind, the best, whose passages are compared."""

_COMMON = 0.05
_LEAST_SHARE = 0.5
_PIECES = re.compile(r"[^\n]{0,199}(?:[\n \t]|\Z)|[^\n]{1,200}")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a message that was found.

    Attributes:
        session_id: The session it is in.
        index: Of the message.
        speaker: Who speaks: ``user``, ``assistant``, ``tool``.
        created_at: When it was recorded: ISO 8601, UTC.
        text: What stands there, to the letter.
        begins: Whether the text begins where the message does.
        ends: Whether it ends where the message does.
        words: The words of the query that are in the text.
        near: Words in it that are like one of the query, and that one.
        complete: Whether the message has all words of the query.
    """

    session_id: str
    index: int
    speaker: str
    created_at: str
    text: str
    begins: bool
    ends: bool
    words: tuple[str, ...]
    near: tuple[tuple[str, str], ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search came to.

    Attributes:
        passages: The best first: the phrase, then all words, then most of them; among equals the newest.
            Within those with all the words, and within the others, summaries come last.
        matching: Messages that have all the words.
        others: Messages that have some of the words, or words like them, and are worth a look.
        searched: Messages that were looked at.
        stopped: Whether the time was up before all were.
    """

    passages: tuple[Passage, ...]
    matching: int
    others: int
    searched: int
    stopped: bool


@dataclass(frozen=True, slots=True)
class _Hit:
    """A message that has something of the query.

    Attributes:
        place: Where it is.
        kind: How much it has.
        age: Sorts it among others, the newest lowest.
        found: The pieces it has.
        near: The pieces it has something like, and how much alike.
        summary: Whether it sums up others, which come before it.
    """

    place: Place
    kind: int
    age: tuple[int, int]
    found: frozenset[int]
    near: dict[int, float]
    summary: bool


def find(
    said: Said, query: str, *, sessions: Sequence[str], go_on: Callable[[], bool] = lambda: True
) -> Findings:
    """Search messages.

    Args:
        said: The messages.
        query: Words, or a question, in any language.
        sessions: The sessions of the messages, the newest first.
        go_on: Asked often; False ends the search with what was found so far. May raise.
    """
    return _Search(said, Wanted(query), sessions, go_on).run()


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A passage, its message, and its share of what the words of the query count for."""

    hit: _Hit
    share: float
    passage: Passage

    @property
    def by_share(self) -> tuple[float, tuple[int, int]]:
        """Sorts passages with more of the query first; among those with about the same, the newest."""
        return -round(self.share, 1), self.hit.age


class _Search:
    def __init__(
        self, said: Said, wanted: Wanted, sessions: Sequence[str], go_on: Callable[[], bool]
    ) -> None:
        self._said = said
        self._wanted = wanted
        self._order = {session_id: number for number, session_id in enumerate(sessions)}
        self._go_on = go_on
        self._hits: dict[Place, _Hit] = {}
        self._near = NearWords(wanted)
        self._searched = 0
        self._stopped = False

    def run(self) -> Findings:
        self._look()
        matching = [hit for hit in self._hits.values() if hit.kind >= ALL]
        matching.sort(key=lambda hit: (hit.summary, -hit.kind, hit.age))
        said = sum(not hit.summary for hit in matching)
        ranked = self._ranked(matching[:RANKED])
        # A phrase is as good as any other; words are better the closer together they stand.
        ranked.sort(
            key=lambda item: (
                item.hit.summary,
                -item.hit.kind,
                item.by_share if item.hit.kind == ALL else (0.0, item.hit.age),
            )
        )
        others = self._others(beside=bool(said)) if said < ENOUGH else []
        some = self._ranked(others[:RANKED])
        best = 1.0 if said else max((item.share for item in some if not item.hit.summary), default=0.0)
        some = [item for item in some if item.share >= best * _LEAST_SHARE]
        some.sort(key=lambda item: (item.hit.summary, item.by_share))
        return Findings(
            passages=tuple(item.passage for item in (*ranked, *some)),
            matching=len(matching),
            others=len(others[RANKED:]) + len(some),
            searched=self._searched,
            stopped=self._stopped,
        )

    def _look(self) -> None:
        for original, text in self._said:
            if not self._go_on():
                self._stopped = True
                return
            self._searched += 1
            look = self._wanted.look(text)
            near = self._near.found(look) if look.kind < ALL else {}
            if look.kind or near:
                place = original.session_id, original.stored.index
                age = self._order.get(original.session_id, len(self._order)), -original.stored.index
                alike = {number: alike for number, (alike, _) in near.items()}
                self._hits[place] = _Hit(place, look.kind, age, look.found, alike, original.summary)

    def _others(self, *, beside: bool) -> list[_Hit]:
        """Messages without all the words that are worth a look, the best first.

        Args:
            beside: Whether others have all the words; then only what has most of them counts.
        """
        weights = self._weights()
        scores = {
            place: sum(weights[number] for number in hit.found)
            + sum(weights[number] * alike for number, alike in hit.near.items())
            for place, hit in self._hits.items()
            if hit.kind < ALL
        }
        said = (score for place, score in scores.items() if not self._hits[place].summary)
        least = (sum(weights) if beside else max(said, default=0.0)) * _LEAST_SHARE
        good = [self._hits[place] for place, score in scores.items() if score >= least]
        return sorted(good, key=lambda hit: (hit.summary, -scores[hit.place], hit.age))

    def _weights(self) -> list[float]:
        """What each piece counts for: more, the fewer messages that are no summary have something of it."""
        said = (hit for hit in self._hits.values() if not hit.summary)
        counts = Counter(number for hit in said for number in (*hit.found, *hit.near))
        return [
            math.log((self._searched + 1) / (counts[number] + 0.5))
            for number in range(len(self._wanted.pieces))
        ]

    def _ranked(self, hits: Sequence[_Hit]) -> list[_Ranked]:
        by_place = {hit.place: hit for hit in hits}
        weights = self._weights()
        ranked = []
        for original, text in self._said.at(list(by_place)):
            hit = by_place[original.session_id, original.stored.index]
            segments = _segments(text, self._wanted, self._near)
            share, first, last = _best(segments, text, hit.kind, self._wanted, weights)
            passage = _passage(original, text, segments[first:last], hit.kind, self._wanted)
            ranked.append(_Ranked(hit, share, passage))
        return ranked


@dataclass(frozen=True, slots=True)
class _Segment:
    """A line of a message, or a part of a long one: where it is, and what of the query it has."""

    start: int
    end: int
    look: Look
    near: dict[int, tuple[float, str]]


def _segments(text: str, wanted: Wanted, near_words: NearWords) -> list[_Segment]:
    segments = []
    for found in _PIECES.finditer(text):
        if found[0]:
            look = wanted.look(found[0])
            near = near_words.found(look)
            segments.append(_Segment(found.start(), found.end(), look, near))
    return segments


def _best(
    segments: Sequence[_Segment], text: str, kind: int, wanted: Wanted, weights: Sequence[float]
) -> tuple[float, int, int]:
    """The run of segments with the most of the query: its share of what the words count for, begin, end."""
    best, first, last = (-1.0, 0), 0, 0
    whole = sum(weights)
    for begin, segment in enumerate(segments):
        counts: dict[int, float] = {}
        for end in range(begin, len(segments)):
            length = segments[end].end - segment.start
            if end > begin and length > LENGTH:
                break
            for number, (alike, _) in segments[end].near.items():
                counts[number] = max(counts.get(number, 0.0), alike * weights[number])
            counts.update((number, weights[number]) for number in segments[end].look.found)
            score = sum(counts.values())
            if kind >= PHRASE and end - begin <= 1:
                here = wanted.look(text[segment.start : segments[end].end]).kind
                score += (1.0 + whole) * (here >= kind)
            if (score, -length) > best:
                best, first, last = (score, -length), begin, end
    share = min(1.0, best[0] / whole) if whole > 0 else 1.0
    return share, *_with_surroundings(segments, first, last)


def _with_surroundings(segments: Sequence[_Segment], first: int, last: int) -> tuple[int, int]:
    """A run of segments, made longer on both sides while there is room; the end is not part of it."""
    grown = True
    while grown:
        grown = False
        for before, after in ((1, 0), (0, 1)):
            begin, end = first - before, last + after
            if begin >= 0 and end < len(segments) and segments[end].end - segments[begin].start <= LENGTH:
                first, last, grown = begin, end, True
    return first, last + 1


def _passage(
    original: Original, text: str, segments: Sequence[_Segment], kind: int, wanted: Wanted
) -> Passage:
    start, end = (segments[0].start, segments[-1].end) if segments else (0, 0)
    found = {number for segment in segments for number in segment.look.found}
    near = {number: form for segment in segments for number, (_, form) in segment.near.items()}
    stored = original.stored
    return Passage(
        session_id=original.session_id,
        index=stored.index,
        speaker=speaker(stored.message),
        created_at=stored.created_at,
        text=text[start:end],
        begins=start == 0,
        ends=end == len(text),
        words=tuple(wanted.pieces[number].replace(" ", "") for number in sorted(found)),
        near=tuple(
            (form, wanted.pieces[number].replace(" ", ""))
            for number, form in sorted(near.items())
            if number not in found
        ),
        complete=kind >= ALL,
    )
