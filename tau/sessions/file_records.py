"""What the files of a session hold: their content as records, and records as their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tau.sessions.file_folder import AGENT_PART, META_PART, SESSION_PART
from tau.sessions.file_journal_lines import AGENT, META, SESSION
from tau.sessions.plain_json import NotJson, decode_object, is_flat, state_from
from tau.sessions.records import StoredMessage

KIND_OF_PART = {SESSION_PART: SESSION, META_PART: META, AGENT_PART: AGENT}
"""The state files, and the kind of record each has in the log."""


class MessageFile(msgspec.Struct, gc=False):
    """What a message's file holds, as far as tau reads it."""

    message: dict[str, Any]
    redact_message: dict[str, Any] | None = None
    created_at: str = ""


_DECODER = msgspec.json.Decoder(MessageFile)


def stored_message(index: int, data: bytes | memoryview) -> StoredMessage:
    """A message from the content of its file.

    Raises:
        NotJson: It is no message.
    """
    try:
        held = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            held = msgspec.convert(decode_object(data), MessageFile)
        except msgspec.ValidationError:
            raise NotJson("JSON, but no message") from None
    if held.redact_message is not None:
        return StoredMessage(index, held.redact_message, held.created_at, redacted=True)
    return StoredMessage(index, held.message, held.created_at)


def state_content(part: str, data: bytes) -> dict[str, Any]:
    """The content of a state file.

    Raises:
        NotJson: It is no JSON, or not what belongs into this file.
    """
    content = decode_object(data)
    if part == META_PART and not is_flat(content):
        raise NotJson("not a flat JSON object")
    if part == AGENT_PART and state_from(content) is None:
        raise NotJson("JSON, but no agent state")
    return content


def is_object(line: bytes) -> bool:
    """Whether a line holds a JSON object."""
    try:
        decode_object(line)
    except NotJson:
        return False
    return True


def agent_file(state: Mapping[str, Any], agent_id: str, created_at: str, updated_at: str) -> dict[str, Any]:
    """The content of ``agent.json``: strands' record of an agent."""
    return {"agent_id": agent_id, **state, "created_at": created_at, "updated_at": updated_at}
