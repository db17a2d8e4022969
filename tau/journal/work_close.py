"""How the close of a session leaves its file: done, or paused while lessons wait for the person's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tau.display import one_line
from tau.errors import TauError
from tau.journal import work_shown, work_wrap
from tau.journal.session_file import LogLine
from tau.journal.work_sessions import WorkSessions
from tau.journal.work_todos import WorkTodos
from tau.journal.work_wrap import Distilled
from tau.journal.wrapping import Question, Wrapped, WrapSession


class WorkClose:
    """Closes sessions of the checkout a conversation works in. May be used from any thread.

    Args:
        sessions: Its session in hand.

    Attributes:
        undone_with: The file, absolute, that was set done by what made the newest change of the long-term
            memory: taking that back sets it back. Empty where there is none.
    """

    def __init__(self, sessions: WorkSessions) -> None:
        self._sessions = sessions
        self.undone_with = ""

    def close(self, session: WrapSession, distilled: Distilled) -> Wrapped:
        """Set the file in hand done once nothing of what it was distilled to waits; until then it is paused.

        Args:
            session: The session that is closed.
            distilled: What was written, and what waits.
        """
        lines, refused, closed, path = list(distilled.lines), [], "", ""
        self.undone_with = ""
        said = LogLine(session.now, "agent", f"wrapped up: {distilled.summary}")
        try:
            todo = self._left_open()
            path = self._sessions.close(said, waits=bool(distilled.questions))
        except TauError as error:
            refused.append(f"The session is not set done: {error.line()}")
        else:
            lines += todo
        if path:
            closed = str(self._sessions.in_use().root / path)
            lines.append(_stays(path) if distilled.questions else _is_done(path))
        if distilled.changed and not distilled.questions:
            self.undone_with = closed
        asked = [self._asked(each, path, closed) for each in distilled.questions]
        return Wrapped(
            lines, asked, refused, changed=distilled.changed, closed=closed, lessons=distilled.lessons
        )

    def reopen(self, path: str) -> str:
        """Take back that a file was set done. Returns what was done, in a line.

        Args:
            path: The file, absolute. One that is not done any more is left as it is, and so is one of another
                directory, whose name a file of this one may have as well.
        """
        shown = one_line(path)
        try:
            root = self._sessions.in_use().root
            if not path.startswith(f"{root}/"):
                return f"{shown} is not set back: /work resume takes it up in that directory"
            shown = one_line(path.removeprefix(f"{root}/"))
            status = self._sessions.reopen(path)
        except TauError as error:
            return f"{shown} is not set back: {error.line()}"
        return f"{shown} is {status.replace('-', ' ')} again" if status else ""

    def _left_open(self) -> list[str]:
        """That the todo in hand has open items, which stay in their file."""
        try:
            todo = self._sessions.session() and WorkTodos(self._sessions).active()
        except TauError as error:
            return [error.line()]
        return work_shown.left_open(todo) if todo else []

    def _asked(self, question: Question, path: str, closed: str) -> Question:
        """A question whose answer, whatever it is, sets the file done that was wrapped up."""
        if not path:
            return replace(question, carry_out=partial(self._agreed, question, "", ""))
        return replace(
            question,
            carry_out=partial(self._agreed, question, path, closed),
            decline=partial(self._finish, path),
            lost=f"{one_line(path)} stays paused; the next start offers it",
        )

    def _agreed(self, question: Question, path: str, closed: str) -> Sequence[str]:
        """Carry out what waited. That change is the newest one then, and it is what sets the file done."""
        lines = question.carry_out()
        self.undone_with = ""
        done = self._finish(path) if path else []
        if work_wrap.UNDONE_BY in lines and _is_done(path) in done:
            self.undone_with = closed
        return [*lines, *done]

    def _finish(self, path: str) -> list[str]:
        """Set a file done that is paused since something waited; where work went on in it, it stays open."""
        try:
            return [_is_done(path)] if self._sessions.finish(path) else []
        except TauError as error:
            return [f"{one_line(path)} is not set done: {error.line()}"]


def _is_done(path: str) -> str:
    return f"{one_line(path)} is done: it goes at the next start, unless the session goes on"


def _stays(path: str) -> str:
    return (
        f"{one_line(path)} stays paused until you answer: /wrap yes or /wrap no sets it done; "
        "should tau end before, the next start offers it"
    )
