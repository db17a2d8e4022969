"""Finds the session in which a conversation goes on after it was compacted."""

from __future__ import annotations

from dataclasses import dataclass

from tau.errors import TauError
from tau.sessions.lineage import Read, left_for, reason_of
from tau.sessions.records import Meta


@dataclass(frozen=True, slots=True)
class Way:
    """Where a session leads.

    Attributes:
        asked: The session that was asked for.
        session_id: The one in which its conversation goes on; the same where it was never compacted.
        notices: What the person is told when that one is opened.
    """

    asked: str
    session_id: str
    notices: tuple[str, ...] = ()


def way_on(read: Read, asked: str) -> Way:
    """Follow the links that compactions left, to the newest session that can be opened.

    A session that was gone on with after it was compacted is a conversation of its own, and so is the last
    one before a link that leads nowhere, to a session that was never finished, or to one that cannot be read.
    Links in a circle are not followed at all.

    Raises:
        TauError: The session that was asked for is not there or cannot be read.
    """
    here, (meta, count) = asked, _look(read, asked)
    met = {asked}
    stopped = ""
    while (there := _link(meta)) and not stopped:
        if there in met:
            return Way(
                asked, asked, (f"The links of session {asked} lead in a circle; it is opened itself.",)
            )
        met.add(there)
        try:
            later, later_count = _look(read, there)
        except (TauError, OSError) as error:
            stopped = _unreachable(here, there, reason_of(error))
            continue
        if later.get("unfinished"):
            stopped = _unreachable(here, there, "it was never finished")
        elif _gone_on(later, here, count):
            stopped = (
                f"Session {here} was compacted into session {there} and has been gone on with by itself "
                f"since; /resume {there} opens that one."
            )
        else:
            here, meta, count = there, later, later_count
    followed = "" if here == asked else goes_on(asked, here)
    return Way(asked, here, tuple(line for line in (followed, stopped) if line))


def stay(read: Read, asked: str) -> Way:
    """Follow no link: the session itself was chosen beside those that continue it.

    Raises:
        TauError: It is not there or cannot be read.
    """
    meta, _ = _look(read, asked)
    there = _link(meta)
    told = (
        f"Session {asked} was compacted and goes on in session {there}; this is the one before, which goes "
        f"on by itself from here. /resume {there} opens that one."
    )
    return Way(asked, asked, (told,) if there else ())


def goes_on(asked: str, session_id: str) -> str:
    """Told when the session that continues another one is opened in its place."""
    return (
        f"Session {asked} was compacted and goes on in session {session_id}, which is opened in its place; "
        f"/fork {asked} goes on from it as it was."
    )


def _unreachable(here: str, there: str, reason: str) -> str:
    return (
        f"Session {here} was compacted and goes on in session {there}, which cannot be opened ({reason}); "
        f"session {here} is opened, and goes on by itself."
    )


def _look(read: Read, session_id: str) -> tuple[Meta, int]:
    """What a session says of itself, and how many messages it has where that matters."""
    with read(session_id) as reader:
        meta = reader.meta()
        return meta, reader.count() if _link(meta) else 0


def _link(meta: Meta) -> str:
    there = meta.get("compacted_to")
    return there if isinstance(there, str) else ""


def _gone_on(later: Meta, here: str, count: int) -> bool:
    """Whether a session has more messages than it had when a later one was made of it."""
    left = left_for(later)
    return left is not None and left.session_id == here and left.gone_on(count)
