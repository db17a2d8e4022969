"""What every form of an export is made from: its sessions, each message once, and a text that is checked."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from tau.errors import SessionUnusable
from tau.sessions.listing import links
from tau.sessions.records import Damage, StoredMessage, origin_of
from tau.sessions.store import SessionReader

PAGE = 200
"""Messages read at a time."""

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


class TextOut(Protocol):
    """Where an export is written: an open text file."""

    def write(self, text: str, /) -> int:
        """Write all of `text` and return the number of characters written."""


class Writer:
    """Counts what is written and insists that it was.

    Args:
        session_id: The session that a failure is about.
        out: An open text file.
    """

    def __init__(self, session_id: str, out: TextOut) -> None:
        self.characters = 0
        self._session_id = session_id
        self._out = out

    def write(self, text: str) -> None:
        """Write all of `text`.

        Raises:
            SessionUnusable: Only a part was taken.
        """
        written = self._out.write(text)
        if written != len(text):
            raise SessionUnusable(
                self._session_id,
                f"The export of session {self._session_id} was cut short: "
                f"{written} of {len(text)} characters were written",
                "look at the disk it goes to and export again",
            )
        self.characters += written


@dataclass(frozen=True, slots=True)
class Link:
    """How a session is linked to another one.

    Attributes:
        phrase: ``continues``, ``forked from`` or ``continued by``.
        session_id: The other one.
        included: Whether that is in the export, too.
    """

    phrase: str
    session_id: str
    included: bool


@dataclass(frozen=True, slots=True)
class Copies:
    """A run of messages that is left out, because the export holds what they are copies of.

    Attributes:
        first: Index of the first.
        last: Index of the last.
        session_id: Where the originals were recorded.
        origin: Index of the first original; the others follow it.
    """

    first: int
    last: int
    session_id: str
    origin: int


class Section:
    """One session of an export.

    Args:
        reader: The session.
        sessions: The ids of all sessions of the export.
        written: The messages written so far, by session and index of the original; added to here.
    """

    def __init__(
        self, reader: SessionReader, sessions: Collection[str], written: set[tuple[str, int]]
    ) -> None:
        self.reader = reader
        self.summary = reader.summary()
        self.total = reader.count()
        self.written = 0
        self.copies = 0
        self._seen: set[int] = set()
        self._sessions = sessions
        self._written = written

    @property
    def links(self) -> list[Link]:
        """How the session is linked to others."""
        return [Link(phrase, other, other in self._sessions) for phrase, other in links(self.summary)]

    def is_summary(self, stored: StoredMessage) -> bool:
        """Whether a message is no part of what was said, but the summary a continued session begins with."""
        begins = stored.index < 2 and bool(self.summary.text("compacted_from"))
        return begins and origin_of(stored.message) is None

    def __iter__(self) -> Iterator[StoredMessage | Copies | Damage]:
        """Each message, and in its place each that is lost or left out."""
        run: Copies | None = None
        for item in self._items():
            key = self._key(item) if isinstance(item, StoredMessage) else None
            if isinstance(item, StoredMessage) and key in self._written:
                self.copies += 1
                if run is not None and key == (run.session_id, run.origin + item.index - run.first):
                    run = Copies(run.first, item.index, run.session_id, run.origin)
                    continue
                if run is not None:
                    yield run
                run = Copies(item.index, item.index, *key)
                continue
            if run is not None:
                yield run
                run = None
            if key is not None:
                self._written.add(key)
                self.written += 1
            yield item
        if run is not None:
            yield run

    def _key(self, stored: StoredMessage) -> tuple[str, int]:
        return origin_of(stored.message) or (self.summary.session_id, stored.index)

    def _items(self) -> Iterator[StoredMessage | Damage]:
        for offset in range(0, self.total, PAGE):
            limit = min(PAGE, self.total - offset)
            page = {stored.index: stored for stored in self.reader.messages(offset=offset, limit=limit)}
            lost = {d.index: d for d in self.reader.damage() if d.index is not None and not d.recovered}
            for index in range(offset, offset + limit):
                if index in page:
                    self._seen.add(index)
                    yield page[index]
                elif index in lost:
                    yield lost[index]

    def check(self) -> tuple[Damage, ...]:
        """What could not be read, once all were written.

        Raises:
            SessionUnusable: A message was neither written nor named as damaged.
        """
        damage = tuple(self.reader.damage())
        missing = sorted(set(range(self.total)) - self._seen - {part.index for part in damage})
        if missing:
            session_id = self.reader.session_id
            places = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
            raise SessionUnusable(
                session_id,
                f"The export of session {session_id} is incomplete: of {self.total} messages, "
                f"{len(missing)} could not be read ({places})",
                "nothing was changed in the session",
            )
        return damage

    def closing(self) -> str:
        """How many of the messages were written, as the form's last word on the session."""
        copies = f"; {self.copies} left out as copies" if self.copies else ""
        return f"{self.written} of {self.total} messages{copies}."


class Form(Protocol):
    """A form of export: it writes a beginning, each session, and an end."""

    def __init__(self, writer: Writer, sessions: Collection[str]) -> None:
        """Begin with the ids of the sessions that follow."""

    def session(self, section: Section) -> int:
        """Write a session whole; `Section.check` is called by it.

        Returns:
            The agent events written.
        """

    def end(self) -> None:
        """Write what closes the document."""


def visible(text: str) -> str:
    """The text with control and invisible characters other than newline and tab as ``<U+001B>``."""
    return _CONTROLS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))


def blocks_of(message: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The blocks of a message, whatever shape it has: kind and value, the kind empty for what is no block."""
    content = message.get("content")
    for block in content if isinstance(content, list) else [{"content": content}]:
        if isinstance(block, Mapping):
            for kind, value in block.items():
                yield str(kind), value
        else:
            yield "", block


def copies_line(copies: Copies) -> str:
    """Said in place of messages that are left out as copies."""
    count = copies.last - copies.first
    if not count:
        return f"Message {copies.first} is a copy of message {copies.origin} of session {copies.session_id}."
    return (
        f"Messages {copies.first} to {copies.last} are copies of messages {copies.origin} to "
        f"{copies.origin + count} of session {copies.session_id}."
    )


def json_text(value: object) -> str:
    """A value as JSON; half a character pair is escaped, because UTF-8 cannot carry it."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(value, str_keys=True))


def pretty(value: object) -> str:
    """A value as JSON on several lines, encoded bytes replaced by their size."""
    return msgspec.json.format(json_text(_shortened(value)), indent=2)


def bytes_of(value: object) -> bytes | None:
    """The bytes that a value stands for in a record, or None when it stands for none."""
    if not isinstance(value, Mapping) or value.get("__bytes_encoded__") is not True:
        return None
    data = value.get("data")
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "surrogatepass")


def _shortened(value: object) -> object:
    data = bytes_of(value)
    if data is not None:
        return f"({len(data)} bytes)"
    if isinstance(value, Mapping):
        return {str(key): _shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    return value
