"""`context.md`: what holds in a context now, its facts and keywords, and what of it stands in prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tau.display import one_line, visible
from tau.journal import assumptions, open_items
from tau.journal.markdown import WHOLE, Item, Markdown, Section, as_line
from tau.journal.noted import without_mark
from tau.journal.open_items import OpenItem, key
from tau.journal.wrapping import whole

MOST_LINES = 150
"""Lines that a context's file should stay under."""

MOST_ACTIVE = 7
"""Active items from which on they say no longer what comes first."""

_KEYWORDS = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?keywords(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(.*)", re.IGNORECASE
)
_OPENS = re.compile(r"(?<!\\)<!--")
"""Where a comment begins; one that `as_line` put a backslash to is none."""
_SESSIONS = re.compile(r"(?<![ \t])[ \t]*<!--\s*sessions:[^<>]*-->")
_CUT = "[not loaded: "
_HEAD = 160
"""Characters that the line of what is left out takes at most."""

_REST = "the rest"
_GOES = (open_items.SOMEDAY, open_items.BACKLOG, _REST, open_items.ACTIVE)
"""What of a long file goes, in this order."""

_FACTS = "Facts"
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class FactChange:
    """A change of what holds.

    Attributes:
        text: The fact as it is to stand; empty to take the old one out.
        old: The words of the one it takes the place of; empty for a new one.
        section: The title of the section for a new one, where it is there.
        behind: What stands behind it in a file that it moves here from, as of `behind`.
    """

    text: str
    old: str = ""
    section: str = ""
    behind: str = ""


def new_context(name: str, words: Sequence[str]) -> bytes:
    """The file of a context as it is made."""
    listed = ", ".join(map(as_line, words))
    document = Markdown(f"# {as_line(name)}\n\nKeywords: {listed}".rstrip().encode() + b"\n\n")
    document.add_section(_FACTS, 2)
    document.add_section(open_items.TITLE, 2)
    open_items.complete(document)
    document.add_section(assumptions.TITLE, 2)
    return document.data


def facts(document: Markdown) -> list[Item]:
    """The items of the file that are neither to be done nor assumed.

    What has a checkbox is to be done wherever it stands, with what is nested in it; the keywords are none.
    """
    outside = _outside(document)
    boxes = [item for item in outside if item.checked is not None]
    return [
        item
        for item in outside
        if item.text
        and not any(box.first <= item.first <= box.last for box in boxes)
        and not _KEYWORDS.fullmatch(_flat(item.text))
    ]


def fact_words(item: Item) -> str:
    """A fact without the comments behind it."""
    return _without_comments(item.text)


def fact_key(item: Item) -> str:
    """What a fact has in common with another text that says the same; comments behind it do not matter."""
    return key(fact_words(item))


def fact_keys(document: Markdown) -> list[str]:
    """What facts have in common with others that say the same."""
    return [fact_key(item) for item in facts(document)]


def behind(item: Item, before: str) -> str:
    """What stands behind the words of a fact, as it stands there: where it was noted from, and comments.

    Args:
        item: The fact.
        before: What it is to stand behind; where that says where it was noted from, the comments alone.
    """
    flat = _flat(item.text)
    words = _without_comments(flat)
    bare = without_mark(words)
    comments = flat[len(words) :]
    bare_before = _without_comments(before)
    return comments if without_mark(bare_before) != bare_before else words[len(bare) :] + comments


