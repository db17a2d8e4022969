"""Saves what a session was into its contexts: logs, lessons, running state, by the rules code can keep."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import assumptions, context_file, dated_log, lessons_file, markdown, open_items
from tau.journal.assumptions import Tally
from tau.journal.context_answer import (
    AssumptionSaid,
    ContextSaid,
    FactSaid,
    LogSaid,
    OpenItemSaid,
    SharedSaid,
)
from tau.journal.context_file import FactChange
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.dated_log import Record
from tau.journal.lessons_file import Lesson
from tau.journal.markdown import Markdown
from tau.journal.open_items import key
from tau.journal.wrapping import WrapInvalid, WrapSession

_NAMED = 5
"""Open items that the confirmation names."""


class ContextWrap:
    """One save. Every file is changed where it must be and nowhere else.

    Args:
        place: The `.session-log/`.
        session: The session that is closed.

    Attributes:
        lines: What the person is told.
        recorded: Whether anything was written that stands in prompts, or is a lesson.
    """

    def __init__(self, place: LogPlace, session: WrapSession) -> None:
        self._place = place
        self._session = session
        self._day = f"{session.now:%Y-%m-%d}"
        self._mark = assumptions.mark(session.session_id)
        self.lines: list[str] = []
        self.recorded = False

    def save(self, said: LogSaid) -> None:
        """Write everything: the logs first, then what is shared, then lessons and state, context by context.

        A fact is taken out of a context when it stands in the shared file.

        Raises:
            WrapInvalid: It says nothing of any context that was confirmed; nothing was written.
            JournalRefused: A file cannot be written; `lines` says what was.
        """
        parts = self.check(said)
        self._say_left_out(said, parts)
        records = {name: self._record(name, parts[name]) for name in self._session.contexts if name in parts}
        if said.shared != SharedSaid() and (done := self._done_in(SHARED, said.shared.done)):
            holder = SHARED if SHARED in records else next(iter(records))
            records[holder] = replace(records[holder], done=[*dict.fromkeys([*records[holder].done, *done])])
        logs = dated_log.write(self._place, records, self._day)
        problem = self._share(said)
        shared = self._facts_of(SHARED)
        for name, log in logs.items():
            shown = self._place.shown(name, log)
            self.lines.append(f"{shown} was written")
            part = parts[name]
            extracted = self._lessons(name, part)
            listed = self._state(name, part, [] if name == SHARED else shared)
            extracted += self._graduate(name, part)
            if name != SHARED:
                self._give_up(name, said)
            self._lengths(name, log)
            self.lines.remove(f"{shown} was written")
            self.lines.append(_confirmation(shown, listed, extracted))
        if problem is not None:
            raise problem

    def check(self, said: LogSaid) -> dict[str, ContextSaid]:
        """What is said of each context that was confirmed; names are as the person has them.

        Raises:
            WrapInvalid: It says nothing of any of them, or names one twice.
        """
        names = {key(name): name for name in self._session.contexts}
        parts: dict[str, ContextSaid] = {}
        for part in said.contexts:
            name = names.get(key(part.context), part.context)
            part.context = name
            if name in parts:
                raise WrapInvalid(f"the answer names {one_line(name)} twice")
            if name in self._session.contexts and part != ContextSaid(name):
                parts[name] = part
        if not parts:
            confirmed = ", ".join(map(one_line, self._session.contexts))
            raise WrapInvalid(f"the answer says nothing of {confirmed}")
        return parts

    def _record(self, name: str, part: ContextSaid) -> Record:
        """What the log is to hold: also what the file of the context will say is done, until another day."""
        known = {key(tally.text) for tally in self._tallies(name)}
        done = self._done_in(name, part.done)
        return Record(
            part.summary,
            part.decisions,
            [item.text for item in part.open_items if key(item.text) not in map(key, done)],
            part.discoveries,
            [each.text for each in part.assumptions if _begins(each, known)],
            [(file.path, file.about) for file in part.files if file.path],
            self._session.origin,
            done,
        )

    def _done_in(self, name: str, texts: Sequence[str]) -> list[str]:
        """The open items of a context that will be taken out as done."""
        document = Markdown(self._place.read(name, CONTEXT) or b"")
        return open_items.resolve(document, texts, self._day)[0]

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

    # Lessons --------------------------------------------------------------------------------------

    def _lessons(self, name: str, part: ContextSaid) -> list[str]:
        """Write what was learned. Returns the ids."""
        believed = {key(each.text) for each in part.assumptions}
        believed |= {key(tally.text) for tally in self._tallies(name)}
        wanted = []
        for each in part.lessons:
            lesson = Lesson(each.title, each.context, each.failed, each.fix, each.rule)
            if believed & {key(each.title), key(each.fix), key(each.rule)} - {""}:
                self._tell(name, f"“{one_line(each.title, 80)}” is an assumption, so it is no lesson yet")
            elif not each.rule:
                self._tell(name, f"“{one_line(each.title, 80)}” has no prevention rule, so it is no lesson")
            else:
                wanted.append(lesson)
        written = []
        for lesson in wanted:
            if identity := self._learn(name, lesson):
                written.append(identity)
                self._tell(name, f"“{one_line(lesson.title, 80)}” is the new lesson {identity}")
        return written

    def _learn(self, name: str, lesson: Lesson) -> str:
        """Write one lesson, unless it is there. Returns its id; empty when it was not written.

        Nobody else begins a file of lessons meanwhile, which could take the same prefix.
        """
        with markdown.holding(self._place.folder, private=self._place.in_home):
            return self._learn_alone(name, lesson)

    def _learn_alone(self, name: str, lesson: Lesson) -> str:
        path, shown = self._place.path(name, LESSONS), self._place.shown(name, LESSONS)
        first = lessons_file.free_prefix(name, self._prefixes(name))
        identity, why_not, there = "", "", ""

        def change(document: Markdown) -> None:
            nonlocal identity, why_not, there
            identity, there = "", ""
            if why_not := lessons_file.closed(document):
                why_not = f"{shown} takes no lessons, as it says itself: {one_line(why_not)}"
            elif not (there := lessons_file.says_already(document, lesson)):
                own = lessons_file.prefix(document) or first
                identity = lessons_file.append(document, lesson, own, self._day)

        markdown.edit(
            path,
            change,
            create=lessons_file.new_file(name, first),
            root=self._place.folder,
            private=self._place.in_home,
        )
        if why_not and why_not not in self.lines:
            self.lines.append(why_not)
        if there and not lesson.graduated:
            self._tell(name, f"“{one_line(lesson.title, 80)}” is a lesson already: {there}")
        self.recorded |= bool(identity)
        return identity

    def _prefixes(self, but: str) -> list[str]:
        """The prefixes of all other contexts."""
        taken = []
        for name in [*self._place.contexts(), SHARED]:
            data = self._place.read(name, LESSONS) if name != but else None
            if data is not None:
                document = Markdown(data)
                taken += [entry.prefix for entry in lessons_file.entries(document)]
                taken.append(lessons_file.prefix(document))
        return taken

    def _graduate(self, name: str, part: ContextSaid) -> list[str]:
        """Make lessons of assumptions that have cleared the threshold; only then take them out.

        When tau ends in between, an assumption is in both files, and taken out with the next save.
        """
        data = self._place.read(name, CONTEXT)
        rules = {key(each.text): each.rule for each in part.assumptions if each.rule}
        ids = []
        document = Markdown(data or b"")
        for tally in assumptions.held_back(document):
            self._tell(name, f"“{tally.text}” would be a lesson by now; it stays, as it has something nested")
        for tally in assumptions.graduates(document):
            lesson = _lesson_of(tally, rules.get(key(tally.text), ""))
            identity = self._learn(name, lesson)
            kept = identity or lessons_file.says_already(
                Markdown(self._place.read(name, LESSONS) or b""), lesson
            )
            if not kept:
                continue  # the file takes no lessons, which was said: it stays what it is
            ids += [identity] if identity else []
            if meanwhile := self._drop(name, tally):
                self._tell(name, f"“{tally.text}” was {meanwhile} while it became {kept}: look at both")
            else:
                self._tell(name, f"“{tally.text}” became the lesson {kept}")
        return ids

    def _drop(self, name: str, tally: Tally) -> str:
        stays = ""

        def change(document: Markdown) -> None:
            nonlocal stays
            stays = assumptions.drop(document, tally.text)

        markdown.edit(self._place.path(name, CONTEXT), change, root=self._place.folder)
        return stays

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
            told.extend(self._items(document, part.open_items, part.done))
            for each in part.assumptions:
                told.extend(self._judged(document, each.text, each.verdict, independent=each.independent))
            told.extend(context_file.revise(document, map(_fact, part.facts), owned))
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

    def _items(self, document: Markdown, wanted: Sequence[OpenItemSaid], done: Sequence[str]) -> list[str]:
        open_items.complete(document)
        gone, told = open_items.resolve(document, done, self._day)
        told += [f"“{one_line(text, 80)}” is done" for text in gone]
        for each in wanted:
            if key(each.text) in map(key, gone):
                continue
            there = open_items.find(document, each.text)
            tier = each.tier or open_items.BACKLOG
            if there is None and open_items.add(document, each.text, tier):
                told.append(f"“{one_line(each.text, 80)}” is a new open item in {tier}")
            elif there is not None and each.tier and open_items.move(document, each.text, tier):
                told.append(f"“{one_line(each.text, 80)}” moved from {there.tier or 'no tier'} to {tier}")
        return told

    def _judged(
        self, document: Markdown, text: str, verdict: assumptions.Verdict, *, independent: bool
    ) -> list[str]:
        if not text:
            return []
        is_new = key(text) not in {key(tally.text) for tally in assumptions.tallies(document)}
        if verdict == "corroborated" and not independent and not is_new:
            return [f"“{one_line(text, 80)}” was not counted once more: nothing could have disagreed"]
        refused = assumptions.judge(document, text, verdict, session=self._mark, day=self._day)
        became = {
            "new": "is a new assumption",
            "corroborated": "is a new assumption" if is_new else "was seen once more",
            "contradicted": "was contradicted: its count is 0",
            "disproven": "was disproven, so it is no assumption any more",
        }
        return [refused or f"“{one_line(text, 80)}” {became[verdict]}"]

    def _share(self, said: LogSaid) -> JournalRefused | None:
        """Write what holds across contexts. Returns why it could not be: the contexts are saved then."""
        part = said.shared
        if part == SharedSaid():
            return None
        told: list[str] = []

        def change(document: Markdown) -> None:
            told[:] = self._items(document, part.open_items, part.done)
            told.extend(context_file.revise(document, map(_fact, part.facts), ()))

        try:
            changed = self._edit(SHARED, change, ())
        except JournalRefused as error:
            return error
        if changed:
            self.lines.append(f"{self._place.shown(SHARED, CONTEXT)} was updated")
        for line in told:
            self._tell(SHARED, line)
        return None

    def _give_up(self, name: str, said: LogSaid) -> None:
        """Take out of a context what has its place in the shared file now."""
        stands = set(map(key, self._facts_of(SHARED)))
        moved = [fact.text for fact in said.shared.facts if key(fact.text) in stands]
        gone: list[str] = []

        def change(document: Markdown) -> None:
            gone[:] = context_file.give_up(document, moved)

        self._edit(name, change, ())
        for text in gone:
            self._tell(name, f"“{one_line(text, 80)}” moved to {self._place.shown(SHARED, CONTEXT)}")

    def _edit(self, name: str, change: markdown.Change, keywords: Sequence[str]) -> bool:
        changed = markdown.edit(
            self._place.path(name, CONTEXT),
            change,
            create=context_file.new_context(name, keywords),
            root=self._place.folder,
            private=self._place.in_home,
        )
        self.recorded |= changed
        return changed

    def _facts_of(self, name: str) -> list[str]:
        data = self._place.read(name, CONTEXT)
        return [item.text for item in context_file.facts(Markdown(data))] if data else []

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
        self.lines.append(one_line(f"{name}: {line}"))


def compacted(place: LogPlace, name: str, identity: str, now: datetime) -> str:
    """Move a lesson that became a standing rule to the archive of its file; what to tell.

    Raises:
        JournalRefused: The file cannot be changed.
    """
    path, shown = place.path(name, LESSONS), place.shown(name, LESSONS)
    change = partial(lessons_file.archive, identity=identity, day=f"{now:%Y-%m-%d}")
    if not markdown.edit(path, change, root=place.folder):
        raise JournalRefused(f"{shown} has no entry {identity} that is not archived", "it was changed since")
    return f"{identity} was moved to the archive of {shown}"


def _begins(said: AssumptionSaid, known: Container[str]) -> bool:
    """Whether an assumption is one from now on, whatever the model calls it."""
    is_new = said.verdict == "corroborated" and key(said.text) not in known
    return bool(said.text) and (said.verdict == "new" or is_new)


def _fact(said: FactSaid) -> FactChange:
    return FactChange(said.text, said.old, said.section)


def _lesson_of(tally: Tally, rule: str) -> Lesson:
    seen = f"An assumption that held {tally.seen}× independently"
    context = f"{seen}, last {tally.last}" if tally.last else seen
    return Lesson(tally.text, context, "", tally.text, rule or tally.text, graduated=True)


def _confirmation(log: str, listed: Sequence[str], lessons: Sequence[str]) -> str:
    """The words of the document that describes session logs."""
    brief = "; ".join(one_line(text, 60) for text in listed[:_NAMED]) or "none"
    if len(listed) > _NAMED:
        brief += f"; {len(listed) - _NAMED} more"
    return (
        f"Saved session log to {log} and updated context. Open items: {brief}. "
        f"Lessons extracted: {len(lessons) or 'none'}."
    )
