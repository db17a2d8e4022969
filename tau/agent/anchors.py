"""What a summary lacks of the facts in the messages it stands for, as a list that code takes from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import merge
from operator import itemgetter
from typing import Any

from tau.agent.anchor_budget import TOKEN, cost
from tau.agent.anchor_prose import Anchor, Sentence, clauses, find, sentences
from tau.agent.anchor_tokens import WORD, Kind, kind_of, trimmed
from tau.agent.window_summary import INTRODUCTION, is_note
from tau.sessions.attached import attached, own_blocks
from tau.sessions.records import SUMMARY_OPENING, Message

WIDTHS = (90, 64, 44)
"""Characters of a clause: the widest with which everything fits, or the narrowest."""

SUMMARY_STARTS = (SUMMARY_OPENING, INTRODUCTION)
"""How a message begins that holds an earlier summary."""

MORE = "… and {} more; recall finds them"


class Source(IntEnum):
    """Who a fact comes from, the best first."""

    PERSON = 0
    MODEL = 1
    TOOLS = 2


HEADINGS = {
    Source.PERSON: "The person also said:",
    Source.MODEL: "The model also said:",
    Source.TOOLS: "Tools also showed:",
}
"""What stands above the lines of a source. By these a list is recognised when its text is compacted again."""

_ITEM = "- "
_RUN = "$ "
_CUT = " …"
_PROSE_HEAD, _PROSE_TAIL = 16_000, 8_000
_RESULT_HEAD, _RESULT_TAIL = 6_000, 2_000
_SHORT_ARGUMENT = 400
_LONGEST_RUN = 160
_MOST_OF_A_TEXT = 60
_MOST_OF_A_RESULT, _MOST_OF_A_KIND = 8, 4
_MOST_ITEMS = 2_000
_SORTED_AT_ONCE = 5_000
_TOOLS_SHARE = 5
_RUN_KEYS = ("command", "cmd")
_FROM_RESULTS = (Kind.URL, Kind.PATH, Kind.HASH, Kind.TICKET, Kind.HOST, Kind.MAIL, Kind.VERSION)
_MOST_COUNTED = 10**9
_MORE_LINE = re.compile(re.escape(MORE).replace(r"\{\}", r"(\d{1,10})"))
_LINE_NUMBER = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")
_HEADINGS_BY_TEXT = {text: source for source, text in HEADINGS.items()}
_KINDS_BY_LABEL = {kind.value: kind for kind in Kind}


@dataclass(slots=True)
class _Use:
    """Where a fact is mentioned: the messages of each source, and the newest of them."""

    by: dict[Source, int] = field(default_factory=dict)
    last: int = -1

    def mention(self, source: Source, index: int) -> None:
        if index > self.last or source not in self.by:
            self.by[source] = self.by.get(source, 0) + 1
        self.last = max(self.last, index)

    @property
    def score(self) -> int:
        return min(sum(self.by.values()), 3) + (Source.PERSON in self.by and Source.MODEL in self.by)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A sentence with facts, or a line of an earlier list, which is never cut again."""

    sentence: Sentence
    source: Source
    kept: bool


@dataclass(slots=True)
class _Found:
    """What the messages hold, in their order.

    Attributes:
        passages: What was said.
        uses: Where each fact of it is mentioned.
        items: Bare facts of tools by (kind, value).
        more: How many had no room in the earlier lists among the messages.
    """

    passages: list[_Passage] = field(default_factory=list)
    uses: dict[str, _Use] = field(default_factory=dict)
    items: dict[tuple[Kind, str], tuple[int, int, int]] = field(default_factory=dict)
    more: int = 0


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
        self._found = _Found()
        self._read = 0

    def read(self, message: Message) -> None:
        """Take the facts of the next message.

        Args:
            message: In the Converse form, newer than those before; blocks of unknown kinds are passed over.
        """
        _gather(self._found, self._read, message)
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
            if sum(cost(_ITEM + line) + cost("\n") for _, line in lines) <= budget - budget // _TOOLS_SHARE:
                break
        shown = "\n".join(line for _, line in lines)[:budget]  # where there is more, no tool's item has room
        covered = Known(f"{summary}\n{shown}")
        more = found.more + max(0, len(found.items) - _MOST_ITEMS)
        return _render(lines, _tools(found, covered), budget, more)


def anchors(messages: Sequence[Message], summary: str, *, tokens: int) -> str:
    """The facts of `messages`, oldest first, that `summary` lacks, as `Facts.lacking` lists them."""
    facts = Facts()
    for message in messages:
        facts.read(message)
    return facts.lacking(summary, tokens=tokens)