def revise(document: Markdown, changes: Iterable[FactChange], elsewhere: Sequence[str]) -> list[str]:
    """Change what holds.

    Args:
        document: Of the context.
        changes: What to change.
        elsewhere: Facts that other files own, or their `fact_keys`; they are not written down a second time.

    Returns:
        A line for each: what was changed, or why it was not.
    """
    told: list[str] = []
    owned = {key(text) for text in elsewhere}
    for change in changes:
        there = {fact_key(item): item for item in facts(document)}
        old = there.get(key(change.old)) if change.old else None
        if change.old and old is None:
            told.append(f"{_quoted(change.old)} is no fact here, so it was not changed")
        elif not change.text and old is not None:
            if old.holds_more:
                told.append(f"{_quoted(old.text)} stays: it has something nested in it")
            else:
                document.remove(old)
                told.append(f"{_quoted(old.text)} was taken out of the facts")
        elif key(change.text) in owned:
            told.append(f"{_quoted(change.text)} has its place in another file already")
        elif key(change.text) in there:
            told.append(f"{_quoted(change.text)} stands here already")
            same = there[key(change.text)]
            if change.behind.strip() not in _flat(same.text):
                document.replace(same, f"{_flat(same.text)}{change.behind}")
        elif old is not None:
            document.replace(old, as_line(change.text, WHOLE))
            told.append(f"{_quoted(old.text)} is now {_quoted(change.text)}")
        elif change.text:
            line = f"- {as_line(change.text, WHOLE)}{change.behind}"
            document.append(_section(document, change.section), line)
            told.append(f"{_quoted(change.text)} is a new fact")
    return told


def give_up(document: Markdown, moved: Iterable[str]) -> list[str]:
    """Take out facts that another file has become the owner of; their texts."""
    wanted = {key(text) for text in moved}
    gone = [item for item in facts(document) if fact_key(item) in wanted and not item.holds_more]
    for item in reversed(gone):  # lines before an item stay where they are when it goes
        document.remove_lines(item.first, item.last)
    return [item.text for item in gone]


def keywords(data: bytes) -> list[str]:
    """The keywords that a context's file lists in its line ``Keywords: a, b, c``."""
    for line in Markdown(data).prose(unclosed=True):
        if found := _KEYWORDS.fullmatch(line.text):
            words = (word.strip(" \t`*_.\"'") for word in re.split(r"[,;]", found[1]))
            return [word for word in words if word]
    return []


def note_keywords(document: Markdown, words: Sequence[str]) -> bool:
    """Write down the keywords of a context that has none; whether that was done."""
    listed = ", ".join(as_line(word) for word in words if word.strip())
    if not listed or keywords(document.data):
        return False
    for line in document.prose(unclosed=True):
        if line.text.strip().casefold() == "keywords:":
            document.remove_lines(line.number, line.number)
            document.insert(line.number, f"Keywords: {listed}")
            return True
    headings = document.headings()
    document.insert(headings[0].body if headings else document.front_matter, f"Keywords: {listed}")
    return True


def lengths(name: str, data: bytes) -> list[str]:
    """What there is to say of the length of a context's file, a line each."""
    document = Markdown(data)
    said = []
    count = len(document.lines())
    if count >= MOST_LINES:
        said.append(
            f"{name} has {count} lines; it should stay under {MOST_LINES}: take out what no longer holds"
        )
    active = [item for item in open_items.items(document) if item.tier == open_items.ACTIVE]
    if len(active) > MOST_ACTIVE:
        said.append(f"{name} has {len(active)} active items: if everything is active, nothing is")
    if stray := [item for item in open_items.items(document) if not item.tier]:
        first = one_line(stray[0].text, 80)
        said.append(f"{name} has {len(stray)} open items under a heading that is no tier, such as “{first}”")
    return said


def summary(data: bytes) -> list[str]:
    """The most relevant points of a context, a line each: what is active first."""
    document = Markdown(data)
    listed = open_items.items(document)
    lines: list[str] = []
    for tier in (*open_items.TIERS, ""):
        there = [_to_do(item) for item in listed if item.tier == tier and not item.done]
        if there:
            lines.append(f"{tier or 'In no tier'} ({len(there)}):")
            lines += _some(there, len(there) if tier == open_items.ACTIVE else 5)
    held = [tally for tally in assumptions.tallies(document) if tally.text]
    if held:
        held.sort(key=lambda tally: (bool(tally.against), -tally.seen))
        lines.append(f"Assumptions ({len(held)}), not yet proven:")
        lines += _some([f"{tally.text} — seen {tally.seen}×, {tally.against} against" for tally in held], 5)
    boxes = [item.text for item in _outside(document) if item.checked is False and item.text]
    if boxes:
        lines.append(f"To be done, outside of {open_items.TITLE} ({len(boxes)}):")
        lines += _some(boxes, 5)
    known = [item.text for item in facts(document) if not item.depth]
    if known:
        lines.append(f"Facts ({len(known)}):")
        lines += _some(known, _SHOWN)
    return lines


