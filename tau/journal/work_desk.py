"""The `.memory/` of one conversation: what stands in its prompts, lessons, and the close of its session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import JournalRefused, TauError
from tau.journal import work_place
from tau.journal.work_place import SHOWN, WorkPlace

if TYPE_CHECKING:  # a project without a work log starts without them
    from datetime import datetime

    from tau.journal.lessons import Learned, Lesson, Outcome
    from tau.journal.long_term import LongTerm
    from tau.journal.work_close import WorkClose
    from tau.journal.work_sessions import WorkSessions
    from tau.journal.work_todos import WorkTodos
    from tau.journal.wrapping import Taken, WrapAsk, Wrapped, WrapSession

UNDONE_BY = "/work undo takes it back"

_MOST_UNDONE = 10
"""Entries of a change that was taken back that are shown."""


def _none_read(files: Sequence[str]) -> tuple[list[str], list[str]]:
    return [], list(files)


class WorkDesk:
    """Reads and changes the `.memory/` of the checkout a conversation works in. May be used from any thread.

    Args:
        settings: The directory, the places and ``[memory]``.
        bare: Nothing is read or written.

    Attributes:
        bare: As given.
        notices: What the person should know of what stands in prompts, a line each, since `standing`.
        backing: Parts files by whether they were read in the conversation and are as they were read.
    """

    def __init__(self, settings: Settings, *, bare: bool = False) -> None:
        self._settings = settings
        self.bare = bare
        self.notices: tuple[str, ...] = ()
        self.backing: Callable[[Sequence[str]], tuple[list[str], list[str]]] = _none_read
        self._news: list[str] = []
        self._sessions: WorkSessions | None = None
        self._closing: WorkClose | None = None
        self._lock = threading.Lock()

    def place(self) -> WorkPlace:
        """The checkout as it is now; it may have got the folder, or been trusted, meanwhile.

        Raises:
            ConfigError: The record of trusted directories cannot be used.
        """
        place = work_place.find(self._settings.directory, self._settings.places)
        return WorkPlace(place.root) if self.bare else place

    @property
    def on(self) -> bool:
        """Whether `.memory/` is there, and its directory trusted."""
        try:
            return self.place().on
        except TauError:
            return False

    @property
    def sessions(self) -> WorkSessions:
        """The session in hand, and those that can be resumed."""
        with self._lock:
            if self._sessions is None:
                from tau.journal.work_sessions import WorkSessions

                self._sessions = WorkSessions(self._settings, self.place)
            return self._sessions

    @property
    def todos(self) -> WorkTodos:
        """The todo of the session in hand."""
        from tau.journal.work_todos import WorkTodos

        return WorkTodos(self.sessions)

    def take_news(self) -> list[str]:
        """What the person is to be told of changes since the last call, a line each."""
        with self._lock:
            news, self._news = self._news, []
            sessions = self._sessions
        return [*news, *(sessions.take_troubles() if sessions is not None else ())]

    # The session in hand --------------------------------------------------------------------------

    @property
    def kept_as(self) -> str:
        """As `WorkSessions.kept_as`."""
        return self._sessions.kept_as if self._sessions is not None else ""

    def note(self, at: datetime, actor: str, text: str, *, called: str, request: str = "") -> bool:
        """Log what happened, as `WorkSessions.note`. Returns whether it was written.

        Raises:
            TauError: It cannot be written.
        """
        if not self.place().on and not self.kept_as:
            return False
        from tau.journal.session_file import LogLine

        return bool(self.sessions.note([LogLine(at, actor, text)], called=called, request=request))

    def leave(self) -> None:
        """Let go of the session in hand, as `WorkSessions.leave`.

        Raises:
            TauError: Its file cannot be written.
        """
        if self._sessions is not None:
            self._sessions.leave()

    # Prompts and the start ------------------------------------------------------------------------

    def standing(self) -> str:
        """What stands in every prompt now; empty where the folder is not in use. `notices` is set anew."""
        notices: list[str] = []
        text = ""
        try:
            place = self.place()
            if place.notice:
                notices.append(place.notice)
            if place.on:
                text = self._standing(place, notices)
        except TauError as error:
            notices.append(error.line())
        self.notices = tuple(notices)
        return text

    def _standing(self, place: WorkPlace, notices: list[str]) -> str:
        from tau.journal import work_linked, work_shown

        loaded = self._long_term(place).load(self._settings.memory.max_chars)
        if loaded.notice:
            notices.append(loaded.notice)
        session, todo = None, None
        resumed: tuple[str, ...] = ()
        try:
            session, resumed = self.sessions.glance()
            todo = self.todos.of(session) if session is not None else None
        except JournalRefused as error:
            notices.append(error.line())
        kinds = (work_place.PLAN, work_place.TODO, work_place.REVIEWS)
        there = [path for kind in kinds for path in work_place.links(place, kind, work_shown.MOST_LINKED)]
        linked = work_linked.of(place, session, notices.append)
        return work_shown.for_prompt(loaded.text, session, todo, resumed, linked=linked, there=there)

    def listed(self) -> str:
        """That the long-term memory stands in every prompt, and how long it is, in a line; or empty."""
        try:
            place = self.place()
            if not place.on:
                return ""
            count = sum(1 for line in self._long_term(place).document().lines() if line.text.strip())
        except TauError as error:
            return f"{SHOWN} is not loaded: {error.line()}"
        return f"{SHOWN}  {count} line{'' if count == 1 else 's'}, of the project's work log, in every prompt"

    def begin(self) -> list[str]:
        """Begin an interactive conversation: what is missing of the layout is made, files that are done go.

        Returns:
            What there is to resume, and what could not be done, each for the person.
        """
        try:
            place = self.place()
            if not place.on:
                return []
            from tau.journal import work_shown

            work_place.make(place)
            self.sessions.drop_done(place)
            offers = self.sessions.offers()
        except TauError as error:
            return [error.line()]
        lines = ["\n".join(work_shown.offered(offers))] if offers else []
        return [*lines, *filter(None, [self.sessions.others]), *self.sessions.take_troubles()]

    # Lessons --------------------------------------------------------------------------------------

    def record(self, learned: Learned) -> str:
        """Write a lesson, where the rules let it; the person is told. Returns what was done, in a line.

        Raises:
            TauError: The rules do not let it, or it cannot be written; the file is as it was.
        """
        long_term = self._long_term(self.sessions.in_use())
        outcome = long_term.record(self._allowed(long_term, learned), learned.replaces)
        line = recorded(outcome)
        if outcome.kind != "there":
            self._take_closed()
            with self._lock:
                self._news.append(f"{line}. {UNDONE_BY}")
        return line

    def foreseen(self, learned: Learned) -> tuple[str, str]:
        """The long-term memory as it is, and as `record` would leave it.

        Raises:
            TauError: The rules do not let it, or it could not be written.
        """
        long_term = self._long_term(self.sessions.in_use())
        return long_term.foreseen(self._allowed(long_term, learned), learned.replaces)

    def _allowed(self, long_term: LongTerm, learned: Learned) -> Lesson:
        from tau.journal import lessons

        lesson = lessons.checked(learned.section, learned.text, learned.tag, titles=long_term.titles())
        read, unread = self.backing(learned.files)
        lessons.judge(lesson, learned, read=read, unread=unread)
        return lesson

    def undo(self) -> str:
        """Take back the newest change of the long-term memory. Returns what was done, in a line.

        When the close of the session made it, its file is in progress again.

        Raises:
            TauError: There is none, or the file was changed since.
        """
        gone, back = self._long_term(self.sessions.in_use()).undo()
        said = [*_counted("taken out", gone), *_counted("put back", back)]
        closed = self._take_closed()
        again = self.reopen(closed) if closed else ""
        done = f"Undone in {SHOWN}: {'; '.join(said) or 'it is as it was before the last change'}"
        return f"{done}. {again}" if again else done

    def reopen(self, path: str) -> str:
        """Take back that the close of a session set its file done, as `WorkClose.reopen`."""
        return self._close().reopen(path)

    # Closing --------------------------------------------------------------------------------------

    def wrap_ask(self, session: WrapSession) -> WrapAsk:
        """What `/wrap` asks of the model that reads the session.

        Raises:
            TauError: The files cannot be read.
        """
        from tau.journal import work_wrap

        place = self.sessions.in_use()
        return work_wrap.ask(self._long_term(place).document(), self.sessions.session())

    def check_wrap(self, answer: Mapping[str, Any], session: WrapSession) -> None:
        """Whether an answer can be used.

        Raises:
            WrapInvalid: It cannot.
        """
        from tau.journal import work_wrap

        work_wrap.read(answer)

    def takes(self, answer: Mapping[str, Any], origin: str) -> Taken:
        """The lessons of an answer that `apply_wrap` would write, or that are there.

        Args:
            answer: As of `apply_wrap`.
            origin: What came from outside in the session; empty when nothing did.

        Raises:
            WrapInvalid: The answer is none that can be used.
            TauError: The long-term memory cannot be read.
        """
        from tau.journal import work_wrap

        return work_wrap.taken(answer, self._long_term(self.sessions.in_use()), self.backing, origin)

    def apply_wrap(self, answer: Mapping[str, Any], session: WrapSession) -> Wrapped:
        """Write the lessons that a session is distilled to, take out what is stale, and set it done.

        After content from outside that waits for the person's answer, and the session is paused until then.

        Raises:
            WrapInvalid: The answer is none that can be used; nothing was written.
            TauError: The long-term memory cannot be written; nothing was, and the session is not set done.
        """
        from tau.journal import work_wrap

        long_term = self._long_term(self.sessions.in_use())
        return self._close().close(session, work_wrap.apply(answer, long_term, self.backing, session.origin))

    def _close(self) -> WorkClose:
        from tau.journal.work_close import WorkClose

        if self._closing is None:
            self._closing = WorkClose(self.sessions)
        return self._closing

    def _take_closed(self) -> str:
        """The file that goes back with the newest change of the long-term memory, which is none any more."""
        if self._closing is None:
            return ""
        closed, self._closing.undone_with = self._closing.undone_with, ""
        return closed

    # ----------------------------------------------------------------------------------------------

    def _long_term(self, place: WorkPlace) -> LongTerm:
        from tau.journal.long_term import LongTerm

        return LongTerm(place, self._settings.places.state)


def _counted(what: str, entries: Sequence[str]) -> list[str]:
    """What became of entries, each shown; of many the first ones."""
    more = [f"and {len(entries) - _MOST_UNDONE} more"] if len(entries) > _MOST_UNDONE else []
    listed = [*(f"“{each}”" for each in entries[:_MOST_UNDONE]), *more]
    return [f"{what}: {'; '.join(listed)}"] if listed else []


def recorded(outcome: Outcome) -> str:
    """What became of a lesson, in a line for the person and the model."""
    where = f"{outcome.lesson.section} of {SHOWN}"
    said = one_line(outcome.lesson.line)
    match outcome.kind:
        case "there":
            return f"Already in {where}: {said}"
        case "replaced":
            return f"Replaced in {where}: {outcome.replaced} → {said}"
    return f"Recorded in {where}: {said}"