def _gather(found: _Found, index: int, message: Message) -> None:
    content = message.get("content")
    if along := attached(message):  # nothing of it is the person's word
        for item in along:
            if item.kind == "command":
                _read_call(found, index, {"input": {"command": item.command}})
                _add_capped(found, index, item.text)
        content = own_blocks(message)
    for block in [{"text": content}] if isinstance(content, str) else content or ():
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str):
            _read_text(found, index, block["text"], person=message.get("role") == "user")
        for name, take in (("toolUse", _read_call), ("toolResult", _read_result)):
            value = block.get(name)
            if isinstance(value, dict):
                take(found, index, value)


def _read_text(found: _Found, index: int, text: str, *, person: bool) -> None:
    source = Source.PERSON if person else Source.MODEL
    if person:
        if text.startswith(SUMMARY_STARTS):
            source = Source.MODEL
            text = text.partition("\n")[2]
        text = _earlier(found, text)
    taken = 0
    for each in sentences(_ends(text, _PROSE_HEAD, _PROSE_TAIL)):
        weak_too = source is Source.PERSON
        sentence = Sentence(each.text, tuple(a for a in each.anchors if weak_too or not a.weak))
        if not sentence.anchors:
            continue
        taken += 1
        if taken > _MOST_OF_A_TEXT:  # a pasted log or table is a result rather than something said
            _add_items(
                found, index, 1, [(a.kind, a.value) for a in sentence.anchors if a.kind in _FROM_RESULTS]
            )
            continue
        found.passages.append(_Passage(sentence, source, kept=False))
        for anchor in sentence.anchors:
            found.uses.setdefault(anchor.key, _Use()).mention(source, index)


def _earlier(found: _Found, text: str) -> str:
    """Take the lines of an earlier list out of a text and return the rest."""
    rest: list[str] = []
    source: Source | None = None
    for line in text.split("\n"):
        if line in _HEADINGS_BY_TEXT:
            source = _HEADINGS_BY_TEXT[line]
        elif (counted := _MORE_LINE.fullmatch(line)) is not None:
            found.more = min(found.more + int(counted[1]), _MOST_COUNTED)
        elif is_note(line):
            continue
        elif source is None:
            rest.append(line)
        elif line.startswith(_ITEM):
            _carry(found, source, _flat(line.removeprefix(_ITEM)))
        else:
            source = None
            rest.append(line)
    return "\n".join(rest)


def _carry(found: _Found, source: Source, line: str) -> None:
    if not line:
        return
    if source is not Source.TOOLS:
        found.passages.append(_Passage(Sentence(line, find(line)), source, kept=True))
    elif line.startswith(_RUN):
        found.items.setdefault((Kind.COMMAND, line.removeprefix(_RUN)), (2, 0, -1 - len(found.items)))
    else:
        label, _, values = line.partition(": ")
        kind = _KINDS_BY_LABEL.get(label)
        for value in values.split(", "):
            if kind is not None and value:
                found.items.setdefault((kind, value), (2, 0, -1 - len(found.items)))


def _read_call(found: _Found, index: int, use: dict[str, Any]) -> None:
    given = use.get("input")
    for key, value in given.items() if isinstance(given, dict) else ():
        if not isinstance(value, str):
            continue
        if key in _RUN_KEYS:
            first = _flat(value.strip().partition("\n")[0][: _LONGEST_RUN * 2])
            run = first if len(first) <= _LONGEST_RUN else first[: _LONGEST_RUN - len(_CUT)] + _CUT
            if run:
                _add_items(found, index, 0, [(Kind.COMMAND, run)])
        elif len(value) <= _SHORT_ARGUMENT:
            _add_items(found, index, 0, [item for item in _words(value) if item[0] is not Kind.NUMBER])
        else:
            _add_capped(found, index, value)


def _read_result(found: _Found, index: int, result: dict[str, Any]) -> None:
    content = result.get("content")
    texts = [
        item["text"]
        for item in (content if isinstance(content, list) else ())
        if isinstance(item, dict) and isinstance(item.get("text"), str)
    ]
    if texts:
        _add_capped(found, index, "\n".join(texts))


def _add_capped(found: _Found, index: int, text: str) -> None:
    taken: dict[Kind, dict[str, None]] = {}
    total = 0
    for kind, word in _words(_ends(text, _RESULT_HEAD, _RESULT_TAIL)):
        value = _LINE_NUMBER.sub("", word) if kind is Kind.PATH else word
        of_kind = taken.setdefault(kind, {})
        if kind in _FROM_RESULTS and value not in of_kind and len(of_kind) < _MOST_OF_A_KIND:
            of_kind[value] = None
            total += 1
            if total == _MOST_OF_A_RESULT:
                break
    _add_items(found, index, 1, [(kind, value) for kind, values in taken.items() for value in values])


