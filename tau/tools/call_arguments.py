"""Takes the arguments of calls as models send them, and says what was expected where that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tau.tools.refusals import Refused

_EDITS = '"edits": [{"old": "text as it is in the file", "new": "text to put there"}]'
_OLD = ("old", "old_string", "old_str", "old_text", "oldText")
_NEW = ("new", "new_string", "new_str", "new_text", "newText")


class Edit(NamedTuple):
    """One exact replacement.

    Attributes:
        old: Text that is in the file.
        new: Text to put there.
    """

    old: str
    new: str


def text_argument(arguments: Mapping[str, Any], name: str) -> str:
    """An argument that must be there and be text.

    Raises:
        Refused: It is not.
    """
    value = arguments.get(name)
    if value is None:
        raise Refused(f"The argument {name} is missing; give it as a string")
    if not isinstance(value, str):
        raise Refused(f"The argument {name} must be a string, not {_kind(value)}")
    return value


def edits_argument(arguments: Mapping[str, Any]) -> list[Edit]:
    """The edits of a call, in order, at least one.

    Taken are also a single edit without its list, the list as JSON text, other common names of `old` and
    `new`, and both of them in the place of `edits`.

    Raises:
        Refused: There is none, or what there is can be read in several ways or in none.
    """
    value = arguments.get("edits")
    beside = {name: arguments[name] for name in (*_OLD, *_NEW) if name in arguments}
    if value is not None and beside:
        raise Refused(f"Give every edit in edits, and nothing beside it: {_EDITS}")
    value = _parsed(value if value is not None else beside or None)
    if isinstance(value, Mapping):
        value = [value]
    if value is None or isinstance(value, str) or not isinstance(value, Sequence):
        raise Refused(f"edits must be a list of objects with old and new: {_EDITS}")
    if not value:
        raise Refused(f"edits is empty; give at least one: {_EDITS}")
    return [_edit(_parsed(item), number, len(value)) for number, item in enumerate(value, 1)]


def _edit(value: Any, number: int, count: int) -> Edit:
    which = "The edit" if count == 1 else f"Edit {number} of {count}"
    if not isinstance(value, Mapping):
        raise Refused(f"{which} must be an object with old and new, not {_kind(value)}: {_EDITS}")
    return Edit(_one_of(value, _OLD, which), _one_of(value, _NEW, which))


def _one_of(value: Mapping[str, Any], names: Sequence[str], which: str) -> str:
    given = [name for name in names if name in value]
    if not given:
        hint = '; to remove the old text give "new": ""' if names is _NEW else ""
        raise Refused(f"{which} has no {names[0]}{hint}. Expected: {_EDITS}")
    if len({str(value[name]) for name in given}) > 1:
        raise Refused(f"{which} has {given[0]} and {given[1]}, which differ; give {names[0]} only")
    text = value[given[0]]
    if not isinstance(text, str):
        raise Refused(f"{which} has {_kind(text)} for {given[0]}; it must be a string")
    return text


def _parsed(value: Any) -> Any:
    """What a text says as JSON, also when its strings have newlines as they are; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, strict=False)
    except ValueError:
        return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
