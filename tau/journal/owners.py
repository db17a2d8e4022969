"""Has each thing that is said stand in one layer: lesson, assumption, open item or fact, here or in shared.

What stands in a file owns its words, and what is said anew in them is left out, with the owner named; only a
fact makes room for a lesson or an open item of its context. Of what is new the least trusted goes first, then
what is more specific: an assumption, a lesson, an open item, a fact.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from tau.errors import JournalRefused
from tau.journal import assumptions, context_file, lessons_file, open_items
from tau.journal.context_answer import AssumptionSaid, ContextSaid, FactSaid, LessonSaid, SharedSaid
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.lessons_file import Lesson
from tau.journal.markdown import Markdown
from tau.journal.open_items import key
from tau.journal.wrapping import whole

ASSUMPTION, LESSON, ITEM, FACT = "assumption", "lesson", "open item", "fact"
KINDS = (LESSON, ASSUMPTION, ITEM, FACT)
"""Where words are in several layers already, the first one of these is named."""

LEFT_OUT, CONTRADICTED = "Left out", "Contradicted"


@dataclass(frozen=True, slots=True)
class Owner:
    """What has words in its layer.

    Attributes:
        kind: One of `KINDS`.
        context: Whose it is.
        name: The id of a lesson, or the title of a new one, in quotes; else empty.
        stands: Whether it is in the file; else it is said in the same answer.
    """

    kind: str
    context: str
    name: str = ""
    stands: bool = True

    def called(self, context: str) -> str:
        """As a person reads it who looks at a context."""
        article = "the" if self.name else "an" if self.kind[0] in "ao" else "a"
        of = "" if self.context == context else f"of {self.context}"
        return " ".join(filter(None, [article, self.kind, self.name, of]))

    def instead(self, context: str) -> str:
        """As `called`, to say that nothing else has its words."""
        return f"{self.called(context)}{' already' if self.stands else ''}"


@dataclass(slots=True)
class Settled:
    """A save in which everything that is said has one owner.

    Attributes:
        parts: What is left of each context.
        shared: The same of the shared file.
        told: What was left out and why, with its context.
        logged: What the logs say of that, by context: what it is, and its text.
    """

    parts: dict[str, ContextSaid]
    shared: SharedSaid
    told: list[tuple[str, str]] = field(default_factory=list)
    logged: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def settled(
    place: LogPlace, parts: Mapping[str, ContextSaid], shared: SharedSaid, *, makes_room: bool = True
) -> Settled:
    """Leave out what has an owner.

    Args:
        place: The files as they are.
        parts: What was said of each context.
        shared: What was said of the shared file.
        makes_room: Whether facts may be taken out for what is said in their words.

    Raises:
        JournalRefused: A file cannot be read.
    """
    return _Settling(place, parts, shared, makes_room=makes_room).run()


class _Home:
    """The layers of one context, as they stand and as they are said to become.

    Attributes:
        there: What its files have, by kind and `key`.
        owners: Of that what the answer lets stand, and what it adds.
        room: The words of facts that can be taken out, by `key`.
        lessons: Its lessons.
    """

    def __init__(
        self,
        place: LogPlace,
        name: str,
        facts: Iterable[FactSaid],
        done: Iterable[str],
        *,
        lessons: Markdown,
        shared: Container[str],
    ) -> None:
        document = Markdown(place.read(name, CONTEXT) or b"")
        self.lessons = lessons
        listed = context_file.facts(document)
        self.room = {
            context_file.fact_key(item): context_file.fact_words(item)
            for item in listed
            if not item.holds_more
        }
        self.there: dict[str, dict[str, Owner]] = {
            LESSON: {
                key(text): Owner(LESSON, name, entry.id)
                for entry in lessons_file.entries(self.lessons)
                for text in (entry.title, entry.fields.get("fix", ""), entry.rule)
                if text
            },
            ASSUMPTION: {
                key(each.text): Owner(ASSUMPTION, name) for each in assumptions.tallies(document) if each.text
            },
            ITEM: {key(each.text): Owner(ITEM, name) for each in open_items.items(document)},
            FACT: {context_file.fact_key(item): Owner(FACT, name) for item in listed},
        }
        self.owners = {kind: dict(there) for kind, there in self.there.items()}
        for item in open_items.finished(document, done)[0]:
            self.owners[ITEM].pop(key(item.text), None)
        for fact in facts:
            stays = key(fact.text) in shared or key(fact.text) in self.there[FACT]
            if fact.old and not stays and (fact.text or key(fact.old) in self.room):
                self.owners[FACT].pop(key(fact.old), None)


class _Settling:
    def __init__(
        self, place: LogPlace, parts: Mapping[str, ContextSaid], shared: SharedSaid, *, makes_room: bool
    ) -> None:
        self._place = place
        parts = dict(parts)
        if own := parts.get(SHARED):  # what is shared is written first, and facts move there
            parts[SHARED] = structs.replace(own, facts=[])
            shared = structs.replace(shared, facts=[*shared.facts, *own.facts])
        self._done = Settled(parts, shared)
        self._makes_room = makes_room
        self._homes: dict[str, _Home] = {}
        for name in dict.fromkeys([SHARED, *parts]):  # what is shared goes first
            part = parts.get(name, ContextSaid(name))
            more = shared if name == SHARED else SharedSaid()
            facts, finished = [*part.facts, *more.facts], [*part.done, *more.done]
            there: set[str] = set()
            if name != SHARED:  # a fact of a context is not reworded to one of these
                there = {key(fact.text) for fact in shared.facts if fact.text}
                there |= self._homes[SHARED].there[FACT].keys()
            self._homes[name] = _Home(place, name, facts, finished, lessons=self._lessons(name), shared=there)

    def _lessons(self, name: str) -> Markdown:
        """The lessons of a context; where they cannot be read that is told, and none can be written."""
        try:
            return Markdown(self._place.read(name, LESSONS) or b"")
        except JournalRefused as error:
            self._done.told.append((name, error.line()))
            return Markdown(b"")

    def run(self) -> Settled:
        done = self._done
        names = [name for name in self._homes if name in done.parts]
        for name in names:
            kept = [each for each in done.parts[name].assumptions if self._is_assumed(name, each)]
            done.parts[name] = structs.replace(done.parts[name], assumptions=kept)
        for name in names:
            learned = [each for each in done.parts[name].lessons if self._is_learned(name, each)]
            done.parts[name] = structs.replace(done.parts[name], lessons=learned)
        items = [each for each in done.shared.open_items if self._is_owner(SHARED, ITEM, each.text)]
        done.shared = structs.replace(done.shared, open_items=items)
        for name in names:
            items = [each for each in done.parts[name].open_items if self._is_owner(name, ITEM, each.text)]
            done.parts[name] = structs.replace(done.parts[name], open_items=items)
        done.shared = structs.replace(done.shared, facts=self._facts(SHARED, done.shared.facts))
        for name in names:
            facts = self._facts(name, done.parts[name].facts)
            done.parts[name] = structs.replace(done.parts[name], facts=facts)
        return done

    def _facts(self, name: str, said: Iterable[FactSaid]) -> list[FactSaid]:
        """The facts that may be; an old one whose new words stand elsewhere is taken out all the same."""
        kept = []
        for each in said:
            if self._is_owner(name, FACT, each.text):
                kept.append(each)
            elif each.old:
                kept.append(FactSaid(old=each.old))
        return kept

    def _is_assumed(self, name: str, said: AssumptionSaid) -> bool:
        """Whether what is said of an assumption is said of one, or begins one."""
        if said.verdict not in ("contradicted", "disproven"):
            return self._is_owner(name, ASSUMPTION, said.text)
        this = key(said.text)
        found = self._owner(name, ASSUMPTION, {this}, (LESSON, FACT))
        if found is not None:
            file = self._place.shown(found.context, LESSONS if found.kind == LESSON else CONTEXT)
            line = f"“{whole(said.text)}” was {said.verdict}, and is {found.called(name)}"
            self._tell(name, CONTRADICTED, f"{line}: it stays until you change {file}")
        return found is None or this in self._homes[name].there[ASSUMPTION]

    def _is_learned(self, name: str, said: LessonSaid) -> bool:
        """Whether a lesson is one; what will not be written is nobody's owner, and is said elsewhere."""
        home = self._homes[name]
        lesson = Lesson(said.title, said.context, said.failed, said.fix, said.rule)
        if (
            not said.rule
            or lessons_file.closed(home.lessons)
            or lessons_file.says_already(home.lessons, lesson)
        ):
            return True
        words = {key(said.title), key(said.fix), key(said.rule)} - {""}
        found = self._owner(name, LESSON, words, (ASSUMPTION, ITEM, FACT))
        if found is None:
            others = (self._homes[each].owners[LESSON] for each in self._around(name) if each != name)
            found = next((owner for lessons in others if (owner := lessons.get(key(said.rule)))), None)
        if found is not None:
            yet = "" if found.kind == LESSON else ", so it is no lesson yet"
            line = f"“{whole(said.title)}” is {found.instead(name)}{yet}"
            more = f". Fix: {whole(said.fix)}" if said.fix else ""
            self._tell(name, LEFT_OUT, line, f"{more}. Prevention rule: {whole(said.rule)}")
            return False
        title = f"“{lessons_file.title(said.title)}”"
        home.owners[LESSON] |= {word: Owner(LESSON, name, title, stands=False) for word in words}
        return True

    def _is_owner(self, name: str, kind: str, text: str) -> bool:
        """Whether what is said may have its words in a layer, and has them from then on; else it is told."""
        home, this = self._homes[name], key(text)
        if not this or this in home.owners[kind]:
            return True
        found = self._owner(name, kind, {this}, KINDS)
        if found is None:
            home.owners[kind][this] = Owner(kind, name, stands=False)
            return True
        self._tell(name, LEFT_OUT, f"“{whole(text)}” is {found.instead(name)}, so it is no {kind}")
        return False

    def _owner(self, name: str, kind: str, words: set[str], kinds: Iterable[str]) -> Owner | None:
        """Who has one of the words but the same layer; facts may make room, and move to what is shared."""
        names = self._around(name)
        room = []
        for layer in kinds:
            for each in names:
                if layer == kind and (each == name or kind == FACT):
                    continue
                for word in sorted(words & self._homes[each].owners[layer].keys()):
                    if layer == FACT and self._can_make_room(each, name, kind, word):
                        room.append((each, word))
                        continue
                    return self._homes[each].owners[layer][word]
        for each, word in room:
            self._make_room(each, name, kind, word)
        return None

    def _around(self, name: str) -> list[str]:
        """Whose layers the words of a context must not be in: its own and what is shared; of that, all."""
        return list(dict.fromkeys([name, *(self._homes if name == SHARED else (SHARED,))]))

    def _can_make_room(self, holder: str, name: str, kind: str, word: str) -> bool:
        """Whether a fact gives its words to what is said; a shared one gives them to no context."""
        own = name in (holder, SHARED)
        return self._makes_room and own and kind in (LESSON, ITEM) and word in self._homes[holder].room

    def _make_room(self, holder: str, name: str, kind: str, word: str) -> None:
        self._homes[holder].owners[FACT].pop(word)
        words = self._homes[holder].room[word]
        gone = FactSaid(old=words)
        if holder == SHARED:
            self._done.shared = structs.replace(self._done.shared, facts=[*self._done.shared.facts, gone])
        else:
            part = self._done.parts[holder]
            self._done.parts[holder] = structs.replace(part, facts=[*part.facts, gone])
        becomes = Owner(kind, name).called(holder)
        self._done.told.append((holder, f"“{whole(words)}” becomes {becomes}, so it is a fact no more"))

    def _tell(self, name: str, what: str, line: str, more: str = "") -> None:
        self._done.told.append((name, line))
        self._done.logged.setdefault(name, []).append((what, f"{line}{more}"))
