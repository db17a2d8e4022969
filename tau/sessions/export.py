"""A session as one readable text: markdown for people, JSON for programs; checked to be complete.

Both forms are written as they are read, so a long session needs no more memory than a short one.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from tau.errors import SessionUnusable
from tau.sessions.records import Damage, SessionSummary, StoredMessage
from tau.sessions.store import SessionReader

PAGE = 200
"""Messages read at a time."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HTML = re.compile(r"^( {0,3})<(?=[!?/]|[A-Za-z][A-Za-z0-9-]*[\s/>]|[A-Za-z][A-Za-z0-9-]*$)")
_RUN = re.compile("`{3,}")


class TextOut(Protocol):
    """Where an export is written: an open text file."""

    def write(self, text: str, /) -> int:
        """Write all of `text` and return the number of characters written."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export holds.

    Attributes:
        messages: Messages written.
        events: Agent events written.
        damage: Parts of the session that could not be read, named in the text too.
        characters: Length of the text.
    """

    messages: int
    events: int
    damage: tuple[Damage, ...]
    characters: int


class _Writer:
    """Counts what is written and insists that it was."""

    def __init__(self, session_id: str, out: TextOut) -> None:
        self.session_id = session_id
        self.characters = 0
        self._out = out

    def write(self, text: str) -> None:
        written = self._out.write(text)
        if written != len(text):
            raise SessionUnusable(
                self.session_id,
                f"The export of session {self.session_id} was cut short: "
                f"{written} of {len(text)} characters were written",
                "look at the disk it goes to and export again",
            )
        self.characters += written


class _Messages:
    """The messages of a session in order, counted as they pass."""

    def __init__(self, reader: SessionReader) -> None:
        self.reader = reader
        self.total = reader.count()
        self.seen: set[int] = set()

    def __iter__(self) -> Iterator[StoredMessage | Damage]:
        """Each message, and in its place each that is lost."""
        for offset in range(0, self.total, PAGE):
            limit = min(PAGE, self.total - offset)
            page = {stored.index: stored for stored in self.reader.messages(offset=offset, limit=limit)}
            lost = {d.index: d for d in self.reader.damage() if d.index is not None and not d.recovered}
            for index in range(offset, offset + limit):
                if index in page:
                    self.seen.add(index)
                    yield page[index]
                elif index in lost:
                    yield lost[index]

    def check(self) -> tuple[Damage, ...]:
        """What could not be read, once all were written.

        Raises:
            SessionUnusable: A message was neither written nor named as damaged.
        """
        damage = tuple(self.reader.damage())
        missing = sorted(set(range(self.total)) - self.seen - {part.index for part in damage})
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


# JSON -------------------------------------------------------------------------------------------


def export_json(reader: SessionReader, out: TextOut) -> ExportReport:
    """Write a session as one JSON object.

    Its keys are ``session`` (id, times, message count, metadata), ``messages`` (index, created_at, redacted,
    message), ``agent_state``, ``events``, ``damage`` and, last, ``complete`` (true). Damage to messages
    leaves gaps in the indexes.

    Args:
        reader: The session.
        out: An open text file.

    Raises:
        SessionUnusable: The text is not whole; what was written is not to be used.
        OSError: The file refused.
    """
    writer = _Writer(reader.session_id, out)
    messages = _Messages(reader)
    writer.write(f'{{"session": {_json(_session(reader.summary()))},\n"messages": [')
    separator = "\n"
    for stored in messages:
        if isinstance(stored, StoredMessage):
            writer.write(f"{separator}{_json(stored)}")
            separator = ",\n"
    state, events = reader.agent_state(), reader.events()
    writer.write(f'\n],\n"agent_state": {_json(state)},\n"events": [')
    writer.write(",".join(f"\n{_json(event)}" for event in events))
    damage = messages.check()
    writer.write(f'\n],\n"damage": {_json(damage)},\n"complete": true}}\n')
    return ExportReport(len(messages.seen), len(events), damage, writer.characters)


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a character pair: JSON can carry it escaped, UTF-8 cannot
        import json

        return json.dumps(msgspec.to_builtins(value, str_keys=True))


def _session(summary: SessionSummary) -> dict[str, Any]:
    return {
        "id": summary.session_id,
        "created_at": summary.created_at,
        "updated_at": summary.updated_at,
        "message_count": summary.message_count,
        "meta": dict(summary.meta),
    }


# Markdown ---------------------------------------------------------------------------------------


