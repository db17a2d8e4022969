"""Turn events as JSON lines: versioned, one a line, ASCII only, described by ``events.schema.json``."""

from __future__ import annotations

import json
import re
import signal
import sys
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tau import __version__
from tau.conversation.state import ConversationState
from tau.errors import TauError
from tau.events import TurnEnd, TurnEvent

VERSION = 1
"""Goes up when a field changes its meaning or goes away; new types and fields may come within a version."""

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_ESCAPES = re.compile(r"(\\\\)|(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}|\x7f")


def schema() -> str:
    """The JSON Schema (2020-12) of every line, as text."""
    return Path(__file__).with_name("events.schema.json").read_text(encoding="utf-8")


def event_type(event: type[TurnEvent]) -> str:
    """The ``type`` an event has in JSON: its name in snake case, ``text_delta``."""
    return _WORD.sub("_", event.__name__).lower()


def event_line(event: TurnEvent) -> str:
    """One event as a line without its newline."""
    return _line(event_type(type(event)), _fields(event))


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.asdict(record)
    return {
        name: _fields(value) if isinstance(value, msgspec.Struct) else value for name, value in fields.items()
    }


def session_line(state: ConversationState) -> str:
    """The first line of a stream: which session this is, and which model answers."""
    model = state.model
    return _line(
        "session",
        {
            "tau": __version__,
            "session_id": state.session_id,
            "name": state.name,
            "directory": state.directory,
            "role": state.role,
            "provider": model.provider if model else None,
            "model_id": model.model_id if model else None,
        },
    )


def error_line(message: str, code: int, hint: str = "") -> str:
    """The last line where no turn could begin, or where its end could not be kept.

    Args:
        message: One sentence.
        code: The exit code.
        hint: What to do about it.
    """
    return _line("error", {"message": message, "hint": hint, "code": code})


class JsonLines:
    """Writes a stream to stdout, each line as it comes.

    As a context manager it also tells what keeps the stream from ending as it should: the error is the last
    line, and is raised on.
    """

    def __init__(self) -> None:
        self._ended = False

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, TauError):
            self._write(error_line(error.message, error.exit_code, error.hint))
        elif isinstance(error, KeyboardInterrupt):
            self.stopped(128 + signal.SIGINT)
        elif isinstance(error, Exception) and not isinstance(error, OSError):
            self._write(error_line("tau failed unexpectedly", 1, "stderr names the log"))

    def session(self, state: ConversationState) -> None:
        """Write the first line."""
        self._write(session_line(state))

    def event(self, event: TurnEvent) -> None:
        """Write an event.

        Raises:
            BrokenPipeError: Nobody reads stdout any more.
        """
        self._write(event_line(event))
        self._ended = isinstance(event, TurnEnd)

    def stopped(self, code: int) -> None:
        """Say that a signal ended the run, unless a turn's end said so.

        Args:
            code: 128 plus its number.
        """
        if not self._ended:
            self._write(error_line(f"Stopped by {signal.Signals(code - 128).name}", code))

    def _write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _line(kind: str, fields: dict[str, Any]) -> str:
    told = {"v": VERSION, "type": kind, **fields}
    try:
        line = json.dumps(told, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError):
        line = json.dumps(_as_json(told), ensure_ascii=True, allow_nan=False)
    return _ESCAPES.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    """DEL is a control, and half a surrogate pair no character: strict readers refuse both."""
    if found.group(1) or found.group(2):
        return found.group()
    return "\\u007f" if found.group() == "\x7f" else "\\ufffd"


def _as_json(value: Any) -> Any:
    """Tool arguments come from a model or a plugin: what JSON has no form for is shown as its text."""
    match value:
        case dict():
            return {str(key): _as_json(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_as_json(entry) for entry in value]
        case float() if not isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
