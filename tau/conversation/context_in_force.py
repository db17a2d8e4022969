"""Which context of `.session-log/` is in force in a session; it is kept with the session."""

from __future__ import annotations

from collections.abc import Sequence

from tau.sessions.lineage import Read, behind
from tau.sessions.records import Message
from tau.sessions.store import SessionReader, SessionWriter

LOG_CONTEXT = "log_context"
"""The metadata key for its name."""

LOG_CONTEXT_AT = "log_context_at"
"""The metadata key for how many messages the session had when it was loaded or saved to last."""


def recorded(read: Read, session_id: str) -> str:
    """The context of a session, or of the newest one behind it that has one; empty when none has.

    Raises:
        TauError: The session cannot be read.
    """
    with read(session_id) as reader:
        found = reader.meta().get(LOG_CONTEXT)
    if isinstance(found, str) and found:
        return found
    for older in behind(read, session_id):
        with read(older) as reader:
            found = reader.meta().get(LOG_CONTEXT)
        if isinstance(found, str) and found:
            return found
    return ""


def keep(writer: SessionWriter, context: str) -> None:
    """Keep the context with a session.

    Raises:
        TauError: It could not be written.
    """
    writer.patch_meta({LOG_CONTEXT: context, LOG_CONTEXT_AT: writer.count()}, touch=False)


def said_since(reader: SessionReader, messages: Sequence[Message]) -> Sequence[Message]:
    """What was said in a session since its context was loaded or saved to last.

    Args:
        reader: Of the session.
        messages: All that was said, also in the sessions before it, the newest last.

    Raises:
        TauError: The session cannot be read.
    """
    at = reader.meta().get(LOG_CONTEXT_AT)
    since = reader.count() - (at if isinstance(at, int) else 0)
    return messages[max(0, len(messages) - max(0, since)) :]
