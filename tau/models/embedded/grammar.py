"""JSON Schema to GBNF: grammars under which a model can only write a valid tool call.

llama.cpp has a converter of its own, but what it produces lets the model spread a call over lines and
indent it, which takes twice as many tokens, and lets it write half an emoji as an escape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "none"
"""What the model answers when no tool is needed."""

_LONGEST = 256
_DEEPEST = 8
_BASE = {
    "char": r'[^"\\\x00-\x1F] | "\\" ["\\/bfnrt]',
    "string": r'"\"" char* "\""',
    "integer": r'"-"? natural',
    "natural": r'"0" | [1-9] [0-9]{0,15}',
    "number": r'integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?',
    "boolean": r'"true" | "false"',
    "null": r'"null"',
    "value": "string | number | boolean | null | array | object",
    "array": r'"[" (value (", " value)*)? "]"',
    "object": r'"{" (string ": " value (", " string ": " value)*)? "}"',
}


def for_tools(tools: Sequence[tuple[str, Mapping[str, Any]]], *, may_decline: bool = True) -> str:
    """A grammar whose texts are ``none`` and ``NAME {arguments}`` for each tool.

    Args:
        tools: Names and the JSON schemas of their arguments.
        may_decline: Whether ``none`` is allowed.
    """
    rules = _Rules()
    ways = [_literal(NONE)] if may_decline else []
    for index, (name, schema) in enumerate(tools):
        rules.document = schema
        ways.append(f"{_literal(name + ' ')} {rules.add(f'tool{index}', rules.object(schema, 0))}")
    return rules.text(" | ".join(ways))


def for_schema(schema: Mapping[str, Any]) -> str:
    """A grammar whose texts are the JSON values that satisfy a schema, as far as `_Rules` follows it."""
    rules = _Rules()
    rules.document = schema
    return rules.text(rules.value(schema, 0))


class _Rules:
    """Rules as they are collected.

    Followed are type, properties, required, additionalProperties, items, minItems, maxItems, enum, const,
    anyOf, oneOf, allOf of objects, local references, minLength, maxLength and whether an integer may be
    negative. The rest (patterns, formats, conditions) is left to the tool's own check of its arguments.
    """

    def __init__(self) -> None:
        self.document: Mapping[str, Any] = {}
        self._rules: dict[str, str] = {}
        self._references: dict[tuple[int, str], str] = {}

    def add(self, name: str, body: str) -> str:
        self._rules[name] = body
        return name

    def text(self, root: str) -> str:
        """The whole grammar."""
        rules = {"root": root, **self._rules, **_BASE}
        return "".join(f"{name} ::= {body}\n" for name, body in rules.items())

    def value(self, schema: Any, depth: int) -> str:
        """An expression for the values of a schema, safe to put into a sequence."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return "value"
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference, depth)
        if "const" in schema:
            return _json_literal(schema["const"])
        if isinstance(choices := schema.get("enum"), list) and choices:
            return _any_of([_json_literal(choice) for choice in choices])
        for key in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(key), list) and branches:
                rest = {name: part for name, part in schema.items() if name != key}
                return _any_of([self.value(_merged(rest, branch), depth + 1) for branch in branches])
        if isinstance(parts := schema.get("allOf"), list) and parts:
            whole = {name: part for name, part in schema.items() if name != "allOf"}
            for part in parts:
                whole = _merged(whole, self._resolved(part))
            return self.value(whole, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return (
                _any_of([self.value({**schema, "type": one}, depth + 1) for one in kind]) if kind else "value"
            )
        return self._typed(kind, schema, depth)

    def _typed(self, kind: object, schema: Mapping[str, Any], depth: int) -> str:
        if kind == "object" or (kind is None and "properties" in schema):
            return self.object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return self._array(schema, depth)
        if kind == "string":
            return self._string(schema)
        if kind == "integer":
            return "natural" if _at_least_zero(schema) else "integer"
        return kind if isinstance(kind, str) and kind in ("number", "boolean", "null") else "value"

    def object(self, schema: Mapping[str, Any], depth: int) -> str:
        """An expression for objects: required properties, then any of the others, in the schema's order."""
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            extra = schema.get("additionalProperties")
            if extra is False or (extra is None and properties is not None):
                return '"{}"'
            inner = self.value(extra, depth + 1) if isinstance(extra, Mapping) else "value"
            return rf'"{{" (string ": " {inner} (", " string ": " {inner})*)? "}}"'
        needed = schema.get("required")
        required = [name for name in properties if isinstance(needed, list) and name in needed]
        pairs = {
            name: f"{_literal(json.dumps(name, ensure_ascii=False) + ': ')} {self.value(part, depth + 1)}"
            for name, part in properties.items()
        }
        optional = [pairs[name] for name in properties if name not in required]
        followers = [f'(", " {pair})?' for pair in optional]
        if required:
            inside = ' ", " '.join(pairs[name] for name in required)
            return " ".join(['"{"', inside, *followers, '"}"'])
        starts = [" ".join([pair, *followers[index + 1 :]]) for index, pair in enumerate(optional)]
        return f'"{{" ({" | ".join(starts)})? "}}"'

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        item = self._named(self.value(schema.get("items"), depth + 1))
        least, most = _bound(schema, "minItems") or 0, _bound(schema, "maxItems")
        if most == 0:
            return '"[]"'
        more = f'(", " {item}){{{max(0, least - 1)},{"" if most is None else max(most, least) - 1}}}'
        return f'"[" {item} {more} "]"' if least else f'"[" ({item} {more})? "]"'

    def _string(self, schema: Mapping[str, Any]) -> str:
        least, most = _bound(schema, "minLength") or 0, _bound(schema, "maxLength")
        if not least and most is None:
            return "string"
        return self._named(rf'"\"" char{{{least},{"" if most is None else max(most, least)}}} "\""')

    def _named(self, body: str) -> str:
        """A rule of its own for what is repeated: llama.cpp refuses a long repetition inside another."""
        if body in _BASE:
            return body
        known = (name for name, there in self._rules.items() if there == body)
        return next(known, None) or self.add(f"part{len(self._rules)}", body)

    def _reference(self, reference: str, depth: int) -> str:
        target = self._resolved({"$ref": reference})
        if not isinstance(target, Mapping):
            return "value"
        key = (id(self.document), reference)
        if key not in self._references:
            self._references[key] = f"ref{len(self._references)}"
            self.add(self._references[key], self.value(target, min(depth, 1)))
        return self._references[key]

    def _resolved(self, schema: Any) -> Any:
        seen = set()
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            if reference in seen or not reference.startswith("#"):
                return None
            seen.add(reference)
            schema = self.document
            for step in reference[1:].split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901 - unescaped as RFC 6901 says
                schema = schema.get(step) if isinstance(schema, Mapping) else None
        return schema


def _merged(base: Mapping[str, Any], extra: Any) -> dict[str, Any]:
    if not isinstance(extra, Mapping):
        return dict(base)
    merged = {**base, **extra}
    for key in ("properties", "required"):
        mine, theirs = base.get(key), extra.get(key)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            merged[key] = {**mine, **theirs}
        elif isinstance(mine, list) and isinstance(theirs, list):
            merged[key] = [*mine, *theirs]
    return merged


def _bound(schema: Mapping[str, Any], key: str) -> int | None:
    bound = schema.get(key)
    return bound if isinstance(bound, int) and 0 <= bound <= _LONGEST else None


def _at_least_zero(schema: Mapping[str, Any]) -> bool:
    bounds = (schema.get("minimum"), schema.get("exclusiveMinimum"))
    return any(isinstance(bound, (int, float)) and bound >= 0 for bound in bounds)


def _any_of(ways: list[str]) -> str:
    unique = list(dict.fromkeys(ways))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def _json_literal(value: Any) -> str:
    return _literal(json.dumps(value, ensure_ascii=False))


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
