"""What the dated logs of a save are to hold: also whatever it takes out of other files."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from tau.journal import assumptions, open_items
from tau.journal.context_answer import AssumptionSaid, ContextSaid, SharedSaid
from tau.journal.contexts import CONTEXT, SHARED, LogPlace
from tau.journal.dated_log import Done, Record
from tau.journal.markdown import Markdown
from tau.journal.open_items import key
from tau.journal.wrap_consent import Parted
from tau.journal.wrapping import WrapSession

_WAITS = " (waits for a yes)"
"""Behind what a log names, and the file that it says keeps it has only after the yes."""


def records(
    place: LogPlace, parts: Mapping[str, ContextSaid], parted: Parted, session: WrapSession
) -> dict[str, Record]:
    """What each log is to hold; what concerns the shared file is in the first one.

    Args:
        place: The files as they are.
        parts: What was said of each context.
        parted: What of it is written at once, and what waits.
        session: The session.

    Raises:
        JournalRefused: A file cannot be read.
    """
    found = {}
    for name in (name for name in session.contexts if name in parts):
        later = {key(each.text) for each in parted.later.get(name, ContextSaid(name)).assumptions}
        record = _record(place, name, parts[name], session.origin, later)
        known = {key(text) for text in record.discoveries}
        news = [text for text in parted.discoveries.get(name, []) if key(text) not in known]
        taken = parted.taken.get(name, [])
        found[name] = replace(record, discoveries=[*record.discoveries, *news], taken=taken)
    holder = SHARED if SHARED in found else next(iter(found))
    held = found[holder]
    done = _done_in(place, SHARED, parted.shared.done) if parted.shared != SharedSaid() else []
    other = holder != SHARED
    found[holder] = replace(
        held,
        done=[*dict.fromkeys([*held.done, *done])],
        taken=[*held.taken, *(parted.taken.get(SHARED, []) if other else [])],
        discoveries=[*held.discoveries, *(parted.discoveries.get(SHARED, []) if other else [])],
    )
    return found


def _record(place: LogPlace, name: str, part: ContextSaid, origin: str, later: Container[str]) -> Record:
    """What the log is to hold: also what the file of the context will say is done, until another day.

    Of assumptions it says which ones wait for the person's yes: those of `later`, by `key`.
    """
    data = place.read(name, CONTEXT)
    known = {key(tally.text) for tally in assumptions.tallies(Markdown(data))} if data else set()
    done = _done_in(place, name, part.done)
    over = {key(each.text) for each in done}
    return Record(
        part.summary,
        part.decisions,
        [item.text for item in part.open_items if key(item.text) not in over],
        part.discoveries,
        [
            f"{each.text}{_WAITS if key(each.text) in later else ''}"
            for each in part.assumptions
            if _begins(each, known)
        ],
        [(file.path, file.about) for file in part.files if file.path],
        origin,
        done,
    )


def _done_in(place: LogPlace, name: str, texts: Sequence[str]) -> list[Done]:
    """The open items of a context that will be taken out as done, each with all that stands in it."""
    document = Markdown(place.read(name, CONTEXT) or b"")
    found = open_items.finished(document, texts)[0]
    return [Done.of(document, each) for each in found]


def _begins(said: AssumptionSaid, known: Container[str]) -> bool:
    """Whether an assumption is one from now on, whatever the model calls it."""
    is_new = said.verdict == "corroborated" and key(said.text) not in known
    return bool(said.text) and (said.verdict == "new" or is_new)
