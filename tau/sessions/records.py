"""The records a session store keeps, free of strands: ids, messages, state, summaries."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from tau.errors import InvalidSessionId

FORMAT = 1
"""Version of the record's format, written into every session. Older ones stay readable for ever."""

AGENT_ID = "tau"
"""The one agent of a session; the name of its folder in the file layout."""

TITLE_LENGTH = 60
"""Characters of the first user message that become the title."""

Message: TypeAlias = dict[str, Any]
"""A message in the Converse form: ``role``, ``content`` (a list of blocks), ``tracking_id``, ``metadata``.
Binary content is carried as ``{"__bytes_encoded__": true, "data": BASE64}``, so that it is plain JSON."""

MetaValue: TypeAlias = str | int | float | bool | None
Meta: TypeAlias = dict[str, MetaValue]
"""A session's metadata: one flat object. See docs/sessions.md for the keys tau writes."""

SUMMARY_OPENING = "Summary of the previous conversation (session "
"""What the first message of a session begins with that goes on from a summary of another one."""

SUMMARY = "summary"
"""The role under which a search finds a summary: it is no word of the person's."""

ONE_SHOT = "one_shot"
"""The metadata key for whether a session is a run without a given name or id that nothing goes on with."""

TITLE_BY = "title_by"
"""The metadata key for who wrote the title: ``model``, or nobody where it is the first message."""

_LINKS = ("compacted_from", "compacted_to", "forked_from")
_ORIGIN = "tau_origin"
_SUMMARY_OF = re.compile(re.escape(SUMMARY_OPENING) + r"([A-Za-z0-9._-]+)\)")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


def check_id(session_id: str) -> str:
    """The id itself when it is a plain name.

    Raises:
        InvalidSessionId: It is empty, longer than 128 characters, starts with anything but a letter or
            digit, or holds anything but letters, digits, ``.``, ``_`` and ``-``.
    """
    if _ID.match(session_id) is None:
        shown = ascii(session_id[:40])[1:-1] + ("…" if len(session_id) > 40 else "")
        raise InvalidSessionId(
            session_id,
            f"Not a session id: '{shown}'",
            "letters, digits, '.', '_' and '-', starting with a letter or digit",
        )
    return session_id


def new_id(now: datetime | None = None) -> str:
    """A fresh id, ``YYYYMMDD-HHMMSS-xxxx`` in UTC, for example ``20260929-153012-3f9a``."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"


class StoredMessage(msgspec.Struct, frozen=True):
    """One message as it is recorded.

    Attributes:
        index: Its place in the history, from 0.
        message: What the history holds: the redacted form where the message was redacted.
        created_at: ISO 8601, UTC.
        redacted: Whether the original was replaced.
    """

    index: int
    message: Message
    created_at: str
    redacted: bool = False


class AgentState(msgspec.Struct, frozen=True):
    """What strands keeps beside the messages; plain JSON.

    Attributes:
        state: The agent's own key-value state.
        conversation_manager_state: The context window's state (`__name__`, `removed_message_count`, …).
        internal_state: Interrupts and provider-side state.
    """

    state: dict[str, Any] = msgspec.field(default_factory=dict)
    conversation_manager_state: dict[str, Any] = msgspec.field(default_factory=dict)
    internal_state: dict[str, Any] = msgspec.field(default_factory=dict)


class Damage(msgspec.Struct, frozen=True):
    """A part of a session that cannot be read and was left as it is.

    Attributes:
        part: What it is, as a path inside the session (``agents/tau/messages/000002.json``).
        reason: Why, in a few words (``empty file``, ``not JSON``).
        index: The message it held, or None when it is no message.
        recovered: Whether its content could be had from elsewhere, so that nothing is missing.
    """

    part: str
    reason: str
    index: int | None = None
    recovered: bool = False


class Holder(msgspec.Struct, frozen=True):
    """Who writes a session. `since` is ISO 8601, UTC."""

    pid: int
    host: str
    channel: str
    since: str

    def phrase(self) -> str:
        """``tau tui, process 4711 on quail since 15:30 UTC``, as shown to the second window."""
        return f"tau {self.channel}, process {self.pid} on {self.host} since {self.since[11:16]} UTC"


class SessionSummary(msgspec.Struct, frozen=True):
    """A session as listings show it.

    Attributes:
        session_id: Its id.
        updated_at: ISO 8601, UTC: the value listings are ordered by, taken from the record.
        created_at: ISO 8601, UTC.
        message_count: Messages recorded.
        meta: The metadata.
    """

    session_id: str
    updated_at: str
    created_at: str
    message_count: int
    meta: Mapping[str, MetaValue]

    def text(self, key: str) -> str:
        """A metadata value as text; empty when absent or not text."""
        value = self.meta.get(key)
        return value if isinstance(value, str) else ""

    def is_one_shot(self) -> bool:
        """Whether it is an unnamed run that nothing goes on with, which plain listings leave out.

        Sessions of versions that did not record `ONE_SHOT` are told by their last channel and their turns.
        """
        if self.text("name") or any(self.meta.get(link) for link in _LINKS):
            return False
        recorded = self.meta.get(ONE_SHOT)
        if isinstance(recorded, bool):
            return recorded
        turns = self.meta.get("turns")
        return self.text("channel") in ("run", "json") and not (isinstance(turns, int) and turns > 1)


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions a listing wants.

    Attributes:
        directory: Only sessions recorded in this real path; None for every directory.
        limit: At most so many.
        offset: Skip so many of the newest.
        exclude: A session never listed (the current one).
        one_shots: Also one-shots.
        include_unlisted: Also one-shots, sessions without messages, and those whose beginning was not copied
            to its end.
        fold_chains: Leave out a session that stands behind a newer one of the listing, which continues it;
            also behind the one that is excluded. The catalog does this; a store that is asked itself lists
            all of them.
    """

    directory: str | None = None
    limit: int = 10
    offset: int = 0
    exclude: str | None = None
    one_shots: bool = False
    include_unlisted: bool = False
    fold_chains: bool = False

    def wants(self, summary: SessionSummary) -> bool:
        """Whether a summary belongs to this listing, paging aside."""
        if summary.session_id == self.exclude:
            return False
        if self.directory is not None and summary.text("directory") != self.directory:
            return False
        if self.include_unlisted:
            return True
        if summary.meta.get("unfinished"):
            return False
        return summary.message_count > 0 and (self.one_shots or not summary.is_one_shot())


