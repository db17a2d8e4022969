"""Lists what the person said in a conversation, through all the sessions that it was carried on in."""

from __future__ import annotations

from msgspec.structs import replace

from tau.agent.history import LOST_REQUEST, begins_turn, is_summary
from tau.conversation.history import END, previous, said
from tau.conversation.state import Prompt, PromptListing
from tau.display import one_line
from tau.errors import TauError, UsageError
from tau.sessions.attached import attached
from tau.sessions.lineage import Read
from tau.sessions.records import StoredMessage, origin_of
from tau.sessions.store import SessionReader

AT_ONCE = 2_000
"""Messages that are looked through for one part of a list."""

_CHUNK = 512


def beginning(session_id: str) -> PromptListing:
    """The list of a conversation as it is before anything of it was read."""
    return PromptListing(session_id=session_id, earlier=(session_id, END))


def extend(read: Read, listing: PromptListing, *, most: int = AT_ONCE) -> PromptListing:
    """A list with what was said before it, as far back as `most` messages; blocks on the disk.

    The numbers are known once nothing is left to read: 1 is the oldest message of the conversation. What
    cannot be read ends the list, which says so.

    Args:
        read: Opens a session; may be called from several threads.
        listing: What is listed so far.
        most: Messages that are looked through.

    Raises:
        TauError: Nothing can be read, not even the newest of the session in hand.
    """
    found: list[Prompt] = []
    place, ends, unread = listing.earlier, dict(listing.ends), ""
    while place is not None and most > 0:
        session_id, end = place
        try:
            with read(session_id) as reader:
                end = min(end, reader.count())
                start = max(0, end - most)
                found[:0] = _between(reader, start, end)
                place = (session_id, start) if start else previous(reader, read)
        except TauError as error:
            if not ends:
                raise
            place, unread = None, error.line()
            break
        ends.setdefault(session_id, end)
        most -= end - start
        if place is not None and place[0] != session_id and place[0] in ends:
            place = None  # links that lead in a circle
    prompts = [*found, *listing.prompts]
    if place is None:
        prompts = [replace(prompt, number=number) for number, prompt in enumerate(prompts, 1)]
    return replace(listing, prompts=prompts, earlier=place, ends=ends, unread=unread)


def whole(read: Read, session_id: str) -> PromptListing:
    """The list to its beginning; blocks on the disk.

    Raises:
        TauError: The session in hand cannot be read.
    """
    listing = beginning(session_id)
    while listing.earlier is not None:
        listing = extend(read, listing)
    return listing


def newest(read: Read, session_id: str) -> Prompt | None:
    """What the person said last; None when that is nothing. Blocks on the disk.

    Raises:
        TauError: The session in hand cannot be read.
    """
    listing = beginning(session_id)
    while listing.earlier is not None and not listing.prompts:
        listing = extend(read, listing, most=_CHUNK)
    return listing.prompts[-1] if listing.prompts else None


def numbered(listing: PromptListing, number: int) -> Prompt:
    """The prompt of this number in a list that is whole.

    Raises:
        UsageError: There is none.
    """
    if not listing.prompts:
        raise UsageError("There is no message of yours in this conversation yet")
    count = len(listing.prompts)
    if not 1 <= number <= count:
        raise UsageError(f"This conversation has your messages 1 to {count}", "/rewind lists them")
    return listing.prompts[number - 1]


def turn_end(listing: PromptListing, prompt: Prompt) -> int | None:
    """The index before which the turn of a prompt ends in its session, in a list that is whole.

    Returns:
        None where that is the end of the session in hand.
    """
    following = listing.prompts[prompt.number] if prompt.number < len(listing.prompts) else None
    if following is not None and following.session_id == prompt.session_id:
        return following.index
    return None if prompt.session_id == listing.session_id else listing.ends[prompt.session_id]


def is_prompt(stored: StoredMessage) -> bool:
    """Whether a message is what a person said, and no summary, result or stand-in for something lost."""
    message = stored.message
    if not begins_turn(message) or (stored.index == 0 and is_summary(message)):
        return False
    return said(stored) != LOST_REQUEST


def _named(stored: StoredMessage) -> str:
    """What a message without words is shown as: the images that went along."""
    return " ".join(item.text for item in attached(stored.message) if item.kind == "image")


def _between(reader: SessionReader, start: int, end: int) -> list[Prompt]:
    found = []
    for offset in range(start, end, _CHUNK):
        for stored in reader.messages(offset=offset, limit=min(_CHUNK, end - offset)):
            if is_prompt(stored):
                # A copy was said when its original was, which is not known here.
                at = "" if origin_of(stored.message) else stored.created_at
                found.append(
                    Prompt(0, stored.index, one_line(said(stored) or _named(stored)), at, reader.session_id)
                )
    return found