def export_markdown(reader: SessionReader, out: TextOut) -> ExportReport:
    """Write a session as markdown: its metadata, every message with its time, tool calls and results, damage.

    What people and the model wrote stands as it is; everything else is in fences longer than any within.
    Control characters other than newline and tab are shown as ``<U+001B>``.

    Args:
        reader: The session.
        out: An open text file.

    Raises:
        SessionUnusable: The text is not whole; what was written is not to be used.
        OSError: The file refused.
    """
    writer = _Writer(reader.session_id, out)
    messages = _Messages(reader)
    summary = reader.summary()
    title = summary.text("title") or f"Session {summary.session_id}"
    writer.write(f"# {_line(title)}\n\n")
    writer.write(f"- session: {_code(summary.session_id)}\n")
    writer.write(f"- created: {_code(summary.created_at)}\n- updated: {_code(summary.updated_at)}\n")
    writer.write(f"- messages: {messages.total}\n")
    for key, value in summary.meta.items():
        writer.write(f"- {_line(key)}: {_code(str(value))}\n")
    for stored in messages:
        if isinstance(stored, Damage):
            writer.write(
                f"\n## {stored.index} · lost\n\nThis message cannot be read: "
                f"{_code(stored.part)}, {_line(stored.reason)}.\n"
            )
            continue
        redacted = " · redacted" if stored.redacted else ""
        role = _line(str(stored.message.get("role", "unknown")))
        writer.write(f"\n## {stored.index} · {role} · {_line(stored.created_at)}{redacted}\n")
        for block in _blocks(stored.message):
            writer.write(f"\n{block}\n")
    events = reader.events()
    if events:
        writer.write("\n## Agent events\n\n")
        writer.write(_fence("\n".join(_json(event) for event in events), "json") + "\n")
    damage = messages.check()
    if damage:
        writer.write("\n## Damage\n\n")
        for part in damage:
            recovered = "; its content was had from elsewhere" if part.recovered else ""
            writer.write(f"- {_code(part.part)}: {_line(part.reason)}{recovered}\n")
    writer.write(f"\n---\n\n{len(messages.seen)} of {messages.total} messages.\n")
    return ExportReport(len(messages.seen), len(events), damage, writer.characters)


def _visible(text: str) -> str:
    return _CONTROLS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))


def _line(text: str) -> str:
    """Text within a line of markdown's own: one line, nothing that reads as markup at its place."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(_visible(text).split()))


def _code(text: str) -> str:
    shown = " ".join(_visible(text).split())
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}" if shown else "(empty)"


def _fence(text: str, language: str = "") -> str:
    shown = _visible(text)
    ticks = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(shown)), default=0))
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    for block in content if isinstance(content, list) else [{"content": content}]:
        if isinstance(block, Mapping):
            for kind, value in block.items():
                yield _block(str(kind), value)
        else:
            yield _fence(_json(block), "json")


def _block(kind: str, value: object) -> str:
    if kind == "text" and isinstance(value, str):
        return _prose(value)
    if kind == "reasoningContent" and isinstance(value, Mapping):
        inner = value.get("reasoningText")
        if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
            return f"Reasoning:\n\n{_fence(inner['text'])}"
    if kind == "toolUse" and isinstance(value, Mapping):
        name, use_id = _code(str(value.get("name", ""))), _code(str(value.get("toolUseId", "")))
        return f"Tool call {name} ({use_id}):\n\n{_fence(_pretty(value.get('input')), 'json')}"
    if kind == "toolResult" and isinstance(value, Mapping):
        status, use_id = _line(str(value.get("status", ""))), _code(str(value.get("toolUseId", "")))
        results = value.get("content")
        shown = (
            [_result(item) for item in results]
            if isinstance(results, list)
            else [_fence(_json(results), "json")]
        )
        return "\n\n".join([f"Tool result ({use_id}, {status}):", *shown])
    return f"{_code(kind)}:\n\n{_fence(_pretty(_shortened(value)), 'json')}"


def _result(item: object) -> str:
    if isinstance(item, Mapping) and set(item) == {"text"} and isinstance(item["text"], str):
        return _fence(item["text"])
    return _fence(_pretty(_shortened(item)), "json")


def _prose(text: str) -> str:
    """What was said; open fences are closed and HTML is escaped, so that nothing swallows what follows."""
    lines: list[str] = []
    open_fence = ""
    for line in _visible(text).split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        lines.append(line if found or open_fence else _HTML.sub(r"\1\\<", line))
        if not found:
            continue
        marks, rest = found[1], found[2]
        if not open_fence:
            if marks[0] == "~" or "`" not in rest:
                open_fence = marks
        elif marks[0] == open_fence[0] and len(marks) >= len(open_fence) and not rest.strip():
            open_fence = ""
    return "\n".join([*lines, open_fence] if open_fence else lines)


def _pretty(value: object) -> str:
    return msgspec.json.format(_json(value), indent=2)


def _shortened(value: object) -> object:
    """The value with encoded bytes replaced by their size; the JSON export holds them whole."""
    if isinstance(value, Mapping):
        if value.get("__bytes_encoded__") is True and isinstance(value.get("data"), str):
            try:
                size = len(base64.b64decode(value["data"], validate=True))
            except binascii.Error:
                size = len(value["data"])
            return f"({size} bytes)"
        return {str(key): _shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    return value
