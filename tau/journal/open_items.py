"""The open items of a context: three tiers by horizon, items moved between them and never dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tau.journal.markdown import WHOLE, Item, Markdown, Section, as_line
from tau.journal.noted import without_mark

TITLE = "Open items"
ACTIVE, BACKLOG, SOMEDAY = "Active", "Backlog", "Someday / Blocked"
TIERS = (ACTIVE, BACKLOG, SOMEDAY)

_RECAP = re.compile(r"> Done (\d{4}-\d\d-\d\d): (.*)")
RESOLVED = "; "
"""Stands between the items that a quote says are done."""


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item that is to be done.

    Attributes:
        text: On one line.
        tier: One of `TIERS`; empty for an item that stands in none.
        done: Whether it is ticked, with all that is nested in it.
        item: Where it stands.
        within: What is nested in it and not ticked.
    """

    text: str
    tier: str
    done: bool
    item: Item
    within: tuple[str, ...] = ()


def key(text: str) -> str:
    """What two texts have in common that say the same: C, C++ and C# are three things.

    Where they were noted from is none of what they say.
    """
    return " ".join(without_mark(text).replace("\\", "").casefold().split()).rstrip(".")


def tiers(document: Markdown) -> dict[str, Section]:
    """The sections of the tiers that are there."""
    section = document.section(TITLE)
    found = {tier: _tier(document, section, tier) for tier in TIERS} if section is not None else {}
    return {tier: each for tier, each in found.items() if each is not None}


def items(document: Markdown) -> list[OpenItem]:
    """The items of the section, in their order; what is nested in another one is part of that."""
    section = document.section(TITLE)
    if section is None:
        return []
    outer: list[tuple[Item, list[str]]] = []
    for item in document.items(section):
        if not item.depth:
            outer.append((item, []))
        elif item.checked is not True and item.first > outer[-1][0].first:
            outer[-1][1].append(_flat(item.text))
    there = tiers(document)
    listed = []
    for item, within in outer:
        if item.text.strip():
            tier = next((name for name, found in there.items() if found.body <= item.first < found.end), "")
            done = item.checked is True and not within
            listed.append(OpenItem(_flat(item.text), tier, done, item, tuple(within)))
    return listed


def find(document: Markdown, text: str) -> OpenItem | None:
    """The item that says what a text says, or None."""
    return next((each for each in items(document) if key(each.text) == key(text)), None)


def complete(document: Markdown) -> None:
    """Have the section and its three headings there, in their order; items above them go to the backlog."""
    section = document.section(TITLE) or document.add_section(TITLE, 2)
    if section.level == 6:  # which has no room for headings below it
        heading = document.lines()[section.line].text
        document.put_lines(section.line, section.line, [heading.replace("#", "", 1)])
        section = _there(document)
    level = section.level + 1
    for number, tier in enumerate(TIERS):
        section = _there(document)
        if _tier(document, section, tier) is None:
            later = (_tier(document, section, other) for other in TIERS[number + 1 :])
            before = next((found.title for found in later if found is not None), None)
            document.add_section(tier, level, before=before, under=section)
    section = _there(document)
    flat = [item for item in document.items(section) if item.first < section.own_end and not item.depth]
    if flat:
        blocks = [document.block(item) for item in flat]
        _remove(document, flat)
        _append(document, "\n".join(blocks), BACKLOG)


def add(document: Markdown, text: str, tier: str) -> bool:
    """Add an item to a tier; one that says the same is moved there instead.

    Returns:
        Whether anything changed.
    """
    if move(document, text, tier):
        return True
    if not text.strip() or any(key(each.text) == key(text) for each in items(document)):
        return False
    _append(document, f"- [ ] {as_line(text, WHOLE)}", tier)
    return True


def move(document: Markdown, text: str, tier: str) -> bool:
    """Move an item to a tier, with all that is nested in it.

    Returns:
        Whether it was there and in another one.
    """
    found = find(document, text)
    if found is None or found.tier == tier:
        return False
    _shift(document, found.item, tier)
    return True


