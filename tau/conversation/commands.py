"""The slash commands: one registry, the same in every channel; a channel renders what they return."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from tau.conversation import consent, context_commands, memories, renaming, work_command
from tau.conversation.consent import WaitingChange
from tau.conversation.core import Core
from tau.conversation.state import (
    Cleared,
    CommandResult,
    CommandSpec,
    ConversationState,
    Help,
    MemoryListing,
    ModelChoice,
    ModelListing,
    Prompt,
    Quit,
    Refused,
    Said,
    SessionListing,
    Switched,
    Themes,
)
from tau.conversation.work_notes import USER
from tau.display import dollars, one_line, visible
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
    CommandSpec(
        "goal",
        "/goal [TEXT|done|pause|resume|clear]",
        "show or set what is to be reached in this directory; it stands until you end it",
    ),
    CommandSpec(
        "memory",
        "/memory [show LABEL|history|undo]",
        "show what is remembered and how it changed; undo takes the newest change back",
    ),
    CommandSpec(
        "refine",
        "/refine [FOCUS|accept|history|undo]",
        "have the model read this session and change memory by it; undo takes the newest change back",
    ),
    CommandSpec(
        "tasks",
        "/tasks [show NAME [FILE]|done NAME]",
        "list what is looked into in this directory, show what was explored and what is next, or end it",
    ),
    CommandSpec(
        "work",
        "/work [resume N|new|task TEXT|undo]",
        "show the work in hand and what can be resumed, take it up or begin other; undo takes a lesson back",
    ),
    CommandSpec(
        "todo",
        "/todo [N|add TEXT|new TITLE|use NAME]",
        "show the active todo, tick item N, add one, make a todo file or take it; also open N, list, close",
    ),
    CommandSpec("load", "/load [CONTEXT]", "read what earlier sessions left of a context, to go on"),
    CommandSpec(
        "wrap",
        "/wrap [quick|new|yes|no|undo] [NAME]",
        "close the session: the model saves what was done, decided, left open, learned; undo takes it back",
    ),
    CommandSpec("tools", "/tools", "show what the model may use, where it is from and how servers stand"),
    CommandSpec("theme", "/theme [NAME]", "choose the colours of the full-screen app, or take those"),
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
            result = await _HANDLERS[spec.name](core, rest.strip())
            if isinstance(result, Said) and result.logged:
                core.in_force.notes.note(USER, result.logged)
            return result
    names = [spec.name for spec in COMMANDS]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists the commands"
    return Refused(f"There is no command /{name} ({hint})")


def _query(core: Core, limit: int) -> ListQuery:
    everywhere = core.settings.sessions.scope == "all" or core.request.all_directories
    return ListQuery(
        directory=None if everywhere else core.settings.directory_text,
        limit=limit,
        exclude=core.state.session_id,
        fold_chains=True,
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
    return await _go_back(core, None)


async def _go_back(core: Core, prompt: Prompt | None) -> CommandResult:
    """Go on from before a prompt; None is the newest."""
    before, name = core.state.session_id, core.state.name
    opening, text = await core.rewind(prompt)
    old, new = core.forked_from or before, opening.state.session_id
    where = f", which was said in session {old}" if old != before else ""
    line = (
        f'Went back before "{one_line(text, 60)}"{where}, in new session {new}; '
        f"the previous session {before} is kept."
    )
    if name and opening.state.name == name:
        line += f" The name {name} goes along."
    return Switched(opening, line, draft=text)


async def _rewind(core: Core, rest: str) -> CommandResult:
    if rest:
        if not _is_number(rest):
            return Refused(f"/rewind takes the number of one of your messages, not '{one_line(rest, 40)}'")
        return await _go_back(core, await core.prompt(int(rest)))
    listing = await core.prompts()
    if listing.prompts or listing.earlier is not None:
        return listing
    return Refused(listing.unread or "There is no turn to go back before")


async def _fork(core: Core, rest: str) -> CommandResult:
    before = core.state.session_id
    if _is_number(rest):
        opening = await core.fork(turn=int(rest))
    else:
        opening = await core.fork(session=rest)
    old, new = core.forked_from or before, opening.state.session_id
    return Switched(opening, f"Forked session {old} into new session {new}; {old} is kept.")


def _is_number(text: str) -> bool:
    """Whether a word is a number of a message, and not an id that is made of digits."""
    return text.isdecimal() and len(text) <= 6


async def _compact(core: Core, rest: str) -> CommandResult:
    opening, made = await core.compact(rest)
    return Switched(opening, made.line, summary=made.summary)


async def _export(core: Core, rest: str) -> CommandResult:
    if visible(rest) != rest or any(character in rest for character in "\n\r\t"):
        return Refused(f"An export's name has only characters that can be shown, unlike {one_line(rest)}")
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
    in_memory = f"{state.in_memory} messages in memory"
    if _preparing(state) and state.message_count:
        in_memory = "still being prepared"
    lines = [
        f"Session: {state.session_id}" + (f" ({state.name})" if state.name else ""),
        f"Model: {state.role} → {model}",
        f"Context: {state.context}, window {state.window_size} · {in_memory}",
        f"Filled: {_filled(state)}",
        f"Tokens: {_tokens(state)} · {state.turns} turn{'' if state.turns == 1 else 's'}"
        + (f" · {dollars(state.cost)}" if state.cost is not None else ""),
        f"Directory: {state.directory}",
    ]
    if state.model and state.model.why:
        lines.insert(2, f"Why this model: {state.model.why}")
    if state.profile:
        lines.append(f"Profile: {state.profile}")
    if state.held is not None:
        lines.append(f"Read-only: {state.held.why}")
    if state.unsaved:
        lines.append(f"Not saved: {state.unsaved}")
    return Said(lines)


def _preparing(state: ConversationState) -> bool:
    """Whether nothing is known of the model yet."""
    return state.model is None and not state.model_problem


def _tokens(state: ConversationState) -> str:
    """What the session's calls took, as far as providers told."""
    usage = state.usage
    if state.uncounted:
        return "unknown"
    cached = f", {usage.cached_tokens:,} cached" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} in, {usage.output_tokens:,} out{cached}"


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
    elif _preparing(state):
        filled = f"about {state.context_tokens:,} tokens · the model is still being prepared"
    elif state.model is None:
        filled = f"about {state.context_tokens:,} tokens"
    else:
        filled = f"about {state.context_tokens:,} tokens · context_window declares how many the model holds"
    if state.compacts_at is not None:
        at = f"at {state.compacts_at:,}{share(state.compacts_at)}"
        filled += f" · compacts {at if state.compaction == 'later' else state.compacts}"
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


