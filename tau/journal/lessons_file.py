"""`LESSONS.md` of a context: entries with ids that never collide, and the archive of what became a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from tau.display import one_line
from tau.journal.assumptions import Tally
from tau.journal.markdown import WHOLE, Markdown, as_line
from tau.journal.open_items import key

DEFAULT_PREFIX = "SL"
VALIDATED = "N/A — validated pattern"
ARCHIVED = "Archived — compacted"

MOST_WORDS = 8
"""Words of a title."""

MOST_COMPACTED = 2
"""Lessons that a wrap-up makes standing rules of."""

LONGEST_RULE = 2_000
"""Characters of a rule that may become a standing one: all of it is shown to the person before."""

HELD_DAYS = 30
"""Days after which a lesson has held long enough for that."""

_PREFIX = r"(?<![\w-])([A-Za-z][A-Za-z0-9_-]{0,29}?)"
_ENTRY = re.compile(rf"#{{2,6}}[ \t]+{_PREFIX}-(\d{{1,9}})\b[ \t]*[—–:-]*[ \t]*((?:.*[^ \t#])?)[ \t#]*")
_FIELD = re.compile(r"\*\*(Date|Context|What failed|Fix|Prevention rule):\*\*[ \t]*(.*)", re.IGNORECASE)
_IN_BANNER = re.compile(_PREFIX + r"-(?:#{2,}|N{2,}|\{N+\}|X{2,})")
_NAMED_PREFIX = re.compile(
    r"\b[Pp]refix\b(?:\s+is)?(?:[\s:`*\"']{1,6}(?=[A-Z])|\s?[:`*\"'][\s:`*\"']{0,5})([A-Za-z][A-Za-z0-9_-]{0,29})\b"
    rf"|\b[Ii][Dd]s?\b[^\n]{{0,40}}?{_PREFIX}-\d+"
)
_CLOSED = re.compile(
    r"(?:do not (?:append|add)(?: (?:(?:any|more|new|further) )*(?:anything|entries|lessons|more))?"
    r"(?: (?:here|below|to (?:it|(?:this|the)(?: (?:file|list|document|log|page))?)))?"
    r"|\bno (?:new|more) (?:entries|lessons)(?: (?:here|below))?|\bfile is (?:frozen|closed|read[- ]only))"
    r"(?=[\s*_]*(?:[.!;,:)]|$)| (?:any ?more|until|unless|without|for now|after \d|since)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""What closes a file; “do not add lessons about customers” says what they are to be like."""
