"""Whom a name belongs to: a conversation, whose newest session carries it.

A conversation goes from session to session by compactions, and where the person goes back. The sessions
that it left so may keep a name that it had; they do not stand in its way. A fork is another conversation,
and so is a session that was gone on with by itself after it was left.
"""

from __future__ import annotations

from collections.abc import Sequence

from tau.errors import TauError
from tau.sessions.lineage import Read, left_for
from tau.sessions.records import Meta


def left_behind(read: Read, session_id: str) -> set[str]:
    """The sessions that a conversation was in before it went on in this one.

    One that cannot be read ends the way, as does one that was gone on with by itself.
    """
    left: set[str] = set()
    here = _read(read, session_id)
    while here is not None:
        before = left_for(here[0])
        if before is None or before.session_id in (session_id, *left):
            break
        here = _read(read, before.session_id)
        if here is not None and before.gone_on(here[1]):
            break
        left.add(before.session_id)
    return left


def carriers(read: Read, named: Sequence[str]) -> list[str]:
    """Of sessions of one name, those that carry it: without those that a conversation of that name left.

    Args:
        read: Opens a session for reading.
        named: Their ids; the order is kept.
    """
    left: set[str] = set()
    for session_id in named if len(named) > 1 else ():
        if session_id not in left:
            left |= left_behind(read, session_id)
    # Links that were made by hand may lead in a circle.
    return [session_id for session_id in named if session_id not in left] or list(named)


def _read(read: Read, session_id: str) -> tuple[Meta, int] | None:
    """What a session says of itself, and how many messages it has; None where it cannot be read."""
    try:
        with read(session_id) as reader:
            return reader.meta(), reader.count()
    except (TauError, OSError):
        return None
