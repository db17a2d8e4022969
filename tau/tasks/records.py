"""What task memory keeps: tasks, the files marked in them, and what a name, a note and a status may be."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Literal, TypeAlias, get_args

import msgspec

from tau.display import one_line, visible
from tau.errors import TaskRefused
from tau.tasks.directories import Disk

State: TypeAlias = Literal["created", "active", "completed", "archived"]
Status: TypeAlias = Literal["explored", "skipped", "flagged"]

OPEN: tuple[State, ...] = ("created", "active")
"""The states of a task that is not finished."""

STATUSES: tuple[Status, ...] = get_args(Status)

LONGEST_NAME = 200
LONGEST_NOTES = 8_000


class Task(msgspec.Struct, frozen=True):
    """An investigation.

    Attributes:
        id: A UUID.
        name: A short label; several tasks may have the same.
        state: How far it is.
        created_at: When it was made, in milliseconds since 1970.
        updated_at: When it last changed, likewise; time in a state counts from it.
        session_id: The session that made it, or None.
        metadata: Whatever else is kept of it, as JSON; None where there is nothing.
    """

    id: str
    name: str
    state: State
    created_at: int
    updated_at: int
    session_id: str | None
    metadata: str | None

    @property
    def is_open(self) -> bool:
        """Whether it is not finished."""
        return self.state in OPEN

    @property
    def directory(self) -> str:
        """The real path of the directory it is about; empty where it is not known."""
        return _text(self._kept("directory"))

    @property
    def origin(self) -> str:
        """From where content came in before it was named; empty where none did."""
        return _text(self._kept("origin"))

    @property
    def disk(self) -> Disk | None:
        """The file system that its directory was on; None where it is not known."""
        try:
            return msgspec.convert(self._kept("disk"), Disk)
        except msgspec.ValidationError:
            return None

    def _kept(self, key: str) -> object:
        try:
            kept = msgspec.json.decode(self.metadata or "{}", type=dict[str, object])
        except msgspec.MsgspecError:
            return None
        return kept.get(key)

    @property
    def title(self) -> str:
        """Its name, safe to show, in quotes."""
        return f"'{one_line(self.name, LONGEST_NAME)}'"


class TaskFile(msgspec.Struct, frozen=True):
    """A file that was marked in a task.

    Attributes:
        path: Relative to the task's directory, with slashes; absolute where it is outside.
        status: As it was marked last.
        notes: What was noted of it, or empty.
        explored_at: When it was marked last, in milliseconds since 1970.
    """

    path: str
    status: Status
    notes: str
    explored_at: int


class Counts(msgspec.Struct, frozen=True):
    """How many files of a task were marked, by status."""

    explored: int = 0
    skipped: int = 0
    flagged: int = 0

    @property
    def marked(self) -> int:
        """All of them."""
        return self.explored + self.skipped + self.flagged


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def now() -> int:
    """The time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def when(at: int) -> str:
    """A time as people read it, local, to the minute."""
    try:
        return datetime.fromtimestamp(at / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # a time that some other program wrote
        return "at an unknown time"


def task_name(given: str) -> str:
    """A task's name, without white space around it.

    Raises:
        TaskRefused: It is empty, too long, or has characters that cannot be shown, such as NUL.
    """
    name = given.strip()
    if not name:
        raise TaskRefused("A task needs a name", "a few words that say what is looked into")
    if visible(name) != name or any(character in name for character in "\n\r\t"):
        raise TaskRefused(
            f"A task's name has only characters that can be shown, in one line, unlike '{one_line(name, 60)}'"
        )
    if len(name) > LONGEST_NAME:
        raise TaskRefused(
            f"The name '{one_line(name, 40)}' has {len(name):,} characters, more than {LONGEST_NAME}",
            "what was found belongs into the notes of files",
        )
    return name


def file_notes(given: str) -> str:
    """The notes on a file, without white space around them.

    Raises:
        TaskRefused: They are too long, or have a NUL or half a character in them.
    """
    notes = given.strip()
    if "\0" in notes:
        raise TaskRefused("Notes on a file are text, and these have a NUL in them")
    try:
        notes.encode()
    except UnicodeEncodeError as error:
        raise TaskRefused("Notes on a file are text, and these have half a character in them") from error
    if len(notes) > LONGEST_NOTES:
        raise TaskRefused(
            f"The notes have {len(notes):,} characters, more than {LONGEST_NOTES:,}", "keep what matters"
        )
    return notes


def file_status(given: str) -> Status:
    """A status by its name.

    Raises:
        TaskRefused: There is none of that name.
    """
    for status in STATUSES:
        if given == status:
            return status
    raise TaskRefused(f"There is no status '{one_line(given, 40)}'", f"it is one of {', '.join(STATUSES)}")
