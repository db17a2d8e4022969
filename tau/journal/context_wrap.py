"""Saves what a session was into its contexts: logs, lessons, running state, by the rules code can keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from tau.display import one_line
from tau.errors import JournalRefused, TauError
from tau.journal import (
    assumptions,
    context_file,
    context_records,
    context_state,
    dated_log,
    markdown,
    open_items,
    owners,
    wrap_consent,
)
from tau.journal.assumptions import Tally
from tau.journal.context_answer import ContextSaid, LessonSaid, LogSaid, SharedSaid
from tau.journal.context_lessons import ContextLessons
from tau.journal.context_state import StateChange
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.dated_log import Done
from tau.journal.markdown import Markdown
from tau.journal.open_items import key
from tau.journal.wrap_consent import Parted
from tau.journal.wrapping import WrapInvalid, WrapSession, whole

_NAMED = 5
"""Open items that the confirmation names."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What of a save waits for the person's yes.

    Attributes:
        parted: What it is, and how it is shown.
        parts: All that was said of each context.
    """

    parted: Parted
    parts: Mapping[str, ContextSaid]


class ContextWrap:
    """One save. Every file is changed where it must be and nowhere else.

    Args:
        place: The `.session-log/`.
        session: The session that is closed.

    Attributes:
        lines: What the person is told.
        refused: What could not be written, a line each.
        waiting: What must be agreed to first; None when nothing must.
    """

    def __init__(self, place: LogPlace, session: WrapSession) -> None:
        self._place = place
        self._session = session
        self._day = f"{session.now:%Y-%m-%d}"
        self._state_of = StateChange(place, session.session_id, self._day)
        self.lines: list[str] = []
        self.refused: list[str] = []
        self._learned = ContextLessons(place, session, self.lines)
        self._changed = False
        self._done: set[Done] = set()
        self.waiting: Waiting | None = None

    @property
    def recorded(self) -> bool:
        """Whether anything was written that stands in prompts, or is a lesson."""
        return self._changed or self._learned.recorded

    def save(self, said: LogSaid) -> None:
        """Write everything: the logs first, then what is shared, then lessons and state, context by context.

        A fact is taken out of a context when it stands in the shared file. A context that cannot be read or
        written is in `refused`, and the others are saved; what must be agreed to first is in `waiting`.

        Raises:
            WrapInvalid: It says nothing of any context that was confirmed; nothing was written.
            JournalRefused: No context can be read, or a log cannot be written; says which were.
        """
        parts = self.check(said)
        self._say_left_out(said, parts)
        parts = self._readable(parts)
        shared_said, left_out = self._readable_shared(said.shared)
        settled = owners.settled(self._place, parts, shared_said)
        parts, shared_part = settled.parts, settled.shared
        parted = wrap_consent.part(self._place, parts, shared_part, self._session.origin, self._state_of)
        parted.told[:0] = settled.told
        for name, left in settled.logged.items():
            parted.taken[name] = [*left, *parted.taken.get(name, [])]
        first = next(iter(parts))
        parted.taken[first] = [*parted.taken.get(first, []), *((owners.LEFT_OUT, text) for text in left_out)]
        records = context_records.records(self._place, parts, parted, self._session)
        logs = dated_log.write(self._place, records, self._day)
        self._done = {done for record in records.values() for done in record.done}
        for name, line in parted.told:
            self._tell(name, line)
        self._trying(SHARED, partial(self._share, parted.shared, parts))
        shared = self._facts_of(SHARED)
        for name, log in logs.items():
            shown = self._place.shown(name, log)
            written = f"{shown} was written"
            self.lines.append(written)
            saving = partial(self._save_context, parted, parts[name], log, shared)
            before = len(self.refused)
            if self._trying(name, saving) and len(self.refused) == before:
                self.lines.remove(written)
        self.waiting = Waiting(parted, parts) if parted.shown else None

    def learn(self, said: LogSaid) -> None:
        """Write lessons alone, with no log; what cannot be is in `refused`.

        Raises:
            WrapInvalid: They are of no context that was confirmed; nothing was written.
        """
        for name, part in self.check(said).items():
            self._learn(name, part.lessons)

    def say_unlearned(self, said: LogSaid, error: TauError) -> None:
        """Have it in `refused` that no lessons were written, with all that they are."""
        for part in said.contexts:
            self._unlearned(part.context, part.lessons, error)

    def _learn(self, name: str, lessons: Sequence[LessonSaid]) -> tuple[list[str], list[LessonSaid]]:
        """Write lessons; what cannot be is said whole. Returns the ids, and those that were not written."""
        written: list[str] = []
        for number, each in enumerate(lessons):
            try:
                written += self._learned.write(name, [each])
            except JournalRefused as error:
                self._unlearned(name, lessons[number:], error)
                return written, [*lessons[number:]]
        return written, []

    def _unlearned(self, name: str, lessons: Sequence[LessonSaid], error: TauError) -> None:
        shown = self._place.shown(name, LESSONS)
        said = "; ".join(f"“{wrap_consent.lesson_line(each)}”" for each in lessons)
        self.refused.append(
            f"{shown} was not saved whole: {error.line()}; kept nowhere is what was learned: {said}"
        )

    def _readable(self, parts: Mapping[str, ContextSaid]) -> dict[str, ContextSaid]:
        """What is said of each context whose file can be read; the others are in `refused`.

        Raises:
            JournalRefused: None can be; nothing was written.
        """
        found = {}
        for name, part in parts.items():
            if why := self._unreadable(name):
                self.refused.append(f"{self._place.shown(name)} was not saved: {why}")
            else:
                found[name] = part
        if not found:
            raise JournalRefused("; ".join(self.refused))
        return found

    def _readable_shared(self, said: SharedSaid) -> tuple[SharedSaid, list[str]]:
        """What is said of the shared file; nothing where that cannot be read, and what it was for the log."""
        why = self._unreadable(SHARED)
        if not why:
            return said, []
        shown = self._place.shown(SHARED, CONTEXT)
        self._place = replace(self._place, without=[(SHARED, CONTEXT)])
        texts = [each.text or f"{each.old}, no more" for each in said.facts]
        texts += [each.text for each in said.open_items] + [f"{each}, done" for each in said.done]
        if said != SharedSaid():
            self.refused.append(f"{shown} was not saved: {why}")
        else:
            self.lines.append(f"What {shown} holds is not known: {why}")
        return SharedSaid(), [f"“{whole(text)}” of {shown}, which could not be read" for text in texts]

    def _unreadable(self, name: str) -> str:
        """Why the file of a context cannot be read; empty where it can, or is not there."""
        try:
            self._place.read(name, CONTEXT)
        except JournalRefused as error:
            return error.line()
        return ""

    def _save_context(self, parted: Parted, whole_part: ContextSaid, log: str, shared: Sequence[str]) -> None:
        """Write lessons and the running state of a context, each by itself, and confirm it."""
        name = whole_part.context
        part = parted.parts[name]
        extracted, unlearned = self._learn(name, part.lessons)
        if unlearned:  # a fact that was to make room for one of these stays
            words = {key(text) for each in unlearned for text in (each.title, each.fix, each.rule)}
            facts = [fact for fact in part.facts if fact.text or key(fact.old) not in words]
            part = structs.replace(part, facts=facts)
        listed = self._state(name, part, [] if name == SHARED else shared)
        if name != SHARED:
            self._give_up(name, parted.shared)
        if not self._session.origin and not unlearned:
            extracted += self._learned.graduate(name, wrap_consent.rules_of(whole_part))
        self._lengths(name, log)
        if not unlearned:
            self.lines.append(_confirmation(self._place.shown(name, log), listed, extracted))

    def agree(self, waiting: Waiting) -> None:
        """Write what waited for the person's yes; what cannot be is in `refused`."""
        origin, parted = self._session.origin, waiting.parted
        later = SharedSaid(facts=wrap_consent.marked_facts(parted.later_shared.facts, origin))
        parts = {
            name: wrap_consent.marked(parted.later.get(name, ContextSaid(name)), origin)
            for name in waiting.parts
        }
        # no more is taken out than was shown
        settled = owners.settled(self._place, parts, later, makes_room=False)
        for name, line in settled.told:
            self._tell(name, line)
        self._trying(SHARED, partial(self._share, settled.shared, parts))
        shared = self._facts_of(SHARED)
        for name, part in settled.parts.items():
            becoming = parted.graduates.get(name, {})
            self._trying(name, partial(self._agree_context, part, settled.shared, shared, becoming))

    def _agree_context(
        self, part: ContextSaid, later: SharedSaid, shared: Sequence[str], becoming: Mapping[str, str]
    ) -> None:
        name = part.context
        self._learned.write(name, part.lessons)
        part = self._still_there(part)
        if part.facts or part.assumptions:
            told: list[str] = []

            def change(document: Markdown) -> None:
                told[:] = self._state_of.believe(document, part, [] if name == SHARED else shared)

            self._edit(name, change, ())
            for line in told:
                self._tell(name, line)
        if becoming:
            self._learned.graduate(name, becoming, these_alone=True)
        if name != SHARED:
            self._give_up(name, later)

    def _still_there(self, part: ContextSaid) -> ContextSaid:
        """What was agreed to, without counts of assumptions that are none any more."""
        there = {key(tally.text) for tally in self._tallies(part.context)}
        kept = []
        for each in part.assumptions:
            if each.verdict == "corroborated" and key(each.text) not in there:
                self._tell(part.context, f"“{whole(each.text)}” is no assumption here any more")
            else:
                kept.append(each)
        return structs.replace(part, assumptions=kept)

    def _trying(self, name: str, write: Callable[[], object]) -> bool:
        """Whether it could be written; else it is said, and the rest goes on."""
        try:
            write()
        except JournalRefused as error:
            shown = self._place.shown(name)
            self.refused.append(f"{shown} was not saved whole: {error.line()}")
            return False
        return True

    def check(self, said: LogSaid) -> dict[str, ContextSaid]:
        """What is said of each context that was confirmed; names are as the person has them.

        Raises:
            WrapInvalid: It says nothing of any of them, or names one twice.
        """
        names = {key(name): name for name in self._session.contexts}
        parts: dict[str, ContextSaid] = {}
        bare: list[str] = []
        for part in said.contexts:
            name = names.get(key(part.context), part.context)
            part.context = name
            if name in parts:
                raise WrapInvalid(f"the answer names {one_line(name)} twice")
            if name in self._session.contexts and part != ContextSaid(name):
                parts[name] = part
            elif name in self._session.contexts:
                bare.append(one_line(name))
        if not parts and bare:
            raise WrapInvalid(
                f"the answer names {', '.join(bare)}, and has no summary of it nor anything else"
            )
        if not parts:
            confirmed = ", ".join(map(one_line, self._session.contexts))
            raise WrapInvalid(f"the answer says nothing of {confirmed}")
        return parts

    def _say_left_out(self, said: LogSaid, parts: dict[str, ContextSaid]) -> None:
        for name in self._session.contexts:
            if name not in parts:
                self.lines.append(f"{one_line(name)}: the model had nothing to say of it, so it has no log")
            elif not parts[name].summary:
                self._tell(name, "the model gave no summary; the rest of its answer is in the log")
        strange = [part.context for part in said.contexts if part.context not in self._session.contexts]
        if strange:
            listed = ", ".join(one_line(name, 40) for name in strange)
            self.lines.append(f"Not written, since you did not confirm it: a log of {listed}")

    # State ----------------------------------------------------------------------------------------

    def _state(self, name: str, part: ContextSaid, owned: Sequence[str]) -> list[str]:
        """Bring a context's file up to date. Returns its open items, what is active first."""
        told: list[str] = []
        listed: list[str] = []
        is_new = self._place.read(name, CONTEXT) is None

        def change(document: Markdown) -> None:
            told.clear()
            listed.clear()
            if context_file.note_keywords(document, part.keywords) and not is_new:
                told.append(f"it is known by its keywords from now on: {', '.join(part.keywords)}")
            told.extend(self._state_of.items(document, part.open_items, part.done, self._done))
            told.extend(self._state_of.believe(document, part, owned))
            order = (*open_items.TIERS, "")
            there = sorted(open_items.items(document), key=lambda item: order.index(item.tier))
            listed.extend(item.text for item in there)

        self._edit(name, change, part.keywords)
        if is_new and name != SHARED:
            shown = self._place.shown(name, CONTEXT)
            words = ", ".join(part.keywords) or "none yet"
            self._tell(name, f"a new context; {shown} lists the keywords it is known by: {words}")
        for line in told:
            self._tell(name, line)
        return listed

    def _share(self, part: SharedSaid, names: Iterable[str]) -> None:
        """Write what holds across contexts; a fact that moves there takes along what stands behind it."""
        if part == SharedSaid():
            return
        told: list[str] = []
        behind = self._behind(part, names)

        def change(document: Markdown) -> None:
            told[:] = self._state_of.items(document, part.open_items, part.done, self._done)
            told.extend(context_state.revise(document, part.facts, (), behind))

        if self._edit(SHARED, change, ()):
            self.lines.append(f"{self._place.shown(SHARED, CONTEXT)} was updated")
        for line in told:
            self._tell(SHARED, line)

    def _behind(self, part: SharedSaid, names: Iterable[str]) -> dict[str, str]:
        """What stands behind facts in the contexts that they leave, by `key`; of marks one is enough."""
        said = {key(fact.text): fact.text for fact in part.facts if fact.text}
        found: dict[str, str] = {}
        for name in names:
            document = Markdown(self._place.read(name, CONTEXT) or b"") if name != SHARED else Markdown(b"")
            for item in context_file.facts(document):
                this = context_file.fact_key(item)
                if this in said and not item.holds_more:
                    marked = said[this] + found.get(this, "")
                    found[this] = found.get(this, "") + context_file.behind(item, marked)
        return found

    def _give_up(self, name: str, shared: SharedSaid) -> None:
        """Take out of a context what has its place in the shared file now."""
        stands = self._facts_of(SHARED)
        moved = [fact.text for fact in shared.facts if key(fact.text) in stands]
        gone: list[str] = []

        def change(document: Markdown) -> None:
            gone[:] = context_file.give_up(document, moved)

        if moved:
            self._edit(name, change, ())
        for text in gone:
            self._tell(name, f"“{whole(text)}” moved to {self._place.shown(SHARED, CONTEXT)}")

    def _edit(self, name: str, change: markdown.Change, keywords: Sequence[str]) -> bool:
        changed = self._place.edit(
            name, CONTEXT, change=change, create=context_file.new_context(name, keywords)
        )
        self._changed |= changed
        return changed

    def _facts_of(self, name: str) -> list[str]:
        data = self._place.read(name, CONTEXT)
        return context_file.fact_keys(Markdown(data)) if data else []

    def _tallies(self, name: str) -> list[Tally]:
        data = self._place.read(name, CONTEXT)
        return assumptions.tallies(Markdown(data)) if data else []

    def _lengths(self, name: str, log: str) -> None:
        written = self._place.read(name, log) or b""
        if line := dated_log.length(self._place.shown(name, log), written, quick=self._session.quick):
            self.lines.append(line)
        data = self._place.read(name, CONTEXT) or b""
        self.lines += context_file.lengths(self._place.shown(name, CONTEXT), data)

    def _tell(self, name: str, line: str) -> None:
        self.lines.append(whole(f"{name}: {line}"))


def _confirmation(log: str, listed: Sequence[str], lessons: Sequence[str]) -> str:
    """The words of the document that describes session logs."""
    brief = "; ".join(one_line(text, 60) for text in listed[:_NAMED]) or "none"
    if len(listed) > _NAMED:
        brief += f"; {len(listed) - _NAMED} more"
    return (
        f"Saved session log to {log} and updated context. Open items: {brief}. "
        f"Lessons extracted: {len(lessons) or 'none'}."
    )
