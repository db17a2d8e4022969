"""Changes Markdown that people write by hand: only the lines that are meant, every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tau.errors import JournalRefused
from tau.journal.markdown_blocks import Blocks, Heading, Item, Section, front_matter, read
from tau.journal.markdown_line import as_line

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_MARKER = r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]++|\Z)"
_FENCE = re.compile("`{3,}(?=[^`]*\\Z)|~{3,}")
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number, from 0, and its text without the end of the line."""

    number: int
    text: str


class Markdown:
    """A document, as bytes and as the headings and items in it.

    A section or an item is of the document as it was when it was found: look for it again after a change.

    Args:
        data: The document. Bytes that are no UTF-8 stay as they are.
    """

    def __init__(self, data: bytes) -> None:
        self._given: bytes | None = data
        self._bom = _BOM if data.startswith(_BOM) else b""
        self._edition = 0
        self._read: Blocks | None = None

    @property
    def data(self) -> bytes:
        """The document as it now is."""
        if self._given is not None:
            return self._given
        text = "".join(body + end for body, end in self._lines)
        return self._bom + text.encode("utf-8", "surrogateescape")

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        """The lines, each with its end; a long document of which nobody looks at a line is not parted."""
        assert self._given is not None, "lines are changed only where they were parted"
        parted = []
        for line in _LINE.findall(self._given[len(self._bom) :].decode("utf-8", "surrogateescape")):
            body = line.rstrip("\r\n")
            parted.append((body, line[len(body) :]))
        return parted

    # Looking ------------------------------------------------------------------------------------

    def headings(self) -> list[Heading]:
        """The headings: none in code, front matter, comments, quotes and items."""
        return list(self._blocks.headings)

    def section(
        self, title: str, *, level: int | None = None, under: Section | None = None
    ) -> Section | None:
        """The first section of a title, or None.

        Args:
            title: Compared without regard to case, blanks around it and hashes behind it.
            level: Its level, or None for any.
            under: The section that it must be in.
        """
        self._check(under)
        wanted = _key(title)
        for number, heading in enumerate(self._blocks.headings):
            inside = under is None or under.body <= heading.line < under.end
            if inside and _key(heading.title) == wanted and level in (None, heading.level):
                return self._section(number)
        return None

    def sections(self, *, level: int | None = None, under: Section | None = None) -> list[Section]:
        """All sections, in their order; as `section`."""
        self._check(under)
        return [
            self._section(number)
            for number, heading in enumerate(self._blocks.headings)
            if (under is None or under.body <= heading.line < under.end) and level in (None, heading.level)
        ]

    def lines(self, section: Section | None = None) -> list[Line]:
        """The lines of a section behind its heading, subsections too; without one, of the document."""
        self._check(section)
        first, end = (0, len(self._lines)) if section is None else (section.body, section.end)
        return [Line(number, self._lines[number][0]) for number in range(first, end)]

    @property
    def front_matter(self) -> int:
        """How many lines the front matter has."""
        return front_matter([body for body, _ in self._lines])

    def prose(self, section: Section | None = None, *, unclosed: bool = False) -> list[Line]:
        """As `lines`, but for those of fenced code and of comments that begin a line.

        Args:
            section: As of `lines`.
            unclosed: Whether what never ends is none of them, and hides nothing.
        """
        found: list[Line] = []
        hidden: list[Line] = []
        until, front = "", self.front_matter
        for line in self.lines(section):
            text = line.text.strip()
            if line.number < front:
                found.append(line)
                continue
            hidden.append(line)
            if until == "-->":
                until = "" if until in text else until
            elif until:
                until = "" if set(text) == {until[0]} and len(text) >= len(until) else until
            elif fence := _FENCE.match(text):
                until = fence[0]
            elif text.startswith("<!--"):
                until = "" if "-->" in text else "-->"
            else:
                found.append(line)
            if not until:
                hidden.clear()
        return [*found, *hidden] if unclosed else found

    def items(self, section: Section | None = None) -> list[Item]:
        """The items of lists in a section, in its subsections too; without one, in the document."""
        self._check(section)
        first, end = (0, len(self._lines)) if section is None else (section.body, section.end)
        return [
            replace(item, edition=self._edition) for item in self._blocks.items if first <= item.first < end
        ]

    def block(self, item: Item) -> str:
        """All lines of an item with what is nested in it, moved to the left edge."""
        self._check(item)
        lines = [self._lines[number][0] for number in range(item.first, item.last + 1)]
        indent = len(lines[0]) - len(lines[0].lstrip())
        return "\n".join(line[min(indent, len(line) - len(line.lstrip())) :] for line in lines)

    # Changing -----------------------------------------------------------------------------------

    def append(self, section: Section, text: str, *, at_end: bool = True) -> None:
        """Add lines to the own text of a section, before its first subsection.

        Args:
            section: The section.
            text: Markdown, lines separated by newlines.
            at_end: Behind its last line, or before its first one.
        """
        self._check(section)
        new = _split(text)
        end = min(section.own_end, self._blocks.open_from)
        last = end - 1
        while last >= section.body and not self._lines[last][0].strip():
            last -= 1
        at_end = at_end or self._begins_indented(section)  # which an item before it would take in
        if at_end and last >= section.body:
            at = last + 1
            if not (self._in_list(last) and _ITEM.match(new[0])):
                new.insert(0, "")
        else:
            at = section.body
            if self._separates():
                if at < end and not self._lines[at][0].strip():
                    at += 1
                else:
                    new.insert(0, "")
        if self._joins(at, new[-1]):
            new.append("")
        self._put(at, at, new)

    def replace(self, item: Item, text: str) -> None:
        """Put a text in the place of an item's first paragraph; marker, checkbox and what follows stay.

        Raises:
            JournalRefused: The item begins with something else, such as code.
        """
        before, box, _ = self._parted(item)
        first, *more = _split(text)
        indent = " " * len(before.expandtabs(4))
        lines = [before + box + first, *(indent + line for line in more)]
        self._put(item.text_first, item.text_last + 1, lines)

    def tick(self, item: Item, done: bool) -> None:
        """Set or take the tick of an item; it gets a checkbox when it has none.

        Raises:
            JournalRefused: As `replace`.
        """
        before, box, rest = self._parted(item)
        mark = "x" if done else " "
        box = f"[{mark}]{box[3:]}" if box else f"[{mark}] "
        self._put(item.text_first, item.text_first + 1, [before + box + rest])

    def remove(self, item: Item) -> None:
        """Take an item out, with all that is nested in it."""
        self._check(item)
        self.remove_lines(item.first, item.last)

    def remove_lines(self, first: int, last: int) -> None:
        """Take lines out, from a number to another, both too; of two blank lines that meet one stays."""
        behind = last + 1
        blank_before = first and not self._lines[first - 1][0].strip()
        if blank_before and behind < len(self._lines) and not self._lines[behind][0].strip():
            behind += 1
        before = self._lines[first - 1][0] if first else ""
        after = self._lines[behind][0] if behind < len(self._lines) else ""
        listed = self._in_list(first - 1) or self._heading_at(first - 1)
        meets = before.strip() and after.strip()
        apart = meets and not (listed and _ITEM.match(after)) and not self._heading_at(behind)
        self._put(first, behind, [""] if apart else [])

    def put_lines(self, first: int, last: int, lines: Sequence[str]) -> None:
        """Put lines in the place of those from one number to another, both of them too."""
        self._put(first, last + 1, lines)

    def become(self, data: bytes) -> None:
        """Hold other bytes altogether, such as those of an earlier version."""
        self._given, self._bom = data, _BOM if data.startswith(_BOM) else b""
        self.__dict__.pop("_lines", None)
        self._edition += 1
        self._read = None

    def insert(self, line: int, text: str) -> None:
        """Put lines before the line of a number, or at the end, with a blank line on both sides."""
        new = _split(text)
        line = min(line, self._blocks.open_from)
        if line and self._lines[line - 1][0].strip():
            new.insert(0, "")
        if line < len(self._lines) and self._lines[line][0].strip():
            new.append("")
        self._put(line, line, new)

    def add_section(
        self,
        title: str,
        level: int,
        *,
        before: str | None = None,
        after: str | None = None,
        under: Section | None = None,
    ) -> Section:
        """Add a heading without text.

        Args:
            title: Its text.
            level: 1 to 6.
            before: The title of the section that it comes before.
            after: The title of the section that it comes behind; without both, or when that is not there, it
                comes last.
            under: The section that it comes into, else the document.
        """
        self._check(under)
        at = len(self._lines) if under is None else under.end
        beside = self.section(before or after or "", under=under) if before or after else None
        if beside is not None:
            at = beside.line if before else beside.end
        at = min(at, self._blocks.open_from)
        least = 0 if under is None else under.body
        if not (beside is not None and before):
            while at > least and not self._lines[at - 1][0].strip():
                at -= 1
        blank = bool(at and self._lines[at - 1][0].strip())
        self.insert(at, f"{'#' * level} {as_line(title).rstrip('# ') or '-'}")
        line = at + blank
        return next(
            self._section(number)
            for number, heading in enumerate(self._blocks.headings)
            if heading.line == line
        )

    # ---------------------------------------------------------------------------------------------

    @property
    def _blocks(self) -> Blocks:
        if self._read is None:
            self._read = read([body for body, _ in self._lines])
        return self._read

    def _check(self, found: Section | Item | None) -> None:
        if found is not None and found.edition != self._edition:
            raise ValueError("A section or item of a document before it was changed: look for it again")

    def _section(self, number: int) -> Section:
        headings = self._blocks.headings
        heading, later = headings[number], headings[number + 1 :]
        total = len(self._lines)
        end = next((each.line for each in later if each.level <= heading.level), total)
        own_end = later[0].line if later else total
        return Section(heading.title, heading.level, heading.line, heading.body, own_end, end, self._edition)

    def _in_list(self, line: int) -> bool:
        return any(first <= line <= last for first, last in self._blocks.lists)

    def _heading_at(self, line: int) -> bool:
        """Whether a heading stands on a line that needs no blank line before it."""
        return any(
            heading.line <= line < heading.body and self._lines[heading.line][0].lstrip().startswith("#")
            for heading in self._blocks.headings
        )

    def _joins(self, at: int, last: str) -> bool:
        """Whether what stands at a line would run on from a new line `last` before it."""
        if at >= len(self._lines) or not self._lines[at][0].strip() or not last.strip():
            return False
        if self._heading_at(at):
            return self._separates()
        return not (self._in_list(at) and _ITEM.match(last))

    def _begins_indented(self, section: Section) -> bool:
        texts = (self._lines[number][0] for number in range(section.body, section.own_end))
        first = next((text for text in texts if text.strip()), "")
        return len(first.expandtabs(4)) - len(first.expandtabs(4).lstrip()) >= 2

    def _separates(self) -> bool:
        """Whether most headings that have a text have a blank line before it."""
        votes = 0
        for heading in self._blocks.headings:
            if heading.body < len(self._lines):
                votes += 1 if not self._lines[heading.body][0].strip() else -1
        return votes > 0

    def _parted(self, item: Item) -> tuple[str, str, str]:
        """The line where an item's text begins: what is before it, the checkbox with its blanks, the text."""
        self._check(item)
        line = self._lines[item.text_first][0]
        on_marker = item.text_first == item.first
        pattern = f"(?:{_MARKER}){{{item.markers}}}" if on_marker else r"[ \t]*"
        found = re.match(pattern, line)
        rest = line[found.end() :] if found else ""
        box = re.match(r"\[[ xX]\](?:[ \t]+|\Z)", rest) if item.checked is not None else None
        if found is None or (not item.text and (rest and box is None)):
            raise JournalRefused(f"The item in line {item.first + 1} begins with no text that can be changed")
        before = found[0] if found[0][-1:].isspace() or not on_marker else f"{found[0]} "
        marks = box[0] if box else ""
        if marks and not marks[-1].isspace():
            marks += " "
        return before, marks, rest[len(box[0]) if box else 0 :]

    def _end_of_line(self) -> str:
        ends = [end for _, end in self._lines if end]
        return max(("\n", "\r\n", "\r"), key=ends.count)

    def _put(self, first: int, behind: int, new: Sequence[str]) -> None:
        """Put lines in the place of others; nothing else changes, but that a line without an end gets one."""
        end = self._end_of_line()
        old = self._lines[first:behind]
        if first and new and not self._lines[first - 1][1]:
            self._lines[first - 1] = (self._lines[first - 1][0], end)
        ends = [old[number][1] if number < len(old) else end for number in range(len(new))]
        ends[:-1] = [each or end for each in ends[:-1]]
        if new and behind < len(self._lines) and not ends[-1]:
            ends[-1] = end
        self._lines[first:behind] = list(zip(new, ends, strict=True))
        self._given = None
        self._edition += 1
        self._read = None


def _split(text: str) -> list[str]:
    # Half characters that stand for bytes of the file stay; others are none in any encoding.
    text = _HALF.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text.strip("\n").split("\n")


def _key(title: str) -> str:
    return title.strip().rstrip("#").strip().casefold()
