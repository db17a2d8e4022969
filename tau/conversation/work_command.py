"""What `/work` and `/todo` do: sessions of a project's work log, lessons, and its todo files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.journal.work_desk import WorkDesk

if TYPE_CHECKING:  # a conversation that never asks for these starts without what they need
    from tau.conversation.core import Core
    from tau.journal.session_file import WorkSession
    from tau.journal.todos import Todo
    from tau.journal.work_shown import Offer

WORK_TAKES = "/work takes nothing, resume N, drop N, new [TASK], task TEXT or undo"
TODO_TAKES = "/todo takes nothing, N, open N, add TEXT, new TITLE, use NAME, list or close"


async def work(core: Core, wanted: str) -> CommandResult:
    """Carry out `/work`.

    Raises:
        TauError: It cannot be done; nothing was changed.
    """
    notes, called = core.in_force.notes, core.state.name or core.state.session_id
    word, _, rest = wanted.partition(" ")
    rest = rest.strip()
    match word.lower():
        case "" | "list" if not rest:
            return Said(await notes.at_desk(_listing))
        case "resume" | "switch" if rest:
            offer = await notes.at_desk(lambda desk: desk.sessions.resume(rest))
            done, lines = f"resumed {offer.session.name}", _resumed(offer)
        case "new":
            path = await notes.at_desk(lambda desk: desk.sessions.new(called, rest))
            done = f"began new work: {rest}" if rest else "began new work"
            lines = [f"New work: {one_line(path)}; what was in hand is paused"]
        case "task" if rest:
            path, before = await notes.at_desk(lambda desk: desk.sessions.set_task(called, rest))
            done = f"the current task is {rest}" + (f"; it was: {before}" if before else "")
            lines = [f"Current task in {one_line(path)}: {one_line(rest, 200)}"]
        case "drop" if rest:
            dropped = await notes.at_desk(lambda desk: desk.sessions.drop(rest))
            done = f"dropped {dropped.session.name}: {dropped.session.task or 'it had no current task'}"
            lines = _dropped(dropped)
        case "undo" if not rest:
            said = await notes.at_desk(WorkDesk.undo)
            done, lines = f"/work undo — {said}", [said]
        case _:
            return Refused(WORK_TAKES)
    await core.in_force.reread()
    return Said(lines, logged=done)


async def todo(core: Core, wanted: str) -> CommandResult:
    """Carry out `/todo`.

    Raises:
        TauError: It cannot be done; nothing was changed.
    """
    notes, called = core.in_force.notes, core.state.name or core.state.session_id
    word, _, rest = wanted.partition(" ")
    word, rest = word.lower(), rest.strip()
    number = rest if word == "open" else word
    done = ""
    if number.isdecimal() and len(number) < 6 and (word == "open" or not rest):
        ticks = word != "open"
        shown, item, changed = await notes.at_desk(lambda desk: desk.todos.tick(int(number), done=ticks))
        verb = "ticked" if ticks else "opened again"
        if changed:
            done = f"{verb} in {shown.path}: {item.text}"
        line = f"{verb.capitalize()}: {item.line}" if changed else f"It was so already: {item.line}"
        lines = [line, f"{one_line(shown.path)}: {shown.summary}"]
        if shown.closed and ticks:
            lines.append("All of it is done, so it is the active todo no more")
    else:
        match word:
            case "" if not rest:
                return Said(await notes.at_desk(_active))
            case "list" if not rest:
                return Said(await notes.at_desk(_files))
            case "new" if rest:
                made = await notes.at_desk(lambda desk: desk.todos.make(called, rest))
                done = f"made {made.path}, the active todo"
                lines = [f"Made {one_line(made.path)}, the active todo; /todo add TEXT adds an item"]
            case "use" if rest:
                made = await notes.at_desk(lambda desk: desk.todos.link(called, rest))
                done, lines = f"took {made.path} for the active todo", _numbered(made)
            case "add" if rest:
                made = await notes.at_desk(lambda desk: desk.todos.add(rest))
                done, lines = f"added to {made.path}: {rest}", _numbered(made)
            case "close" if not rest:
                path = await notes.at_desk(lambda desk: desk.todos.unlink())
                done, lines = f"let go of {path}", [f"{one_line(path)} is the active todo no more"]
            case _:
                return Refused(TODO_TAKES)
    await core.in_force.reread()
    return Said(lines, logged=done)


def _listing(desk: WorkDesk) -> list[str]:
    from tau.journal import work_shown

    session = desk.sessions.session()
    none = "No work is in hand yet: your first message begins it"
    lines = _in_hand(desk, session) if session is not None else [none]
    offers = desk.sessions.offers()
    lines += [*filter(None, [desk.sessions.others]), *desk.sessions.take_troubles()]
    if not offers:
        return [*lines, "Nothing else is paused or in progress"]
    lines.append(f"To resume ({len(offers)}):")
    for number, offer in enumerate(offers, 1):
        lines += [f"{number:>3}. {work_shown.headline(offer.session)}", *work_shown.details(offer)]
    return [*lines, "/work resume N takes one up; what is in hand is paused then; /work drop N sets it done"]


def _in_hand(desk: WorkDesk, session: WorkSession) -> list[str]:
    from tau.journal import work_linked, work_shown
    from tau.journal.work_log import path_of

    unread: list[str] = []
    linked = work_linked.of(desk.sessions.in_use(), session, unread.append)
    return [
        f"In hand: {work_shown.headline(session)}",
        f"     in {one_line(path_of(session.name))}",
        *(f"     {one_line(entry, 160)}" for entry in session.log[-work_shown.LAST :]),
        *(f"     {each.line}" for each in linked),
        *(f"     {line}" for line in unread),
        *([f"     active todo {one_line(session.todo)}: /todo shows it"] if session.todo else []),
    ]


def _resumed(offer: Offer) -> list[str]:
    from tau.journal import work_shown

    return [f"Resumed: {work_shown.headline(offer.session)}", *work_shown.details(offer)]


def _dropped(offer: Offer) -> list[str]:
    from tau.journal import work_shown

    stem = one_line(offer.session.name.removesuffix(".md"), 80)
    return [
        f"Set done: {work_shown.named(offer.session)}",
        *(work_shown.left_open(offer.todo) if offer.todo is not None else []),
        f"It is offered no more, and deleted at the next start; until then /work resume {stem} takes it up",
    ]


def _active(desk: WorkDesk) -> list[str]:
    active = desk.todos.active()
    if active is not None:
        return _numbered(active)
    return ["There is no active todo", *_files(desk)]


def _files(desk: WorkDesk) -> list[str]:
    files, unread = desk.todos.files()
    if not files:
        return [*unread, "There are no todo files; /todo new TITLE makes one"]
    lines = [f"  {one_line(each.path)}  {each.title}: {each.summary}" for each in files]
    return ["Todo files:", *lines, *unread, "/todo use NAME makes one the active todo"]


def _numbered(shown: Todo) -> list[str]:
    return [
        f"{shown.title} ({one_line(shown.path)}, {shown.summary})",
        *(f"{item.number:>3}. {item.line}" for item in shown.items),
        "/todo N ticks an item, /todo open N opens it again",
    ]
