"""The JSON script of the scripted provider: read whole, checked step by step, free of strands."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tau.errors import ConfigError, ModelNotReady

ErrorKind: TypeAlias = Literal["throttled", "overflow", "max_tokens", "refused"]

_ERRORS = ("throttled", "overflow", "max_tokens", "refused")
_REPLY_KEYS = {"text", "reasoning", "tools", "error", "message", "chunks", "delay", "silent", "usage"}
_BRANCH_KEYS = {"when", "then", "else", "usage"}
_TOOL_KEYS = {"name", "input", "id"}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a step. `tool_use_id` is empty when the provider makes one up."""

    name: str
    arguments: Mapping[str, Any]
    tool_use_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one model call answers: silence, reasoning, text, tool calls, then perhaps an error.

    `delay` and `silent` are in seconds; `chunks` is the number of pieces `text` and `reasoning` come in.
    """

    text: str | None = None
    reasoning: str | None = None
    tools: Sequence[ToolCall] = ()
    error: ErrorKind | None = None
    message: str = ""
    chunks: int = 1
    delay: float = 0.0
    silent: float = 0.0
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Branch:
    """A step that depends on whether the request holds a text."""

    when: str
    then: Step
    otherwise: Step


Step: TypeAlias = Reply | Branch


def read_script(path: Path) -> list[Step]:
    """The steps of a script file, at least one.

    Raises:
        ModelNotReady: There is no such file, or it cannot be read.
        ConfigError: It is not a script; the message names the file and the step.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelNotReady(f"Script not found: {path}", "create it, or change the role's script") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelNotReady(f"Script {path} cannot be read: {error}") from error
    try:
        steps = json.loads(content)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"Script {path} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    return parse_script(steps, f"Script {path}")


def parse_script(steps: Any, name: str) -> list[Step]:
    """The steps of a script that was read already.

    Args:
        steps: The JSON value of the script.
        name: What messages call it.

    Raises:
        ConfigError: It is not a script; the message names it and the step.
    """
    if not isinstance(steps, list) or not steps:
        raise ConfigError(f"{name} must be a JSON array with at least one step")
    return [_step(step, f"{name}, step {number}") for number, step in enumerate(steps, start=1)]


def resolve(step: Step, request: Mapping[str, Any]) -> Reply:
    """The reply a step gives to a request (looked for in all its texts, not in its JSON)."""
    if isinstance(step, Reply):
        return step
    found = any(step.when in text for text in _texts(request))
    return resolve(step.then if found else step.otherwise, request)


def pieces(text: str, count: int) -> list[str]:
    """A text cut into `count` pieces of nearly equal length; fewer when it is shorter than that."""
    count = max(1, min(count, len(text)))
    edges = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _step(step: Any, where: str) -> Step:
    if not isinstance(step, dict):
        raise ConfigError(f"{where} is not an object")
    if "when" in step:
        _only(step, _BRANCH_KEYS, where)
        missing = [key for key in ("then", "else") if key not in step]
        if missing:
            raise ConfigError(f"{where} has 'when' without '{missing[0]}'")
        usage = {"usage": step["usage"]} if "usage" in step else {}
        then, otherwise = (
            _step({**usage, **branch} if isinstance(branch, dict) else branch, f"{where}, '{key}'")
            for key, branch in (("then", step["then"]), ("else", step["else"]))
        )
        return Branch(_get(step, "when", str, "", where), then, otherwise)
    _only(step, _REPLY_KEYS, where)
    if not step.keys() & {"text", "reasoning", "tools", "error", "silent"}:
        raise ConfigError(f"{where} says nothing: give it text, reasoning, tools, error or when")
    error = step.get("error")
    if error is not None and error not in _ERRORS:
        raise ConfigError(f"{where}: error must be one of {', '.join(_ERRORS)}, not {json.dumps(error)}")
    if error not in (None, "max_tokens") and "tools" in step:
        raise ConfigError(f"{where} has tools that error '{error}' would keep from being called")
    chunks = _get(step, "chunks", int, 1, where)
    if chunks < 1:
        raise ConfigError(f"{where}: chunks must be at least 1")
    return Reply(
        text=_get(step, "text", str, None, where),
        reasoning=_get(step, "reasoning", str, None, where),
        tools=[
            _tool(tool, f"{where}, tool {number}")
            for number, tool in enumerate(_get(step, "tools", list, [], where), start=1)
        ],
        error=error,
        message=_get(step, "message", str, "", where),
        chunks=chunks,
        delay=_seconds(step, "delay", where),
        silent=_seconds(step, "silent", where),
        usage=_usage(step, where),
    )


def _tool(tool: Any, where: str) -> ToolCall:
    if not isinstance(tool, dict):
        raise ConfigError(f"{where} is not an object")
    _only(tool, _TOOL_KEYS, where)
    name = _get(tool, "name", str, "", where)
    if not name:
        raise ConfigError(f"{where} has no name")
    return ToolCall(name, _get(tool, "input", dict, {}, where), _get(tool, "id", str, "", where))


def _usage(step: dict[str, Any], where: str) -> dict[str, int]:
    usage: dict[str, Any] = _get(step, "usage", dict, {}, where)
    for key, value in usage.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{where}: usage.{key} must be a count of tokens")
    return usage


def _seconds(step: dict[str, Any], key: str, where: str) -> float:
    value = step.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ConfigError(f"{where}: {key} must be a number of seconds")
    return float(value)


def _get(step: dict[str, Any], key: str, kind: type, default: Any, where: str) -> Any:
    value = step.get(key, default)
    if key in step and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        names = {str: "a text", int: "a whole number", list: "an array", dict: "an object"}
        raise ConfigError(f"{where}: {key} must be {names[kind]}")
    return value


def _only(step: dict[str, Any], known: set[str], where: str) -> None:
    for key in step:
        if key not in known:
            raise ConfigError(f"{where} has an unknown key '{key}'", "known: " + ", ".join(sorted(known)))
