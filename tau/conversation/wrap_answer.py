"""The JSON object that a model answers `/wrap` with: read, and what two desks would write taken once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tau.display import one_line
from tau.journal.open_items import key
from tau.journal.wrapping import Taken, WrapInvalid

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w-]*[ \t]*")


@dataclass(frozen=True, slots=True)
class LeftToMemory:
    """A lesson of a context that the project's memory is to write.

    Attributes:
        context: Whose it is.
        lesson: As the model said it.
    """

    context: Any
    lesson: dict[str, Any]

    def is_one_of(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts says the same."""
        words = {key(str(self.lesson.get(name) or "")) for name in ("rule", "fix", "title")}
        return not words.isdisjoint(map(key, texts))


def once(said: dict[str, Any], taken: Taken) -> tuple[dict[str, Any], list[LeftToMemory]]:
    """An answer in which no lesson of a context is also one of the project's memory.

    One that waits for a yes there is a discovery of its context, so that the log has it after a no.

    Args:
        said: The answer.
        taken: The lessons that the project's memory takes: what it refuses stays with its context.

    Returns:
        The answer, and the lessons that are no longer in it and are yet to be written there.
    """
    log = said.get("session_log")
    if not isinstance(log, dict):
        return said, []
    parts: list[dict[str, Any]] = []
    left: list[LeftToMemory] = []
    for part in _objects(log, "contexts"):
        named = part.get("context")
        lessons = [LeftToMemory(named, lesson) for lesson in _objects(part, "lessons")]
        wait = [each.lesson for each in lessons if each.is_one_of(taken.waiting)]
        now = [each for each in lessons if each.lesson not in wait and each.is_one_of(taken.now)]
        there = [each.lesson for each in lessons if each.is_one_of(taken.there)]
        left += [each for each in now if each.lesson not in there]
        gone = [*wait, *(each.lesson for each in now), *there]
        less = dict(part)
        if gone:
            less["lessons"] = [each for each in part["lessons"] if each not in gone]
        if wait and isinstance(found := part.get("discoveries") or [], list):
            news = [f"{lesson.get('title') or ''}: {lesson.get('rule') or ''}" for lesson in wait]
            less["discoveries"] = [*found, *news]
        parts.append(less)
    return ({**said, "session_log": {**log, "contexts": parts}} if parts else said), left


def lessons_alone(left: Sequence[LeftToMemory]) -> dict[str, Any]:
    """What a model would answer for the session log that learned these lessons and nothing else."""
    by_context: dict[str, list[dict[str, Any]]] = {}
    for each in left:
        by_context.setdefault(str(each.context), []).append(each.lesson)
    return {"contexts": [{"context": name, "lessons": lessons} for name, lessons in by_context.items()]}


def _objects(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = holder.get(name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def parsed(answer: str) -> dict[str, Any]:
    """The object that a model answered with: alone, or in the only code fence of what it said.

    Raises:
        WrapInvalid: It is anything else.
    """
    fenced = _fenced(answer)
    try:
        said = json.loads(fenced[0] if len(fenced) == 1 else answer)
    except (ValueError, RecursionError) as error:
        raise WrapInvalid(f"the answer is not JSON ({one_line(str(error), 120)})") from None
    if not isinstance(said, dict):
        raise WrapInvalid("the answer is no JSON object")
    return said


def _fenced(answer: str) -> list[str]:
    """What stands in each code fence of an answer that is closed."""
    lines = answer.split("\n")
    last = {line.strip(" \t"): number for number, line in enumerate(lines)}  # where a mark may close
    found: list[str] = []
    mark, begins = "", 0
    for number, line in enumerate(lines):
        if not mark:
            opens = _FENCE.fullmatch(line)
            if opens is not None and last.get(opens[1], 0) > number:
                mark, begins = opens[1], number + 1
        elif line.strip(" \t") == mark:
            found.append("\n".join(lines[begins:number]))
            mark = ""
    return found
