"""What a summary lacks of the facts in the messages it stands for, as a list that code takes from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter

from tau.agent.anchor_budget import TOKEN
from tau.agent.anchor_list import Source, flat, item_cost, render
from tau.agent.anchor_prose import Anchor, Sentence, clauses
from tau.agent.anchor_reading import Found, Use, gather
from tau.agent.anchor_tokens import Kind
from tau.sessions.records import Message

WIDTHS = (90, 64, 44)
"""Characters of a clause: the widest with which everything fits, or the narrowest."""

_MOST_ITEMS = 2_000
_SORTED_AT_ONCE = 5_000
_TOOLS_SHARE = 5


class Known:
    """A text that is asked whether a fact stands in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.casefold()

    def has(self, anchor: Anchor) -> bool:
        """Whether the fact stands there: a number as a whole number, and a small one near its label."""
        folds = anchor.kind is Kind.WORDS
        text, value = (self._folded, anchor.value.casefold()) if folds else (self._text, anchor.value)
        for at in _places(value, text):
            near = self._folded[max(0, at - 40) : at + len(value) + 40]
            if not anchor.label or anchor.label[:4] in near:
                return True
        return False


def _places(value: str, text: str) -> Iterator[int]:
    at, tries = text.find(value), 0
    while at >= 0 and tries < 50:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 2]
        if not (_joins(before, value[0]) or _joins(value[-1], after[:1])) and not (
            value[-1].isdecimal() and after[:1] in (".", ",") and after[1:].isdecimal()
        ):
            yield at
        at, tries = text.find(value, at + 1), tries + 1


def _joins(left: str, right: str) -> bool:
    """Whether two characters are of one word; scripts without spaces have no such borders."""
    return all(char and (char == "_" or (char.isalnum() and char < "\u2e80")) for char in (left, right))


class Facts:
    """The facts of messages, which are read one after the other, and lists of those that a text lacks."""

    def __init__(self) -> None:
        self._found = Found()
        self._read = 0

    def read(self, message: Message) -> None:
        """Take the facts of the next message.

        Args:
            message: In the Converse form, newer than those before; blocks of unknown kinds are passed over.
        """
        gather(self._found, self._read, message)
        self._read += 1

    def lacking(self, summary: str, *, tokens: int) -> str:
        """The facts that `summary` lacks, as a compact list of lines.

        The person's come first, then the model's, then those of tools; within that by use and recency. A
        list that an earlier compaction added to a summary is carried on line by line, after what is new.

        Args:
            summary: What stands for the messages from now on.
            tokens: What the list may cost, estimated so that it is rather less.

        Returns:
            Blocks under `HEADINGS`, parted by blank lines, with a last line that counts what had no room,
            now or in an earlier list; or ``""`` when nothing is lacking, or not even that line fits.
        """
        if tokens <= 0:
            return ""
        found, known = self._found, Known(summary)
        budget = tokens * TOKEN
        lines: list[tuple[Source, str]] = []
        for width in WIDTHS:
            lines = _prose(found, known, width)
            if sum(item_cost(line) for _, line in lines) <= budget - budget // _TOOLS_SHARE:
                break
        shown = "\n".join(line for _, line in lines)[:budget]  # where there is more, no tool's item has room
        covered = Known(f"{summary}\n{shown}")
        more = found.more + max(0, len(found.items) - _MOST_ITEMS)
        return render(lines, _tools(found, covered), budget, more)


def anchors(messages: Sequence[Message], summary: str, *, tokens: int) -> str:
    """The facts of `messages`, oldest first, that `summary` lacks, as `Facts.lacking` lists them."""
    facts = Facts()
    for message in messages:
        facts.read(message)
    return facts.lacking(summary, tokens=tokens)


def _prose(found: Found, known: Known, width: int) -> list[tuple[Source, str]]:
    """The lines of what was said, ranked: each has a fact that neither the summary nor a line before has."""
    seen: set[str] = set()
    lacking: dict[str, bool] = {}
    ranked: list[tuple[tuple[int, ...], Source, str]] = []

    def lacks(anchor: Anchor) -> bool:
        if anchor.key not in lacking:
            lacking[anchor.key] = not known.has(anchor)
        return lacking[anchor.key]

    for number, passage in enumerate(sorted(found.passages, key=lambda each: each.source)):
        sentence = passage.sentence
        new = tuple(anchor for anchor in sentence.anchors if anchor.key not in seen and lacks(anchor))
        if passage.kept:
            # It was worth a line once; its facts may look less than they are without their sentence.
            held = tuple(filter(lacks, sentence.anchors or (_whole(sentence),)))
            cut: Iterable[tuple[str, tuple[Anchor, ...]]] = [(sentence.text, held)] if held else ()
            if sentence.text in seen:
                continue
            seen.add(sentence.text)
        else:
            cut = clauses(Sentence(sentence.text, new), width) if new else ()
        for text, held in cut:
            if not passage.kept and (text in seen or all(anchor.key in seen for anchor in held)):
                continue
            seen.update(anchor.key for anchor in held)
            uses = [found.uses.get(anchor.key, Use()) for anchor in held]
            last = max((use.last for use in uses), default=-1)
            weak = all(anchor.weak for anchor in held)
            score = max((use.score for use in uses), default=0)
            # What is not mentioned any more keeps the order of its list; what is new has the newest first.
            order = number if last < 0 else -number
            ranked.append(
                ((passage.source, last < 0, weak, -score, -last, order), passage.source, flat(text))
            )
    # A sort lets no other thread in until it is done.
    runs = [ranked[at : at + _SORTED_AT_ONCE] for at in range(0, len(ranked), _SORTED_AT_ONCE)]
    for run in runs:
        run.sort(key=itemgetter(0))
    return [(source, text) for _, source, text in merge(*runs, key=itemgetter(0)) if text]


def _whole(sentence: Sentence) -> Anchor:
    return Anchor(0, len(sentence.text), sentence.text, Kind.WORDS)


def _tools(found: Found, covered: Known) -> list[tuple[Kind, str]]:
    """The bare facts of tools, ranked: of arguments, of results, of earlier lists; by use and recency."""
    ranked = sorted(found.items.items(), key=lambda each: (each[1][0], -min(each[1][1], 3), -each[1][2]))
    items = ((kind, flat(value)) for (kind, value), _ in ranked[:_MOST_ITEMS])
    return [
        (kind, value)
        for kind, value in items
        if value and not covered.has(Anchor(0, len(value), value, kind))
    ]