def finished(document: Markdown, texts: Iterable[str]) -> tuple[list[OpenItem], list[str]]:
    """The items that are done: those that are named, and those that are ticked.

    One with an item nested in it that is not ticked is not.

    Args:
        document: Of the context.
        texts: What is named.

    Returns:
        The items, and why others that were named or ticked are not done, a line each.
    """
    wanted = {key(text): text for text in texts}
    there = items(document)
    done, left = [], []
    for found in there:
        if found.item.checked is not True and key(found.text) not in wanted:
            continue
        if found.within:
            left.append(f"“{found.text}” stays: something in it is still open")
            wanted.pop(key(found.text), None)
        else:
            done.append(found)
    known = {key(found.text) for found in there}
    left += [f"“{text}” is no open item here" for word, text in wanted.items() if word not in known]
    return done, left


def resolve(
    document: Markdown,
    texts: Iterable[str],
    day: str,
    *,
    logged: Callable[[str, str], bool],
    recorded: Callable[[OpenItem], bool] | None = None,
) -> tuple[list[str], list[str]]:
    """Take out what is done, and say so in a quote: whoever counts bullets must not count it as open.

    Args:
        document: Of the context.
        texts: As of `finished`.
        day: Today.
        logged: Whether a log of a day has what a quote of that day says is done; the quote goes then.
        recorded: Whether a log has an item as it stands; one that none has stays. All go without it.

    Returns:
        The texts of the items that were taken out, and those that were not, each with the reason.
    """
    over, left = finished(document, texts)
    done = [found for found in over if recorded is None or recorded(found)]
    left += [f"“{each.text}” stays: it was changed while this was saved" for each in over if each not in done]
    _remove(document, [found.item for found in done])
    if done:
        _recap(document, [found.text for found in done], day, logged)
    return [found.text for found in done], left


def _recap(document: Markdown, texts: Sequence[str], day: str, logged: Callable[[str, str], bool]) -> None:
    """Have one quote of today. One of another day goes where a log has it; one of several lines stays."""
    section = _there(document)
    lines = document.lines(section)
    goes_on = {
        line.number - 1
        for line in lines
        if line.text.lstrip().startswith(">") and not _RECAP.fullmatch(line.text)
    }
    kept: list[str] = []
    for line in reversed(lines):
        found = _RECAP.fullmatch(line.text)
        if found is None or line.number >= section.own_end or line.number in goes_on:
            continue
        if found[1] == day:
            kept.append(found[2])
        elif not logged(found[1], found[2]):
            continue
        document.remove_lines(line.number, line.number)
        section = _there(document)
    said = RESOLVED.join([*kept, *(as_line(text, WHOLE) for text in texts)])
    document.append(_there(document), f"> Done {day}: {said}", at_end=False)


def _remove(document: Markdown, gone: Sequence[Item]) -> None:
    """Take items out, those that only blank lines part at once: every change has the document read anew."""
    lines = [line.text for line in document.lines()]
    runs: list[tuple[int, int]] = []
    for item in gone:
        follows = bool(runs) and not any(
            lines[number].strip() for number in range(runs[-1][1] + 1, item.first)
        )
        first = runs.pop()[0] if follows else item.first
        runs.append((first, item.last))
    for first, last in reversed(runs):  # lines before a run stay where they are when it goes
        document.remove_lines(first, last)


def _shift(document: Markdown, item: Item, tier: str) -> None:
    block = document.block(item)
    document.remove(item)
    _append(document, block, tier)


def _append(document: Markdown, block: str, tier: str) -> None:
    section = _tier(document, _there(document), tier)
    assert section is not None, "the headings are there before anything is changed"
    document.append(section, block)


def _there(document: Markdown) -> Section:
    section = document.section(TITLE)
    assert section is not None
    return section


def _tier(document: Markdown, section: Section, tier: str) -> Section | None:
    """The section of a tier, whatever blanks stand around its slash."""
    wanted = _closed_up(tier)
    titled = document.sections(under=section)
    return next((found for found in titled if _closed_up(found.title) == wanted), None)


def _closed_up(title: str) -> str:
    return "".join(title.casefold().split()).rstrip("#")


def _flat(text: str) -> str:
    return " ".join(text.split())
