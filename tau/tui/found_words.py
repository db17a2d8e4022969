"""Goes to a message that a search has found, and marks the words in it that were searched for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Offset, Region
from textual.selection import Selection

from tau.input.fuzzy import fold
from tau.sessions.searching import parse
from tau.tui.going_to import reach
from tau.tui.layout import laid_out
from tau.tui.part import END
from tau.tui.widgets.blocks import Folded
from tau.tui.widgets.tool_card import ToolCard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget

    from tau.tui.screens.chat import ChatScreen
    from tau.tui.widgets.chat import Chat

NEAR = 80
"""Messages above the first one shown that are read in with all between."""

SEED = 2
"""Messages that a session begins with when it goes on from a summary, before those it took over."""


async def go_to_words(screen: ChatScreen, session_id: str, index: int, words: str) -> bool:
    """Bring a message into sight, its words marked as if they were selected.

    Args:
        screen: Of the conversation.
        session_id: The session in hand, or one that it goes on from.
        index: The message.
        words: What was searched for.

    Returns:
        Whether it is there.

    Raises:
        TauError: It cannot be read.
    """
    chat = screen.chat
    if not screen.busy and (screen.part.lacks(session_id, index) or _is_far(chat, session_id, index)):
        await screen.part.show(session_id, index)
    block = await reach(screen, session_id, index)
    above = chat.earlier
    if block is None and above is not None and above[0] == session_id and index >= above[1]:
        # It was taken over word for word into the session that goes on from there.
        block = chat.block_at(screen.conversation.state.session_id, index - above[1] + SEED)
    if block is None:
        return False
    await laid_out(screen)
    turn = chat.turn_of(block)
    blocks = turn.widgets if turn is not None else [block]
    at = blocks.index(block)
    terms = _terms(words)
    found = _holding([*blocks[at:], *blocks[:at]], terms)
    await laid_out(screen)
    span = _span(found, terms)
    place = chat.place_of(found)
    if span is not None:
        screen.selections = {found: Selection(*span)}
        place = Region(place.x, place.y + span[0].y, place.width, 1)
    chat.show_place(place, center=place.height < chat.size.height)
    return True


def _is_far(chat: Chat, session_id: str, index: int) -> bool:
    """Whether a message is too far above what is shown for everything between to be shown as well."""
    if chat.earlier is None or chat.block_at(session_id, index) is not None:
        return False
    session, before = chat.earlier
    return session != session_id or (before != END and before - index > NEAR)


def _terms(words: str) -> Sequence[re.Pattern[str]]:
    """What is looked for on the screen: each word or quoted phrase, from the beginning of a word on."""
    found = []
    for term in parse(words):
        if term.tokens:
            found.append(re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, term.tokens))))
        else:
            found.append(re.compile(re.escape(term.literal)))
    return found


def _text(block: Widget) -> str:
    """What a block says as it is drawn."""
    drawn = block.render()
    return fold(drawn.plain) if isinstance(drawn, Content) else ""


def _holding(blocks: Sequence[Widget], terms: Sequence[re.Pattern[str]]) -> Widget:
    """The first block with all of the words, else with one; what is folded is opened if they are in it."""
    for judge in (all, any):
        for block in blocks:
            if judge(term.search(_text(block)) for term in terms):
                return block
            if isinstance(block, Folded | ToolCard) and not block.open:
                block.action_turn()
                if judge(term.search(_text(block)) for term in terms):
                    return block
                block.action_turn()
    return blocks[0]


def _span(block: Widget, terms: Sequence[re.Pattern[str]]) -> tuple[Offset, Offset] | None:
    """Where most of the words stand together: the line of what is drawn, and from where to where in it."""
    best: tuple[int, Offset, Offset] | None = None
    for y, line in enumerate(_text(block).split("\n")):
        hits = [hit for term in terms if (hit := term.search(line)) is not None]
        if hits and (best is None or len(hits) > best[0]):
            begin, end = min(hit.start() for hit in hits), max(hit.end() for hit in hits)
            best = len(hits), Offset(begin, y), Offset(end, y)
    return best[1:] if best is not None else None
