"""The tool `recall`: what was said earlier in a conversation, also in the sessions that it continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.display import one_line
from tau.errors import TauError
from tau.sessions.lineage import Behind, Record, look_behind
from tau.sessions.records import origin_of
from tau.sessions.spoken import Place, speaker
from tau.tools.context import ToolContext
from tau.tools.recalling import NAME, SECONDS, read_range, search
from tau.tools.refusals import Refused, Watch
from tau.tools.tool_kit import declare

_NAMED_SESSIONS = 20
_PAGE = 50

DESCRIPTION = (
    "Find or read what was said earlier in this conversation, word for word. "
    "Use it when a detail that was said, decided or seen earlier (a name, number, path, command, result) is "
    "not in what you see now or in the summary, before you ask the person again. With query it searches all "
    "earlier messages, also those before a summary, and returns passages with session and message number. "
    "With range it returns messages whole."
)
ARGUMENTS: dict[str, Any] = {
    "query": {
        "type": "string",
        "description": "What to look for: a few words that were probably said, or an identifier.",
        "default": "",
    },
    "session": {
        "type": "string",
        "description": "Only this session, as a result names it. Searches take all, a range this one.",
        "default": "",
    },
    "range": {
        "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}],
        "description": 'Instead of query: the messages to read, "12" or "12-20".',
        "default": "",
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point: no tool where there is no record to read."""
    record = context.record
    if record is None:
        return []

    def recall(
        tool_context: Call,
        query: str | None = None,
        session: str | None = None,
        range: str | int | None = None,  # noqa: A002  # the name of the argument
    ) -> str:
        watch = Watch(tool_context.cancel_signal, SECONDS)
        given = "" if range is None else str(range)
        return answer(record, query or "", session or "", given, room=context.room, watch=watch)

    return [declare(recall, name=NAME, tier=0, description=DESCRIPTION, arguments=ARGUMENTS)]


def answer(record: Record, query: str, session: str, wanted: str, *, room: int, watch: Watch) -> str:
    """The passages that were found, or a range of messages.

    Args:
        record: Where the sessions are read.
        query: What to look for; empty for a range.
        session: The only session; empty for all in a search, for the one in hand in a range.
        wanted: A range, ``"12"``, ``"12-20"`` or ``"12:3000-20"``; empty for a search.
        room: Characters of messages in the result.
        watch: When to stop.

    Raises:
        Refused: Nothing or both is asked for, the range cannot be used, or the session is none of this
            conversation's.
    """
    query, session, wanted = query.strip(), session.strip(), wanted.strip()
    if not query and not wanted:
        raise Refused('Give query, such as "port of the gateway", or range, such as "12-20"')
    if query and wanted:
        raise Refused("Give query or range, not both: a range is read whole, a query searches all messages")
    here = record.session_id
    chain = look_behind(record.read, here)
    sessions = (here, *(found for found in chain.sessions if chain.ends.get(found) != 0))
    if session and session not in sessions:
        more = f" and {len(sessions) - _NAMED_SESSIONS:,} more" if len(sessions) > _NAMED_SESSIONS else ""
        raise Refused(
            f"{one_line(session, 80)} is no session of this conversation, and no other is read here;"
            f" its sessions are {', '.join(sessions[:_NAMED_SESSIONS])}{more}"
        )
    if wanted:
        asked = session or here
        return read_range(record.read, asked, wanted, end=chain.ends.get(asked), room=room, watch=watch)
    searched = Behind((session,) if session else sessions, () if session else chain.unread, chain.ends)
    return search(record.read, query, searched, without=_request(record), room=room, watch=watch)


def _request(record: Record) -> list[Place]:
    """The newest request of the person, which every window holds, and which would be found first."""
    try:
        with record.read(record.session_id) as reader:
            end = reader.count()
            while end > 0:
                start = max(0, end - _PAGE)
                for stored in reversed(reader.messages(offset=start, limit=end - start)):
                    if speaker(stored.message) == "user":
                        return [origin_of(stored.message) or (record.session_id, stored.index)]
                end = start
    except (TauError, OSError):
        return []  # the search meets it, too, and says so
    return []
