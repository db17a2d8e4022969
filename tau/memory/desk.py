"""The memory of one conversation: what stands in its prompts, and how it is changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tau.config.settings import Settings
from tau.config.trust import Trust, repository_root
from tau.display import one_line
from tau.errors import MemoryRefused, TauError
from tau.events import Notice
from tau.masking import mask_content
from tau.memory import (
    claims,
    documents,
    files,
    goals,
    instructions,
    loading,
    model_knows,
    passed_over,
    places,
    project,
    remembering,
    shipped,
    writing,
)
from tau.memory.documents import Document
from tau.memory.entries import Entry, Source
from tau.memory.goals import Goal, GoalFile
from tau.memory.history import History
from tau.memory.instructions import ProjectFile
from tau.memory.loading import Part
from tau.memory.model_knows import ModelKnows, Shown
from tau.memory.places import MemoryPlaces
from tau.memory.remembering import Foreseen, Remembered
from tau.memory.undone import NotNewest, Undone, UndoRefused

UNDONE_BY = "/memory undo takes it back"
"""Ends what the person is told of a change, where no key does that."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands in every prompt of a directory, as it is on the disk.

    Attributes:
        text: That part of the prompt; empty when there is nothing.
        parts: The files it is made of, in its order, and how much of each is loaded.
        goal: The goal of the directory, also a paused one; None when there is none.
        notices: What the person should know of it, a line each.
        shown: What of the memory files and of the goal it is.
    """

    text: str = ""
    parts: tuple[Part, ...] = ()
    goal: Goal | None = None
    notices: tuple[str, ...] = ()
    shown: Shown = model_knows.NOTHING


@dataclass(frozen=True, slots=True)
class Seen:
    """All that there is of memory, also what does not stand in prompts.

    Attributes:
        standing: What stands in prompts.
        where: Where it lives.
        documents: The memory files, whether they are loaded or not.
        files: The project's own files, where they are trusted.
        problems: What could not be read, a line each.
    """

    standing: Standing
    where: MemoryPlaces
    documents: tuple[Document, ...]
    files: tuple[ProjectFile, ...]
    problems: tuple[str, ...]


def _nobody() -> tuple[str, int]:
    return "none", 0


class Desk:
    """Reads and changes the memory of the directory a conversation works in. May be used from any thread.

    Args:
        settings: The directory, the places and ``[memory]``.
        bare: Nothing is loaded, and nothing is handed over.

    Attributes:
        said: The name or id of the session in hand, and how many messages it has, for the history.
        about: What else is known of the conversation, a line each: its model and its window.
        created: Whether this run made the project's folder.
        late: Told what the person is to know of a change that no running call stands for.
        waits: Told that a change waits for another process, and that it waits no longer.
        bare: As given.
    """

    def __init__(self, settings: Settings, *, bare: bool = False) -> None:
        self._settings = settings
        self.bare = bare
        self.said: Callable[[], tuple[str, int]] = _nobody
        self.about: Callable[[], list[str]] = list
        self.created = False
        self.late: Callable[[str], None] = self._tell
        self.waits: Callable[[bool], None] = lambda waits: None
        self._knows = ModelKnows()
        self._news: list[str] = []
        self._told: list[str] = []
        self._refused = ""
        self._lock = threading.Lock()
        self._taking_back = threading.Lock()

    def where(self) -> MemoryPlaces:
        """Where the memory lives now; a ``.tau`` folder may have come or been trusted meanwhile.

        Raises:
            ConfigError: The record of trusted directories cannot be used.
        """
        return places.find(self._settings.directory, self._settings.places)

    def history(self) -> History:
        """The changes of the memory.

        Raises:
            ConfigError: As `where`.
        """
        return History(self.where(), self._settings.places.state, self._telling(self._made_late))

    def goal_file(self) -> GoalFile:
        """The goal of the directory.

        Raises:
            ConfigError: As `where`.
        """
        return GoalFile(self.where(), self._settings.directory, self._telling(self._made_late))

    def _telling(self, made: Callable[[Path], None]) -> files.Telling:
        return files.Telling(waits=self.waits, made=made)

    def _made_late(self, folder: Path) -> None:
        """The project's folder was made for a change that is no call's."""
        self.late(self._made(folder))

    def _made(self, folder: Path) -> str:
        """The project's folder was made; what the person is told of it."""
        self.created = True
        return f"The folder of this project was made: {one_line(str(folder))}"

    def passed_over(self) -> list[str]:
        """What of this directory's memory is not used for the ``.tau`` folder that is, in a line or none.

        Raises:
            TauError: The memory or the goal that is used cannot be read.
        """
        where, goal = self.where(), self.goal_file().read()
        return passed_over.lines(where, self._settings, goal, documents.read(where)[0])

    def begin(self) -> list[Notice]:
        """Hand over the documents that come with tau, and make the project's folder, where that is due.

        Returns:
            What was done, and what could not be, a line each for the person.
        """
        if self.bare:
            return []
        lines: list[Notice] = []
        try:
            where = self.where()
            if seeded := shipped.seed(where):
                names = ", ".join(title.rpartition("/")[2] for title in seeded)
                place = one_line(str(where.shared))
                text = f"Written to {place}, to be read in every conversation: {names}. "
                lines.append(Notice(text + "They are yours to edit or delete"))
            where, made = project.ensure(where)
            if made:
                lines.append(Notice(self._made(where.project)))
        except TauError as error:
            lines.append(Notice(error.line(), "warning"))
        return lines

    def standing(self) -> Standing:
        """What stands in every prompt now. What cannot be read is a notice, never an error."""
        if self.bare:
            return Standing()
        try:
            return self.seen().standing
        except TauError as error:
            return Standing(notices=(error.line(),))

    def seen(self) -> Seen:
        """All that there is of memory now, also with `bare`, where nothing of it stands in prompts.

        Raises:
            ConfigError: As `where`.
        """
        where = self.where()
        trusted = Trust(self._settings.places).trusts(where.real)
        here = Path(os.path.realpath(self._settings.directory))
        own, unread = instructions.project_files(repository_root(here) or here, trusted=trusted)
        memory, problems = documents.read(where)
        loaded = loading.load(memory, max_chars=self._settings.memory.max_chars, files=own)
        problems = [*([where.notice] if where.notice else []), *unread, *problems]
        goal = None
        try:
            goal = GoalFile(where, self._settings.directory).read()
        except TauError as error:
            problems.append(error.line())
        problems += passed_over.lines(where, self._settings, goal, memory)
        text = "\n\n".join(filter(None, [loaded.text, goals.prompt(goal) if goal else ""]))
        shown = model_knows.shown(memory, loaded.parts, goal)
        standing = Standing(text, tuple(loaded.parts), goal, (*problems, *loaded.notices), shown)
        if self.bare:
            standing = Standing(goal=goal)
        return Seen(standing, where, tuple(memory), tuple(own), tuple(problems))

    def prompted(self, standing: Standing) -> None:
        """This stands in the prompt from now on: what `remember` may write over without asking."""
        self._knows.take(standing.shown)

    def remember(
        self,
        label: str,
        content: str,
        *,
        replace: bool,
        origin: str,
        agreed: Mapping[str, str] | None = None,
        given_up: Callable[[], bool] = files.never,
    ) -> Remembered:
        """Write or delete one memory file, as `tau.memory.remembering.remember`; the person is told.

        Args:
            label: As there.
            content: As there.
            replace: As there.
            origin: As there.
            agreed: What a person was shown and agreed to write over, as `would_hold` says it; None where
                nobody was asked: then what stands in the prompt counts.
            given_up: Whether nobody waits any more for the call that this is; once it has begun it is carried
                out and told of all the same.

        Raises:
            MemoryRefused: It cannot be done; nothing was changed.
            ConfigError: As `where`.
        """
        session, messages = self.said()
        with self._in_call(given_up) as telling:
            done = remembering.remember(
                History(self.where(), self._settings.places.state, telling),
                label,
                content,
                replace=replace,
                source=Source(session, messages, "remember"),
                origin=origin,
                known=self._knows.whole if agreed is None else agreed,
                heard=self._knows.claims,
                given_up=given_up,
            )
            if done.entry is not None:
                self._knows.wrote(done.entry)
                self.tells(done.entry)
                self._tell(f"{done.line.removesuffix('.')}. {UNDONE_BY}")
        return done

    def would_hold(self, label: str, content: str, *, replace: bool, origin: str) -> Foreseen:
        """What `remember` would change, and why a person must look at it first, as `remembering.foreseen`.

        Raises:
            MemoryRefused: It cannot be done.
            ConfigError: As `where`.
        """
        return remembering.foreseen(
            self.history(),
            label,
            content,
            replace=replace,
            origin=origin,
            heard=self._knows.claims,
            unseen=self._knows.unseen,
        )

    def note(
        self, text: str, *, met: bool, origin: str = "", given_up: Callable[[], bool] = files.never
    ) -> Goal:
        """Note what brought the goal nearer; the person is told of a proposal that it is reached.

        Args:
            text: One line; what looks like a secret in it is masked.
            met: Whether it is proposed that the goal is reached.
            origin: Where content had come from since the person's last message.
            given_up: As `remember` has it.

        Raises:
            MemoryRefused: There is no goal that stands, or it cannot be written.
            ConfigError: As `where`.
        """
        text = mask_content(text)
        said = [claim.origin for claim in claims.repeated(text, self._knows.claims)]
        with self._in_call(given_up) as telling:
            file = GoalFile(self.where(), self._settings.directory, telling)
            goal = file.note(text, met=met, origin=writing.united(*said, origin), given_up=given_up)
            self._knows.noted(goal)
            if met:
                came = f" ({goals.after(goal.notes[-1].origin)})" if goal.notes[-1].origin else ""
                self._tell(f"{goals.line(goal)}{came}: /goal done ends it, /goal resume goes on")
        return goal

    def undo(self, only: str = "", *, given_up: Callable[[], bool] = files.never) -> Undone:
        """Take back the newest change of memory that stands.

        Args:
            only: The id of the change that it must be; empty for whichever it is.
            given_up: As `remember` has it.

        Raises:
            GivenUp: `given_up` said so before it began.
            UndoRefused: A file of it was edited by hand since; nothing was touched.
            MemoryRefused: There is none, it is another one, or `bare`; nothing was touched.
            ConfigError: As `where`.
        """
        self._may_undo()
        try:
            undone = self.history().undo(only=only, given_up=given_up)
        except UndoRefused as refused:
            with self._lock:
                self._refused = refused.entry.id
            raise
        self._undone(undone, given_up)
        return undone

    def undo_anyway(self, only: str = "", *, given_up: Callable[[], bool] = files.never) -> Undone:
        """Take back a change also where a file of it was edited by hand since; the history keeps the edit.

        Args:
            only: The id of the change, which must be the newest one; empty for the one that `undo` refused
                last, so that nothing goes but what the person was shown.
            given_up: As `remember` has it.

        Raises:
            GivenUp: `given_up` said so before it began.
            NotNewest: Memory was changed again since, or it was taken back; nothing was touched.
            MemoryRefused: None was refused, an edit cannot be kept, or `bare`; nothing was touched.
            ConfigError: As `where`.
        """
        self._may_undo()
        with self._lock:
            meant = only or self._refused
        if not meant:
            raise MemoryRefused(
                "No undo was refused here that could go over an edit",
                "/memory undo shows first what differs, where something does",
            )
        undone = self.history().undo(only=meant, going_over=Source(*self.said(), "edit"), given_up=given_up)
        with self._lock:
            self._refused = ""
        self._undone(undone, given_up)
        return undone

    def _undone(self, undone: Undone, given_up: Callable[[], bool]) -> None:
        """A change was taken back; told at once where nobody waits for that any more."""
        if given_up():
            self.late("\n".join(undone.lines))

    def _may_undo(self) -> None:
        if self.bare:
            raise MemoryRefused(
                "Nothing is undone: tau runs with --bare, which writes no memory", "`tau memory undo` does it"
            )

    def tells(self, entry: Entry) -> None:
        """The person is told of this change, and that they may take it back."""
        with self._lock:
            self._told.append(entry.id)

    def take_back(self, given_up: Callable[[], bool] = files.never) -> Undone:
        """Take back the change that the person was told of last; each once, the one told of before it next.

        Args:
            given_up: As `remember` has it.

        Raises:
            GivenUp: `given_up` said so before it began.
            MemoryRefused: There is none, or memory was changed since; nothing was touched.
            ConfigError: As `where`.
        """
        with self._taking_back:
            with self._lock:
                told = self._told[-1] if self._told else ""
            if not told:
                raise MemoryRefused(
                    "Nothing was remembered just now that could be taken back",
                    "/memory shows what was changed before",
                )
            try:
                undone = self.undo(told, given_up=given_up)
            except NotNewest as refused:
                if not refused.stands:
                    self._forget(told)
                raise
            self._forget(told)
            return undone

    def _forget(self, told: str) -> None:
        with self._lock:
            self._told.remove(told)

    def take_news(self) -> list[str]:
        """What the person is to be told of changes since the last call, a line each."""
        with self._lock:
            news, self._news = self._news, []
            return news

    @contextmanager
    def _in_call(self, given_up: Callable[[], bool]) -> Iterator[files.Telling]:
        """Change memory for a call, whose end tells of it; told at once where its turn was over before."""
        try:
            yield self._telling(lambda folder: self._tell(self._made(folder)))
        finally:
            if given_up():
                for line in self.take_news():
                    self.late(line)

    def _tell(self, line: str) -> None:
        with self._lock:
            self._news.append(line)
