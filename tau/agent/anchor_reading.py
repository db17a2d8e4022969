"""What messages hold of facts: what was said in them, and what tools were given and showed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tau.agent.anchor_list import Source, flat, listed
from tau.agent.anchor_prose import Sentence, find, sentences
from tau.agent.anchor_tokens import WORD, Kind, kind_of, trimmed
from tau.agent.window_summary import INTRODUCTION
from tau.sessions.attached import attached, own_blocks
from tau.sessions.records import SUMMARY_OPENING, Message

SUMMARY_STARTS = (SUMMARY_OPENING, INTRODUCTION)
"""How a message begins that holds an earlier summary."""

_CUT = " …"
_PROSE_HEAD, _PROSE_TAIL = 16_000, 8_000
_RESULT_HEAD, _RESULT_TAIL = 6_000, 2_000
_SHORT_ARGUMENT = 400
_LONGEST_RUN = 160
_MOST_OF_A_TEXT = 60
_MOST_OF_A_RESULT, _MOST_OF_A_KIND = 8, 4
_RUN_KEYS = ("command", "cmd")
_FROM_RESULTS = (Kind.URL, Kind.PATH, Kind.HASH, Kind.TICKET, Kind.HOST, Kind.MAIL, Kind.VERSION)
_MOST_COUNTED = 10**9
_LINE_NUMBER = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")


@dataclass(slots=True)
class Use:
    """Where a fact is mentioned: the messages of each source, and the newest of them."""

    by: dict[Source, int] = field(default_factory=dict)
    last: int = -1

    def mention(self, source: Source, index: int) -> None:
        """Count a message of a source, once."""
        if index > self.last or source not in self.by:
            self.by[source] = self.by.get(source, 0) + 1
        self.last = max(self.last, index)

    @property
    def score(self) -> int:
        """How much it is in use."""
        return min(sum(self.by.values()), 3) + (Source.PERSON in self.by and Source.MODEL in self.by)


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with facts, or a line of an earlier list, which is never cut again."""

    sentence: Sentence
    source: Source
    kept: bool


@dataclass(slots=True)
class Found:
    """What the messages hold, in their order.

    Attributes:
        passages: What was said.
        uses: Where each fact of it is mentioned.
        items: Bare facts of tools by (kind, value).
        more: How many had no room in the earlier lists among the messages.
    """

    passages: list[Passage] = field(default_factory=list)
    uses: dict[str, Use] = field(default_factory=dict)
    items: dict[tuple[Kind, str], tuple[int, int, int]] = field(default_factory=dict)
    more: int = 0


def gather(found: Found, index: int, message: Message) -> None:
    """Take the facts of a message.

    Args:
        found: Gets them.
        index: The number of the message: greater than those of the messages before.
        message: In the Converse form; blocks of unknown kinds are passed over.
    """
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


def _read_text(found: Found, index: int, text: str, *, person: bool) -> None:
    source = Source.PERSON if person else Source.MODEL
    if person:
        if text.startswith(SUMMARY_STARTS):
            source = Source.MODEL
            text = text.partition("\n")[2]
        text = _carry(found, text)
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
        found.passages.append(Passage(sentence, source, kept=False))
        for anchor in sentence.anchors:
            found.uses.setdefault(anchor.key, Use()).mention(source, index)


def _carry(found: Found, text: str) -> str:
    """Carry on the lists that earlier compactions left in a text. Returns the text without them."""
    earlier = listed(text)
    found.more = min(found.more + earlier.more, _MOST_COUNTED)
    for source, line in earlier.lines:
        found.passages.append(Passage(Sentence(line, find(line)), source, kept=True))
    for item in earlier.items:
        found.items.setdefault(item, (2, 0, -1 - len(found.items)))
    return earlier.rest


def _read_call(found: Found, index: int, use: dict[str, Any]) -> None:
    given = use.get("input")
    for key, value in given.items() if isinstance(given, dict) else ():
        if not isinstance(value, str):
            continue
        if key in _RUN_KEYS:
            first = flat(value.strip().partition("\n")[0][: _LONGEST_RUN * 2])
            run = first if len(first) <= _LONGEST_RUN else first[: _LONGEST_RUN - len(_CUT)] + _CUT
            if run:
                _add_items(found, index, 0, [(Kind.COMMAND, run)])
        elif len(value) <= _SHORT_ARGUMENT:
            _add_items(found, index, 0, [item for item in _words(value) if item[0] is not Kind.NUMBER])
        else:
            _add_capped(found, index, value)


def _read_result(found: Found, index: int, result: dict[str, Any]) -> None:
    content = result.get("content")
    texts = [
        item["text"]
        for item in (content if isinstance(content, list) else ())
        if isinstance(item, dict) and isinstance(item.get("text"), str)
    ]
    if texts:
        _add_capped(found, index, "\n".join(texts))


def _add_capped(found: Found, index: int, text: str) -> None:
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


def _add_items(found: Found, index: int, rank: int, items: Iterable[tuple[Kind, str]]) -> None:
    for item in items:
        old_rank, uses, _ = found.items.get(item, (2, 0, 0))
        found.items[item] = (min(rank, old_rank), uses + 1, index)


def _ends(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"
