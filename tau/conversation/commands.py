"""The slash commands: one registry, the same in every channel; a channel renders what they return."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence

from tau.conversation.core import Core
from tau.conversation.state import (
    Cleared,
    CommandResult,
    CommandSpec,
    ConversationState,
    Help,
    ModelChoice,
    ModelListing,
    Opening,
    PromptListing,
    Quit,
    Refused,
    Said,
    SessionListing,
    Switched,
)
from tau.display import dollars, one_line
from tau.errors import TauError
from tau.models.registry import choices
from tau.sessions.listing import listed_line
from tau.sessions.records import ListQuery

LISTED = 10
"""Sessions that ``/sessions`` prints."""

COMMANDS: Sequence[CommandSpec] = (
    CommandSpec("help", "/help", "show these commands", ("?",)),
    CommandSpec("sessions", "/sessions", "list the 10 most recent earlier sessions"),
    CommandSpec(
        "resume", "/resume [N|ID|NAME]", "go on with an earlier session; without an argument, the newest"
    ),
    CommandSpec("new", "/new [NAME]", "begin a new session; this one is kept"),
    CommandSpec("undo", "/undo", "go on from before your last message, in a new session; this one is kept"),
    CommandSpec(
        "rewind",
        "/rewind [N]",
        "go on from before one of your messages, in a new session, with its text to edit",
    ),
    CommandSpec(
        "fork",
        "/fork [N|ID|NAME]",
        "copy this session, or it up to your message N, or another one, into a new session",
    ),
    CommandSpec(
        "compact", "/compact [FOCUS]", "go on in a new session with a summary of this one, which is kept"
    ),
    CommandSpec(
        "export",
        "/export [PATH] [chain]",
        "write this session to a .md, .html or .json file, with chain all it is linked to",
    ),
    CommandSpec("session", "/session", "show this session's id, name and place"),
    CommandSpec("status", "/status", "show model, window, tokens and session"),
    CommandSpec("model", "/model [ROLE]", "list the model roles, or switch to one"),
    CommandSpec("name", "/name NAME", "name this session"),
    CommandSpec("clear", "/clear", "empty the view; the session is untouched"),
    CommandSpec("quit", "/quit", "leave; the session is kept", ("exit", "q")),
)


def is_command(text: str) -> bool:
    """Whether a line is meant as a slash command: a slash and a word, not a path or a comment."""
    first = text.strip().split(maxsplit=1)[0] if text.strip() else ""
    return (first.startswith("/") and "/" not in first[1:] and first[1:2].isalpha()) or first == "/?"


async def run(core: Core, line: str) -> CommandResult:
    """Run a slash command.

    Raises:
        TauError: It could not be done; the conversation is as it was.
    """
    word, _, rest = line.strip().partition(" ")
    name = word.removeprefix("/").lower()
    for spec in COMMANDS:
        if name == spec.name or name in spec.aliases:
            return await _HANDLERS[spec.name](core, rest.strip())
    names = [spec.name for spec in COMMANDS]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists the commands"
    return Refused(f"There is no command /{name} ({hint})")


def _query(core: Core, limit: int) -> ListQuery:
    everywhere = core.settings.sessions.scope == "all" or core.request.all_directories
    return ListQuery(
        directory=None if everywhere else core.state.directory, limit=limit, exclude=core.state.session_id
    )


async def _help(core: Core, rest: str) -> CommandResult:
    return Help([(spec.usage, spec.help) for spec in COMMANDS])


async def _sessions(core: Core, rest: str) -> CommandResult:
    found = await core.summaries(_query(core, LISTED))
    core.listing = [summary.session_id for summary in found]
    lines = [listed_line(number, summary) for number, summary in enumerate(found, 1)]
    return SessionListing(found, lines or ["No earlier sessions of this directory."])


async def _resume(core: Core, rest: str) -> CommandResult:
    if not rest:
        found = await core.summaries(_query(core, 1))
        if not found:
            return Refused("There is no earlier session of this directory to resume")
        rest = found[0].session_id
    elif rest.isdecimal() and len(rest) <= len(str(LISTED)):
        if not core.listing:
            await _sessions(core, "")
        number = int(rest)
        if not 1 <= number <= len(core.listing):
            return Refused(f"There is no session {number} in the list (/sessions prints it)")
        rest = core.listing[number - 1]
    opening = await core.switch(rest, everywhere=core.settings.sessions.scope == "all")
    return Switched(opening, f"Resumed session {opening.state.session_id}.")


async def _new(core: Core, rest: str) -> CommandResult:
    before = core.state.session_id
    opening = await core.new(rest or None)
    return Switched(
        opening, f"New session {opening.state.session_id}; the previous session {before} is kept."
    )


async def _undo(core: Core, rest: str) -> CommandResult:
    before = core.state.session_id
    return _rewound(before, *await core.rewind())


def _rewound(before: str, opening: Opening, text: str) -> Switched:
    line = (
        f'Went back before "{one_line(text, 60)}", in new session {opening.state.session_id}; '
        f"the previous session {before} is kept."
    )
    return Switched(opening, line, draft=text)


async def _rewind(core: Core, rest: str) -> CommandResult:
    before = core.state.session_id
    if rest:
        if not _is_number(rest):
            return Refused(f"/rewind takes the number of one of your messages, not '{one_line(rest, 40)}'")
        return _rewound(before, *await core.rewind(int(rest)))
    prompts = await core.prompts()
    return PromptListing(prompts) if prompts else Refused("There is no turn to go back before")


async def _fork(core: Core, rest: str) -> CommandResult:
    before = core.state.session_id
    if _is_number(rest):
        opening = await core.fork(turn=int(rest))
    else:
        opening = await core.fork(session=rest)
    old, new = core.reader.meta().get("forked_from") or before, opening.state.session_id
    return Switched(opening, f"Forked session {old} into new session {new}; {old} is kept.")


def _is_number(text: str) -> bool:
    """Whether a word is a number of a message, and not an id that is made of digits."""
    return text.isdecimal() and len(text) <= 6


async def _compact(core: Core, rest: str) -> CommandResult:
    opening, made = await core.compact(rest)
    return Switched(opening, made.line, summary=made.summary)


async def _export(core: Core, rest: str) -> CommandResult:
    return Said(await core.export(rest))


async def _session(core: Core, rest: str) -> CommandResult:
    state = core.state
    return Said(
        [
            f"Session: {state.session_id}",
            f"Name: {state.name or '(none)'}",
            f"Title: {state.title or '(none yet)'}",
            f"Directory: {state.directory}",
            f"Kept in: {core.place() or 'memory only; it is gone when tau ends'}",
            f"Messages: {state.message_count}",
        ]
    )


async def _status(core: Core, rest: str) -> CommandResult:
    state = core.state
    model = (
        f"{state.model.provider} · {state.model.model_id}"
        if state.model
        else state.model_problem or "still being prepared"
    )
    lines = [
        f"Session: {state.session_id}" + (f" ({state.name})" if state.name else ""),
        f"Model: {state.role} → {model}",
        f"Context: {state.context}, window {state.window_size} · {state.in_memory} messages in memory",
        f"Filled: {_filled(state)}",
        f"Tokens: {state.usage.input_tokens:,} in, {state.usage.output_tokens:,} out"
        + (f", {state.usage.cached_tokens:,} cached" if state.usage.cached_tokens else "")
        + f" · {state.turns} turn{'' if state.turns == 1 else 's'}"
        + (f" · {dollars(state.cost)}" if state.cost is not None else ""),
        f"Directory: {state.directory}",
    ]
    if state.model and state.model.why:
        lines.insert(2, f"Why this model: {state.model.why}")
    if state.profile:
        lines.append(f"Profile: {state.profile}")
    if state.held_by:
        lines.append(f"Read-only: held by {state.held_by}")
    if state.unsaved:
        lines.append(f"Not saved: {state.unsaved}")
    return Said(lines)


def _filled(state: ConversationState) -> str:
    """How much of the model's window the conversation takes, and where it is compacted."""
    window = state.model.context_window if state.model else None

    def share(tokens: int) -> str:
        return f" ({round(100 * tokens / window)} %)" if window else ""

    if state.context_tokens is None:
        filled = "unknown until the next reply" if state.message_count else "nothing yet"
        filled += f" · the window holds {window:,} tokens" if window else ""
    elif window:
        filled = f"about {state.context_tokens:,} of {window:,} tokens{share(state.context_tokens)}"
    else:
        filled = f"about {state.context_tokens:,} tokens · context_window declares how many the model holds"
    if state.compacts_at is not None:
        filled += f" · compacts at {state.compacts_at:,}{share(state.compacts_at)}"
    return filled


