"""The scanner that finds keys' lines, against the standard parser."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.config.toml_lines import KeyPath, key_lines

DOCUMENT = '''\
# a comment with [brackets] and key = 1
top = 1
"quoted key" = "# no comment"
'literal' = 'x'

[table]   # trailing
plain = true
dotted.inner.deep = 1
text = """
fake = 1
[fake]
\\""" still text \\\\"""
after = 2
quotes = """a"""""
long = \'\'\'
[also.fake]
''\'\'\'
list = [
  1, # one
  { in_list = 2 },
  "]",
]
inline = { a = 1, "b c" = { d = [ { e = 3 } ] } }

[table . "sub.table"]
x = 1979-05-27T07:32:00Z

[[many]]
name = "first"
[many.child]
v = 1
[[many]]
name = "second"
[[many.deep]]
w = 1
[[many.deep]]
w = 2
[last]
'''


def test_every_kind_of_key_is_found_on_its_line() -> None:
    lines = key_lines(DOCUMENT)
    text = DOCUMENT.split("\n")

    def at(start: str, nth: int = 0) -> int:
        return [number for number, line in enumerate(text, 1) if line.startswith(start)][nth]

    assert set(_paths(tomllib.loads(DOCUMENT))) <= set(lines)
    expected: dict[KeyPath, int] = {
        ("top",): 2,
        ("quoted key",): 3,
        ("literal",): 4,
        ("table",): 6,
        ("table", "plain"): 7,
        ("table", "dotted"): 8,
        ("table", "dotted", "inner", "deep"): 8,
        ("table", "after"): at("after"),
        ("table", "quotes"): at("quotes"),
        ("table", "long"): at("long"),
        ("table", "list", 1, "in_list"): at("  { in_list"),
        ("table", "inline", "b c", "d", 0, "e"): at("inline"),
        ("table", "sub.table"): at("[table . "),
        ("table", "sub.table", "x"): at("x ="),
        ("many", 0, "name"): at("name"),
        ("many", 0, "child", "v"): at("v ="),
        ("many", 1): at("[[many]]", 1),
        ("many", 1, "name"): at("name", 1),
        ("many", 1, "deep", 1, "w"): at("w =", 1),
        ("last",): at("[last]"),
    }
    assert {path: lines[path] for path in expected} == expected


def test_windows_line_ends_count_once() -> None:
    assert key_lines("a = 1\r\n[b]\r\nc = 2\r\n")[("b", "c")] == 3


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ab.=[]{}\"'\\#,\n\r\t 1é")), max_size=60))
def test_never_fails_and_knows_every_key_the_parser_knows(text: str) -> None:
    lines = key_lines(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for path in _paths(document):
        assert path in lines
        assert 1 <= lines[path] <= text.count("\n") + 1


KEYS = st.text(min_size=1, max_size=8)
SCALARS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(max_size=20),
    st.floats(allow_nan=False),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
def test_no_key_is_known_before_its_line(document: dict[str, Any], multiline: bool) -> None:
    text = tomli_w.dumps(document, multiline_strings=multiline)
    lines = key_lines(text)
    parts = text.split("\n")
    for path in _paths(tomllib.loads(text)):
        assert path in lines
        before = "\n".join(parts[: lines[path] - 1])
        try:
            known = set(_paths(tomllib.loads(before)))
        except tomllib.TOMLDecodeError:
            continue
        assert path not in known


VALUE_TEXTS = (
    "1",
    "2020-01-01 10:00:00",
    '"# [x] = \\" y"',
    "'\\'",
    '"""\nk0 = 1\n[t0]\n"""',
    "'''\n[[t1]]\n'''",
    '[1, # ]\n "]",\n [2]]',
    "{ k0 = { k1 = [] } }",
    '""""quoted"""""',
)
FILLERS = ("", "# [t0] k0 = 1", "   ", "#", "\t# '''")
ENTRIES = st.lists(
    st.tuples(st.sampled_from(FILLERS), st.sampled_from(VALUE_TEXTS), st.booleans()), max_size=4
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), ENTRIES), max_size=4))
def test_finds_the_lines_a_document_was_built_with(
    tables: list[tuple[bool, list[tuple[str, str, bool]]]],
) -> None:
    lines: list[str] = []
    expected: dict[KeyPath, int] = {}
    for number, (of_array, entries) in enumerate(tables):
        lines.append(f"[[t{number}]]  # head" if of_array else f" [ t{number} ]")
        table: KeyPath = (f"t{number}", 0) if of_array else (f"t{number}",)
        expected[table] = len(lines)
        for place, (filler, value, quoted) in enumerate(entries):
            lines.append(filler)
            key = f"k {place}" if quoted else f"k{place}"
            expected[(*table, key)] = len(lines) + 1
            lines += (f"{json.dumps(key) if quoted else key} = {value}").split("\n")
    text = "\n".join(lines)
    found = key_lines(text)
    assert set(_paths(tomllib.loads(text))) <= set(found)
    assert {path: found[path] for path in expected} == expected


def test_deep_nesting_is_given_up_quietly() -> None:
    assert key_lines("a = 1\nb = " + "[" * 100_000)[("a",)] == 1


def _paths(value: Any, at: KeyPath = ()) -> list[KeyPath]:
    found: list[KeyPath] = [at] if at else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _paths(inner, (*at, index))
    return found
