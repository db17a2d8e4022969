"""Finds the facts in what a person or a model wrote, by sentences, and cuts the clause around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tau.agent.anchor_tokens import WORD, Kind, kind_of, trimmed
from tau.agent.anchor_words import ACRONYMS, COMMANDS, FILLERS, LINKS, NO_NAMES

LONGEST_SENTENCE = 600
"""Characters after which a sentence without an end is cut at a space."""

SHORT = 45
"""Characters up to which a clause is given more of its sentence, so that it says what it is about."""

_LONGEST_CODE = 160
_MARK = re.compile(r"\s*(?:[-*+•>|]+\s+|#+\s+|\(?\d{1,3}[.)]\s+)*(?:\[[ xX]\]\s+)?")
_BORDER = re.compile(r"(?<![.!?…])[.!?…]{1,8}[\"'”»)\]*_]{0,3}(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof|St|Nr|No|no|nr|vs|ca|bzw|usw|etc|approx|incl|inkl|Abs|vgl|max|min|Fig|e\.g|i\.e|z\.B)$"
)
_ORDINAL = re.compile(r"\b\d{1,2}\.$")
_CODE = re.compile(r"`([^`]{1,200})`")
_QUOTED = re.compile(
    r"\"([^\"]{2,80})\"|“([^“”]{2,80})”|„([^„“”]{2,80})[“”]|«([^«»]{2,80})»|「([^「」]{1,60})」|『([^『』]{1,60})』"
    r"|(?<!\w)'([^'\s](?:[^']{0,60}[^'\s])?)'(?!\w)"
)
_MONTH = (
    "(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|janv|févr|fév|mars|avr|juin|juil|août|"
    "ene|abr|ago|dic)[a-zûé]{0,7}"
)
_MONTH_NEXT = re.compile(rf" {_MONTH}\b", re.IGNORECASE)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}\.?(?:,? \d{{4}})?\b"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"
    rf"|\b{_MONTH} \d{{4}}\b|\d{{2,4}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|\d{{1,2}}月\d{{1,2}}日",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?<![\w/.-])(?:" + "|".join(map(re.escape, sorted(COMMANDS, reverse=True))) + r")(?= \S)"
)
_ARGUMENT = re.compile(r" (\"[^\"]{0,100}\"|'[^']{0,100}'|[^\s\"'][^\s]*)")
_LABEL_AFTER = re.compile(r"[\s-]?([^\W\d_]+|[年月日天个小時分秒%])")
_LABEL_BEFORE = re.compile(r"([^\W\d_]+)[\s:=-]{0,3}$")
_CAPITAL = re.compile(r"[^\W\d_](?:[\w’-]|'(?=\w))*")
_GERMAN = re.compile(r"\b(?:und|der|das|nicht|ist|mit|auf|für|wir|ich|ein|eine|den|dem|von|zu|im)\b")
_ENGLISH = re.compile(r"\b(?:and|the|not|is|with|on|for|we|to|of|at|it|that)\b")
_CLAUSE = re.compile(r"[,;:] |\s[–—-]\s|\s\(|\)\s|[、，；：]")
_AROUND = " \t,;:–—-*|、，；：。…"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A fact in a sentence.

    Attributes:
        start: Where its span begins in the sentence.
        end: Where its span ends.
        value: What must stand somewhere for the fact to be known there.
        kind: What it is.
        weak: Whether it is worth less than others: a single name, a small number.
        label: For a number of less than four digits, the word it goes with: alone it could be any number.
    """

    start: int
    end: int
    value: str
    kind: Kind
    weak: bool = False
    label: str = ""

    @property
    def key(self) -> str:
        """Equal for mentions of the same fact."""
        value = self.value.casefold() if self.kind is Kind.WORDS else self.value
        return f"{value} {self.label[:4]}" if self.label else value


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line, with the facts in it in order."""

    text: str
    anchors: tuple[Anchor, ...]


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text that hold a fact, in order."""
    nouns_capital = len(_GERMAN.findall(text)) > len(_ENGLISH.findall(text))
    for line, names in _lines(text):
        for sentence in _split(line):
            found = find(sentence, names="many" if nouns_capital and names else "any" if names else "none")
            if found:
                yield Sentence(sentence, found)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text without list marks, wrapped ones joined; and whether capitals may be names."""
    held, fenced = "", False
    for raw in text.split("\n"):
        bare = raw.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            bare = ""
        mark = _MARK.match(bare)
        begins = fenced or (mark is not None and mark.end() > 0) or not bare
        wraps = len(held.rpartition("\n")[2]) >= SHORT and not begins and not bare[0].isupper()
        if held and wraps:
            held += "\n" + bare
            continue
        if held:
            yield held.replace("\n", " "), True
            held = ""
        if fenced:
            if bare:
                yield bare.removeprefix("$ "), False
        elif bare.startswith("#"):
            yield bare.lstrip("# "), False
        else:
            held = bare[mark.end() :] if mark is not None else bare
    if held:
        yield held.replace("\n", " "), True


def _split(line: str) -> Iterator[str]:
    line = " ".join(line.replace("**", "").split())
    start = 0
    for border in _BORDER.finditer(line):
        if _ORDINAL.search(line, max(start, border.start() - 3), border.end()) and _MONTH_NEXT.match(
            line, border.end()
        ):
            continue
        if border.group()[0] == "." and _ABBREVIATION.search(
            line[max(start, border.start() - 8) : border.start()]
        ):
            continue
        yield from _pieces(line[start : border.end()].strip())
        start = border.end()
    yield from _pieces(line[start:].strip())


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST_SENTENCE:
        cut = sentence.rfind(" ", LONGEST_SENTENCE // 2, LONGEST_SENTENCE)
        cut = cut if cut > 0 else LONGEST_SENTENCE
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence


def find(sentence: str, *, names: str = "any") -> tuple[Anchor, ...]:
    """The facts of a sentence, in order, none inside another.

    Args:
        sentence: One line of at most about `LONGEST_SENTENCE` characters.
        names: Which capitalised words are names: ``any``, ``many`` (two or more in a row, for languages that
            write every noun so) or ``none``.
    """
    found: list[Anchor] = []
    left = sentence

    def take(anchor: Anchor) -> None:
        nonlocal left
        found.append(anchor)
        left = left[: anchor.start] + "\0" * (anchor.end - anchor.start) + left[anchor.end :]

    for match in _CODE.finditer(sentence):
        value = match[1].strip()
        if len(value) > 1:
            take(Anchor(match.start(), match.end(), value, Kind.COMMAND if " " in value else Kind.NAME))
    for start, end in _commands(left):
        take(Anchor(start, end, sentence[start:end], Kind.COMMAND))
    for match in _DATE.finditer(left):
        if any(map(str.isdecimal, match.group())):
            take(Anchor(match.start(), match.end(), match.group(), Kind.DATE))
    for match in _QUOTED.finditer(left):
        value = next(filter(None, match.groups()), "").strip()
        if value.strip("\0 .,") and value.count(" ") < 8 and "\0" not in value:
            take(Anchor(match.start(), match.end(), value, Kind.WORDS))
    for match in WORD.finditer(left):
        anchor = _word(left, match)
        if anchor is not None:
            take(anchor)
    if names != "none":
        found += _names(left, least=2 if names == "many" else 1)
    return tuple(sorted(found, key=lambda anchor: anchor.start))


def _word(sentence: str, match: re.Match[str]) -> Anchor | None:
    raw = match.group()
    if "\0" in raw or (raw.isalpha() and raw[1:].islower()):
        return None
    value = trimmed(raw)
    kind = kind_of(value) if value else None
    if kind is None:
        return None
    start = match.start() + raw.find(value)
    end = start + len(value)
    if kind is not Kind.NUMBER:
        return Anchor(start, end, value, kind)
    if sum(map(str.isdecimal, value)) > 3:
        return Anchor(start, end, value, kind)
    label = _label(sentence, start, end)
    small = value.isdecimal() and len(value) < 2
    if small and not label:
        return None
    return Anchor(start, end, value, kind, weak=small, label=label)


def _label(sentence: str, start: int, end: int) -> str:
    after = _LABEL_AFTER.match(sentence, end)
    if after is not None and after[1].casefold() not in FILLERS | NO_NAMES:
        return after[1].casefold()
    before = _LABEL_BEFORE.search(sentence[max(0, start - 30) : start])
    return before[1].casefold() if before is not None and before[1].casefold() not in FILLERS else ""


def _commands(sentence: str) -> Iterator[tuple[int, int]]:
    """Where a known command stands with its arguments, a flag among them."""
    done = 0
    for match in _COMMAND.finditer(sentence):
        if match.start() < done:
            continue
        at = end = match.end()
        flags = plain = 0
        after_flag = False
        while (argument := _ARGUMENT.match(sentence, at)) is not None:
            word = argument[1]
            if "\0" in word or argument.end() - match.start() > _LONGEST_CODE:
                break
            ends = word[-1] in ".,;:!?)" and not word.startswith(("'", '"'))
            flag = word[0] == "-" and len(word) > 1
            if flag or after_flag or not word.isalpha():
                end = argument.end() - (len(word) - len(word.rstrip(".,;:!?)")) if ends else 0)
                plain = 0
            else:
                plain += 1
            flags += flag
            after_flag = flag and "=" not in word
            at = argument.end()
            if ends or plain > (1 if flags else 2):
                break
        if flags:
            done = end
            yield match.start(), end


def _names(sentence: str, *, least: int) -> Iterator[Anchor]:
    """Names: capitalised words that begin no sentence, alone or in a row."""
    row: list[re.Match[str]] = []
    previous = 0
    for match in _CAPITAL.finditer(sentence):
        word = match.group()
        gap = sentence[previous : match.start()]
        previous = match.end()
        if row and gap == " " and word in LINKS:
            continue
        capital = word[0].isupper()
        if row and (not capital or gap not in (" ", ". ")):
            yield from _name(sentence, row, least)
            row = []
        if capital:
            row.append(match)
    if row:
        yield from _name(sentence, row, least)


def _name(sentence: str, row: list[re.Match[str]], least: int) -> Iterator[Anchor]:
    begins = sentence[: row[0].start()].rstrip()[-1:] in ("", ":", "(", "|", "*", "#", ">", "/")
    while row and row[0].group().casefold() in NO_NAMES:
        row, begins = row[1:], False
    row = [match for match in row if not (match.group().isupper() and match.group() in ACRONYMS)]
    if len(row) < max(least, 2 if begins else 1) or len(row[-1].group()) < 2:
        return
    named = row[1:] if begins and len(row) > 2 else row  # the first word of a sentence may be any word
    if len(named) == 1 and named[0].group().isupper() and len(named[0].group()) < 3:
        return
    value = sentence[named[0].start() : named[-1].end()]
    yield Anchor(row[0].start(), row[-1].end(), value, Kind.WORDS, weak=len(row) == 1)


def clauses(sentence: Sentence, width: int) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
    """The sentence's facts with the words around them, each fact once.

    Args:
        sentence: Its text and facts.
        width: Characters that a clause may have; a single longer fact stays whole.

    Yields:
        A clause and the facts it holds.
    """
    text, anchors = sentence.text, sentence.anchors
    if len(text) <= width:
        yield text.strip(" ,;|").removesuffix("."), anchors
        return
    borders = [0, *_borders(text, anchors), len(text)]
    at = 0
    while at < len(anchors):
        begin = max(border for border in borders if border <= anchors[at].start)
        last = at
        while last + 1 < len(anchors) and anchors[last + 1].end - anchors[at].start <= width:
            if min(border for border in borders if border >= anchors[last + 1].end) - begin > width:
                break
            last += 1
        end = min(border for border in borders if border >= anchors[last].end)
        held = anchors[at : last + 1]
        if end - begin > width:
            while last + 1 < len(anchors) and anchors[last + 1].end <= end:
                if anchors[last + 1].end - anchors[at].start > width:
                    break
                last += 1
            held = anchors[at : last + 1]
            begin, end = _window(text, (held[0].start, held[-1].end), (begin, end), width)
        elif end - begin < SHORT:
            begin = _word_start(text, min(begin, max(0, end - min(width, SHORT))), held[0].start)
        yield _trim(text, begin, end, held), held
        at = last + 1


def _borders(text: str, anchors: Sequence[Anchor]) -> Iterator[int]:
    spans = iter(anchors)
    span = next(spans, None)
    for match in _CLAUSE.finditer(text):
        while span is not None and span.end <= match.start():
            span = next(spans, None)
        if span is None or span.start >= match.end() - 1:
            yield match.end()


def _window(text: str, facts: tuple[int, int], clause: tuple[int, int], width: int) -> tuple[int, int]:
    """The part of a clause around facts: more of what is before, which mostly says what a value is."""
    (first, last), (begin, end) = facts, clause
    right = min(end, last + max(0, width - (last - first)) // 3)
    left = max(begin, min(first, right - width))
    right = max(last, min(end, left + width))
    return _word_start(text, left, first), _word_end(text, last, right)


def _word_start(text: str, left: int, first: int) -> int:
    if left in (0, first) or text[left - 1].isspace():
        return left
    space = text.find(" ", left, first)
    if space >= 0:
        return space + 1
    return first if text[left:first].isascii() else left  # without spaces, any character begins a word


def _word_end(text: str, last: int, right: int) -> int:
    if right in (last, len(text)) or text[right].isspace():
        return right
    space = text.rfind(" ", last, right)
    if space >= 0:
        return space
    return last if text[last:right].isascii() else right


def _trim(text: str, begin: int, end: int, held: Sequence[Anchor]) -> str:
    first, last = held[0].start, held[-1].end
    head = text[begin:first].lstrip(_AROUND + ".!?)")
    while (word := head.partition(" ")[0]) and word.casefold() in FILLERS and " " in head:
        head = head.partition(" ")[2]
    tail = text[last:end].rstrip(_AROUND + "(")
    words = tail.split(" ")
    while len(words) > 1 and words[-1].casefold() in FILLERS:
        words.pop()
    return (head + text[first:last] + " ".join(words).removesuffix(".")).strip()
