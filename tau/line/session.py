"""One conversation in line mode: opened and closed in order, turns shown, commands answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tau.conversation.state import (
    Cleared,
    CommandResult,
    ConversationState,
    Help,
    MemoryListing,
    ModelListing,
    Opening,
    OpenRequest,
    PromptListing,
    Quit,
    Refused,
    Said,
    SessionListing,
    Switched,
    Themes,
    ToolListing,
)
from tau.display import one_line
from tau.line.output import cut_to_width, note, note_columns
from tau.line.own_command import waiting_lines
from tau.sessions.attached import attached, own_text

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.models.info import ModelInfo
    from tau.sessions.records import StoredMessage

_SHOWN_LINES = 12

_LISTED_PROMPTS = 20
"""The newest prompts, which `/rewind` lists."""


@asynccontextmanager
async def opened(
    settings: Settings, request: OpenRequest, notices: Sequence[str] = ()
) -> AsyncIterator[tuple[Conversation, Opening]]:
    """A conversation on its session, after `notices` and its own are shown.

    On the way out a running turn is cancelled and saved, and the session let go of.

    Raises:
        TauError: The session cannot be opened.
    """
    from tau.conversation import Conversation

    conversation = Conversation.start(settings, request)
    told: list[str] = []
    waits = ""

    def tell(state: ConversationState) -> None:
        nonlocal waits
        for line in state.tool_problems[len(told) :]:
            note(line)
            told.append(line)
        if state.waits and state.waits != waits:
            note(f"✻ {state.waits}…")
        waits = state.waits

    conversation.watch(tell)
    try:
        opening = await conversation.ready()
        for notice in [*notices, *opening.notices]:
            note(notice)
        yield conversation, opening
    finally:
        closing = asyncio.ensure_future(conversation.close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await closing
            raise


def show_result(result: CommandResult) -> None:
    """Render what a slash command gave, on stderr."""
    match result:
        case Said():
            for line in [*result.within(note_columns()), *result.refused]:
                note(line)
        case (
            SessionListing(lines=lines)
            | ModelListing(lines=lines)
            | ToolListing(lines=lines)
            | MemoryListing(lines=lines)
        ):
            for line in lines:
                note(line)
        case Themes():
            note("Line mode has the terminal's own colours; /theme is for tau tui.")
        case PromptListing():
            _list_prompts(result)
        case Refused(line=line):
            note(line)
        case Help(commands=commands):
            width = max((len(usage) for usage, _ in commands), default=0)
            for usage, text in commands:
                note(f"{usage.ljust(width)}  {text}")
        case Switched(opening=opening, line=line, summary=summary) if summary:
            note(line)
            note(summary)
            for said in opening.notices:
                note(said)
        case Switched(opening=opening, line=line):
            note(line or opened_line(opening))
            for said in [*opening.notices, *last_exchange(opening), *waiting_lines(opening)]:
                note(said)
        case Cleared():
            note("There is nothing to clear in line mode; /new starts a new session.")
        case Quit():
            pass


def show_draft(text: str) -> None:
    """Show a prompt that was gone back before, where it cannot be put at a person's cursor."""
    note("Your message was:")
    for line in text.split("\n"):
        note(f"> {line}")


def _list_prompts(listing: PromptListing) -> None:
    """List the newest prompts of a list that is whole; a line says which of them are in other sessions."""
    prompts = listing.prompts
    listed = prompts[-_LISTED_PROMPTS:]
    if listing.unread:
        note(f"What was said before cannot be read: {listing.unread}")
    if len(listed) < len(prompts):
        note(f"… {len(prompts) - len(listed):,} earlier ones")
    session_id = listing.session_id
    for prompt in listed:
        if prompt.session_id != session_id:
            session_id = prompt.session_id
            here = session_id == listing.session_id
            note("In this session:" if here else f"Before the summary, in session {session_id}:")
        at = f" {prompt.at[:16].replace('T', ' ')}" if prompt.at else ""
        note(cut_to_width(f"{prompt.number}.{at} {prompt.text}"))
    note("/rewind N goes on from before message N, in a new session.")


def introduce(model: ModelInfo, *, advise: bool) -> None:
    """Say why this model answers, and with `advise` what is to be known about it, where there is anything."""
    if model.why:
        note(model.why)
    if advise and model.advice:
        note(model.advice)


def opened_line(opening: Opening) -> str:
    """What a person is told about the session they are on."""
    state = opening.state
    named = f" ({state.name})" if state.name else ""
    if state.message_count == 0:
        return f"New session {state.session_id}{named}"
    title = f" · {state.title}" if state.title else ""
    return f"Session {state.session_id}{named}{title} · {state.message_count} messages"


def last_exchange(opening: Opening) -> list[str]:
    """Where a session stopped: the newest message of the person and what was answered, cut to a few lines."""
    said: list[str] = []
    for stored in reversed(opening.history.messages):
        role, lines = stored.message.get("role"), _words(stored)
        said[:0] = [f"> {line}" if role == "user" else line for line in lines]
        if role == "user" and lines:
            break
    return said


def _words(stored: StoredMessage) -> list[str]:
    text = own_text(stored.message).strip()
    lines = text.split("\n") if text else []
    shown = lines if len(lines) <= _SHOWN_LINES else [*lines[:_SHOWN_LINES], "…"]
    along = attached(stored.message)
    ran = [f"! {one_line(item.command, 200)}" for item in along if item.kind == "command"]
    return [*ran, *shown, *(item.text for item in along if item.kind == "image")]
