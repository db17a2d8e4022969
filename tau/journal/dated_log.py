"""The dated logs of contexts: each records a session, is written once, under a free name, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tau.errors import JournalRefused
from tau.journal.contexts import CONTEXT, LOG_NAME, SHARED, LogPlace
from tau.journal.markdown import WHOLE, Markdown, as_line
from tau.journal.open_items import RESOLVED, OpenItem, key

LEAST_LINES, MOST_LINES = 30, 150
"""Lines that a log should have."""

_TRIES = 50

_DONE = "> Done: "


@dataclass(frozen=True, slots=True)
class Done:
    """An open item that was finished.

    Attributes:
        text: On one line.
        block: All of it, as it stood, where that is more than the line; else empty.
    """

    text: str
    block: str = ""

    @classmethod
    def of(cls, document: Markdown, item: OpenItem) -> Done:
        """An item as it stands in a document."""
        return cls(item.text, document.block(item.item) if item.item.holds_more else "")


@dataclass(frozen=True, slots=True)
class Record:
    """What a session was, for one context.

    Attributes:
        summary: What was accomplished, a few sentences.
        decisions: Each with its reason.
        open_items: What is to be gone on with.
        discoveries: What proved true.
        assumptions: What is believed and not proven.
        files: Paths, each with what it is.
        origin: What came from outside in the session; empty when nothing did.
        done: The open items that it finished.
        taken: What no longer stands in the files, each with what became of it before it.
    """

    summary: str
    decisions: Sequence[str] = ()
    open_items: Sequence[str] = ()
    discoveries: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    files: Sequence[tuple[str, str]] = ()
    origin: str = ""
    done: Sequence[Done] = ()
    taken: Sequence[tuple[str, str]] = ()


def compose(record: Record, context: str, day: str, see_also: Sequence[str]) -> str:
    """The text of a log.

    Args:
        record: What it records.
        context: The name of the context.
        day: ``YYYY-MM-DD``.
        see_also: Other logs of the session, and earlier ones of the day, as paths.
    """
    lines = [f"# Session Log — {day} · {as_line(context)}", ""]
    lines += [line for path in see_also for line in (f"See also: {path}", "")]
    lines += ["## What we did", as_line(record.summary, WHOLE) or "None.", ""]
    if record.origin:
        lines += [f"> Noted after content from outside: {as_line(record.origin, WHOLE)}", ""]
    lines += _part("Decisions made", record.decisions)
    lines += ["## Open items", *(f"- [ ] {as_line(text, WHOLE)}" for text in record.open_items)]
    said = "As of this day" if record.open_items else "This session named none"
    lines += [f"> {said}; the list is kept in {CONTEXT}", ""]
    if record.done:
        lines += [f"{_DONE}{RESOLVED.join(as_line(each.text, WHOLE) for each in record.done)}"]
        for each in record.done:
            lines += [">", *(f"> {line}".rstrip() for line in each.block.split("\n"))] if each.block else []
        lines += [""]
    lines += _part("Discoveries", record.discoveries)
    lines += [line for what, text in record.taken for line in (f"> {what}: {as_line(text, WHOLE)}", "")]
    if record.assumptions:
        lines += _part("Assumptions to validate", record.assumptions)[:-1]
        lines += [f"> Their tallies are kept in {CONTEXT}", ""]
    files = [
        f"{_code(path)} — {as_line(about, WHOLE) if about.strip() else 'no note'}"
        for path, about in record.files
    ]
    lines += ["## Files produced", *(f"- {line}" for line in files)]
    return "\n".join([*lines, *([] if files else ["None."]), ""])


def open_in(data: bytes) -> list[str]:
    """The open items that a log names."""
    document = Markdown(data)
    section = document.section("Open items")
    if section is None:
        return []
    return [
        " ".join(item.text.split())
        for item in document.items(section)
        if item.checked is not True and item.text
    ]


def says_done(place: LogPlace, day: str, recap: str) -> bool:
    """Whether the logs of a day, of whichever context, name all that a quote says was done then.

    Args:
        place: Where they are.
        day: ``YYYY-MM-DD``.
        recap: What the quote says, items parted as in `compose`.
    """
    named: set[str] = set()
    try:
        for context in [*place.contexts(), SHARED]:
            for name in place.logs(context):
                if name.startswith(day):
                    text = (place.read(context, name) or b"").decode("utf-8", "replace")
                    found = (line for line in text.splitlines() if line.startswith(_DONE))
                    named |= {key(part) for line in found for part in line[len(_DONE) :].split(RESOLVED)}
    except JournalRefused:  # what cannot be read says nothing
        return False
    return {key(part) for part in recap.split(RESOLVED)} <= named


def write(place: LogPlace, records: Mapping[str, Record], day: str) -> dict[str, str]:
    """Write a log for each context, and have each name the others.

    A folder is listed right before its log is written. A name that another session took since then is left to
    it: the next one is taken, and the logs of this session that name it are corrected.

    Args:
        place: Where.
        records: For each context what to record.
        day: ``YYYY-MM-DD``.

    Returns:
        For each context the name of its log.

    Raises:
        JournalRefused: One cannot be written; says which were.
    """
    planned = {context: _free(place.logs(context), day) for context in records}
    written: dict[str, str] = {}
    for context in records:
        try:
            written[context] = _write(place, records, context, planned, day)
        except JournalRefused as error:
            if written:
                done = ", ".join(place.shown(name, log) for name, log in written.items())
                raise JournalRefused(f"{error.message}; written are {done}", error.hint) from error
            raise
        planned[context] = written[context]
    return written


def length(name: str, data: bytes, *, quick: bool) -> str:
    """What there is to say of the length of a log, or empty.

    Args:
        name: What the log is called.
        data: The log.
        quick: Whether a brief one was wanted, which may be short.
    """
    count = len(Markdown(data).lines())
    if count > MOST_LINES:
        return f"{name} has {count} lines; over {MOST_LINES} a log needs cutting"
    if count < LEAST_LINES and not quick:
        return f"{name} has {count} lines; under {LEAST_LINES} something may have been missed"
    return ""


def _write(
    place: LogPlace, records: Mapping[str, Record], context: str, planned: dict[str, str], day: str
) -> str:
    for _ in range(_TRIES):
        there = place.logs(context)
        name = _free(there, day)
        if name != planned[context]:
            _correct(place, planned, context, name)
            planned[context] = name
        text = compose(records[context], context, day, _see_also(place, planned, context, there, day))
        if place.create(context, name, data=text.encode("utf-8", "surrogateescape")):
            return name
    raise JournalRefused(
        f"{place.shown(context)} takes no log of {day}: every name is taken at once", "try again"
    )


def _see_also(
    place: LogPlace, planned: Mapping[str, str], context: str, there: Sequence[str], day: str
) -> list[str]:
    today = [name for name in there if (found := LOG_NAME.fullmatch(name)) and found[1] == day]
    others = [place.shown(other, name) for other, name in planned.items() if other != context]
    return [*others, *(place.shown(context, name) for name in today[-1:])]


def _correct(place: LogPlace, planned: Mapping[str, str], moved: str, name: str) -> None:
    """Have the logs of this session that are written already name a log by the name that it gets."""
    old, new = place.shown(moved, planned[moved]), place.shown(moved, name)

    def change(document: Markdown) -> None:
        for line in document.lines():
            if line.text == f"See also: {old}":
                document.remove_lines(line.number, line.number)
                document.insert(line.number, f"See also: {new}")
                return

    for context, log in planned.items():
        if context == moved:
            return  # those behind it are not written yet
        place.edit(context, log, change=change)


def _free(there: Sequence[str], day: str) -> str:
    parts = [int(found[2] or 1) for name in there if (found := LOG_NAME.fullmatch(name)) and found[1] == day]
    return f"{day}-part{max(parts) + 1}.md" if parts else f"{day}.md"


def _part(title: str, texts: Sequence[str]) -> list[str]:
    return [f"## {title}", *([f"- {as_line(text, WHOLE)}" for text in texts] or ["None."]), ""]


def _code(path: str) -> str:
    shown = as_line(path, WHOLE)
    return f"`{shown}`" if "`" not in shown else shown