def _outside(document: Markdown) -> list[Item]:
    """The items that are in none of the sections of the running state."""
    sections = _state(document)
    return [
        item
        for item in document.items()
        if not any(section.body <= item.first < section.end for section in sections)
    ]


def _state(document: Markdown) -> list[Section]:
    """The sections of the running state."""
    listed = document.section(open_items.TITLE)
    return [*([] if listed is None else [listed]), *assumptions.sections(document)]


def _to_do(item: OpenItem) -> str:
    """An open item; of one that is ticked, what in it is not."""
    ticked = item.item.checked is True
    return f"{item.text}, in it still open: {'; '.join(filter(None, item.within))}" if ticked else item.text


def _without_comments(text: str) -> str:
    """A text up to its first comment, where it ends with one."""
    opens = _OPENS.search(text)
    return text[: opens.start()].rstrip() if opens and text.rstrip().endswith("-->") else text


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return f"“{whole(text)}”"


def _some(texts: Sequence[str], most: int) -> list[str]:
    lines = [f"  {one_line(text, 200)}" for text in texts[:most]]
    return lines + ([f"  … {len(texts) - most} more"] if len(texts) > most else [])


def _section(document: Markdown, wanted: str) -> Section:
    if wanted:
        state = _state(document)
        for section in document.sections():
            inside = any(each.line <= section.line < each.end for each in state)
            if section.level > 1 and not inside and key(section.title) == key(wanted):
                return section
    found = document.section(_FACTS)
    return found if found is not None else document.add_section(_FACTS, 2, before=open_items.TITLE)


def shown(data: bytes, most: int) -> str:
    """The file as a prompt holds it, without marks of sessions.

    Of one that is too long the items that can wait longest go first: those of the last two tiers, each from
    its end; then all else from the end; what is active last of all. Headings and keywords stay. The first
    line says what is left out.

    Args:
        data: The file.
        most: Characters.
    """
    text = _SESSIONS.sub("", visible(data.decode("utf-8-sig", "replace"))).strip()
    if len(text) <= most:
        return text
    document = Markdown(text.encode())
    lines = [line.text for line in document.lines()]
    size = len(text) + _HEAD
    without: dict[str, list[int]] = {name: [] for name in _GOES}
    for name, first, last in _goes(document):
        if size <= most:
            break
        size -= sum(len(lines[number]) + 1 for number in range(first, last + 1))
        without[name] += range(first, last + 1)
    gone = {number for numbers in without.values() for number in numbers}
    named = [f"{count} of {name}" for name, numbers in without.items() if (count := _count(numbers, lines))]
    head = f"{_CUT}{', '.join([*named, *(['its end'] if size > most else [])])}]"
    kept = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return f"{head}\n{kept[: max(0, most - len(head) - 1)]}"


def left_out(text: str) -> str:
    """What `shown` says it left out of a file; empty when it shows all of it."""
    first = text.partition("\n")[0]
    return first.removeprefix(_CUT).removesuffix("]") if first.startswith(_CUT) else ""


def _goes(document: Markdown) -> list[tuple[str, int, int]]:
    """What may be left out, in the order in which it is: of which part, its first line and its last."""
    tiers = open_items.tiers(document)
    headings = {number for each in document.headings() for number in range(each.line, each.body)}
    blocks = {item.first: item.last for item in document.items() if not item.depth}
    parts: dict[str, list[tuple[str, int, int]]] = {name: [] for name in _GOES}
    lines = [line.text for line in document.lines()]
    number = 0
    while number < len(lines):
        last = blocks.get(number, number)
        if number not in headings and not _KEYWORDS.fullmatch(lines[number]):
            tier = next((name for name, each in tiers.items() if each.body <= number < each.end), _REST)
            parts[tier].append((tier, number, last))
        number = last + 1
    return [each for name in _GOES for each in reversed(parts[name])]


def _count(numbers: Sequence[int], lines: Sequence[str]) -> str:
    """How many of the lines have a text; empty when none has."""
    count = sum(1 for number in numbers if lines[number].strip())
    return f"{count:,} line{'' if count == 1 else 's'}" if count else ""
