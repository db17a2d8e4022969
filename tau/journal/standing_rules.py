"""Lessons that have held and may become standing rules: which ones, and their way into the archive."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import lessons_file
from tau.journal.context_answer import ContextSaid
from tau.journal.contexts import LESSONS, LogPlace
from tau.journal.lessons_file import Entry
from tau.journal.markdown import Markdown


def candidates(place: LogPlace, part: ContextSaid, today: date, most: int) -> tuple[list[Entry], list[str]]:
    """The lessons of a context that may become standing rules.

    Args:
        place: The `.session-log/`.
        part: What the model said of the context.
        today: The day.
        most: How many may.

    Returns:
        The lessons, and why others may not, a line each.

    Raises:
        JournalRefused: The lessons cannot be read.
    """
    data = place.read(part.context, LESSONS)
    found: list[Entry] = []
    told: list[str] = []
    for each in part.compact if data else []:
        entry, why_not = lessons_file.candidate(Markdown(data or b""), each.id, today)
        if entry is None:
            told.append(f"Not made a standing rule: {why_not}")
        elif each.narrows:
            told.append(f"{entry.id} would narrow or soften a rule, so it was left: {one_line(entry.rule)}")
        elif len(found) < most:
            found.append(entry)
        else:
            listed = lessons_file.MOST_COMPACTED
            told.append(f"{entry.id} is for another wrap-up: at most {listed} become standing rules at once")
    return found, told


def archive(place: LogPlace, context: str, identity: str, now: datetime) -> str:
    """Move a lesson that became a standing rule to the archive of its file; what to tell.

    Raises:
        JournalRefused: The file cannot be changed.
    """
    shown = place.shown(context, LESSONS)
    change = partial(lessons_file.archive, identity=identity, day=f"{now:%Y-%m-%d}")
    if not place.edit(context, LESSONS, change=change):
        raise JournalRefused(f"{shown} has no entry {identity} that is not archived", "it was changed since")
    return f"{identity} was moved to the archive of {shown}"
