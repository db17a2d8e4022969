"""Searches and reads sessions for the tool `recall`, without the SDK: other agents read them the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tau.display import one_line, visible
from tau.errors import TauError
from tau.masking import mask_content
from tau.sessions.lineage import Behind, Messages, Read, Unread, reason_of
from tau.sessions.passages import Findings, Passage, find
from tau.sessions.records import StoredMessage
from tau.sessions.spoken import Place, Said, speaker, whole_text
from tau.tools.cutting import boundary
from tau.tools.refusals import Refused, Watch

NAME = "recall"
SECONDS = 20.0
MOST_PASSAGES = 20

_NAMED_UNREAD = 5
_PAGE = 50
_WORK, _REST = 0.008, 0.000_2
"""Seconds of searching and of rest in turns, so that threads which wait for the interpreter get it: reading a
file in between starts their wait anew without letting them in."""

_LEAST = 200
_NONE_HAS_ALL = "[No message has all of these words. Those with most of them, or with words like them:]"
_ONLY_SOME = "[These have only some of the words, or words like them:]"
_RANGE = re.compile(r"\s*(\d{1,9})(?::(\d{1,12}))?(?:\s*(?:-|–|\.\.)\s*(\d{1,9}))?\s*")

# Searching ---------------------------------------------------------------------------------------


def search(
    read: Read, query: str, among: Behind, *, without: Sequence[Place] = (), room: int, watch: Watch
) -> str:
    """The passages that fit, the best first, and what else there is.

    Args:
        read: Opens a session.
        query: Not empty.
        among: The sessions that are searched, as far as they belong to the conversation.
        without: Messages that are left out.
        room: Characters of passages.
        watch: When to stop.
    """
    sessions = among.sessions
    messages = Messages(read, sessions, among.ends)
    said = Said(messages, without_tool=NAME, without=without)

    rested = time.perf_counter()

    def go_on() -> bool:
        nonlocal rested
        watch.check()
        if time.perf_counter() - rested > _WORK:
            time.sleep(_REST)
            rested = time.perf_counter()
        return not watch.over

    found = find(said, query, sessions=sessions, go_on=go_on)
    blocks = _blocks(found, room)
    notes = [_summary(found, query, sessions, len(blocks), watch), _unread([*among.unread, *messages.unread])]
    return "\n".join([*blocks, *filter(None, notes)])


def _blocks(found: Findings, room: int) -> list[str]:
    """The passages that fit, with a line before those that do not have all the words."""
    blocks: list[str] = []
    complete = True
    for passage in found.passages[:MOST_PASSAGES]:
        block = _block(passage)
        if complete and not passage.complete:
            complete = False
            block = f"{_ONLY_SOME if blocks else _NONE_HAS_ALL}\n{block}"
        if blocks and len(block) > room:
            break
        room -= len(block) + 1
        blocks.append(block)
    return blocks


def _block(passage: Passage) -> str:
    where = f"session {passage.session_id}, message {passage.index}"
    head = [f"{where}, {passage.speaker}, {_date(passage.created_at)}"]
    if passage.words:
        head.append(f"has: {', '.join(passage.words)}")
    if passage.near:
        near = ", ".join(f"{form} (for {word})" for form, word in passage.near)
        head.append(f"near match: {near}")
    before, after = "" if passage.begins else "…", "" if passage.ends else "…"
    return visible(f"[{'; '.join(head)}]\n{before}{passage.text.strip()}{after}\n")


def _summary(found: Findings, query: str, sessions: Sequence[str], shown: int, watch: Watch) -> str:
    where = f"{_count(found.searched, 'message')} in {_count(len(sessions), 'session')}"
    left = found.matching + found.others - shown
    if found.stopped:
        lines = [f"Stopped after {watch.seconds:g} s; {where} were searched, not all. Name a session."]
    elif not shown:
        lines = [
            f'Nothing found for "{one_line(query, 200)}"; {where} were searched.',
            "Try other words: fewer, or in the language that was spoken.",
        ]
    else:
        lines = [f"{where} were searched."]
    if shown and left > 0:
        lines.append(f"{_count(left, 'more message')} found and not shown: use more or rarer words.")
    if shown:
        lines.append("range with session reads a message whole and those around it.")
    return f"[{' '.join(lines)}]"


# Reading -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Range:
    """Messages ``first`` to ``last``, the first from a character on."""

    first: int
    character: int
    last: int


def read_range(
    read: Read, session_id: str, wanted: str, *, end: int | None = None, room: int, watch: Watch
) -> str:
    """Messages of one session, whole and numbered, as many as fit, and how to go on.

    Args:
        read: Opens a session.
        session_id: The session.
        wanted: ``"12"``, ``"12-20"`` or ``"12:3000-20"``, which begins at a character of the first message.
        end: How many messages of the session belong to the conversation; None for all.
        room: Characters of messages.
        watch: When to stop.

    Raises:
        Refused: The range cannot be used, or the session not be read.
    """
    asked = _range(wanted)
    try:
        with read(session_id) as reader:
            there = reader.count()
            count = there if end is None else min(end, there)
            if asked.first >= count:
                has = f"messages 0 to {count - 1:,}" if count else "no messages"
                if asked.first < there:
                    raise Refused(
                        f"Of session {session_id}, {has} belong to this conversation, which goes on from"
                        f" there in another session; message {asked.first:,} is no part of it"
                    )
                raise Refused(f"Session {session_id} has {has}, so there is no message {asked.first:,}")
            pages = _Pages(asked, min(asked.last, count - 1), room)
            for offset in range(asked.first, pages.last + 1, _PAGE):
                watch.check()
                limit = min(_PAGE, pages.last + 1 - offset)
                known = {stored.index: stored for stored in reader.messages(offset=offset, limit=limit)}
                reasons = {part.index: part.reason for part in reader.damage()}
                for index in range(offset, offset + limit):
                    stored = known.get(index)
                    head = _head(index, stored, reasons.get(index, "missing"))
                    if not pages.add(index, head, whole_text(stored.message) if stored else ""):
                        return pages.text(session_id, count)
            return pages.text(session_id, count)
    except (TauError, OSError) as error:
        raise Refused(f"Session {session_id} cannot be read: {reason_of(error)}") from error


def _range(wanted: str) -> _Range:
    found = _RANGE.fullmatch(wanted)
    if found is None:
        raise Refused(f'"{one_line(wanted, 60)}" is no range; give a message number, "12", or two, "12-20"')
    first, last = int(found[1]), int(found[3] or found[1])
    if last < first:
        raise Refused(f"The range {one_line(wanted, 60)} ends before it begins")
    return _Range(first, max(1, int(found[2] or 1)), last)


def _head(index: int, stored: StoredMessage | None, reason: str) -> str:
    if stored is None:
        return f"[message {index} cannot be read: {one_line(reason)}]"
    redacted = ", redacted" if stored.redacted else ""
    return f"[message {index}, {one_line(speaker(stored.message), 20)}, {_date(stored.created_at)}{redacted}]"


class _Pages:
    """Messages below one another, until there is no more room.

    Args:
        asked: What is to be read.
        last: The last message of it that there is.
        room: Characters for all of them.
    """

    def __init__(self, asked: _Range, last: int, room: int) -> None:
        self.last = last
        self._asked = asked
        self._room = room
        self._lines: list[str] = []
        self._shown = asked.first
        self._next = ""

    def add(self, index: int, head: str, text: str) -> bool:
        """Add a message, or as much of it as there is room for; False when nothing more fits."""
        text = visible(mask_content(text))  # before it is cut: half a secret is not known for one
        begin = self._asked.character - 1 if index == self._asked.first else 0
        if begin and begin >= len(text):
            raise Refused(f"Message {index} has {len(text):,} characters")
        begin = boundary(text, begin)
        left = self._room - len(head) - 2
        rest = f"-{self.last}" if self.last > index else ""
        if self._lines and left < min(_LEAST, len(text)):
            self._next = f"{index}{rest}"
            return False
        end = boundary(text, begin + max(left, _LEAST))
        shown = f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"
        self._lines.append(f"{head}\n{shown}" if shown else head)
        self._room = left - len(shown)
        self._shown = index
        if end < len(text):
            self._next = f"{index}:{end + 1}{rest}"
        return not self._next

    def text(self, session_id: str, count: int) -> str:
        """The messages, and a line that says which they are and how to go on."""
        first, last = self._asked.first, self._shown
        which = f"Message {first:,}" if first == last else f"Messages {first:,} to {last:,}"
        lines = [f"{which} of session {session_id}, which has {count:,}, counted from 0."]
        if self._next:
            lines.append(f'There is no room for more: go on with range="{self._next}".')
        return "\n".join([*self._lines, f"[{' '.join(lines)}]"])


def _unread(unread: Sequence[Unread]) -> str:
    """What could not be read, as a note; empty when all could."""
    different = list(dict.fromkeys(unread))
    if not different:
        return ""
    named = [
        f"{f'message {part.index} of ' if part.index is not None else ''}session {part.session_id}"
        f" ({one_line(part.reason, 120)})"
        for part in different[:_NAMED_UNREAD]
    ]
    more = len(different) - len(named)
    return f"[Could not be read: {'; '.join(named)}{f'; and {more:,} more' if more else ''}.]"


def _date(created_at: str) -> str:
    return created_at[:16].replace("T", " ")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
