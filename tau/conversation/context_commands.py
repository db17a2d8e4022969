"""`/load`, and the phrases of a message that offer `/load` or `/wrap`."""

from __future__ import annotations

import asyncio
import re
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

_POLITE = re.compile(
    r"^(?:ok(?:ay)?|please|let'?s|now|so|hey|can you|could you)[,!]?\s+|\s+(?:please|now|then|for today)$"
)
_SAVES = frozenset(
    {"session log", "wrap up", "wrap it up", "wrap up the session", "save what we did", "end of session"}
)
_LOADS = frozenset(
    {
        "what did we work on last time",
        "load my context",
        "pick up where we left off",
        "remind me where we were",
    }
)
_SAVES_NAMED = re.compile(r"(?:session log for|wrap up(?: the)?) (?P<name>.+?)(?: session)?")
_LOADS_NAMED = re.compile(r"(?:load my context for|what'?s the status of|load(?: the)? context) (?P<name>.+)")


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
    said = _bare(text)
    if not said or len(said) > 120:
        return ""
    saves, loads = said in _SAVES, said in _LOADS
    name = ""
    for pattern in (_SAVES_NAMED, _LOADS_NAMED):
        if not (saves or loads) and (found := pattern.fullmatch(said)) and in_force.contexts.on:
            name = in_force.contexts.named(found["name"])
            saves, loads = bool(name) and pattern is _SAVES_NAMED, bool(name) and pattern is _LOADS_NAMED
    if saves and (in_force.contexts.on or in_force.work.on):
        return f"/wrap{f' {name}' if name else ''} saves what was done in this session, /wrap quick briefly"
    if loads and in_force.contexts.on:
        return f"/load{f' {name}' if name else ''} reads what earlier sessions left"
    return ""


def _bare(text: str) -> str:
    """A message in small letters, without what is only politeness."""
    said = " ".join(text.casefold().replace("’", "'").split()).strip(" .!?,;:\"'")
    while (shorter := _POLITE.sub("", said).strip(" ,.!?")) != said:
        said = shorter
    return said
