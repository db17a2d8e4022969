"""The rules of the entries of a long-term memory: one line each, its tag, duplicates and contradictions."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal.markdown import Item, Line, Markdown, Section, as_line
from tau.journal.work_place import SECTIONS
from tau.journal.wrapping import whole
from tau.masking import mask_content

SIGNALS = ("strong", "medium", "weak")

CODE = "Code Observations"
"""The section whose entries are always about code."""

LONGEST = 300
"""Characters of an entry, its tag not counted."""

_LONGEST_TAG = 40
_TAG = re.compile(r"(?:\*\*|`)?\[([^\[\]\n]{1,40})\](?![(\[:])(?:\*\*|`)?:?\s+(?=\S)")
_OF_CODE = re.compile(
    r"`[^`]+`"
    r"|\b[\w.-]+\.(?:py|pyi|js|mjs|ts|tsx|jsx|go|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|sh|sql|toml|ya?ml)\b"
    r"|\b\w+\(\)"
    r"|\b\w+(?:/[\w.-]+){2,}"
)
_OCCASION = re.compile(
    r"\b(?:asked|requested|wanted|said|told|today|yesterday|tonight|did|worked on)\b", re.IGNORECASE
)
_OF_THE_DAY = re.compile(
    r"\b(?:today|yesterday|tonight|this (?:morning|afternoon|evening|session)),? (?:i|we|you|he|she|they|"
    r"the (?:person|user|team|agent|assistant|model))\b"
    r"|\b(?:i|we|you|he|she|they)\b[^.;:]*\b(?:yesterday|earlier today|this (?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_ALIKE = 3


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry as it is to be written.

    Attributes:
        section: The title of its section.
        text: One line, without its tag.
        tag: What it is limited to, without brackets; empty when it holds throughout.
    """

    section: str
    text: str
    tag: str = ""

    @property
    def line(self) -> str:
        """As it stands in the file, without the mark of the list."""
        return f"[{self.tag}] {self.text}" if self.tag else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a model learned, as it gave it; nothing of it was checked.

    Attributes:
        section: The title of a section.
        text: What holds.
        signal: ``strong``: the person said it; ``medium``: the person corrected something; ``weak``: it was
            only noticed.
        tag: What it is limited to, or empty.
        about_code: Whether it is declared to be about code; None where that is not said.
        files: Those that back it.
        replaces: The entry that it contradicts, or empty.
    """

    section: str
    text: str
    signal: str
    tag: str = ""
    about_code: bool | None = None
    files: Sequence[str] = ()
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that is there.

    Attributes:
        text: Without its tag, on one line.
        tag: Without brackets, or empty.
        item: The item of a list that it is; None when it is a paragraph of its own.
        line: The number of its first line.
        last: That of its last one.
    """

    text: str
    tag: str
    item: Item | None
    line: int
    last: int

    @property
    def shown(self) -> str:
        """As a person reads it."""
        return one_line(self.whole, LONGEST)

    @property
    def whole(self) -> str:
        """The same, and nothing of it is cut."""
        return whole(f"[{self.tag}] {self.text}" if self.tag else self.text)

    def says(self, lesson: Lesson) -> bool:
        """Whether it says the same in the same context."""
        return self.holds_where(lesson) and _key(self.text) == _key(lesson.text)

    def holds_where(self, lesson: Lesson) -> bool:
        """Whether both have the same tag, or none."""
        return _key(self.tag) == _key(lesson.tag)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a lesson.

    Attributes:
        kind: ``there`` when the section said it already.
        lesson: As it stands in the file now.
        replaced: The entry that it took the place of, as a person reads it; empty when there is none.
    """

    kind: Literal["added", "replaced", "there"]
    lesson: Lesson
    replaced: str = ""


def checked(section: str, text: str, tag: str = "", *, titles: Sequence[str] = ()) -> Lesson:
    """A lesson that can be written.

    Args:
        section: One of the six, or of `titles`.
        text: What it says.
        tag: With or without brackets, or empty.
        titles: Other sections that the file has.

    Raises:
        JournalRefused: It cannot be one; says what is to be done.
    """
    known = {_key(title): title for title in (*titles, *SECTIONS)}
    title = known.get(_key(section))
    if title is None:
        near = difflib.get_close_matches(_key(section), list(known), n=1)
        meant = f"did you mean {known[near[0]]}? " if near else ""
        raise JournalRefused(
            f'There is no section "{one_line(section, 60)}"', f"{meant}sections: {', '.join(SECTIONS)}"
        )
    tag = _checked_tag(tag)
    inner = _TAG.match(text.strip())
    if inner and not tag:
        tag, text = _checked_tag(inner[1]), text.strip()[inner.end() :]
    line = as_line(text, LONGEST * 2)
    if not line:
        raise JournalRefused("The lesson says nothing", "give it as one sentence")
    if len(line) > LONGEST:
        raise JournalRefused(
            f"The lesson is longer than {LONGEST} characters", "an entry is one line: give the rule alone"
        )
    if mask_content(text) != text:
        raise JournalRefused("The lesson holds what looks like a key or a password", "leave that out")
    if (_DATE.search(line) and _OCCASION.search(line)) or _OF_THE_DAY.search(line):
        raise JournalRefused(
            "That says what happened on a day, which the session's log has already",
            "write the insight: what holds from now on",
        )
    return Lesson(title, line, tag)


def judge(lesson: Lesson, learned: Learned, *, read: Sequence[str], unread: Sequence[str]) -> None:
    """Whether a lesson may be written by how it was learned.

    Args:
        lesson: From `checked`.
        learned: The signal that it rests on.
        read: Files that back it and were read in this session, as they are now.
        unread: Files that were given to back it, and were not.

    Raises:
        JournalRefused: It may not; says why, and what to do.
    """
    signal = learned.signal
    if signal not in SIGNALS:
        raise JournalRefused(f'There is no signal "{one_line(signal, 40)}"', "strong, medium or weak")
    if signal == "weak":
        raise JournalRefused(
            "A weak signal is not recorded: a pattern that the person never named may be chance",
            "wait until the person says it (strong) or corrects you (medium)",
        )
    corrects, undeclared = signal == "medium", learned.about_code is None
    of_code = learned.about_code or is_about_code(lesson) or (undeclared and learned.files)
    if lesson.section == CODE or (corrects and of_code):
        if unread:
            raise JournalRefused(
                f"Not read in this session as it is now: {', '.join(one_line(name, 120) for name in unread)}",
                "read what backs the observation with read_file, see that it holds, and record it then",
            )
        if not read:
            raise JournalRefused(
                "What is said of code is recorded only when a file that was read in this session backs it",
                "read the file with read_file, see that it holds, and name it in files",
            )
    elif corrects and undeclared:  # words alone do not tell what is about code: a name may be a plain word
        raise JournalRefused(
            "It is not said whether this correction is about code",
            "about_code true, with the files that back it and were read in this session, or about_code false "
            "where it says nothing of the code",
        )


def is_about_code(lesson: Lesson) -> bool:
    """Whether an entry is of the code by its section, or names a file or a piece of code."""
    return lesson.section == CODE or _OF_CODE.search(lesson.text) is not None


def section_of(document: Markdown, title: str) -> Section | None:
    """The section of a title at the level where sections of lessons stand, or None."""
    return document.section(title, level=2) or document.section(title)


def titles(document: Markdown) -> list[str]:
    """The sections of the second level, in their order."""
    return [section.title for section in document.sections(level=2)]


def entries(document: Markdown, section: Section) -> list[Entry]:
    """The entries of a section: the items of its lists that are in no other, and paragraphs beside lists."""
    items = document.items(section)
    found = [
        Entry(*_parted(" ".join(item.text.split())), item, item.first, item.last)
        for item in items
        if item.depth == 0 and item.text
    ]
    taken = {number for item in items for number in range(item.first, item.last + 1)}
    taken.update(number for each in document.headings() for number in range(each.line, each.body))
    paragraphs: list[list[Line]] = []
    for line in document.prose(section):
        if line.number in taken or not line.text.strip():
            continue
        if paragraphs and paragraphs[-1][-1].number == line.number - 1:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    for lines in paragraphs:
        text = " ".join(" ".join(line.text for line in lines).split())
        found.append(Entry(*_parted(text), None, lines[0].number, lines[-1].number))
    return sorted(found, key=lambda entry: entry.line)


def shown(document: Markdown) -> Counter[str]:
    """The entries of all sections as a person reads them, and how often each is there."""
    found = (section for title in titles(document) if (section := section_of(document, title)) is not None)
    return Counter(entry.shown for section in found for entry in entries(document, section))


def add(document: Markdown, lesson: Lesson, replaces: str = "") -> Outcome:
    """Bring a lesson into a document.

    Args:
        document: The long-term memory.
        lesson: From `checked`.
        replaces: The entry that it contradicts, as it stands there, or its beginning; or empty.

    Raises:
        JournalRefused: There is no such entry, it has another tag, so that both hold, or it would go with
            what is nested in it.
    """
    section = section_of(document, lesson.section)
    there = entries(document, section) if section is not None else []
    same = [entry for entry in there if entry.says(lesson)]
    old = _meant(there, lesson, replaces) if replaces.strip() else None
    if old is not None and not old.holds_where(lesson):
        raise JournalRefused(
            f'"{old.shown}" has {_context(old.tag)} and the new entry {_context(lesson.tag)}, so they do not '
            "contradict each other: both hold, each in its context",
            "record it without replaces",
        )
    if same:
        if old is None or old in same:
            return Outcome("there", lesson)
        take_out(document, old)
        return Outcome("replaced", lesson, old.whole)
    if old is not None:
        if old.item is not None:
            document.replace(old.item, lesson.line)
        else:
            document.put_lines(old.line, old.last, [lesson.line])
        return Outcome("replaced", lesson, old.whole)
    if section is None:
        section = document.add_section(lesson.section, 2)
    document.append(section, f"- {lesson.line}")
    return Outcome("added", lesson)


def find(document: Markdown, title: str, text: str) -> Entry:
    """The one entry that a text means: the whole of it, or its beginning.

    Raises:
        JournalRefused: There is none, or several begin like that.
    """
    section = section_of(document, title)
    if section is None:
        raise JournalRefused(f'There is no section "{one_line(title, 60)}"')
    there = entries(document, section)
    return _meant(there, Lesson(title, "", _parted(text.strip())[1]), text)


def take_out(document: Markdown, entry: Entry) -> None:
    """Take an entry out.

    Raises:
        JournalRefused: It would go with what is nested in it.
    """
    if entry.item is None:
        document.remove_lines(entry.line, entry.last)
    elif entry.item.holds_more:
        raise JournalRefused(f"“{entry.shown}” stays: it has something nested in it", "take it out by hand")
    else:
        document.remove(entry.item)


def _meant(there: Sequence[Entry], lesson: Lesson, text: str) -> Entry:
    """The entry that a text names; of several that say the same, the one with the lesson's tag."""
    wanted = _key(text.strip().lstrip("-*+ "))
    whole = [entry for entry in there if wanted in (_key(entry.text), _key(entry.shown))]
    if not whole:
        whole = [
            entry
            for entry in there
            if wanted and (_key(entry.text).startswith(wanted) or _key(entry.shown).startswith(wanted))
        ]
    in_context = [entry for entry in whole if entry.holds_where(lesson)]
    found = in_context or whole
    if len({_key(entry.shown) for entry in found}) == 1:
        return found[0]
    quoted = one_line(text, 80)
    if found:
        raise JournalRefused(
            f'Several entries begin with "{quoted}"', "give the whole of the one that is meant"
        )
    near = difflib.get_close_matches(wanted, [_key(entry.shown) for entry in there], n=_ALIKE, cutoff=0.4)
    shown = [entry.shown for entry in there if _key(entry.shown) in near]
    hint = f"nearly the same: {'; '.join(shown)}" if shown else "give it as it stands in long-term.md"
    raise JournalRefused(f'There is no entry "{quoted}" in that section', hint)


def _parted(line: str) -> tuple[str, str]:
    """The text of an entry, and its tag."""
    found = _TAG.match(line)
    return (line[found.end() :], found[1].strip()) if found else (line, "")


def _checked_tag(tag: str) -> str:
    inner = tag.strip().removeprefix("[").removesuffix("]").strip()
    if not inner:
        return ""
    tag = one_line(inner, _LONGEST_TAG + 1)
    if len(tag) > _LONGEST_TAG or any(character in tag for character in "[]\\") or tag in ("x", "X"):
        raise JournalRefused(
            f'"{one_line(inner, 60)}" cannot be a tag',
            f"a tag is a short label, such as auth: no brackets, at most {_LONGEST_TAG} characters",
        )
    return tag


def _context(tag: str) -> str:
    return f"the tag [{one_line(tag, _LONGEST_TAG)}]" if tag else "no tag"


def _key(text: str) -> str:
    """What two texts have in common that say the same."""
    return " ".join(text.split()).casefold().rstrip(" .")
