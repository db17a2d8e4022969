"""Which contexts a session seems to be about: the one that the person named, else what speaks for them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tau.conversation.phrases import wish
from tau.display import one_line
from tau.journal.context_desk import Found
from tau.sessions.attached import own_text
from tau.sessions.records import Message


@dataclass(frozen=True, slots=True)
class Guess:
    """What a session seems to be about.

    Attributes:
        contexts: The contexts; empty when that is not clear.
        why: What speaks for them.
        more: What speaks for others beside the one that was named, a line; or empty.
    """

    contexts: tuple[str, ...]
    why: str
    more: str = ""


def mentioned(messages: Sequence[Message], named: Callable[[str], str]) -> str:
    """The context that the person named last in a message that is nothing but the wish to save; or empty.

    Args:
        messages: What was said.
        named: The context that words name, or the empty string.
    """
    for message in reversed(messages):
        found = wish(own_text(message), named) if message["role"] == "user" else None
        if found is not None and found.command == "wrap" and found.name:
            return found.name
    return ""


def guessed(found: Found, current: str, named: str) -> Guess:
    """The contexts that a session seems to be about.

    Args:
        found: Which ones its content speaks for.
        current: The one that it was about so far; empty for none.
        named: The one that the person named, as of `mentioned`: it alone is meant, and others are offered.
    """
    by_content, why = _by_content(found, current)
    if not named:
        return Guess(by_content, why)
    others = [name for name in by_content if name != named]
    spoken = [name for name in others if name in found.hits]
    reasons = _why(found, spoken).removeprefix("; ") if spoken else "the session was about it so far"
    listed, both = ", ".join(map(one_line, others)), one_line(shlex.join(["/wrap", named, *others]))
    more = f"It seems to be about {listed} as well: {reasons}; {both} saves it there, too"
    return Guess((named,), "you named it", more if others else "")


def _by_content(found: Found, current: str) -> tuple[tuple[str, ...], str]:
    counts = {name: sum(hits.values()) for name, hits in found.hits.items()}
    most = max(counts.values(), default=0)
    named = tuple(name for name, count in counts.items() if 2 * count >= most and len(found.hits[name]) > 1)
    by_content = named or (tuple(counts) if len(counts) == 1 else ())
    if current and (not by_content or current in by_content):
        rest = tuple(name for name in by_content if name != current)
        return (current, *rest), "the session was about it so far" + (_why(found, by_content) if rest else "")
    return by_content, _why(found, by_content).removeprefix("; ")


def _why(found: Found, names: Sequence[str]) -> str:
    parts = []
    for name in names:
        hits: Mapping[str, int] = found.hits[name]
        words = ", ".join(f"{one_line(word, 40)} ×{count}" for word, count in list(hits.items())[:5])
        parts.append(f"{one_line(name)} by {words}")
    return "; " + "; ".join(parts)
