"""What of a save into contexts waits for the person's yes: shown whole, and written only then.

After content from outside, that is whatever would be believed later: facts, new assumptions, lessons. Else it
is what would change or take out more than half of the facts of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import structs

from tau.journal import assumptions, context_file, lessons_file
from tau.journal.context_answer import AssumptionSaid, ContextSaid, FactSaid, LessonSaid, SharedSaid
from tau.journal.context_file import FactChange
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.lessons_file import Lesson
from tau.journal.markdown import Markdown
from tau.journal.noted import noted
from tau.journal.open_items import key
from tau.journal.wrapping import waits, whole

TAKEN, REPLACED, DISPROVEN = "Taken out of", "Replaced in", "Disproven, taken out of"
_ASKED = "Waits for a yes. "


@dataclass
class Parted:
    """A save, parted by what may be written at once.

    Attributes:
        parts: What is written at once, by context.
        shared: The same of the shared file.
        later: What waits, by context.
        later_shared: The same of the shared file.
        shown: What waits, a line each.
        why: Why it waits; empty when nothing does.
        told: Why something is not written at all, with its context.
        taken: What is taken out or would be, by context: what becomes of it, and its text.
        discoveries: What waits and is news, by context, for the log.
    """

    parts: dict[str, ContextSaid]
    shared: SharedSaid
    later: dict[str, ContextSaid] = field(default_factory=dict)
    later_shared: SharedSaid = field(default_factory=SharedSaid)
    shown: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    taken: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    discoveries: dict[str, list[str]] = field(default_factory=dict)


def part(place: LogPlace, parts: Mapping[str, ContextSaid], shared: SharedSaid, origin: str) -> Parted:
    """Part a save by what may be written at once.

    Args:
        place: The files as they are.
        parts: What the model said of each context.
        shared: What it said of the shared file.
        origin: What came from outside in the session; empty when nothing did.

    Raises:
        JournalRefused: A file cannot be read.
    """
    parted = Parted(dict(parts), shared)
    if origin:
        parted.why.append(f"content from outside was in this session ({origin})")
    for name, said in parts.items():
        now, later = _facts(place, parted, name, said.facts, origin)
        parted.parts[name] = structs.replace(said, facts=now)
        waiting = ContextSaid(name, facts=later)
        known = _known(place, name)
        for each in said.assumptions:
            if each.verdict == "disproven" and key(each.text) in known:
                quote = _taken(DISPROVEN, name, known[key(each.text)], bool(origin))
                parted.taken.setdefault(name, []).append(quote)
        if origin:
            _assumptions(parted, name, said, waiting, known)
            _lessons(place, parted, name, said, waiting)
        if waiting != ContextSaid(name):
            parted.later[name] = waiting
    now, later = _facts(place, parted, SHARED, shared.facts, origin)
    parted.shared, parted.later_shared = structs.replace(shared, facts=now), SharedSaid(facts=later)
    return parted


def marked(said: ContextSaid, origin: str) -> ContextSaid:
    """What waited, with the mark of where its session had content from."""
    return structs.replace(
        said,
        facts=marked_facts(said.facts, origin),
        assumptions=[structs.replace(each, text=noted(each.text, origin)) for each in said.assumptions],
        lessons=[structs.replace(each, context=noted(each.context, origin)) for each in said.lessons],
    )


def marked_facts(facts: list[FactSaid], origin: str) -> list[FactSaid]:
    """As `marked`; a fact that is taken out needs none."""
    return [structs.replace(fact, text=noted(fact.text, origin)) if fact.text else fact for fact in facts]


def _facts(
    place: LogPlace, parted: Parted, name: str, facts: list[FactSaid], origin: str
) -> tuple[list[FactSaid], list[FactSaid]]:
    """The facts that are written at once, and those that wait."""
    document = Markdown(place.read(name, CONTEXT) or b"")
    there = {context_file.fact_key(item): item.text for item in context_file.facts(document)}
    changed = {key(fact.old) for fact in facts if fact.old} & there.keys()
    why = waits(len(changed), len(there), f"facts of {name}")
    if why and not origin:
        parted.why.append(why)
    later = [fact for fact in facts if origin or (why and fact.old)]
    now = [fact for fact in facts if fact not in later]
    for fact in facts:
        if key(fact.old) in changed:
            what = REPLACED if fact.text else TAKEN
            quote = _taken(what, name, there[key(fact.old)], fact in later)
            parted.taken.setdefault(name, []).append(quote)
    asked = []
    for fact in later:  # on a copy: what would change nothing is not asked about
        before = document.data
        told = context_file.revise(document, [FactChange(fact.text, fact.old, fact.section)], ())
        if document.data == before:
            parted.told += [(name, line) for line in told]
            continue
        asked.append(fact)
        parted.shown.append(f"{name}: {_fact(fact, there.get(key(fact.old), ''))}")
        if fact.text:
            parted.discoveries.setdefault(name, []).append(fact.text)
    return now, asked


def _assumptions(
    parted: Parted, name: str, said: ContextSaid, waiting: ContextSaid, known: Mapping[str, str]
) -> None:
    now: list[AssumptionSaid] = []
    for each in said.assumptions:
        if each.verdict == "disproven" and key(each.text) in known:
            shown = f"the assumption “{whole(known[key(each.text)])}” is taken out as disproven"
        elif each.text and key(each.text) not in known and each.verdict in ("new", "corroborated"):
            shown = f"new assumption: {whole(each.text)}"
        else:
            now.append(each)
            continue
        waiting.assumptions.append(each)
        parted.shown.append(f"{name}: {shown}")
    parted.parts[name].assumptions = now


def _lessons(place: LogPlace, parted: Parted, name: str, said: ContextSaid, waiting: ContextSaid) -> None:
    """Have lessons wait; those that are none, or are there, are not asked about."""
    document = Markdown(place.read(name, LESSONS) or b"")
    now: list[LessonSaid] = []
    for each in said.lessons:
        lesson = Lesson(each.title, each.context, each.failed, each.fix, each.rule)
        if not each.rule or lessons_file.says_already(document, lesson):
            now.append(each)
            continue
        waiting.lessons.append(each)
        parted.shown.append(f"{name}: new lesson: {_lesson(each)}")
        parted.discoveries.setdefault(name, []).append(f"{each.title}: {each.rule}")
    parted.parts[name].lessons = now


def _known(place: LogPlace, name: str) -> dict[str, str]:
    data = place.read(name, CONTEXT)
    there = assumptions.tallies(Markdown(data)) if data else []
    return {key(tally.text): tally.text for tally in there}


def _taken(what: str, name: str, text: str, asked: bool) -> tuple[str, str]:
    where = f"{SHARED}/{CONTEXT}" if name == SHARED else CONTEXT
    return f"{_ASKED if asked else ''}{what} {where}", text


def _fact(fact: FactSaid, old: str) -> str:
    if not old:
        return f"new fact: {whole(fact.text)}"
    if not fact.text:
        return f"the fact “{whole(old)}” is taken out"
    return f"the fact “{whole(old)}” becomes “{whole(fact.text)}”"


def _lesson(said: LessonSaid) -> str:
    fields = (
        ("Context", said.context),
        ("What failed", said.failed),
        ("Fix", said.fix),
        ("Prevention rule", said.rule),
    )
    return "; ".join([whole(said.title), *(f"{name}: {whole(text)}" for name, text in fields if text)])
