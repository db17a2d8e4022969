"""The rows of the memory screen: its files under their headings, and the changes of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tau.conversation.consent import WaitingChange
from tau.conversation.state import MemoryFile, MemoryListing
from tau.display import one_line
from tau.input.fuzzy import Match, ranked
from tau.memory.documents import front_matter
from tau.memory.entries import Entry
from tau.tui.widgets.row_list import Row
from tau.tui.widgets.start_page import when

MOST_NAME = 32
"""Cells of the column of names; what a file begins with stands behind it."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something there is to know, that is no file: the goal, or what needs a look.

    Attributes:
        lines: What it is; the first one stands in the list.
        needs_look: Whether it is something to be put right.
    """

    lines: tuple[str, ...]
    needs_look: bool = False


Thing = MemoryFile | Entry | WaitingChange | Told
Found = tuple[Thing, Match]

_PLAIN = Match(0, ())


def files(listing: MemoryListing, typed: str) -> list[Found | str]:
    """The files under their headings, after what needs a look; for what was typed, the best first."""
    if typed:
        best = ranked(typed, listing.files, _called, limit=len(listing.files), others=_others)
        return [(file, lies) for file, lies in best]
    groups: Sequence[tuple[str, Sequence[Thing]]] = (
        ("Waits for your yes", listing.waiting),
        ("Needs a look", [Told((problem,), needs_look=True) for problem in listing.problems]),
        ("Goal", [Told((listing.goal[0].removeprefix("goal: "), *listing.goal[1:]))] if listing.goal else []),
        ("This project", [file for file in listing.files if file.title.startswith("project/")]),
        ("Every project", [file for file in listing.files if file.title.startswith("global/")]),
        ("The project's own, never written", [file for file in listing.files if file.own]),
        ("Work log of the project", [Told((listing.work_log,))] if listing.work_log else []),
    )
    found: list[Found | str] = []
    for heading, things in groups:
        found += [heading, *((thing, _PLAIN) for thing in things)] if things else []
    return found or ["No memory yet"]


def changes(listing: MemoryListing, typed: str) -> list[Found | str]:
    """The changes, newest first; of those, what was typed is found in."""
    if typed:
        best = ranked(typed, listing.changes, _changed, limit=len(listing.changes), others=_sentences)
        return [(entry, lies) for entry, lies in best]
    if not listing.changes:
        return ["No changes yet"]
    older = ["Older ones: tau memory history --limit 1000"] if listing.more_changes else []
    return [*((entry, _PLAIN) for entry in listing.changes), *older]


def column(found: Sequence[Found | str], *, in_groups: bool) -> int:
    """Cells of the column of names, for `row`."""
    names = [_title(entry[0], in_groups=in_groups) for entry in found if not isinstance(entry, str)]
    return min(max(map(len, names), default=0), MOST_NAME)


def row(found: Found, width: int, *, in_groups: bool) -> Row:
    """How something is shown.

    Args:
        found: It, and where in it what was typed stands.
        width: Cells of the column of names.
        in_groups: Whether it stands under the heading of its scope.
    """
    thing, lies = found
    if isinstance(thing, Told):
        return Row(one_line(thing.lines[0]), left="! " if thing.needs_look else "")
    if isinstance(thing, WaitingChange):
        return Row(thing.title, left="? ", note=thing.sentence, note_at=width)
    if isinstance(thing, Entry):
        right = " · ".join([*([thing.mark] if thing.mark else []), when(thing.at.isoformat())])
        return Row(
            _changed(thing),
            right=right,
            marks=lies.positions,
            note=_sentences(thing)[0],
            note_at=width,
            quiet=thing.undone,
        )
    return Row(
        _title(thing, in_groups=in_groups),
        right=_state(thing),
        marks=lies.positions,
        note=_beginning(thing),
        note_at=width,
        quiet=thing.first_loaded > thing.last_loaded and thing.lines > 0,
    )


def key_of_row(entry: Found | str | Thing | None) -> str:
    """What an entry is known by from one look to the next."""
    thing = entry[0] if isinstance(entry, tuple) else entry
    if isinstance(thing, MemoryFile):
        return f"file {thing.title}"
    if isinstance(thing, WaitingChange):
        return f"waits {thing.title}"
    return f"change {thing.id}" if isinstance(thing, Entry) else str(thing)


def _state(file: MemoryFile) -> str:
    facts = ["built-in"] if file.builtin else []
    facts += ["from outside"] if file.origin else []
    if file.missing:
        facts.append("not loaded" if file.first_loaded > file.last_loaded else "cut")
    facts.append(f"{file.lines:,} line{'' if file.lines == 1 else 's'}")
    return " · ".join(facts)


def _beginning(file: MemoryFile) -> str:
    """The first line of a file that says something, without the marks of a heading."""
    rest = front_matter(file.text[:4_000])[1]
    return next((line for text in rest.splitlines() if (line := one_line(text.strip("#-* \t"), 200))), "")


def _called(file: MemoryFile) -> str:
    return one_line(file.title)


def _title(thing: Thing, *, in_groups: bool) -> str:
    """What stands in the column of names; nothing for what has no such column."""
    if isinstance(thing, Told):
        return ""
    if isinstance(thing, WaitingChange):
        return thing.title
    if isinstance(thing, Entry):
        return _changed(thing)
    return _called(thing).partition("/")[2] if in_groups and not thing.own else _called(thing)


def _others(file: MemoryFile) -> Sequence[str]:
    return [_state(file)]


def _changed(entry: Entry) -> str:
    """The files of a change, the first one by its name."""
    first, *more = (one_line(change.title) for change in entry.changes)
    return f"{first} and {len(more)} more" if more else first


def _sentences(entry: Entry) -> Sequence[str]:
    first = entry.changes[0]
    said = [f"{change.kind}{' — ' if change.sentence else ''}{change.sentence}" for change in entry.changes]
    return [said[0] if first.sentence or not entry.changes[1:] else f"{len(said)} files", *said[1:]]
