"""Writes what a save learned into `LESSONS.md`: lessons, and assumptions that have become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import assumptions, lessons_file, markdown
from tau.journal.assumptions import Tally
from tau.journal.context_answer import LessonSaid
from tau.journal.contexts import CONTEXT, LESSONS, SHARED, LogPlace
from tau.journal.lessons_file import Lesson
from tau.journal.markdown import Markdown
from tau.journal.noted import noted
from tau.journal.open_items import key
from tau.journal.wrapping import WrapSession, whole


class ContextLessons:
    """The lessons of one save.

    Args:
        place: The `.session-log/`.
        session: The session that is closed.
        lines: Gets what the person is told.

    Attributes:
        recorded: Whether one was written.
    """

    def __init__(self, place: LogPlace, session: WrapSession, lines: list[str]) -> None:
        self._place = place
        self._session = session
        self._day = f"{session.now:%Y-%m-%d}"
        self.lines = lines
        self.recorded = False

    def write(self, name: str, lessons: Sequence[LessonSaid]) -> list[str]:
        """Write what was learned. Returns the ids.

        Raises:
            JournalRefused: A file cannot be changed.
        """
        written = []
        for each in lessons:
            lesson = Lesson(each.title, each.context, each.failed, each.fix, each.rule)
            if not each.rule:
                self._tell(name, f"“{whole(each.title)}” has no prevention rule, so it is no lesson")
            elif identity := self._learn(name, lesson):
                written.append(identity)
                title = lessons_file.title(lesson.title)
                self._tell(name, f"“{title}” is the new lesson {identity}: {lesson.rule}")
        return written

    def _learn(self, name: str, lesson: Lesson) -> str:
        """Write one lesson, unless it is there. Returns its id; empty when it was not written.

        Nobody else begins a file of lessons meanwhile, which could take the same prefix.
        """
        with markdown.holding(self._place.folder, private=self._place.in_home):
            return self._learn_alone(name, lesson)

    def _learn_alone(self, name: str, lesson: Lesson) -> str:
        shown = self._place.shown(name, LESSONS)
        others = self._other_lessons(name)
        first, _ = lessons_file.prefix_beside(Markdown(b""), name, others)
        identity, why_not, there, clash = "", "", "", ""

        def change(document: Markdown) -> None:
            nonlocal identity, why_not, there, clash
            identity, there, clash = "", "", ""
            if why_not := lessons_file.closed(document):
                why_not = f"{shown} takes no lessons, as it says itself: {one_line(why_not)}"
            elif not (there := lessons_file.says_already(document, lesson)):
                own, clash = lessons_file.prefix_beside(document, name, others)
                identity = lessons_file.append(document, lesson, own, self._day, others.values())

        self._place.edit(name, LESSONS, change=change, create=lessons_file.new_file(name, first))
        if why_not and why_not not in self.lines:
            self.lines.append(why_not)
        if there and not lesson.graduated:
            self._tell(name, f"“{whole(lesson.title)}” is a lesson already: {there}")
        if clash and f"{shown}: {clash}" not in self.lines:
            self.lines.append(f"{shown}: {clash}")
        self.recorded |= bool(identity)
        return identity

    def _other_lessons(self, but: str) -> dict[str, Markdown]:
        """The lessons of all other contexts, by the paths of their files; what cannot be read is told."""
        there: dict[str, Markdown] = {}
        for name in [*self._place.contexts(), SHARED]:
            if name == but:
                continue
            try:
                data = self._place.read(name, LESSONS)
            except JournalRefused as error:
                line = f"Ids that another file may have as well: {error.line()}"
                self.lines += [line] if line not in self.lines else []
                continue
            if data is not None:
                there[self._place.shown(name, LESSONS)] = Markdown(data)
        return there

    def graduate(self, name: str, rules: Mapping[str, str], *, these_alone: bool = False) -> list[str]:
        """Make lessons of assumptions that have cleared the threshold; only then take them out.

        When tau ends in between, an assumption is in both files, and taken out with the next save.

        Args:
            name: The context.
            rules: What is to be done by them, where it was said, by `key`.
            these_alone: Whether only those with a rule were agreed to.

        Returns:
            The ids of the lessons that were written.

        Raises:
            JournalRefused: A file cannot be changed.
        """
        data = self._place.read(name, CONTEXT)
        ids = []
        document = Markdown(data or b"")
        for tally in assumptions.held_back(document):
            self._tell(name, f"“{tally.text}” would be a lesson by now; it stays, as it has something nested")
        for tally in assumptions.graduates(document):
            if these_alone and key(tally.text) not in rules:
                continue
            lesson = lessons_file.of_assumption(tally, rules.get(key(tally.text), ""))
            lesson = replace(lesson, context=noted(lesson.context, self._session.origin))
            identity = self._learn(name, lesson)
            kept = identity or lessons_file.says_already(
                Markdown(self._place.read(name, LESSONS) or b""), lesson
            )
            if not kept:
                continue  # the file takes no lessons, which was said: it stays what it is
            ids += [identity] if identity else []
            if meanwhile := self._drop(name, tally):
                self._tell(name, f"“{tally.text}” was {meanwhile} while it became {kept}: look at both")
            elif identity:
                self._tell(name, f"“{tally.text}” became the lesson {kept}")
            else:
                self._tell(name, f"“{tally.text}” is the lesson {kept} already, and no assumption any more")
        return ids

    def _drop(self, name: str, tally: Tally) -> str:
        stays = ""

        def change(document: Markdown) -> None:
            nonlocal stays
            stays = assumptions.drop(document, tally.text)

        self._place.edit(name, CONTEXT, change=change)
        return stays

    def _tell(self, name: str, line: str) -> None:
        self.lines.append(whole(f"{name}: {line}"))
