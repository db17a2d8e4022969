"""One change of memory as it is kept: what it says of itself in ``meta.cfg``, and how the log shows it."""

from __future__ import annotations

import configparser
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast, get_args

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.labels import SCOPES, Scope

How = Literal["manual", "automatic", "remember", "edit"]
Kind = Literal["added", "updated", "removed"]
State = Literal["changing", "changed", "undone"]

META = "meta.cfg"
NEXT = "meta.new"
"""What `META` will be once the files are changed, written before they are."""

FILES = "files"
"""The folder of an entry that holds every memory file as it was before the change."""

WRITTEN = "written"
"""The one that holds those the change wrote."""

_ID = "%Y-%m-%dT%H-%M-%S.%fZ"
_ID_SHAPE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z")
_DIGEST = re.compile("[0-9a-f]{64}")
_ABOUT = (
    "# One change of memory. files/ holds every memory file as it was before it, byte for byte, and\n"
    "# written/ what it wrote. `tau memory undo` takes it back.\n"
)


@dataclass(frozen=True)
class Source:
    """What a change came from.

    Attributes:
        session: The session's name.
        messages: How many messages it held.
        how: Whether a refinement was asked for, ran by itself, or it was one call of ``remember``; ``edit``
            is what a person wrote by hand, kept when an undo went over it.
    """

    session: str
    messages: int
    how: How


@dataclass(frozen=True)
class Change:
    """What was done to one file.

    Attributes:
        title: ``global/NAME`` or ``project/NAME``.
        kind: What was done.
        sentence: Why, on one line; may be empty.
        before: SHA-256 of the file's bytes before, in hexadecimal; None when it was not there.
        after: The same after; None when it was removed.
    """

    title: str
    kind: Kind
    sentence: str
    before: str | None
    after: str | None

    def copy(self, kept: str, entry: Path) -> Path:
        """Where an entry's folder keeps the file: `FILES` as it was before, `WRITTEN` as it was written."""
        return entry / kept / self.title


@dataclass(frozen=True)
class Entry:
    """One change of memory.

    Attributes:
        id: Its time in UTC, which is the name of its folder; later entries sort after it.
        at: When it was made, in UTC.
        source: What it came from.
        changes: A change a file, in the order of their titles.
        undone: Whether it was taken back; an ``edit`` always was.
        folder: Where it is kept.
        interrupted: Whether its process ended on the way: the files that it did not reach are not listed.
    """

    id: str
    at: datetime
    source: Source
    changes: tuple[Change, ...]
    undone: bool
    folder: Path
    interrupted: bool = False

    @property
    def mark(self) -> str:
        """What the log adds when it does not stand, else empty."""
        if not self.undone:
            return ""
        return "kept" if self.source.how == "edit" else "undone"

    @property
    def when(self) -> str:
        """When it was made, as the log says it."""
        return f"{self.at:%Y-%m-%d %H:%M} UTC"


def digest(data: bytes | None) -> str | None:
    """SHA-256 of a file's bytes, in hexadecimal; None for no file."""
    return None if data is None else sha256(data).hexdigest()


def split(title: str) -> tuple[Scope, str]:
    """A title's scope and file name.

    Raises:
        MemoryRefused: It names no file that could be a memory file.
    """
    given, _, name = title.partition("/")
    scope = next((known for known in SCOPES if known == given), None)
    controls = any(unicodedata.category(character) == "Cc" for character in name)
    if scope is None or not name or "/" in name or name.startswith(".") or controls:
        raise MemoryRefused(
            f"{one_line(title) or 'An empty label'} is no memory file",
            "it is global/NAME.md or project/NAME.md",
        )
    return scope, name


def is_id(name: str) -> bool:
    """Whether a folder's name is that of an entry."""
    return _ID_SHAPE.fullmatch(name) is not None


def next_id(now: datetime, newest: str) -> str:
    """An id for an entry made now that sorts after the newest there is, also when a clock was put back."""
    fresh = now.strftime(_ID)
    if fresh > newest:
        return fresh
    return (datetime.strptime(newest, _ID).replace(tzinfo=UTC) + timedelta(microseconds=1)).strftime(_ID)


def to_meta(entry: Entry, state: State) -> bytes:
    """An entry as ``meta.cfg``."""
    config = configparser.ConfigParser(interpolation=None, default_section="")
    config["change"] = {
        "at": entry.at.isoformat(timespec="seconds"),
        "session": one_line(entry.source.session),
        "messages": str(entry.source.messages),
        "how": entry.source.how,
        "state": state,
    }
    if entry.interrupted:
        config["change"]["interrupted"] = "yes"
    for number, change in enumerate(entry.changes, 1):
        fields = {"file": change.title, "change": change.kind, "sentence": change.sentence}
        if change.before:
            fields["before"] = change.before
        if change.after:
            fields["after"] = change.after
        config[f"file {number}"] = fields
    text = io.StringIO()
    config.write(text)
    return (_ABOUT + text.getvalue()).encode("utf-8", "surrogateescape")


def from_meta(data: bytes, folder: Path) -> tuple[Entry, State]:
    """The entry that a ``meta.cfg`` tells of, and how far it is.

    Raises:
        ValueError: It cannot be understood; says why.
    """
    config = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        config.read_string(data.decode("utf-8", "surrogateescape"))
        head = config["change"]
        at = datetime.fromisoformat(head["at"])
        source = Source(
            head["session"], int(head["messages"]), cast("How", _one_of(get_args(How), head["how"]))
        )
        state = cast("State", _one_of(get_args(State), head["state"]))
        changes = tuple(
            Change(
                section["file"],
                cast("Kind", _one_of(get_args(Kind), section["change"])),
                one_line(section["sentence"]),
                section.get("before"),
                section.get("after"),
            )
            for name, section in config.items()
            if name.startswith("file ")
        )
    except configparser.Error as error:
        raise ValueError(one_line(error.message)) from None
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from None
    if at.tzinfo is None or not changes:
        raise ValueError("it has no time zone" if changes else "it names no file")
    for change in changes:
        _check(change)
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise ValueError("its time is out of range") from None
    return Entry(folder.name, at, source, changes, state == "undone", folder, "interrupted" in head), state


def log(entries: Sequence[Entry]) -> list[str]:
    """Entries as a person reads them: a line each, then one for each file."""
    if not entries:
        return ["No change of memory is recorded here yet."]
    lines = []
    for entry in entries:
        source = entry.source
        messages = f"{source.messages:,} message{'' if source.messages == 1 else 's'}"
        marks = " (interrupted)" * entry.interrupted + (f" ({entry.mark})" if entry.mark else "")
        session = one_line(source.session)
        lines.append(f"{entry.when} · session '{session}' · after {messages} · {source.how}{marks}")
        for change in entry.changes:
            sentence = f" — {change.sentence}" if change.sentence else ""
            lines.append(f"    {change.kind} {one_line(change.title)}{sentence}")
    return lines


def _check(change: Change) -> None:
    try:
        split(change.title)
    except MemoryRefused as error:
        raise ValueError(error.message) from None
    if any(given is not None and not _DIGEST.fullmatch(given) for given in (change.before, change.after)):
        raise ValueError("a digest is none")
    if (change.before is None, change.after is None) != (change.kind == "added", change.kind == "removed"):
        raise ValueError(f"{one_line(change.title)} was not {change.kind} by its digests")


def _one_of(allowed: tuple[str, ...], value: str) -> str:
    if value not in allowed:
        raise ValueError(f"{one_line(value)!r} is none of {', '.join(allowed)}")
    return value