_NOTHING_FAILED = ("", "-", "none", "n/a", "na", "n/a - validated pattern")
_IS_RULE = re.compile(r"(?:always|never|do not|don['’]t)\b", re.IGNORECASE)
_TITLE = re.compile(r"#{1,2}[ \t]")
_ARCHIVE = re.compile(r"##[ \t]+Archived\b.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was learned.

    Attributes:
        title: At most `MOST_WORDS` words.
        context: Which task was being done, one sentence.
        failed: The wrong approach, or `VALIDATED`.
        fix: What worked.
        rule: What is always, or never, to be done.
        graduated: Whether it was an assumption, whose words are what worked.
    """

    title: str
    context: str
    failed: str
    fix: str
    rule: str
    graduated: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A lesson in a file.

    Attributes:
        prefix: Of its id.
        number: Of its id.
        id: As it stands, such as ``SL-007``.
        title: Behind the id.
        fields: By their names in small letters, such as ``prevention rule``.
        first: The number of its first line, from 0.
        last: The number of its last line, with the rule behind it.
        archived: Whether it became a standing rule.
    """

    prefix: str
    number: int
    id: str
    title: str
    fields: dict[str, str]
    first: int
    last: int
    archived: bool

    @property
    def rule(self) -> str:
        """Its prevention rule, or empty."""
        return self.fields.get("prevention rule", "")

    def held_for(self, today: date) -> int | None:
        """Days since it was written; None when it does not say when."""
        try:
            return (today - date.fromisoformat(self.fields.get("date", ""))).days
        except ValueError:
            return None


def of_assumption(tally: Tally, rule: str) -> Lesson:
    """The lesson that an assumption becomes; all that was written behind its tally goes with it.

    Args:
        tally: The assumption.
        rule: What is to be done by it, as was said last; empty for what is kept with it.
    """
    held = f"An assumption that held {tally.seen}× independently"
    held += f", last {tally.last}" if tally.last else ""
    context = "; ".join([f"{held}{tally.tail}", *tally.comments])
    rule = rule or tally.rule
    if not rule:
        rule = tally.text if _IS_RULE.match(tally.text) else f"Always count on this: {tally.text}"
    return Lesson(tally.text, context, "", tally.text, rule, graduated=True)


def title(text: str) -> str:
    """The title of a lesson as it is written; what there is more of it stands in the context."""
    return as_line(" ".join(text.split()[:MOST_WORDS]), 120)


def new_file(context: str, prefix: str) -> bytes:
    """The file of a context as it is made."""
    rule = f"> Ids of this file: {prefix}-NNN. No other file has this prefix."
    return f"# Lessons — {as_line(context)}\n\n{rule}\n".encode()


def entries(document: Markdown) -> list[Entry]:
    """All entries, archived ones too; none in fenced code, but an unclosed fence hides none."""
    lines = [line.text for line in document.lines()]
    prose = {line.number: line.text for line in document.prose(unclosed=True)}
    heads = [number for number, text in prose.items() if _ENTRY.fullmatch(text) or _TITLE.match(text)]
    archive = _archive_in(document)
    archive = len(lines) if archive is None else archive
    listed = []
    for first, end in pairwise([*heads, len(lines)]):
        if (found := _ENTRY.fullmatch(lines[first])) is None:
            continue
        last = end - 1
        while last > first and not lines[last].strip():
            last -= 1
        texts = (prose[number] for number in range(first + 1, end) if number in prose)
        fields = [_FIELD.fullmatch(text.strip()) for text in texts]
        named = {field[1].lower(): field[2].strip() for field in fields if field}
        listed.append(
            Entry(
                found[1],
                int(found[2]),
                f"{found[1]}-{found[2]}",
                found[3],
                named,
                first,
                last,
                first > archive,
            )
        )
    return listed


def banner(document: Markdown) -> str:
    """What the file says of itself before its first entry."""
    there = entries(document)
    ends = [each for each in (there[0].first if there else None, _archive_in(document)) if each is not None]
    return "\n".join(line.text for line in document.lines()[: min(ends, default=None)])


def closed(document: Markdown) -> str:
    """Where the banner says that nothing is to be added, in its words; empty when it does not."""
    found = _CLOSED.search(banner(document))
    return found[0] if found else ""


def claimed(document: Markdown) -> str:
    """The prefix that the file's banner says its ids have; empty when it says none."""
    said = banner(document)
    found = _IN_BANNER.search(said) or _NAMED_PREFIX.search(said)
    return next(name for name in found.groups() if name) if found else ""


def prefix(document: Markdown) -> str:
    """The prefix of the file's ids: as its banner says, else of its newest entry; empty without either."""
    there = entries(document)
    live = [entry for entry in there if not entry.archived] or there
    return claimed(document) or (live[-1].prefix if live else "")


def prefix_beside(document: Markdown, context: str, others: Mapping[str, Markdown]) -> tuple[str, str]:
    """The prefix of a new id, which no other file has where that can be.

    What the banner says stands. A prefix that no banner claims and another file has is given up.

    Args:
        document: The file.
        context: The name of its context.
        others: The files of all other contexts, by what they are called.

    Returns:
        The prefix, and what there is to say of it, a line; empty when there is nothing.
    """
    taken = {
        name: {each.upper() for each in (claimed(other), *(entry.prefix for entry in entries(other))) if each}
        for name, other in others.items()
    }
    own = prefix(document)
    if said := claimed(document):
        twice = [name for name, other in others.items() if claimed(other).upper() == said.upper()]
        clash = (
            f"{said} is the prefix of {', '.join(twice)} as well, as its head says: give one of them another"
        )
        return said, clash if twice else ""
    there = [name for name, used in taken.items() if own.upper() in used]
    if own and not there:
        return own, ""
    free = free_prefix(context, {each for used in taken.values() for each in used})
    return free, f"new ids here begin with {free}, since {', '.join(there)} has {own} as well" if own else ""


def free_prefix(context: str, taken: Iterable[str]) -> str:
    """A prefix that no other file has: the default one where it is free, else made of the context's name."""
    used = {prefix.upper() for prefix in taken}
    if DEFAULT_PREFIX not in used:
        return DEFAULT_PREFIX
    base = re.sub(r"[^A-Z0-9]", "", context.upper())[:12]
    base = base if base[:1].isalpha() else f"L{base}"
    return next(name for number in range(len(used) + 2) if (name := f"{base}{number or ''}") not in used)


def says_already(document: Markdown, lesson: Lesson) -> str:
    """The id of an entry that holds the same lesson, or empty. An assumption is there by its own words."""
    for entry in entries(document):
        same_fix = key(entry.fields.get("fix", "")) == key(lesson.fix)
        if same_fix if lesson.graduated else key(entry.rule) == key(lesson.rule):
            return entry.id
    return ""


def append(
    document: Markdown, lesson: Lesson, own_prefix: str, day: str, others: Iterable[Markdown] = ()
) -> str:
    """Add an entry before the archive, under the next id that was never used in the file, nor in others.

    Args:
        document: The file.
        lesson: What to add.
        own_prefix: The prefix of its id.
        day: Today.
        others: The files of other contexts.

    Returns:
        Its id.
    """
    used = re.compile(rf"(?<![\w-]){re.escape(own_prefix)}-(\d{{1,9}})(?!\w)", re.IGNORECASE)
    texts = (each.data.decode("utf-8", "replace") for each in (document, *others))
    number = max((int(found[1]) for text in texts for found in used.finditer(text)), default=0) + 1
    identity = f"{own_prefix}-{number:03d}"
    block = "\n".join(
        [
            f"### {identity} — {title(lesson.title)}",
            f"**Date:** {day}",
            f"**Context:** {_line(_context(lesson))}",
            f"**What failed:** {_failed(lesson.failed)}",
            f"**Fix:** {_line(lesson.fix)}",
            f"**Prevention rule:** {_line(lesson.rule)}",
            "",
            "---",
        ]
    )
    archive = _archive_in(document)
    document.insert(len(document.lines()) if archive is None else archive, block)
    return identity


def archive(document: Markdown, identity: str, day: str) -> bool:
    """Move an entry, with its id, to the archive at the bottom, with a note of what became of it.

    Returns:
        False when there is no such entry that is not archived.
    """
    entry = next((each for each in entries(document) if each.id == identity and not each.archived), None)
    if entry is None:
        return False
    lines = [line.text for line in document.lines()[entry.first : entry.last + 1]]
    document.remove_lines(entry.first, entry.last)
    if _archive_in(document) is None:
        document.insert(len(document.lines()), f"## {ARCHIVED}")
    note = f"Compacted into rules.md on {day}"
    document.insert(len(document.lines()), "\n".join([lines[0], note, *lines[1:]]))
    return True


def candidate(document: Markdown, identity: str, today: date) -> tuple[Entry | None, str]:
    """An entry that may become a standing rule, or why not.

    Args:
        document: The file.
        identity: Its id.
        today: The day.
    """
    entry = next((each for each in entries(document) if each.id == identity), None)
    if entry is None or entry.archived:
        return None, f"{one_line(identity, 40)} is no entry that is not archived"
    if not entry.rule:
        return None, f"{entry.id} has no prevention rule"
    if len(entry.rule) > LONGEST_RULE:
        return None, f"the rule of {entry.id} is longer than {LONGEST_RULE:,} characters"
    held = entry.held_for(today)
    if held is None or held < HELD_DAYS:
        age = "does not say since when it holds" if held is None else f"is only {held} days old"
        return None, f"{entry.id} {age}; {HELD_DAYS} days make it a standing rule"
    return entry, ""


def shown(document: Markdown, most: int) -> Sequence[str]:
    """The entries that are not archived, newest first, a line each."""
    live = [entry for entry in reversed(entries(document)) if not entry.archived]
    return [
        one_line(f"{entry.id} ({entry.fields.get('date', 'no date')}) {entry.title} — {entry.rule}", 300)
        for entry in live[:most]
    ]


def _archive_in(document: Markdown) -> int | None:
    """The number of the line where the archive begins; None where there is none."""
    prose = document.prose(unclosed=True)
    return next((line.number for line in prose if _ARCHIVE.fullmatch(line.text)), None)


def _context(lesson: Lesson) -> str:
    """The context of a lesson, behind all of a title that is too long, unless that is what worked."""
    said = as_line(lesson.title, WHOLE)
    if title(lesson.title) == said or key(said) in (key(lesson.fix), key(lesson.rule)):
        return lesson.context
    return f"“{said}”; {lesson.context}" if lesson.context else f"“{said}”"


def _failed(text: str) -> str:
    said = " ".join(text.casefold().replace("—", "-").replace("–", "-").split()).rstrip(".")
    return VALIDATED if said in _NOTHING_FAILED else as_line(text, WHOLE)


def _line(text: str) -> str:
    return as_line(text, WHOLE) if text.strip() else ""