class SearchHit(msgspec.Struct, frozen=True):
    """A message that holds the words searched for.

    Attributes:
        session_id: The session it is in.
        index: Its index there.
        role: The message's role; ``summary`` for the summary that a session goes on from; ``title`` for a
            name or title, whose index is 0.
        snippet: Plain text around the hit, on one line.
        marks: Where in the snippet the words stand that were searched for: pairs of begin and end.
    """

    session_id: str
    index: int
    role: str
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()


def message_text(message: Message) -> str:
    """The words of a message that a search looks through: its text, tool input and tool result blocks."""
    parts: list[str] = []
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str):
            parts.append(block["text"])
        use = block.get("toolUse")
        if isinstance(use, dict):
            parts.append(str(use.get("name", "")))
            given = use.get("input")
            if isinstance(given, dict):
                parts.extend(str(value) for value in given.values())
        result = block.get("toolResult")
        if isinstance(result, dict) and isinstance(result.get("content"), list):
            parts.extend(
                str(item["text"]) for item in result["content"] if isinstance(item, dict) and "text" in item
            )
    return "\n".join(part for part in parts if part)


def with_origin(message: Message, session_id: str, index: int) -> Message:
    """A copy of a message for another session, marked with the place it was first recorded at.

    Args:
        message: As it is recorded in the session that it is copied from.
        session_id: Of that session.
        index: Its index there.

    Returns:
        The message with ``metadata.custom.tau_origin`` set to ``{"session": …, "index": …}``; one that is a
        copy itself keeps the origin it has. Providers are never sent a message's metadata.
    """
    if origin_of(message) is not None:
        return message
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    custom = metadata.get("custom")
    custom = custom if isinstance(custom, dict) else {}
    origin = {"session": session_id, "index": index}
    return {**message, "metadata": {**metadata, "custom": {**custom, _ORIGIN: origin}}}


def origin_of(message: Message) -> tuple[str, int] | None:
    """The session and the index that a copied message was first recorded at; None when it is no copy."""
    value: Any = message
    for key in ("metadata", "custom", _ORIGIN):
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        return None
    session_id, index = value.get("session"), value.get("index")
    return (session_id, index) if isinstance(session_id, str) and isinstance(index, int) else None


def summary_of(stored: StoredMessage, compacted_from: MetaValue) -> str:
    """The session that a message sums up, with which a session begins that goes on from it; else empty.

    Args:
        stored: A message, perhaps a copy of such a summary in a fork.
        compacted_from: That key of the metadata of the session it is in.
    """
    if stored.index:
        return ""
    if isinstance(compacted_from, str) and compacted_from and origin_of(stored.message) is None:
        return compacted_from
    return summed_up_in(stored)


def summed_up_in(stored: StoredMessage) -> str:
    """The session that a message says it sums up, in the words that such a summary opens with; else empty."""
    if stored.index or stored.message.get("role") != "user":
        return ""
    found = _SUMMARY_OF.match(message_text(stored.message))
    return found[1] if found else ""


def title_of(text: str) -> str:
    """The title a first user message gives: its words on one line, cut to `TITLE_LENGTH` characters."""
    return " ".join(text.split())[:TITLE_LENGTH]
