"""The words behind `/wrap`: its answers, and the contexts that the person names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tau.conversation.state import Refused
from tau.display import one_line
from tau.journal import contexts
from tau.journal.context_desk import ContextDesk

AGREED, DECLINED = ("yes", "accept"), ("no", "cancel")
UNDO, QUICK, NEW = "undo", "quick", "new"
NEVER_NAMES = (*AGREED, *DECLINED, UNDO, QUICK, NEW)
"""Words of `/wrap` that are never names of contexts."""

_CLOSE_ENOUGH = 0.75


@dataclass(frozen=True, slots=True)
class Named:
    """What the person named.

    Attributes:
        contexts: The contexts as they were understood.
        question: What is to be asked of names that are not known; empty when all are clear.
        ways: What else may be answered than yes and no.
    """

    contexts: tuple[str, ...]
    question: str = ""
    ways: tuple[str, ...] = ()


def named(desk: ContextDesk, names: Sequence[str]) -> Named | Refused:
    """The contexts that were named; one that is not there is asked about, unless ``new`` is before it.

    Args:
        desk: The contexts that are there.
        names: At least one.
    """
    import difflib

    known = desk.place().contexts()
    begins = names[0].lower() == NEW
    if begins and len(names) == 1:
        return Refused("/wrap new NAME begins a context, and saves the session there")
    chosen: list[str] = []
    asked: list[str] = []
    ways: list[str] = []
    for name in names[1:] if begins else names:
        if name.lower() in NEVER_NAMES:
            return Refused(f"{name} is an answer to /wrap, so it is no name of a context")
        if there := desk.named(name):
            chosen.append(there)
            continue
        if why := contexts.unfit(name):
            return Refused(f"{one_line(name, 80)} {why}, so it is no name of a context")
        near = [] if begins else difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE_ENOUGH)
        chosen.append(near[0] if near else name)
        if near:
            asked.append(f"There is no context {name}; did you mean {one_line(near[0])}?")
            ways.append(f"/wrap new {shlex.quote(name)} begins one")
        elif not begins:
            asked.append(f"There is no context {name} yet")
    return Named(tuple(dict.fromkeys(chosen)), " ".join(asked), tuple(ways))
