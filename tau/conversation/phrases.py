"""Messages that are nothing but a wish to save or to load, said in the words that people use for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

_LONGEST = 120
"""Characters of a wish."""

_LONGEST_POLITE = 400
"""Characters of a message in which a wish is looked for behind what is only politeness."""

_POLITE = re.compile(
    r"^(?:ok(?:ay)?|please|let'?s|let us|now|so|hey|(?:can|could|shall) (?:you|we)|time to"
    r"|i(?:'d| would) like to)[,!]?\s+|\s+(?:please|now|then|for (?:today|now)|thanks|thank you)$"
)

_NAME = r"(?:the )?(?P<name>.+?)"
_OURS = r"(?:my|the|our|your)"
_LEFT = r"(?:pick up where we left off|remind me where we were|what did we (?:work on|do) last time)"
_SESSION = r"(?:the|this|our) session"
_DID = r"save what we(?:'ve| have)? (?:did|done)"

_SAVES = re.compile(
    rf"session log|wrap (?:(?:it|this|that|things|everything|{_SESSION}) )?up|wrap up {_SESSION}|{_DID}"
    r"|(?:the )?end of (?:(?:the|this) )?session"
)
_LOADS = re.compile(rf"load (?:{_OURS} )?context|{_LEFT}")
_SAVES_NAMED = (
    rf"session log (?:for|of) {_NAME}",
    rf"wrap up {_NAME}(?: session)?",
    rf"wrap {_NAME}(?: session)? up",
    rf"{_DID} (?:for|in|on) {_NAME}",
)
_LOADS_NAMED = (
    rf"load (?:{_OURS} )?context (?:(?:for|of) )?{_NAME}",
    rf"load (?:{_OURS} )?(?P<name>.+?) context",
    rf"what(?:'?s| is) {_OURS} status (?:of|for|on) {_NAME}",
    rf"{_LEFT} (?:for|in|on|with|at) {_NAME}",
)
_Command: TypeAlias = Literal["wrap", "load"]
_ALONE: Mapping[_Command, re.Pattern[str]] = {"wrap": _SAVES, "load": _LOADS}
_NAMED: Mapping[_Command, Sequence[re.Pattern[str]]] = {
    "wrap": tuple(map(re.compile, _SAVES_NAMED)),
    "load": tuple(map(re.compile, _LOADS_NAMED)),
}


class Wish(NamedTuple):
    """What a message asks for.

    Attributes:
        command: The slash command that does it.
        name: The context that is named; empty when none is.
    """

    command: _Command
    name: str = ""


def wish(text: str, named: Callable[[str], str]) -> Wish | None:
    """What a message asks for where it is nothing but such a wish; else None.

    Args:
        text: The message.
        named: The context that words name, or the empty string. A phrase that names none is no wish.
    """
    said = _bare(text)
    if not said or len(said) > _LONGEST:
        return None
    for command, alone in _ALONE.items():
        if alone.fullmatch(said):
            return Wish(command)
    for command, patterns in _NAMED.items():
        for pattern in patterns:
            if (found := pattern.fullmatch(said)) and (name := named(found["name"])):
                return Wish(command, name)
    return None


def _bare(text: str) -> str:
    """A message in small letters, without what is only politeness."""
    said = " ".join(text.casefold().replace("’", "'").split()).strip(" .!?,;:\"'")
    if len(said) > _LONGEST_POLITE:
        return said
    while (shorter := _POLITE.sub("", said).strip(" ,.!?")) != said:
        said = shorter
    return said
