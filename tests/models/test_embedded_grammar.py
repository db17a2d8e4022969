"""Grammars made from JSON schemas accept the texts of valid tool calls and no others."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tau.models.embedded.grammar import for_schema, for_tools

_TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[\w-]+|\{\d*,?\d*\}|[()|?*+]')
_QUANTIFIER = re.compile(r"\{\d*,?\d*\}|[()|?*+]")


def regex(grammar: str, rule: str = "root", depth: int = 6) -> str:
    """A grammar as a regular expression; GBNF is one but for names, which nest here to a depth."""
    if not depth:
        return "(?!)"
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())
    pieces = []
    for token in _TOKEN.findall(rules[rule]):
        if token.startswith('"'):
            literal = re.sub(
                r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), token[1:-1]
            )
            pieces.append(f"(?:{re.escape(literal)})")
        elif token.startswith("[") or _QUANTIFIER.fullmatch(token):
            pieces.append(token)
        elif token.strip():
            pieces.append(regex(grammar, token, depth - (token in ("value", "array", "object"))))
    return f"(?:{''.join(pieces)})"


def accepts(schema: dict[str, Any], text: str) -> bool:
    return re.fullmatch(regex(for_schema(schema)), text) is not None


TEXT = {"type": "string"}
COUNT = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (TEXT, ['""', '"é \\" \\n 🙂"', '"\\\\"'], ["x", '"\n"', '"a"b"', '"\\ud83d"', '"\\x"']),
        ({"type": "string", "maxLength": 2}, ['"ab"', '""'], ['"abc"']),
        ({"type": "string", "minLength": 1}, ['"a"'], ['""']),
        (COUNT, ["0", "-7", "120"], ["01", "1.5", '"1"', "+1", ""]),
        ({"type": "integer", "minimum": 1}, ["3"], ["-3"]),
        ({"type": "number"}, ["1", "-1.5", "2e10"], ["1.", ".5", "NaN"]),
        ({"type": "boolean"}, ["true", "false"], ["True", "1"]),
        ({"type": "null"}, ["null"], ["none"]),
        ({"type": ["string", "null"]}, ['"a"', "null"], ["1"]),
        ({"enum": ["a", 2, None, 'q"\\']}, ['"a"', "2", "null", '"q\\"\\\\"'], ['"b"', "3"]),
        ({"const": "on"}, ['"on"'], ['"off"']),
        ({"anyOf": [TEXT, COUNT]}, ['"a"', "1"], ["true"]),
        ({"oneOf": [COUNT, {"type": "null"}]}, ["1", "null"], ['"a"']),
        ({"type": "array", "items": COUNT}, ["[]", "[1]", "[1, 2, 3]"], ["[1,2]", '["a"]', "[1, ]"]),
        ({"type": "array", "items": COUNT, "minItems": 1}, ["[1]", "[1, 2]"], ["[]"]),
        ({"type": "array", "items": COUNT, "maxItems": 2}, ["[]", "[1, 2]"], ["[1, 2, 3]"]),
        ({"type": "array", "items": COUNT, "maxItems": 0}, ["[]"], ["[1]"]),
        ({"type": "array"}, ["[]", '[1, "a", [true]]'], ["[x]"]),
        ({"type": "object", "properties": {}}, ["{}"], ['{"a": 1}']),
        ({"type": "object", "additionalProperties": COUNT}, ["{}", '{"a": 1, "b": 2}'], ['{"a": "b"}']),
        ({"type": "object"}, ["{}", '{"a": {"b": [1]}}'], ["{a: 1}"]),
        ({}, ["1", '"a"', '{"a": [null]}'], ["x"]),
    ],
)  # fmt: skip
def test_values(schema: dict[str, Any], good: list[str], bad: list[str]) -> None:
    for text in good:
        json.loads(text)
    assert [text for text in good if not accepts(schema, text)] == []
    assert [text for text in bad if accepts(schema, text)] == []


def test_required_properties_come_first_and_optional_ones_may_follow() -> None:
    schema = {
        "type": "object",
        "properties": {"limit": COUNT, "path": TEXT, "offset": COUNT},
        "required": ["path"],
    }

    assert accepts(schema, '{"path": "a"}')
    assert accepts(schema, '{"path": "a", "offset": 3}')
    assert accepts(schema, '{"path": "a", "limit": 1, "offset": 3}')
    assert not accepts(schema, '{"limit": 1}')
    assert not accepts(schema, '{"path": "a", "other": 1}')
    assert not accepts(schema, '{"path": "a", "path": "b"}')


def test_any_of_several_optional_properties_may_begin() -> None:
    schema = {"type": "object", "properties": {"a": COUNT, "b": COUNT, "c": COUNT}}

    for text in (
        "{}",
        '{"a": 1}',
        '{"b": 1}',
        '{"a": 1, "c": 2}',
        '{"b": 1, "c": 2}',
        '{"a": 1, "b": 1, "c": 1}',
    ):
        assert accepts(schema, text), text
    assert not accepts(schema, '{, "b": 1}')


def test_nested_objects_references_and_merged_parts() -> None:
    edit = {"type": "object", "properties": {"old": TEXT, "new": TEXT}, "required": ["old", "new"]}
    schema = {
        "$defs": {
            "Edit": edit,
            "Named": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        },
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}},
            "who": {
                "allOf": [{"$ref": "#/$defs/Named"}, {"properties": {"age": COUNT}, "required": ["age"]}]
            },
        },
        "required": ["edits", "who"],
    }

    assert accepts(schema, '{"edits": [{"old": "a", "new": "b"}], "who": {"name": "x", "age": 3}}')
    assert not accepts(schema, '{"edits": [{"old": "a"}], "who": {"name": "x", "age": 3}}')
    assert not accepts(schema, '{"edits": [], "who": {"name": "x"}}')


def test_a_schema_that_refers_to_itself_gives_a_grammar_that_does() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    grammar = for_schema({"$defs": {"Node": node}, "$ref": "#/$defs/Node"})

    assert 'ref0 ::= "{" ("\\"next\\": " ref0)? "}"' in grammar.splitlines()


def test_a_tool_call_is_a_name_and_its_arguments_or_none() -> None:
    tools = [
        ("read_file", {"type": "object", "properties": {"path": TEXT}, "required": ["path"]}),
        ("ls", {"type": "object", "properties": {}}),
    ]
    declining, forced = regex(for_tools(tools)), regex(for_tools(tools, may_decline=False))

    for text in ('read_file {"path": "a.txt"}', "ls {}"):
        assert re.fullmatch(declining, text)
        assert re.fullmatch(forced, text)
    assert re.fullmatch(declining, "none")
    for text in ("none", "rm {}", "ls", 'ls {"path": "a"}', "read_file {}", 'Sure! read_file {"path": "a"}'):
        assert not re.fullmatch(forced, text)
