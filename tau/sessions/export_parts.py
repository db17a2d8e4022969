"""What every form of an export is made from: its sessions, each message once, and a text that is checked."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from tau.errors import SessionUnusable
from tau.sessions.export_events import KeptEvents
from tau.sessions.listing import links
from tau.sessions.records import AgentState, Damage, StoredMessage, origin_of, summary_of
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


@dataclass(frozen=True, slots=True)
class Beyond:
    """The messages of a session that are left out, because the conversation does not go on from them.

    Attributes:
        first: Index of the first.
        last: Index of the last.
    """

    first: int
    last: int


class Section:
    """One session of an export.

    Args:
        reader: The session.
        sessions: The ids of all sessions of the export.
        written: The messages written so far, by session and index of the original; added to here.
        end: How many of its messages the export has; None for all.
    """

    def __init__(
        self,
        reader: SessionReader,
        sessions: Collection[str],
        written: set[tuple[str, int]],
        end: int | None = None,
    ) -> None:
        self.reader = reader
        self.summary = reader.summary()
        self.recorded = reader.count()
        self.total = self.recorded if end is None else min(end, self.recorded)
        if self.recorded and not self.total:  # its title is what was said there first
            meta = {key: value for key, value in self.summary.meta.items() if key != "title"}
            self.summary = replace(self.summary, meta=meta)
        self.written = 0
        self.copies = 0
        self.events_beyond = 0
        self._seen: set[int] = set()
        self._kept = KeptEvents()
        self._sessions = sessions
        self._written = written

    @property
    def links(self) -> list[Link]:
        """How the session is linked to others."""
        return [Link(phrase, other, other in self._sessions) for phrase, other in links(self.summary)]

    def is_summary(self, stored: StoredMessage) -> bool:
        """Whether a message is no part of what was said: a summary the session goes on from, or its reply."""
        if stored.index > 1 or not self.summarized:
            return False
        begins = self.summary.text("compacted_from") if stored.index else ""
        origin = origin_of(stored.message)
        return stored.index == 0 or (origin is None if begins else origin is not None and origin[1] == 1)

    @cached_property
    def summarized(self) -> str:
        """The session that the first message sums up; empty when that is what somebody said."""
        first = self.reader.messages(limit=1)
        return summary_of(first[0], self.summary.text("compacted_from")) if first else ""

    def __iter__(self) -> Iterator[StoredMessage | Copies | Damage | Beyond]:
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
        if self.recorded > self.total:
            yield Beyond(self.total, self.recorded - 1)

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
                    self._kept.saw(page[index])
                    yield page[index]
                elif index in lost:
                    yield lost[index]

    def events(self) -> Sequence[Mapping[str, Any]]:
        """The agent events of the messages, once all were written; `events_beyond` counts those left out."""
        events = self.reader.events()
        if self.recorded == self.total:
            return events
        kept = self._kept.of(events, self.total)
        self.events_beyond = len(events) - len(kept)
        return kept

    def agent_state(self) -> AgentState | None:
        """The agent's state; None where it is that of a conversation which went on elsewhere."""
        return self.reader.agent_state() if self.recorded == self.total else None

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
        beyond = self.recorded - self.total
        rest = f"; {beyond} no part of this conversation" if beyond else ""
        return f"{self.written} of {self.recorded} messages{copies}{rest}."


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


def beyond_line(beyond: Beyond) -> str:
    """Said in place of messages that are left out because the conversation does not go on from them."""
    goes_on = f", which goes on from message {beyond.first - 1} in another session" if beyond.first else ""
    if beyond.first == beyond.last:
        return f"Message {beyond.first} is no part of this conversation{goes_on}."
    return f"Messages {beyond.first} to {beyond.last} are no part of this conversation{goes_on}."


def events_beyond_line(count: int) -> str:
    """Said behind the agent events where some are left out with the messages they belong to."""
    if count == 1:
        return "1 agent event is no part of this conversation."
    return f"{count} agent events are no part of this conversation."


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
