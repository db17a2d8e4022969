"""`tau run --json`: the stream is what docs/json.md and the shipped schema say, however it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest

from tau.conversation.state import ConversationState
from tau.events import ToolUseStarted, TurnEnd, TurnEvent, Usage
from tau.line.events import VERSION, error_line, event_line, event_type, schema, session_line
from tests.line.waiting import read_until

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SCHEMA = json.loads(schema())
DOCUMENT = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SLOW = {"text": "word " * 4000, "chunks": 4000, "delay": 0.02}

PROMISED = {
    "session": "session_id name directory role provider model_id",
    "turn_started": "text images",
    "text_delta": "text",
    "reasoning_delta": "text",
    "message_end": "text",
    "tool_use_started": "tool_use_id name arguments tier",
    "tool_output_delta": "tool_use_id text",
    "tool_use_ended": "tool_use_id name status result duration approval rule",
    "approval_asked": "approval_id tool arguments offers unclear preview",
    "approval_closed": "approval_id decision reason",
    "model_retrying": "attempt delay reason",
    "usage_reported": "usage side",
    "compacted": "previous session_id line summary",
    "notice": "text level",
    "turn_end": "stop_reason notice usage duration",
    "error": "message hint code",
    "usage": "input_tokens output_tokens cached_tokens written_tokens",
}
"""What readers of version 1 count on. It only grows; to take something away is version 2."""


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def check(line: dict[str, Any]) -> None:
    """The line against the shipped schema."""
    jsonschema.validate(line, SCHEMA)


def sections() -> dict[str, tuple[dict[str, str], dict[str, Any] | None]]:
    """Of each type in the document: its fields with their types, and its example."""
    found = {}
    for title, body in re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", body, re.MULTILINE))
        example = re.search(r"^```json\n(.*)\n```$", body, re.MULTILINE)
        found[title] = (fields, json.loads(example[1]) if example else None)
    return found


def written(field: dict[str, Any]) -> str:
    """The type of a field of the schema as the document writes it."""
    if "$ref" in field:
        return "[usage](#usage)"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if field["type"] == "array":
        return f"array of {written(field['items'])}"
    return " or ".join(field["type"]) if isinstance(field["type"], list) else str(field["type"])


def of_hint(hint: Any) -> dict[str, Any]:
    """The schema that a type of `tau.events` needs."""
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": of_hint(get_args(hint)[0])}
    if hint is Usage:
        return {"$ref": "#/$defs/usage"}
    if get_origin(hint) is not None:
        return {"type": "object"}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]}


def bare(field: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in field.items() if key != "description"}


def test_the_schema_is_what_the_events_are() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    kinds = {event_type(kind): kind for kind in get_args(TurnEvent)}
    listed = [entry["$ref"].rpartition("/")[2] for entry in SCHEMA["oneOf"]]
    assert sorted(listed) == sorted([*kinds, "session", "error"])
    for name, kind in [*kinds.items(), ("usage", Usage)]:
        described = SCHEMA["$defs"][name]["properties"]
        own = {} if name == "usage" else {"v": {"const": VERSION}, "type": {"const": name}}
        hints = {field: of_hint(hint) for field, hint in get_type_hints(kind).items()}
        assert {field: bare(entry) for field, entry in described.items()} == {**own, **hints}
        assert set(hints) == set(kind.__struct_fields__)
        assert SCHEMA["$defs"][name]["required"] == list(described)


def test_the_document_is_what_the_schema_is() -> None:
    documented = sections()
    assert list(documented) == list(SCHEMA["$defs"])
    for name, (fields, example) in documented.items():
        properties = {
            field: written(entry)
            for field, entry in SCHEMA["$defs"][name]["properties"].items()
            if field not in ("v", "type")
        }
        assert fields == properties, name
        if name != "usage":
            assert example is not None
            check(example)
            assert example["type"] == name
    stream = re.search(r'^(\{"v": 1, "type": "session".*?)^```', DOCUMENT, re.MULTILINE | re.DOTALL)
    assert stream is not None
    for line in lines(stream[1]):
        check(line)


def test_what_version_1_promised_is_there() -> None:
    for name, fields in PROMISED.items():
        assert set(fields.split()) <= set(SCHEMA["$defs"][name]["required"]), name


def test_lines_that_are_no_events_are_as_described() -> None:
    for line in (session_line(ConversationState(session_id="a")), error_line("No", 1, "do it")):
        check(json.loads(line))


def test_the_schema_is_printed_whatever_the_configuration(tau_env: TauEnv) -> None:
    tau_env.configure("window =\n")
    done = tau_env.run("run", "--json-schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == SCHEMA


def test_a_line_is_one_line_whatever_it_holds() -> None:
    line = event_line(TurnEnd("error", "a\nb\x1b\x7f\x9b\u2028\ud83d\ude00\ud83d \\ud83d é", Usage(1, 2)))
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    assert told["notice"] == "a\nb\x1b\x7f\x9b\u2028😀\ufffd \\ud83d é"
    assert told["usage"]["output_tokens"] == 2


def test_what_json_has_no_form_for_stands_as_its_text() -> None:
    odd = {"n": float("nan"), "far": [float("-inf"), 1.5], "path": Path("/a"), "deep": {"set": (True, None)}}
    line = event_line(ToolUseStarted("t1", "x", odd))

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(line, parse_constant=refuse)["arguments"] == {
        "n": "nan",
        "far": ["-inf", 1.5],
        "path": "/a",
        "deep": {"set": [True, None]},
    }


@pytest.mark.parametrize(
    ("configuration", "arguments", "code", "said"),
    [
        ("window =\n", ["hi"], 2, "tau.toml"),
        ('[models.default]\nprovider = "anthropic"\nmodel_id = "m"\n', ["hi"], 1, "ANTHROPIC_API_KEY"),
        ("", ["--session", "../x", "hi"], 2, "Not a session id"),
        ("", ["  "], 2, "The prompt is empty"),
    ],
    ids=["configuration", "key", "session", "prompt"],
)
def test_what_keeps_a_turn_from_beginning_is_a_line_too(
    tau_env: TauEnv, configuration: str, arguments: list[str], code: int, said: str
) -> None:
    tau_env.configure(f'[sessions]\nbackend = "file"\n{configuration}')
    done = tau_env.run("run", "--json", *arguments)
    assert done.returncode == code
    (line,) = lines(done.stdout)
    check(line)
    assert (line["type"], line["code"]) == ("error", code)
    assert said in line["message"] + line["hint"]
    assert said in done.stderr


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_in_a_turn_ends_it_with_its_last_line(
    tau_env: TauEnv, number: signal.Signals, code: int
) -> None:
    tau_env.scripted(SLOW)
    process = tau_env.start("run", "--json", "go on for ever", stdin=subprocess.DEVNULL)
    begun = read_until(process, b'"text_delta"')
    process.send_signal(number)
    rest, said = process.communicate(timeout=30)
    assert process.returncode == code
    found = lines((begun + rest).decode())
    assert (found[-1]["type"], found[-1]["stop_reason"]) == ("turn_end", "cancelled")
    assert [line["type"] for line in found].count("turn_end") == 1
    assert said == b""


def test_a_signal_before_the_turn_is_told_as_an_error(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never said"})
    process = tau_env.start("run", "--json")
    assert process.stdin is not None
    process.stdin.write(b"x" * 400_000)  # more than a pipe holds: it is reading
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    (line,) = lines(out.decode())
    assert (line["type"], line["message"], line["code"]) == ("error", "Stopped by SIGINT", 130)


def test_lines_come_as_the_events_do(tau_env: TauEnv) -> None:
    tau_env.scripted(SLOW)
    process = tau_env.start("run", "--json", "go on", stdin=subprocess.DEVNULL)
    begun = read_until(process, b'"text_delta"')
    assert begun.count(b"\n") < 100
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
