"""What of a save into contexts waits for the person's yes: shown whole, and written only then.

After content from outside, that is whatever would be believed later: facts, new assumptions, lessons, and
what would make a lesson of an assumption. Else it is what would change or take out more than half of the
facts of a file. Each change is made on a copy first: what changes nothing is neither asked nor recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from tau.errors import JournalRefused
from tau.journal import assumptions, context_file, context_state, lessons_file
from tau.journal.assumptions import Tally
from tau.journal.context_answer import AssumptionSaid, ContextSaid, FactSaid, LessonSaid, SharedSaid
from tau.journal.context_state import StateChange
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.lessons_file import Lesson
from tau.journal.markdown import Markdown
from tau.journal.noted import noted
from tau.journal.open_items import key
from tau.journal.wrapping import waits, whole

TAKEN, REPLACED, DISPROVEN = "Taken out of", "Replaced in", "Disproven, taken out of"
MOVED = f"Moved to {SHARED}/{CONTEXT}, out of"
_ASKED = "Waits for a yes. "


@dataclass
class Parted:
    """A save, parted by what may be written at once.

    Attributes:
        parts: What is written at once, by context.
        shared: The same of the shared file.
        later: What waits, by context.
        later_shared: The same of the shared file.
        graduates: Assumptions that become lessons after a yes, by context: as of `key`, with the rules shown.
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
    graduates: dict[str, dict[str, str]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    taken: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    discoveries: dict[str, list[str]] = field(default_factory=dict)


class _Copies:
    """A file as it will be: after what is written at once, and after a yes to what waits.

    Attributes:
        name: The context.
    """

    def __init__(self, place: LogPlace, name: str) -> None:
        self.name = name
        self.now = _read(place, name, CONTEXT)
        self.then = Markdown(self.now.data)

    def facts(self) -> tuple[list[str], list[str]]:
        """The keys of the facts of both."""
        return context_file.fact_keys(self.now), context_file.fact_keys(self.then)


def part(
    place: LogPlace, parts: Mapping[str, ContextSaid], shared: SharedSaid, origin: str, state: StateChange
) -> Parted:
    """Part a save by what may be written at once.

    Args:
        place: The files as they are.
        parts: What the model said of each context.
        shared: What it said of the shared file.
        origin: What came from outside in the session; empty when nothing did.
        state: What the session says of assumptions is counted by it.

    Raises:
        JournalRefused: A file cannot be read.
    """
    parted = Parted(dict(parts), shared)
    files = {name: _Copies(place, name) for name in dict.fromkeys([*parts, SHARED])}
    # the shared file is written first: what it has then is no fact of another one
    now, later = _facts(files[SHARED], parted, shared.facts, origin, ([], []))
    parted.shared, parted.later_shared = structs.replace(shared, facts=now), SharedSaid(facts=later)
    owned = files[SHARED].facts()
    last_shown, parted.shown = parted.shown, []
    last_why, parted.why = parted.why, []
    if origin:
        parted.why.append(f"content from outside was in this session ({origin})")
    for name, said in parts.items():
        copies, waiting = files[name], ContextSaid(name)
        others = ([], []) if name == SHARED else owned
        now, waiting.facts = _facts(copies, parted, said.facts, origin, others)
        assumed, waiting.assumptions = _assumptions(copies, parted, said.assumptions, origin, state)
        parted.parts[name] = structs.replace(said, facts=now, assumptions=assumed)
        if origin:
            _lessons(place, parted, name, said, waiting)
            last_shown += _graduates(copies.then, parted, said)
        if name != SHARED:
            _moved(copies, parted, owned)
        if waiting != ContextSaid(name):
            parted.later[name] = waiting
    parted.shown += last_shown
    parted.why += last_why
    return parted


def rules_of(said: ContextSaid) -> dict[str, str]:
    """What is to be done by assumptions should they become lessons, by `key`."""
    return {key(each.text): each.rule for each in said.assumptions if each.rule}


def marked(said: ContextSaid, origin: str) -> ContextSaid:
    """What waited, with the mark of where its session had content from."""
    return structs.replace(
        said,
        facts=marked_facts(said.facts, origin),
        assumptions=[
            structs.replace(each, text=noted(each.text, origin)) if each.verdict == "new" else each
            for each in said.assumptions
        ],
        lessons=[structs.replace(each, context=noted(each.context, origin)) for each in said.lessons],
    )


def marked_facts(facts: list[FactSaid], origin: str) -> list[FactSaid]:
    """As `marked`; a fact that is taken out needs none."""
    return [structs.replace(fact, text=noted(fact.text, origin)) if fact.text else fact for fact in facts]


def _facts(
    copies: _Copies,
    parted: Parted,
    facts: list[FactSaid],
    origin: str,
    owned: tuple[list[str], list[str]],
) -> tuple[list[FactSaid], list[FactSaid]]:
    """The facts that are written at once, and those that wait."""
    name = copies.name
    there = _keyed(copies.now)
    changed = {key(fact.old) for fact in facts if fact.old} & there.keys()
    why = waits(len(changed), len(there), f"facts of {name}")
    if why and not origin:
        parted.why.append(why)
    later = [fact for fact in facts if origin or (why and fact.old)]
    now = [fact for fact in facts if fact not in later]
    for fact in now:
        old = _keyed(copies.now).get(key(fact.old), "")
        if _revised(copies.now, fact, owned[0])[0] and old:
            _take(parted, REPLACED if fact.text else TAKEN, name, old, asked=False)
        _revised(copies.then, fact, owned[1])
    asked = []
    for fact in later:
        old = _keyed(copies.then).get(key(fact.old), "")
        changes, told = _revised(copies.then, fact, owned[1])
        if not changes:
            parted.told += [(name, line) for line in told]
            continue
        asked.append(fact)
        parted.shown.append(f"{name}: {_fact(fact, old)}")
        if old:
            _take(parted, REPLACED if fact.text else TAKEN, name, old, asked=True)
        if fact.text:
            parted.discoveries.setdefault(name, []).append(fact.text)
    return now, asked


def _moved(copies: _Copies, parted: Parted, owned: tuple[list[str], list[str]]) -> None:
    """Note what a context gives up to the shared file."""
    name = copies.name
    for asked, shared in ((False, parted.shared), (True, parted.later_shared)):
        texts = [fact.text for fact in shared.facts if key(fact.text) in owned[asked]]
        gone = context_file.give_up(copies.then, texts)
        if not asked:
            gone = context_file.give_up(copies.now, texts)
        for text in gone:
            _take(parted, MOVED, name, text, asked=asked)
            if asked:
                parted.shown.append(f"{name}: the fact “{whole(text)}” moves to {SHARED}/{CONTEXT}")


def _assumptions(
    copies: _Copies, parted: Parted, said: list[AssumptionSaid], origin: str, state: StateChange
) -> tuple[list[AssumptionSaid], list[AssumptionSaid]]:
    """What is said of assumptions and counts at once, and what waits."""
    now: list[AssumptionSaid] = []
    waiting: list[AssumptionSaid] = []
    held: set[str] = set()
    name = copies.name
    for one in said:
        this = key(one.text)
        before, trial = _tally(copies.then, this), Markdown(copies.then.data)
        # what was outside words no rule unseen
        each = structs.replace(one, rule="") if origin and before is not None else one
        told = state.judge(trial, each)
        changes, after = trial.data != copies.then.data, _tally(trial, this)
        copies.then = trial
        if this not in held and not (origin and changes and _is_believed_by(before, after)):
            now.append(each)
            state.judge(copies.now, each)
        elif not changes:
            parted.told += [(name, line) for line in told]
        else:
            waiting.append(each if before else structs.replace(each, verdict="new"))
            if shown := _assumption(each, before, after, trial, this in held):
                parted.shown.append(f"{name}: {shown}")
            held.add(this)
        if before is not None and after is None:
            _take(parted, DISPROVEN, name, before.text, asked=this in held)
    return now, waiting


def _is_believed_by(before: Tally | None, after: Tally | None) -> bool:
    """Whether a change of a tally is one of what is believed: not only of how often it was seen."""
    return before is None or after is None or (after.graduates and not before.graduates)


def _assumption(
    said: AssumptionSaid, before: Tally | None, after: Tally | None, document: Markdown, again: bool
) -> str:
    """How a change of an assumption is shown; empty where its lesson is shown instead."""
    if before is None:
        rule = f"; its rule, should it become a lesson: {whole(said.rule)}" if said.rule else ""
        return f"new assumption: {whole(said.text)}{rule}"
    text = whole(before.text)
    if after is None:
        return f"the assumption “{text}” is taken out as disproven"
    if again:
        return f"the assumption “{text}” is {said.verdict} as well"
    return "" if after in assumptions.graduates(document) else f"the assumption “{text}” is seen once more"


def _graduates(document: Markdown, parted: Parted, said: ContextSaid) -> list[str]:
    """The lessons that would be made of assumptions, a line each."""
    tallies = assumptions.graduates(document)
    rules = rules_of(said)
    lessons = [lessons_file.of_assumption(tally, rules.get(key(tally.text), "")) for tally in tallies]
    shown = {key(tally.text): lesson.rule for tally, lesson in zip(tallies, lessons, strict=True)}
    parted.graduates[said.context] = shown
    return [
        f"{said.context}: the assumption “{whole(tally.text)}”, seen {tally.seen}×, becomes a lesson, "
        f"with the prevention rule: {whole(lesson.rule)}"
        for tally, lesson in zip(tallies, lessons, strict=True)
    ]


def _lessons(place: LogPlace, parted: Parted, name: str, said: ContextSaid, waiting: ContextSaid) -> None:
    """Have lessons wait; those that are none, or are there, are not asked about."""
    try:
        document = _read(place, name, LESSONS)
    except JournalRefused:  # which is told: a yes writes none
        document = Markdown(b"")
    now: list[LessonSaid] = []
    for each in said.lessons:
        lesson = Lesson(each.title, each.context, each.failed, each.fix, each.rule)
        if not each.rule or lessons_file.says_already(document, lesson):
            now.append(each)
            continue
        waiting.lessons.append(each)
        parted.shown.append(f"{name}: new lesson: {lesson_line(each)}")
        parted.discoveries.setdefault(name, []).append(f"{each.title}: {each.rule}")
    parted.parts[name].lessons = now


def _read(place: LogPlace, name: str, file: str) -> Markdown:
    return Markdown(place.read(name, file) or b"")


def _keyed(document: Markdown) -> dict[str, str]:
    return {context_file.fact_key(item): item.text for item in context_file.facts(document)}


def _tally(document: Markdown, wanted: str) -> Tally | None:
    return next((tally for tally in assumptions.tallies(document) if key(tally.text) == wanted), None)


def _revised(document: Markdown, fact: FactSaid, owned: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether a fact changes anything, and what is told of it."""
    before = document.data
    told = context_state.revise(document, [fact], owned)
    return document.data != before, told


def _take(parted: Parted, what: str, name: str, text: str, *, asked: bool) -> None:
    where = f"{SHARED}/{CONTEXT}" if name == SHARED else CONTEXT
    parted.taken.setdefault(name, []).append((f"{_ASKED if asked else ''}{what} {where}", text))


def _fact(fact: FactSaid, old: str) -> str:
    if not old:
        return f"new fact: {whole(fact.text)}"
    if not fact.text:
        return f"the fact “{whole(old)}” is taken out"
    return f"the fact “{whole(old)}” becomes “{whole(fact.text)}”"


def lesson_line(said: LessonSaid) -> str:
    """All of a lesson, on one line."""
    fields = (
        ("Context", said.context),
        ("What failed", said.failed),
        ("Fix", said.fix),
        ("Prevention rule", said.rule),
    )
    return "; ".join([whole(said.title), *(f"{name}: {whole(text)}" for name, text in fields if text)])
