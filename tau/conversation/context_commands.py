"""`/load`, and the phrases of a message that offer `/load` or `/wrap`."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.journal import contexts
from tau.journal.contexts import SHARED

if TYPE_CHECKING:
    from tau.conversation.core import Core
    from tau.conversation.standing import InForce
    from tau.journal.context_desk import ContextDesk

ASKS = "What should we work on?"


async def load(core: Core, wanted: str) -> CommandResult:
    """Carry out `/load`.

    Raises:
        TauError: A file cannot be read; says which, and the system's reason.
    """
    desk = core.in_force.contexts
    if desk.bare:
        return Refused("Nothing is loaded: tau runs with --bare, which reads no session log")
    place = await asyncio.to_thread(desk.place)
    if place.refused:
        return Refused(place.refused)
    suggested = contexts.suggested(core.settings.directory)
    at_the_end = f"at the end of the session /wrap new NAME sets one up, such as /wrap new {suggested}"
    if not place.there:
        return Said(
            [f"There is no session log yet: {one_line(str(place.folder))} was not found; {at_the_end}"]
        )
    names = await asyncio.to_thread(place.contexts)
    listed = ", ".join(map(one_line, [*names, SHARED]))
    name = await asyncio.to_thread(_named, desk, wanted) if wanted else await _meant(core, names)
    if wanted and not name:
        if len(several := await asyncio.to_thread(_each, desk, wanted)) > 1:
            ways = " or ".join(f"/load {shlex.quote(each)}" for each in several)
            said = f"{one_line(wanted, 120)} are {len(several)}: {one_line(ways, 300)}"
            return Refused(f"/load takes one context, and {said}")
        there = f"there are: {listed}" if names else f"there is none yet: {at_the_end}"
        return Refused(
            f"There is no context {one_line(wanted, 60)}: {place.shown(wanted)} was looked for; {there}"
        )
    if not name and not names:
        return Said([f"There is no context yet: {at_the_end}"])
    if not name:
        return Said([f"Which context is this session about? {listed}", "/load NAME reads it"])
    lines = await asyncio.to_thread(desk.load, name)
    core.in_force.use_context(name)
    await core.in_force.reread()
    return Said([*lines, ASKS])


def _named(desk: ContextDesk, wanted: str) -> str:
    """The context of a name, in quotes or not; empty when there is none."""
    return desk.named(wanted) or (found[0] if len(found := _each(desk, wanted)) == 1 else "")


def _each(desk: ContextDesk, wanted: str) -> list[str]:
    """The contexts that are named one behind the other; empty when not all are there."""
    named = [desk.named(word) for word in words(wanted)]
    return list(dict.fromkeys(named)) if all(named) else []


async def _meant(core: Core, names: list[str]) -> str:
    """The context in force, the only one, or the only one that the session speaks of; else empty."""
    if current := await asyncio.to_thread(core.in_force.context):
        return current
    if len(names) == 1:
        return names[0]
    if not names or not core.state.message_count:
        return ""
    text = await core.wrapping.said_text()
    found = await asyncio.to_thread(core.in_force.contexts.identify, text)
    for line in found.unread:
        core.in_force.tell(line)
    return next(iter(found.hits)) if len(found.hits) == 1 else ""


def words(said: str) -> list[str]:
    """The words behind a command, those in quotes as one."""
    try:
        return shlex.split(said)
    except ValueError:
        return said.split()


def offer(in_force: InForce, text: str) -> str:
    """What to offer where a message is nothing but a phrase for saving or loading; else empty. Blocks.

    Args:
        in_force: What is on here.
        text: The message.
    """
    from tau.conversation.phrases import wish  # the patterns are made when a message comes, not at the start

    desk = in_force.contexts
    found = wish(text, lambda words: desk.named(words) if desk.on else "")
    if found is None:
        return ""
    command = f"/{found.command}{f' {found.name}' if found.name else ''}"
    if found.command == "wrap" and (desk.on or in_force.work.on):
        return f"{command} saves what was done in this session, /wrap quick briefly"
    if found.command == "load" and desk.on:
        return f"{command} reads what earlier sessions left"
    return ""