async def _model(core: Core, rest: str) -> CommandResult:
    if rest:
        info = await core.use_role(rest)
        return Said(
            [f"Model: {info.role} → {info.provider} · {info.model_id}", *([info.why] if info.why else [])]
        )
    current = core.state.role
    listed = []
    for role, provider, model_id in choices(core.settings):
        taken = core.state.model if role == current else None
        listed.append(
            ModelChoice(
                role,
                taken.provider if taken else provider,
                taken.model_id if taken else model_id,
                role == current,
            )
        )
    lines = [
        f"{'*' if choice.current else ' '} {choice.role} → {choice.provider}"
        + (f" · {choice.model_id}" if choice.model_id else "")
        for choice in listed
    ]
    return ModelListing(listed, lines)


async def _name(core: Core, rest: str) -> CommandResult:
    if not rest:
        return Refused(f"This session is named {core.state.name or '(nothing)'}; /name NAME changes it")
    core.rename(rest)
    return Said([f"This session is now named {rest}."])


async def _clear(core: Core, rest: str) -> CommandResult:
    return Cleared()


async def _quit(core: Core, rest: str) -> CommandResult:
    return Quit()


_HANDLERS: dict[str, Callable[[Core, str], Awaitable[CommandResult]]] = {
    "help": _help,
    "sessions": _sessions,
    "resume": _resume,
    "new": _new,
    "undo": _undo,
    "rewind": _rewind,
    "fork": _fork,
    "compact": _compact,
    "export": _export,
    "session": _session,
    "status": _status,
    "model": _model,
    "name": _name,
    "clear": _clear,
    "quit": _quit,
}


async def run_or_refuse(core: Core, line: str) -> CommandResult:
    """As `run`, with a failure as the one line a channel shows."""
    try:
        return await run(core, line)
    except TauError as error:
        return Refused(error.line())
