"""The active todo of a session, and the files that tools of a conversation write in `.memory/`."""

from __future__ import annotations

from pathlib import Path

from tau.errors import JournalRefused
from tau.journal import todos, work_place
from tau.journal.session_file import TODO, WorkSession
from tau.journal.todos import Todo, TodoItem
from tau.journal.work_place import FOLDER, WorkPlace
from tau.journal.work_sessions import WorkSessions


class WorkTodos:
    """The todos of the checkout a conversation works in. May be used from any thread.

    Args:
        sessions: Its session in hand.
    """

    def __init__(self, sessions: WorkSessions) -> None:
        self._sessions = sessions

    def active(self) -> Todo | None:
        """The active todo of the session in hand; None when there is none.

        Raises:
            TauError: It cannot be read.
        """
        with self._sessions.lock:
            session = self._sessions.session()
            return self.of(session) if session is not None else None

    def of(self, session: WorkSession) -> Todo | None:
        """The active todo of a session's file as it was read; None when there is none.

        Raises:
            TauError: It cannot be read.
        """
        return self._todo_of(self._sessions.in_use(), session)

    def files(self) -> tuple[list[Todo], list[str]]:
        """The files of `.memory/todo/`, and why others cannot be read, a line each.

        Raises:
            TauError: They cannot be read.
        """
        return todos.all_of(self._sessions.in_use())

    def link(self, called: str, written: str) -> Todo:
        """Make a todo file the active one, by a path or its name.

        Raises:
            TauError: There is none of that name, or the session's file cannot be written.
        """
        with self._sessions.lock:
            place = self._sessions.in_use()
            todo = todos.read(place, todos.find(place, written))
            self._sessions.put(called, TODO, todo.path)
            return todo

    def make(self, called: str, title: str) -> Todo:
        """Make a todo file, and make it the active one.

        Raises:
            TauError: It cannot be written.
        """
        with self._sessions.lock:
            todo = todos.make(self._sessions.in_use(), title)
            self._sessions.put(called, TODO, todo.path)
            return todo

    def add(self, text: str) -> Todo:
        """Add an item to the active todo.

        Raises:
            TauError: There is none, or it cannot be written.
        """
        return todos.add(self._sessions.in_use(), self._active().path, text)

    def tick(self, number: int, *, done: bool) -> tuple[Todo, TodoItem, bool]:
        """Tick an item of the active todo, or take its tick away; one that is all ticked is active no more.

        Returns:
            The todo, the item, and whether anything changed.

        Raises:
            TauError: There is no such item, or it cannot be written.
        """
        with self._sessions.lock:
            todo, item, changed = todos.tick(self._sessions.in_use(), self._active().path, number, done=done)
            if todo.closed:
                self._sessions.put("", TODO, "")
            return todo, item, changed

    def unlink(self) -> str:
        """Have no active todo any more, also where its file is gone. Returns the path that was written.

        Raises:
            TauError: There was none, or the session's file cannot be written.
        """
        with self._sessions.lock:
            session = self._sessions.session()
            if session is None or not session.todo:
                raise _none_active()
            self._sessions.put("", TODO, "")
            return session.todo

    def written(self, path: Path, *, made: bool) -> str:
        """A tool of the conversation wrote a file: of `.memory/`, that is linked. Returns what to log, or "".

        A todo with open items becomes the active one when it was made, or when there is none.

        Args:
            path: The file, a real path.
            made: Whether it was not there before.

        Raises:
            TauError: The session's file cannot be written.
        """
        with self._sessions.lock:
            place = self._sessions.place()
            parts = work_place.inside(place, path) if place.on else ()
            if len(parts) != 3 or parts[0] != FOLDER or parts[1] not in work_place.FOLDERS[1:]:
                return ""
            name = "/".join(parts)
            if parts[1] != work_place.TODO or not self._sessions.current:
                return f"wrote {name}"
            session = self._session()
            todo = todos.read(place, name)
            is_active = bool(session.todo) and self._same(place, session.todo, name)
            if todo.closed and is_active:
                self._sessions.put("", TODO, "")
                return f"wrote {name}: all of it is done"
            if todo.open and not is_active and (made or not session.todo):
                self._sessions.put("", TODO, name)
                return f"wrote {name}, which is the active todo now: {todo.summary}"
            return f"wrote {name}: {todo.summary}"

    def close(self) -> str:
        """Have no active todo any more when all of it was ticked in its file. Returns what to log, or "".

        Raises:
            TauError: A file cannot be read or written.
        """
        with self._sessions.lock:
            place = self._sessions.place()
            if not place.on or not self._sessions.current:
                return ""
            try:
                todo = self._todo_of(place, self._session())
            except JournalRefused:  # that it is gone is told with what stands in prompts
                return ""
            if todo is None or not todo.closed:
                return ""
            self._sessions.put("", TODO, "")
            return f"closed {todo.path}: all of it is done"

    # ----------------------------------------------------------------------------------------------

    def _session(self) -> WorkSession:
        session = self._sessions.session()
        assert session is not None
        return session

    def _active(self) -> Todo:
        todo = self.active()
        if todo is None:
            raise _none_active()
        return todo

    def _todo_of(self, place: WorkPlace, session: WorkSession) -> Todo | None:
        return todos.read(place, todos.find(place, session.todo)) if session.todo else None

    def _same(self, place: WorkPlace, written: str, path: str) -> bool:
        try:
            return todos.find(place, written) == path
        except JournalRefused:
            return False


def _none_active() -> JournalRefused:
    return JournalRefused("There is no active todo", "/todo use NAME takes one, /todo new TITLE makes one")