async def _tools(core: Core, rest: str) -> CommandResult:
    return core.tools()


async def _goal(core: Core, rest: str) -> CommandResult:
    result = await core.in_force.at_desk(lambda desk, given_up: memories.goal(desk, rest, given_up))
    return replace(result, logged=f"goal: {rest}") if rest and isinstance(result, Said) else result


async def _memory(core: Core, rest: str) -> CommandResult:
    result = await core.in_force.at_desk(lambda desk, given_up: memories.memory(desk, rest, given_up))
    if not isinstance(result, MemoryListing):
        return result
    line = await asyncio.to_thread(core.in_force.work.listed)
    waiting = await asyncio.to_thread(core.refining.waiting)
    lines = [*result.lines, *([line] if line else []), *consent.listed(waiting)]
    return replace(result, work_log=line, waiting=waiting, lines=lines)


async def _refine(core: Core, rest: str) -> CommandResult:
    match rest.lower():
        case "history" | "undo" | "undo anyway" as words:
            return await core.in_force.at_desk(lambda desk, given_up: memories.memory(desk, words, given_up))
        case "accept":
            return await core.refining.accept()
    return await core.refining.by_hand(rest)


async def _tasks(core: Core, rest: str) -> CommandResult:
    from tau.conversation.tasks_command import tasks

    return await core.in_force.at_tasks(tasks, rest)


async def _load(core: Core, rest: str) -> CommandResult:
    return await context_commands.load(core, rest)


async def _wrap(core: Core, rest: str) -> CommandResult:
    return await core.wrapping.run(rest)


async def _theme(core: Core, rest: str) -> CommandResult:
    return Themes(rest)


async def _name(core: Core, rest: str) -> CommandResult:
    if not rest:
        return Refused(f"This session is named {core.state.name or '(nothing)'}; /name NAME changes it")
    renaming.rename(core, rest)
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
    "goal": _goal,
    "memory": _memory,
    "refine": _refine,
    "tasks": _tasks,
    "load": _load,
    "wrap": _wrap,
    "work": work_command.work,
    "todo": work_command.todo,
    "tools": _tools,
    "theme": _theme,
    "name": _name,
    "clear": _clear,
    "quit": _quit,
}


async def run_or_refuse(core: Core, line: str) -> CommandResult:
    """As `run`, with a failure as the one line a channel shows."""
    return await _or_refuse(run(core, line))


async def rewind_or_refuse(core: Core, prompt: Prompt) -> CommandResult:
    """Go on from before a prompt that was chosen from the list, with a failure as one line."""
    return await _or_refuse(_go_back(core, prompt))


async def accept_or_refuse(core: Core, listed: Sequence[WaitingChange]) -> CommandResult:
    """Carry out the changes of memory that a person saw in a list, with a failure as one line."""
    return await _or_refuse(core.refining.accept(listed))


async def _or_refuse(command: Awaitable[CommandResult]) -> CommandResult:
    try:
        return await command
    except TauError as error:
        return Refused(error.line())
