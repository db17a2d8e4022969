"""Which context of `.session-log/` is in force in a session; it is kept with the session."""

from __future__ import annotations

from tau.sessions.lineage import Read, behind
from tau.sessions.store import SessionWriter

LOG_CONTEXT = "log_context"
"""The metadata key for its name."""


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
    writer.patch_meta({LOG_CONTEXT: context}, touch=False)
