"""The form of a session's file in `.memory/session/`: its fields, its log, and how both are changed.

Files that other agents wrote are read as far as they go: a field may be an item of a list, a line of its own,
a row of a table, a line of the front matter or a section of its name, with or without bold type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tau.display import one_line
from tau.journal.markdown import WHOLE, Markdown, Section, as_line
from tau.journal.markdown_line import as_typed, begins_block, next_marker, without_comments
from tau.journal.session_values import (
    DONE,
    WORD,
    Status,
    bare,
    in_comment,
    new_status,
    status_in,
    value_in,
    wrapped,
)
from tau.masking import mask

STATUS, LAST_ACTIVE, TASK, TODO = "Status", "Last Active", "Current Task", "Active Todo"
FIELDS = (STATUS, LAST_ACTIVE, TASK, TODO)
LOG = "Log"

DATE = "%Y-%m-%d"
MINUTE = "%Y-%m-%d %H:%M"
"""As `date` is asked for the two forms of a time, which are local."""

LONGEST_TASK, LONGEST_ENTRY = 160, 300

_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_BY_PERSON = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d user: ")
_NAMES = "|".join(name.replace(" ", "[ _-]") for name in FIELDS)
_FIELD = re.compile(
    rf"(?P<lead> ?(?:[-*+]\s+)?)(?P<bold>\*\*|__|`)?(?P<name>{_NAMES})"
    r"(?(bold)(?P<mid>\s*:\s*(?P=bold)\s*|(?P=bold)\s*:\s*)|(?P<plain>\s*:\s*))(?P<value>(?:.*\S)?)\s*",
    re.IGNORECASE,
)
_ROW = re.compile(
    rf"(?P<lead>\s*\|\s*)(?P<name>{_NAMES})(?P<mid>\s*\|\s*+)(?P<value>(?:[^|\\]|\\.)*+)(?P<end>\|.*)",
    re.IGNORECASE,
)
_LOG_HEADING = re.compile(rb"^## Log[ \t]*\r?\n", re.MULTILINE)
_ENTRY_LINE = re.compile(rb"[-*+] +[^\s\[]|[ \t]*\r?\Z")
_CELL = re.compile(r"(?:[^|\\]|\\.)+")
_BEFORE_DONE = "### Before it was done"
"""Stands above what else a section said of the status, once that is done."""


@dataclass(frozen=True)
class WorkSession:
    """A session's file as it was read.

    Attributes:
        name: Of the file, such as ``2026-08-12-amber.md``.
        title: Its first heading, such as ``Session amber``; empty when there is none.
        status: None when it says none that is known.
        status_said: As written.
        last_active: As written.
        task: The current task, on one line; empty when there is none.
        todo: The path of the active todo, as written; empty when there is none.
        log: The entries of its log, oldest first, each on one line.
    """

    name: str
    status: Status | None = None
    last_active: str = ""
    task: str = ""
    todo: str = ""
    log: tuple[str, ...] = field(default=(), repr=False)
    title: str = ""
    status_said: str = ""

    @property
    def was_kept(self) -> bool:
        """Whether its name has a day, as names of sessions do, or anything is in its log.

        Another file may show what a status looks like, and is none.
        """
        return bool(_DATED.match(self.name) or self.log)

    @property
    def was_one_request(self) -> bool:
        """Whether it was paused after a single request, and has no todo."""
        asked = sum(_BY_PERSON.match(entry) is not None for entry in self.log)
        return self.status == "paused" and not self.todo and asked == 1


@dataclass(frozen=True)
class LogLine:
    """One thing that happened.

    Attributes:
        at: When, in local time.
        actor: Who did it: ``user``, ``agent``, or the name of a tool.
        text: What.
    """

    at: datetime
    actor: str
    text: str

    @property
    def line(self) -> str:
        """As it stands in the log, without the mark of the list."""
        return f"{self.at.strftime(MINUTE)} {self.actor}: {_inline(self.text, LONGEST_ENTRY)}"


@dataclass(frozen=True)
class _Place:
    """Where a field stands: its first and last line, and what of them stands around its value.

    Attributes:
        value: As written, maybe on several lines: all that another value takes the place of.
        first: None for a section of the field's name that holds nothing yet.
        last: The last line of the value.
        before: What stands on the first line before it.
        after: What stands on the last line behind it.
        more: What else its section says, or the cells behind it.
        is_cell: Whether it is in the row of a table.
        of_all: Whether it is said of the whole file, and not of a part of it.
    """

    value: str
    first: int | None
    last: int | None = None
    before: str = ""
    after: str = ""
    more: str = ""
    is_cell: bool = False
    of_all: bool = True


@dataclass(frozen=True)
class _Parts:
    """A file whose log is its end, one entry a line: what most are, and what long ones are read by.

    `above` ends with the heading of the log, `entries` with the last of them; `below` has blank lines only.
    """

    above: Markdown
    entries: bytes
    below: bytes
    mark: bytes
    end: bytes


def read(name: str, data: bytes, *, with_log: bool = True) -> WorkSession:
    """A file as far as it can be read.

    Args:
        name: Of the file.
        data: What it holds.
        with_log: Whether its log is wanted; it may be long.
    """
    parts = _parts(data)
    document = parts.above if parts is not None else Markdown(data)
    log: list[str] = []
    if with_log:
        log = _entries(parts) if parts is not None else _log(document)
    found = {each: _place(document, each) for each in FIELDS}
    values = {each: value_in(place.value) if place else "" for each, place in found.items()}
    status, status_said = _status_of(document, found[STATUS])
    headings = document.headings()
    return WorkSession(
        name=name,
        title=headings[0].title if headings else "",
        status=status,
        status_said=status_said,
        last_active=values[LAST_ACTIVE],
        task=as_typed(values[TASK]),
        todo=_path(values[TODO]),
        log=tuple(map(as_typed, log)),
    )


def of_ends(head: bytes, tail: bytes) -> bytes | None:
    """A long file without the middle of its log.

    Args:
        head: Its beginning, to somewhere in its log.
        tail: Its end, from somewhere in its log.

    Returns:
        None where both do not tell: the log is not the end, or has anything but entries of one line.
    """
    found = _log_heading(head)
    data = head[: found.end()] + tail[tail.find(b"\n") + 1 :] if found is not None else b""
    return data if data and has_plain_log(data) else None


def has_plain_log(data: bytes) -> bool:
    """Whether the log is the end of a file, and nothing but entries of one line, so that it is quick."""
    return _parts(data) is not None


def change(document: Markdown, fields: Mapping[str, str], lines: Sequence[LogLine]) -> None:
    """Change fields and add to the log, as `put` and `add_to_log`, also in a long log at once."""
    parts = _parts(document.data)
    above = parts.above if parts is not None else document
    for name, value in fields.items():
        put(above, name, value)
    if parts is None:
        for line in lines:
            add_to_log(document, line)
        return
    added = b"".join(
        parts.mark + b" " + line.line.encode("utf-8", "surrogatepass") + parts.end for line in lines
    )
    glue = b"" if not lines or parts.entries.endswith((b"\n", b"\r")) else parts.end
    document.become(above.data + parts.entries + glue + added + parts.below)


def begun(title: str, at: datetime, task: str) -> bytes:
    """A new file: the work has begun, and nothing is logged."""
    values = {STATUS: "in-progress", LAST_ACTIVE: at.strftime(DATE), TASK: as_task(task), TODO: ""}
    fields = "".join(f"- {name}: {value}".rstrip() + "\n" for name, value in values.items())
    return f"# {as_line(title, LONGEST_TASK)}\n\n{fields}\n## {LOG}\n".encode()


def as_task(text: str) -> str:
    """A text as it may stand for the current task, whole, without secrets."""
    return _inline(mask(text), WHOLE)


def task_of(request: str) -> str:
    """What a request is called as the current task: its beginning, without secrets."""
    return one_line(mask(request), LONGEST_TASK)


def put(document: Markdown, name: str, value: str) -> None:
    """Change a field where it stands; one that is missing is added below the last one that is there.

    Of a status its word alone is changed. What else was said with it stays: where it is done, which is all
    that such a status says, in a comment or below a heading of its own.
    """
    place = _place(document, name)
    done = name == STATUS and value == "done"
    if place is None:
        _add(document, name, value)
    elif place.first is not None and place.last is not None:
        if place.is_cell:
            value = value.replace("|", "\\|")
        new = new_status(value, place.value) if name == STATUS else wrapped(value, place.value)
        after = _CELL.sub(_hidden, place.after) if done and place.is_cell else place.after
        text = f"{place.before}{new}{after}" if new or place.is_cell else place.before.rstrip()
        lines = text.split("\n")
        document.put_lines(place.first, place.last, lines)
        if done and not place.is_cell and WORD.search(bare(place.more)):
            document.insert(place.first + len(lines), _BEFORE_DONE)
    elif value and (section := document.section(name)) is not None:
        document.append(section, value)
    if done and (now := _place(document, name)) is not None and not now.of_all:
        _add_on_top(document, name, value)


def add_to_log(document: Markdown, line: LogLine) -> None:
    """Add a line at the end of the log; a log that is missing is made."""
    section = document.section(LOG) or document.add_section(LOG, 2)
    items = [item for item in document.items(section) if item.depth == 0]
    mark = next_marker(*(document.block(item) for item in reversed(items[-2:]))) if items else "-"
    document.append(section, f"{mark} {line.line}")


def _add(document: Markdown, name: str, value: str) -> None:
    """Add a field in the form of the last one that stands in a line; without one below the title."""
    places = [place for each in FIELDS if (place := _line(document, each)) is not None]
    if places:
        last = max(place.last or 0 for place in places)
        text = document.lines()[last].text
        written = _FIELD.fullmatch(text)
        if written is not None:
            bold, between = written["bold"] or "", (written["mid"] or written["plain"]).rstrip()
            new = f"{written['lead']}{bold}{name}{between} {value}".rstrip()
        else:
            row = _ROW.fullmatch(text)
            assert row is not None
            cells = " |" * (len(_CELL.sub("", row["end"])))
            new = f"{row['lead']}{name}{row['mid']}{value}{cells}"
        document.put_lines(last, last, [text, new])
        return
    _add_on_top(document, name, value)


def _add_on_top(document: Markdown, name: str, value: str) -> None:
    """Add a field as an item below the title."""
    headings = document.headings()[:1]
    titles = [each for each in headings if each.level == 1 and document.section(LOG, level=1) is None]
    at = titles[0].body if titles else document.front_matter
    document.insert(at, f"- {name}: {value}".rstrip())


def _place(document: Markdown, name: str) -> _Place | None:
    """Where a field stands first: in a line, or as a section of its name."""
    place = _line(document, name)
    section = document.section(name)
    return place if place is not None or section is None else _own(document, section)


def _own(document: Markdown, section: Section) -> _Place:
    """The field that a section is: the first paragraph or item in it."""
    prose = {line.number for line in document.prose(section) if line.text.strip()}
    filled = [line for line in document.lines(section) if line.number < section.own_end and line.text.strip()]
    first = next((line.number for line in filled if line.number in prose), None)
    earlier = [each.level for each in document.headings() if each.line < section.line]
    of_all = next((level for level in reversed(earlier) if level < section.level), 1) == 1
    if first is None:
        return _Place("", None, more=" ".join(line.text for line in filled), of_all=of_all)
    texts: list[str] = []
    for line in filled:
        if line.number == first + len(texts) and line.number in prose:
            if texts and begins_block(line.text):
                break
            texts.append(line.text)
    last = first + len(texts) - 1
    text = "\n".join(texts)
    mark = re.match(r"\s*(?:[-*+]\s+)?", text)
    before = mark[0] if mark else ""
    value = text[len(before) :].rstrip()
    more = " ".join(line.text for line in filled if not first <= line.number <= last)
    return _Place(value, first, last, before, text[len(before) + len(value) :], more, of_all=of_all)


def _line(document: Markdown, name: str) -> _Place | None:
    """Where a field stands in a line: above the sections, or in one that has two of the fields at least."""
    parts: dict[int, dict[str, _Place]] = {}
    for part, key, place in _lines(document):
        parts.setdefault(part, {}).setdefault(key, place)
    for part, fields in parts.items():
        if name.casefold() in fields and (part == 0 or len(fields) > 1):
            return fields[name.casefold()]
    return None


def _lines(document: Markdown) -> Iterator[tuple[int, str, _Place]]:
    """The lines that look like a field: the number of the part, 0 above the sections, the name, the place."""
    log = document.section(LOG)
    headings = document.headings()
    first = next((number for number, each in enumerate(headings) if each.level > 1), len(headings))
    starts = [each.body for each in headings[first:]]  # an underlined field is above its line
    for number, text in ((line.number, line.text) for line in document.prose()):
        if log is not None and log.line <= number < log.end:
            continue
        for pattern in (_FIELD, _ROW):
            found = pattern.fullmatch(text)
            if found is None or (pattern is _ROW and _is_name(found["value"])):
                continue
            is_cell = pattern is _ROW
            value, start = found["value"].rstrip(), found.start("value")
            after = text[start + len(value) :]
            blank = "" if is_cell or text[:start][-1:].isspace() else " "
            part = sum(start_of <= number for start_of in starts)
            key = re.sub("[ _-]", " ", found["name"]).casefold()
            place = _Place(
                value,
                number,
                number,
                text[:start] + blank,
                f" {after}" if is_cell and not value else after,
                after.replace("|", " ") if is_cell else "",
                is_cell,
                part == 0,
            )
            yield part, key, place


def _is_name(text: str) -> bool:
    return re.fullmatch(_NAMES, text.strip(), re.IGNORECASE) is not None


def _parts(data: bytes) -> _Parts | None:
    """A file in its parts; None where the log is not its end, or has anything but entries of one line."""
    found = _log_heading(data)
    if found is None or not all(map(_ENTRY_LINE.match, data[found.end() :].split(b"\n"))):
        return None
    above = Markdown(data[: found.end()])
    headings = above.headings()
    log = above.section(LOG)
    if log is None or log.line != headings[-1].line or headings[-1].body != len(above.lines()):
        return None  # it stands in code or in a comment, or there is another one
    rest = data[found.end() :]
    entries = rest.rstrip(b" \t\r\n")
    if not entries:
        return None
    end = b"\r\n" if found[0].endswith(b"\r\n") else b"\n"
    blank = rest[len(entries) :]
    own = blank.find(b"\n") + 1
    mark = entries[entries.rfind(b"\n") + 1 :][:1]
    return _Parts(above, rest[: len(entries) + own], blank[own:], mark, end)


def _log_heading(data: bytes) -> re.Match[bytes] | None:
    """The last heading of a log."""
    at = len(data)
    while (at := data.rfind(b"## Log", 0, at)) >= 0:
        if found := _LOG_HEADING.match(data, at):
            return found
    return None


def _entries(parts: _Parts) -> list[str]:
    text = parts.entries.decode("utf-8", "surrogateescape")
    return [" ".join(line[2:].split()) for line in text.split("\n") if line[2:].strip()]


def _log(document: Markdown) -> list[str]:
    section = document.section(LOG)
    if section is None:
        return []
    items = [item for item in document.items(section) if item.depth == 0]
    if items:
        return [" ".join(item.text.split()) for item in items if item.text]
    return [line.text.strip() for line in document.lines(section) if line.text.strip()]


def _inline(text: str, limit: int) -> str:
    """A text on one line, for behind a label: where no comment begins."""
    return without_comments(one_line(text, limit))


def _status_of(document: Markdown, place: _Place | None) -> tuple[Status | None, str]:
    """The status of a file, and what it says of it.

    Files that are done are deleted, so every status in it must be that, and one of them that of all of it.
    """
    said = value_in(bare(place.value)) if place is not None else ""
    status = status_in(said)
    if status != "done" or place is None:
        return status, said
    places = [each for _, key, each in _lines(document) if key == STATUS.casefold()]
    places += [_own(document, each) for each in document.sections() if _is_status(each.title)]
    whole = [" ".join(bare(f"{each.value} {each.more}").split()) for each in places]
    if all(DONE.fullmatch(each) for each in whole if WORD.search(each)):
        return ("done", said) if place.of_all else (None, f"{said}, of a part of it")
    return None, ", ".join(dict.fromkeys(filter(None, whole)))


def _is_status(title: str) -> bool:
    return title.strip().rstrip("#").strip().casefold() == STATUS.casefold()


def _hidden(cell: re.Match[str]) -> str:
    """A cell that says anything in a comment."""
    return f" {in_comment(cell[0])} " if WORD.search(bare(cell[0])) else cell[0]


def _path(value: str) -> str:
    """A path as it was meant: of a link its target."""
    link = re.fullmatch(r"\[[^\]]*\]\(<?([^)>]+)>?\)", value)
    return link[1].strip() if link else value