def _words(text: str) -> Iterator[tuple[Kind, str]]:
    for raw in dict.fromkeys(WORD.findall(text)):
        if raw.isalpha():
            continue
        word = trimmed(raw)
        kind = kind_of(word) if word else None
        if kind is not None and len(word) <= _LONGEST_RUN:
            yield kind, word


def _add_items(found: _Found, index: int, rank: int, items: Iterable[tuple[Kind, str]]) -> None:
    for item in items:
        old_rank, uses, _ = found.items.get(item, (2, 0, 0))
        found.items[item] = (min(rank, old_rank), uses + 1, index)


def _prose(found: _Found, known: Known, width: int) -> list[tuple[Source, str]]:
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
            uses = [found.uses.get(anchor.key, _Use()) for anchor in held]
            last = max((use.last for use in uses), default=-1)
            weak = all(anchor.weak for anchor in held)
            score = max((use.score for use in uses), default=0)
            # What is not mentioned any more keeps the order of its list; what is new has the newest first.
            order = number if last < 0 else -number
            ranked.append(
                ((passage.source, last < 0, weak, -score, -last, order), passage.source, _flat(text))
            )
    # A sort lets no other thread in until it is done.
    runs = [ranked[at : at + _SORTED_AT_ONCE] for at in range(0, len(ranked), _SORTED_AT_ONCE)]
    for run in runs:
        run.sort(key=itemgetter(0))
    return [(source, text) for _, source, text in merge(*runs, key=itemgetter(0)) if text]


def _whole(sentence: Sentence) -> Anchor:
    return Anchor(0, len(sentence.text), sentence.text, Kind.WORDS)


def _tools(found: _Found, covered: Known) -> list[tuple[Kind, str]]:
    """The bare facts of tools, ranked: of arguments, of results, of earlier lists; by use and recency."""
    ranked = sorted(found.items.items(), key=lambda each: (each[1][0], -min(each[1][1], 3), -each[1][2]))
    items = ((kind, _flat(value)) for (kind, value), _ in ranked[:_MOST_ITEMS])
    return [
        (kind, value)
        for kind, value in items
        if value and not covered.has(Anchor(0, len(value), value, kind))
    ]


def _render(
    lines: Sequence[tuple[Source, str]], items: Sequence[tuple[Kind, str]], budget: int, more: int
) -> str:
    """The list, cut at an item where the budget ends, with everything that stands between counted.

    Args:
        lines: What was said, ranked.
        items: Of tools, ranked.
        budget: What the list may cost.
        more: What had no room before, which is counted too.
    """
    reserve = cost(MORE.format(more + len(lines) + len(items))) + cost("\n\n")
    whole = _fill(lines, items, budget)
    if whole[1] == more == 0:
        return whole[0]
    text, left = _fill(lines, items, budget - reserve)
    if not text and reserve > budget:
        return ""
    return "\n".join(filter(None, (text, MORE.format(more + left))))


def _fill(
    lines: Sequence[tuple[Source, str]], items: Sequence[tuple[Kind, str]], budget: int
) -> tuple[str, int]:
    blocks: dict[Source, list[str]] = {}
    groups: dict[Kind, list[str]] = {}
    left = 0

    def pay(source: Source, text: str) -> bool:
        nonlocal budget
        price = cost(text) + (0 if source in blocks else cost(HEADINGS[source] + "\n\n"))
        if price > budget:
            return False
        budget -= price
        blocks.setdefault(source, [])
        return True

    for source, line in lines:
        if pay(source, f"{_ITEM}{line}\n"):
            blocks[source].append(_ITEM + line)
        else:
            left += 1
    for kind, value in items:
        if kind is Kind.COMMAND:
            if pay(Source.TOOLS, f"{_ITEM}{_RUN}{value}\n"):
                blocks[Source.TOOLS].append(f"{_ITEM}{_RUN}{value}")
            else:
                left += 1
        elif pay(Source.TOOLS, f", {value}" if kind in groups else f"{_ITEM}{kind}: {value}\n"):
            groups.setdefault(kind, []).append(value)
        else:
            left += 1
    for kind, values in groups.items():
        blocks[Source.TOOLS].append(f"{_ITEM}{kind}: {', '.join(values)}")
    return "\n\n".join("\n".join([HEADINGS[source], *rows]) for source, rows in sorted(blocks.items())), left


def _ends(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def _flat(text: str) -> str:
    """The text on one line, without characters that are not shown."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())
