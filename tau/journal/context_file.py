"""`context.md`: what holds in a context now, its facts and keywords, and what of it stands in prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tau.display import one_line, visible
from tau.journal import assumptions, open_items
from tau.journal.markdown import Item, Markdown, Section, as_line
from tau.journal.open_items import key

MOST_LINES = 150
"""Lines that a context's file should stay under."""

MOST_ACTIVE = 7
"""Active items from which on they say no longer what comes first."""

_KEYWORDS = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?keywords(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(.*)", re.IGNORECASE
)
_SESSIONS = re.compile(r"[ \t]*<!--\s*sessions:[^>]*-->")
CUT = "[the beginning is not loaded]"
"""Begins what is shown of a file that is too long."""

_FACTS = "Facts"
_STATE = (open_items.TITLE, assumptions.TITLE)
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class FactChange:
    """A change of what holds.

    Attributes:
        text: The fact as it is to stand; empty to take the old one out.
        old: The words of the one it takes the place of; empty for a new one.
        section: The title of the section for a new one, where it is there.
    """

    text: str
    old: str = ""
    section: str = ""


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
    """The items of the file that are neither to be done nor assumed."""
    sections = [found for title in _STATE if (found := document.section(title)) is not None]
    return [
        item
        for item in document.items()
        if item.text and not any(section.body <= item.first < section.end for section in sections)
    ]


def revise(document: Markdown, changes: Iterable[FactChange], elsewhere: Sequence[str]) -> list[str]:
    """Change what holds.

    Args:
        document: Of the context.
        changes: What to change.
        elsewhere: Facts that other files own; they are not written down a second time.

    Returns:
        A line for each: what was changed, or why it was not.
    """
    told: list[str] = []
    owned = {key(text) for text in elsewhere}
    for change in changes:
        there = {key(item.text): item for item in facts(document)}
        old = there.get(key(change.old)) if change.old else None
        if change.old and old is None:
            told.append(f"{_quoted(change.old)} is no fact here, so it was not changed")
        elif not change.text and old is not None:
            if old.holds_more:
                told.append(f"{_quoted(old.text)} stays: it has something nested in it")
            else:
                document.remove(old)
                told.append(f"{_quoted(old.text)} was taken out: it holds no more")
        elif key(change.text) in owned:
            told.append(f"{_quoted(change.text)} has its place in another file already")
        elif key(change.text) in there and there[key(change.text)] is not old:
            told.append(f"{_quoted(change.text)} stands here already")
        elif old is not None and as_line(change.text) != old.text:
            document.replace(old, as_line(change.text))
            told.append(f"{_quoted(old.text)} is now {_quoted(change.text)}")
        elif old is None and change.text:
            document.append(_section(document, change.section), f"- {as_line(change.text)}")
            told.append(f"{_quoted(change.text)} is a new fact")
    return told


def give_up(document: Markdown, moved: Iterable[str]) -> list[str]:
    """Take out facts that another file has become the owner of; their texts."""
    wanted = {key(text) for text in moved}
    gone = [item.text for item in facts(document) if key(item.text) in wanted and not item.holds_more]
    for text in gone:
        found = next(item for item in facts(document) if item.text == text)
        document.remove(found)
    return gone


def keywords(data: bytes) -> list[str]:
    """The keywords that a context's file lists in its line ``Keywords: a, b, c``."""
    document = Markdown(data)
    for line in document.lines():
        if found := _KEYWORDS.fullmatch(line.text):
            words = (word.strip(" \t`*_.\"'") for word in re.split(r"[,;]", found[1]))
            return [word for word in words if word]
    return []


def note_keywords(document: Markdown, words: Sequence[str]) -> bool:
    """Write down the keywords of a context that has none; whether that was done."""
    listed = ", ".join(as_line(word) for word in words if word.strip())
    if not listed or keywords(document.data):
        return False
    for line in document.lines():
        if line.text.strip().casefold() == "keywords:":
            document.remove_lines(line.number, line.number)
            document.insert(line.number, f"Keywords: {listed}")
            return True
    headings = document.headings()
    document.insert(headings[0].body if headings else 0, f"Keywords: {listed}")
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
        there = [item.text for item in listed if item.tier == tier and not item.done]
        if there:
            lines.append(f"{tier or 'In no tier'} ({len(there)}):")
            lines += _some(there, len(there) if tier == open_items.ACTIVE else 5)
    held = [tally for tally in assumptions.tallies(document) if tally.text]
    if held:
        held.sort(key=lambda tally: (bool(tally.against), -tally.seen))
        lines.append(f"Assumptions ({len(held)}), not yet proven:")
        lines += _some([f"{tally.text} — seen {tally.seen}×, {tally.against} against" for tally in held], 5)
    known = [item.text for item in facts(document) if not item.depth]
    if known:
        lines.append(f"Facts ({len(known)}):")
        lines += _some(known, _SHOWN)
    return lines


def _quoted(text: str) -> str:
    return f"“{one_line(text, 80)}”"


def _some(texts: Sequence[str], most: int) -> list[str]:
    lines = [f"  {one_line(text, 200)}" for text in texts[:most]]
    return lines + ([f"  … {len(texts) - most} more"] if len(texts) > most else [])


def _section(document: Markdown, wanted: str) -> Section:
    if wanted and key(wanted) not in map(key, _STATE):
        state = [found for title in _STATE if (found := document.section(title)) is not None]
        for section in document.sections():
            inside = any(each.line <= section.line < each.end for each in state)
            if section.level > 1 and not inside and key(section.title) == key(wanted):
                return section
    found = document.section(_FACTS)
    return found if found is not None else document.add_section(_FACTS, 2, before=open_items.TITLE)


def shown(data: bytes, most: int) -> str:
    """The file as a prompt holds it, without marks of sessions; of a long one the beginning goes.

    Args:
        data: The file.
        most: Characters.
    """
    text = _SESSIONS.sub("", visible(data.decode("utf-8-sig", "replace"))).strip()
    if len(text) <= most:
        return text
    kept = text[len(text) - most :]
    return f"{CUT}\n{kept.partition(chr(10))[2] or kept}"
