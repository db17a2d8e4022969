"""The JSON object that a model answers `/wrap` with: read, and what two desks would write taken once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tau.display import one_line
from tau.journal.open_items import key
from tau.journal.wrapping import WrapInvalid

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)


def once(said: dict[str, Any], owned: Iterable[str]) -> dict[str, Any]:
    """An answer in which no lesson of a context is also one of the project's memory.

    Args:
        said: The answer.
        owned: The lessons that the project's memory takes: what it refuses stays with its context.
    """
    log = said.get("session_log")
    if not isinstance(log, dict):
        return said
    theirs = {key(text) for text in owned}

    def kept(lesson: dict[str, Any]) -> bool:
        return not theirs & {key(str(lesson.get(name) or "")) for name in ("rule", "fix", "title")}

    parts = [
        {**part, "lessons": [lesson for lesson in _objects(part, "lessons") if kept(lesson)]}
        if isinstance(part.get("lessons"), list)
        else part
        for part in _objects(log, "contexts")
    ]
    return {**said, "session_log": {**log, "contexts": parts}} if parts else said


def _objects(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = holder.get(name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def parsed(answer: str) -> dict[str, Any]:
    """The object that a model answered with: alone, or in the only code fence of what it said.

    Raises:
        WrapInvalid: It is anything else.
    """
    fenced = _FENCED.findall(answer)
    try:
        said = json.loads(fenced[0][1] if len(fenced) == 1 else answer)
    except (ValueError, RecursionError) as error:
        raise WrapInvalid(f"the answer is not JSON ({one_line(str(error), 120)})") from None
    if not isinstance(said, dict):
        raise WrapInvalid("the answer is no JSON object")
    return said
