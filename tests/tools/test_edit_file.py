"""`edit_file`: exact replacements, the bytes around them, and what a model is told when one cannot be."""

from __future__ import annotations

import os
import re
import resource
import shutil
import struct
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from tau.tools import edit_file, near_misses, read_file
from tau.tools.changing import Changer, digest
from tau.tools.context import ToolContext
from tau.tools.refusals import Cancelled, Refused
from tau.tools.unified_diff import difference
from tests.tools.conftest import agent_with, called, results, text, use, watch


def put(context: ToolContext, data: bytes | str, name: str = "f") -> Path:
    path = context.directory / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def changer(context: ToolContext) -> Changer:
    return Changer(context, lambda use: edit_file.plan(context, use))


def edit(context: ToolContext, *edits: tuple[str, str], path: str = "f") -> str:
    """Make edits as a call would that nobody was asked about."""
    wanted = [{"old": old, "new": new} for old, new in edits]
    return changer(context).run(use(path=path, edits=wanted), None)


def refusal(context: ToolContext, arguments: dict[str, Any]) -> str:
    """Why a call is refused, before anybody is asked and when it runs."""
    tool, call = changer(context), use(**arguments)
    with pytest.raises(Refused) as asked:
        tool.preview(call)
    with pytest.raises(Refused) as run:
        tool.run(call, None)
    assert str(asked.value) == str(run.value)
    return str(run.value)


def refused(context: ToolContext, *edits: tuple[str, str], path: str = "f") -> str:
    return refusal(context, {"path": path, "edits": [{"old": old, "new": new} for old, new in edits]})


def test_through_an_agent(context: ToolContext) -> None:
    file = put(context, "one\ntwo\nthree\nfour\nfive\n")
    result = called(
        edit_file.tools(context), "edit_file", path="f", edits=[{"old": "three\n", "new": "3\nand\n"}]
    )
    assert result["status"] == "success"
    assert text(result) == (
        "Edited f: 1 edit, 2 lines added, 1 removed.\n"
        "--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n one\n two\n-three\n+3\n+and\n four\n five"
    )
    assert file.read_text() == "one\ntwo\n3\nand\nfour\nfive\n"


def test_it_changes_the_machine_and_shows_what(context: ToolContext) -> None:
    file = put(context, "one\n")
    (tool,) = edit_file.tools(context)
    assert (tool.tier, tool.asks) == (2, False)  # type: ignore[attr-defined]  # declared by the tool kit
    assert (tool.subject.kind, tool.subject.argument) == ("path", "path")  # type: ignore[attr-defined]  # as above
    assert tool.tool_spec["inputSchema"]["json"]["required"] == ["path", "edits"]
    shown = tool.preview(use(path="f", edits=[{"old": "one", "new": "two"}]))  # type: ignore[attr-defined]  # as above
    assert shown == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two"
    assert file.read_text() == "one\n"


# What is written ------------------------------------------------------------------------------------

CHARACTERS = st.text(st.sampled_from("ab \t\n\n\né🎉\u2028\u0085\x0c'"), max_size=30)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(CHARACTERS, min_size=2, max_size=5),
    replaced=st.lists(st.tuples(CHARACTERS.filter(bool), CHARACTERS), min_size=4, max_size=4),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]),
    endings=st.tuples(st.sampled_from(["\n", "\r\n"]), st.sampled_from(["\n", "\r\n"])),
)
def test_edits_are_plain_replacements_and_can_be_undone(
    context: ToolContext,
    pieces: list[str],
    replaced: list[tuple[str, str]],
    mark: bytes,
    endings: tuple[str, str],
) -> None:
    (ending, model_ending), edits = endings, []
    text = f"\n{pieces[0]}"
    for number, (piece, (old, new)) in enumerate(zip(pieces[1:], replaced, strict=False)):
        text += f"<{number}{old}{number}>{piece}"
        edits.append((f"<{number}{old}{number}>", f"[{number}{new}{number}]"))
    codec = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(mark, "utf-8")

    def in_file(plain: str) -> bytes:
        return mark + plain.replace("\n", ending).encode(codec)

    file = put(context, in_file(text))
    given_edits = [(old.replace("\n", model_ending), new.replace("\n", model_ending)) for old, new in edits]
    edit(context, *given_edits)
    expected = text
    for old, new in edits:
        expected = expected.replace(old, new)
    assert file.read_bytes() == in_file(expected)
    edit(context, *[(new, old) for old, new in given_edits[::-1]])
    assert file.read_bytes() == in_file(text)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\nc\r\nd\n", "b\nc", "b\nx\nc", b"a\r\nb\nx\r\nc\r\nd\n"),  # untouched lines keep theirs
        (b"a\r\nb\nc\r\nd\n", "c\nd\n", "c\nx\ny\nd\n", b"a\r\nb\nc\r\nx\ny\nd\n"),  # new ones end as d does
        (b"a\nb\r\n", "b", "x\ny", b"a\nx\r\ny\r\n"),
        (b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny"),
        (b"a", "a", "x\ny\n", b"x\ny\n"),
        (b"a\nb", "a\n", "", b"b"),
        (b"a\r\nb\r\n", "a\r\nb", "c\nb", b"c\r\nb\r\n"),
        (b"a\nb\n", "a\r\nb", "c\r\nb", b"c\nb\n"),
        (b"a\rb\r", "b", "c", b"a\rc\r"),  # a carriage return by itself is a character like any other
        (b"caf\xe9 old\xff\n", "old", "new", b"caf\xe9 new\xff\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffa", "\ufeffb", b"\xef\xbb\xbfb\n"),  # as the difference showed it
        ("\ufeffa🎉\n".encode("utf-16-le"), "a", "ß", "\ufeffß🎉\n".encode("utf-16-le")),
        ("\ufeffa\n".encode("utf-32-be"), "a", "🎉", "\ufeff🎉\n".encode("utf-32-be")),
    ],
)  # fmt: skip
def test_the_bytes_around_an_edit(
    context: ToolContext, before: bytes, old: str, new: str, after: bytes
) -> None:
    file = put(context, before)
    edit(context, (old, new)).encode()
    assert file.read_bytes() == after


def test_edits_are_made_in_order_to_what_the_ones_before_left(context: ToolContext) -> None:
    file = put(context, "a b\n")
    edit(context, ("a", "c c"), ("c b", "d"))
    assert file.read_text() == "c d\n"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444 | 0o200, 0o664])
def test_mode_bits_stay_whatever_the_umask(context: ToolContext, mode: int) -> None:
    file = put(context, "a\n")
    file.chmod(mode)
    before = os.umask(0o077)
    try:
        edit(context, ("a", "b"))
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o7777 == mode
    assert os.listdir(context.directory) == ["f"]


def test_attributes_stay(context: ToolContext) -> None:
    file = put(context, "a\n")
    kept = hasattr(os, "setxattr")
    if kept:
        try:
            os.setxattr(file, "user.tau.test", b"kept")
        except OSError:  # a file system without them
            kept = False
    edit(context, ("a", "b"))
    assert file.read_text() == "b\n"
    assert not kept or os.getxattr(file, "user.tau.test") == b"kept"


def access_list(*entries: tuple[int, int, int]) -> bytes:
    """An access list as Linux stores it: tag, rights and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def test_an_access_list_stays_and_none_is_inherited(context: ToolContext) -> None:
    files = [put(context, "a\n", name) for name in ("listed", "plain")]
    nobody = 0xFFFFFFFF
    given = access_list((1, 6, nobody), (2, 6, 1234), (4, 0, nobody), (16, 6, nobody), (32, 0, nobody))
    kept = hasattr(os, "setxattr")
    if kept:
        try:
            os.setxattr(files[0], "system.posix_acl_access", given)
            os.setxattr(context.directory, "system.posix_acl_default", given)
        except OSError:  # a file system without them
            kept = False
    for file in files:
        edit(context, ("a", "b"), path=file.name)
        assert file.read_text() == "b\n"
    assert not kept or os.getxattr(files[0], "system.posix_acl_access") == given
    assert not kept or "system.posix_acl_access" not in os.listxattr(files[1])


def test_a_link_leads_to_the_file_that_is_changed(context: ToolContext) -> None:
    file = put(context, "a\n", "real")
    (context.directory / "link").symlink_to("real")
    assert edit(context, ("a", "b"), path="link").startswith("Edited real:")
    assert (context.directory / "link").is_symlink()
    assert file.read_text() == "b\n"


def test_another_name_of_the_file_keeps_the_old_content(context: ToolContext, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("a\n")
    (context.directory / "f").hardlink_to(outside)
    assert "had another name, which keeps the old content (hard links)" in edit(context, ("a", "b"))
    assert outside.read_text() == "a\n"


def test_the_disk_is_full(context: ToolContext) -> None:
    file = put(context, "a\n" + "x" * 100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, hard))
    try:
        with pytest.raises(Refused, match=r"f cannot be written: File too large; nothing was changed"):
            edit(context, ("a", "b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == "a\n" + "x" * 100_000
    assert os.listdir(context.directory) == ["f"]


# What is shown is what runs -------------------------------------------------------------------------


class Meanwhile(HookProvider):
    """Shows a call as the gate does, then lets something happen before it runs."""

    def __init__(self, happen: Any) -> None:
        self.happen = happen
        self.shown = ""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.before)

    def before(self, event: BeforeToolCallEvent) -> None:
        self.shown = event.selected_tool.preview(event.tool_use)  # type: ignore[union-attr]  # a tool of tau
        self.happen()


def test_what_is_shown_is_what_the_result_says(context: ToolContext) -> None:
    put(context, "one\n")
    person = Meanwhile(lambda: None)
    result = called(
        edit_file.tools(context), "edit_file", [person], path="f", edits=[{"old": "one", "new": "two"}]
    )
    assert text(result).partition("\n")[2] == person.shown
    assert result["status"] == "success"


def test_a_file_that_changes_while_the_person_is_asked(context: ToolContext) -> None:
    file = put(context, "one\nmore\n")
    person = Meanwhile(lambda: file.write_text("one\nmore, and more\n"))
    result = called(
        edit_file.tools(context), "edit_file", [person], path="f", edits=[{"old": "one", "new": "two"}]
    )
    assert result["status"] == "error"
    assert "f changed after the person was shown this call, so it was not carried out" in text(result)
    assert file.read_text() == "one\nmore, and more\n"


def test_a_link_that_is_turned_while_the_person_is_asked(context: ToolContext) -> None:
    files = [put(context, "one\n", name) for name in ("a", "b")]
    link = context.directory / "link"
    link.symlink_to("a")

    def turn() -> None:
        link.unlink()
        link.symlink_to("b")

    result = called(
        edit_file.tools(context),
        "edit_file",
        [Meanwhile(turn)],
        path="link",
        edits=[{"old": "one", "new": "two"}],
    )
    assert "changed after the person was shown this call" in text(result)
    assert [file.read_text() for file in files] == ["one\n", "one\n"]


def test_two_calls_that_were_shown_together(context: ToolContext) -> None:
    """The second was shown against a file that the first has changed since; asked again, it runs."""
    file = put(context, "one\ntwo\n")
    tool = changer(context)
    calls = [use(old, path="f", edits=[{"old": old, "new": old.upper()}]) for old in ("one", "two")]
    for call in calls:
        tool.preview(call)
    tool.run(calls[0], None)
    with pytest.raises(Refused, match="changed after the person was shown this call"):
        tool.run(calls[1], None)
    assert file.read_text() == "ONE\ntwo\n"
    tool.preview(calls[1])
    tool.run(calls[1], None)
    assert file.read_text() == "ONE\nTWO\n"


def test_calls_at_the_same_time_lose_nothing(context: ToolContext) -> None:
    words = [f"word{number:02}" for number in range(24)]
    file = put(context, "\n".join(words))
    tool = changer(context)
    calls = [use(word, path="f", edits=[{"old": word, "new": word.upper()}]) for word in words]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda call: tool.run(call, None), calls))
    assert file.read_text() == "\n".join(words).upper()


def test_a_cancelled_call_writes_nothing(context: ToolContext) -> None:
    file = put(context, "one\n")
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        changer(context).run(use(path="f", edits=[{"old": "one", "new": "two"}]), cancelled)
    assert file.read_text() == "one\n"


def test_a_file_that_changed_since_it_was_read(context: ToolContext) -> None:
    file = put(context, "one\n")
    read_file.read(context, "f", offset=None, limit=None, watch=watch())
    file.write_text("one\ntwo\n")
    assert "f changed since you last read or wrote it" in refused(context, ("one", "1"))
    read_file.read(context, "f", offset=None, limit=None, watch=watch())
    edit(context, ("one", "1"))
    edit(context, ("two", "2"))  # what the model wrote itself it knows
    assert file.read_text() == "1\n2\n"


def test_an_edit_of_a_part_does_not_count_as_having_read_the_whole(context: ToolContext) -> None:
    file = put(context, "one\ntwo\n")
    edit(context, ("one", "1"))
    assert context.seen.digest(file) == ""
    read_file.read(context, "f", offset=None, limit=1, watch=watch())
    edit(context, ("two", "2"))
    assert context.seen.digest(file) == digest(b"1\n2\n")


# What models send -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": {"old": "one", "new": "two"}},
        {"edits": '[{"old": "one", "new": "two"}]'},
        {"edits": '{"old": "one", "new": "two"}'},
        {"edits": ['{"old": "one", "new": "two"}']},
        {"edits": [{"old_string": "one", "new_string": "two", "replace_all": False}]},
        {"edits": [{"oldText": "one", "newText": "two"}]},
        {"edits": [{"old": "one", "old_string": "one", "new": "two"}]},
        {"old_string": "one", "new_string": "two"},
        {"old": "one", "new": "two"},
    ],
)
def test_what_is_clear_is_taken(context: ToolContext, arguments: dict[str, Any]) -> None:
    file = put(context, "one\n")
    assert called(edit_file.tools(context), "edit_file", path="f", **arguments)["status"] == "success"
    assert file.read_text() == "two\n"


def test_edits_as_json_text_with_newlines_as_they_are(context: ToolContext) -> None:
    file = put(context, "one\ntwo\n")
    changer(context).run(use(path="f", edits='[{"old": "one\ntwo", "new": "1\\n2"}]'), None)
    assert file.read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "edits must be a list of objects with old and new"),
        ({"edits": None}, "edits must be a list of objects"),
        ({"edits": []}, "edits is empty; give at least one"),
        ({"edits": "[]"}, "edits is empty; give at least one"),
        ({"edits": "change one to two"}, "edits must be a list of objects"),
        ({"edits": '[{"old": "one", "new"'}, "edits must be a list of objects"),
        ({"edits": 3}, "edits must be a list of objects"),
        ({"edits": ["one"]}, "The edit must be an object with old and new, not a string"),
        ({"edits": [["one", "two"]]}, "The edit must be an object with old and new, not a list"),
        ({"edits": [{"old": "one"}]}, 'The edit has no new; to remove the old text give "new": ""'),
        ({"edits": [{"new": "one"}]}, "The edit has no old. Expected:"),
        ({"edits": [{"old": "one", "new": None}]}, "The edit has null for new; it must be a string"),
        ({"edits": [{"old": 1, "new": "2"}]}, "The edit has a number for old; it must be a string"),
        (
            {"edits": [{"old": "one", "old_string": "two", "new": "x"}]},
            "The edit has old and old_string, which differ; give old only",
        ),
        ({"edits": [{"old": "one", "new": "two"}], "old": "x"}, "Give every edit in edits"),
        ({"edits": [{"old": "", "new": "x"}]}, "old is empty; give text of the file"),
        ({"edits": [{"old": "one", "new": "one"}]}, "old and new are the same"),
        ({"edits": [{"old": "one\n", "new": "one\r\n"}]}, "old and new are the same, up to line endings"),
        ({"edits": [{"old": "one", "new": "a\0"}]}, "new has a NUL character"),
        ({"edits": [{"old": "one", "new": "ab\ud83d"}]}, r"half a surrogate pair, \ud83d, at character 3"),
        ({"edits": [{"old": "on\udce9", "new": "x"}]}, "old has half a surrogate pair"),
        (
            {"edits": [{"old": "one", "new": "x"}, {"old": "x", "new": "one"}]},
            "The edits undo each other: f would stay as it is",
        ),
        ({"path": None}, "The argument path is missing"),
        ({"path": ["f"]}, "The argument path must be a string, not a list"),
        ({"path": "g", "edits": [{"old": "a", "new": "b"}]}, "g does not exist"),
        ({"path": "sub", "edits": [{"old": "a", "new": "b"}]}, "sub is a directory"),
        ({"path": "../g", "edits": [{"old": "a", "new": "b"}]}, "outside the working directory"),
    ],
)
def test_what_is_not_clear_or_not_possible_is_refused(
    context: ToolContext, arguments: dict[str, Any], reason: str
) -> None:
    file = put(context, "one\n")
    (context.directory / "sub").mkdir()
    said = refusal(context, {"path": "f", **arguments})
    assert reason in said
    assert "\n" not in said
    assert file.read_text() == "one\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"one\0", "f is binary data of 4 bytes, not text"),
        (b"one" + b" " * 70_000 + b"\0", "f is binary data"),
        (b"\x89PNG\r\n\x1a\none", "f is a PNG image"),
        (b"%PDF-1.4 one \xff", "f is a PDF document"),
        (b"\xff\xfeo\x00n\x00e\x00\x00\xd8", "f is no valid UTF-16 text"),
        (b"one" + b"x" * 10_000_000, "f has 10,000,003 bytes; files over 10,000,000 are not changed"),
    ],
)
def test_what_is_no_text_or_too_large_is_refused(context: ToolContext, data: bytes, reason: str) -> None:
    file = put(context, data)
    assert reason in refused(context, ("one", "two"))
    assert file.read_bytes() == data


# What a model is told -------------------------------------------------------------------------------


def test_several_edits_are_made_together_or_not_at_all(context: ToolContext) -> None:
    file = put(context, "one\ntwo\n")
    said = refused(context, ("one", "1"), ("twoo", "2"))
    assert said.startswith("Edit 2 of 2: old is not in f; nothing was written.")
    assert file.read_text() == "one\ntwo\n"


def test_a_text_that_an_earlier_edit_took_away(context: ToolContext) -> None:
    put(context, "one\ntwo\n")
    assert "It was, before the edits that come earlier in this call." in refused(
        context, ("one\ntwo", "1"), ("two", "2")
    )


@pytest.mark.parametrize(
    ("data", "old", "count", "lines"),
    [
        ("a = 1\nb = a\n", "a", "2 times, on these lines;", ["     1\ta = 1", "     2\tb = a"]),
        ("a a\n", "a", "2 times, on these lines;", ["     1\ta a"]),
        ("aaa\n", "aa", "2 times, on these lines;", ["     1\taaa"]),  # which of the two is not clear
        ("a\n" * 10, "a", "10 times, on these lines;", [f"{n:>6}\ta" for n in range(1, 11)]),
        ("a\n" * 99, "a", "more than 10 times, first on these", [f"{n:>6}\ta" for n in range(1, 11)]),
        ("x\r\ny\r\nx\r\ny\r\n", "x\ny", "2 times, on these lines;", ["     1\tx", "     3\tx"]),
    ],
)
def test_a_text_that_is_there_more_than_once(
    context: ToolContext, data: str, old: str, count: str, lines: list[str]
) -> None:
    put(context, data)
    first, *shown = refused(context, (old, "b")).split("\n")
    assert first.startswith(f"old is in f {count}")
    assert "Take in more of the text around each place you mean" in first
    assert shown == lines


CODE = 'def greet(name):\n    if name:\n        print("Hello, " + name)   \n\n\nKEY = "***"\n'


@pytest.mark.parametrize(
    ("old", "why", "lines"),
    [
        (
            '    if name:\n        print("Hello, " + name)\n\n',
            "without the newlines at its beginning or end",
            [2, 3, 4],
        ),
        ('        print("Hello, " + name)\n\nKEY', "These lines are most like it", [3, 4, 5]),
        (
            '        print("Hello, " + name)\n\n\nKEY',
            "only in white space at the ends of lines",
            [3, 4, 5, 6],
        ),
        ("  if name:\n    print", "only in indentation", [2, 3]),
        ("\tif name:\n", "only in indentation", [2]),
        ("if name :", "only in white space", [2]),
        ("print('Hello, ' + name)", "only in quotes, dashes or other characters that look alike", [3]),
        ("print(“Hello, ” + name)", "only in quotes, dashes or other characters that look alike", [3]),
        ("DEF Greet(name)", "only in upper and lower case", [1]),
        ("print( 'Hello, '+name )", "only in white space and characters that look alike", [3]),
        ("def greet(nme):\n    if nme:\n", "These lines are most like it", [1, 2]),
        ("def greet(name):\n    if other:\n", "These lines are most like it", [1, 2]),
    ],
)
def test_the_nearest_lines_are_shown(context: ToolContext, old: str, why: str, lines: list[int]) -> None:
    put(context, CODE)
    said = refused(context, (old, "x"))
    assert why in said
    shown = [int(number) for number in re.findall(r"^ +(\d+)\t", said, re.MULTILINE)]
    assert shown == lines
    for number in lines:
        assert f"\t{CODE.splitlines()[number - 1]}\n" in f"{said}\n"


def test_the_first_difference_is_shown_with_its_white_space(context: ToolContext) -> None:
    put(context, "a:\n\tb\n")
    said = refused(context, ("a:\n    b", "x"))
    assert said.endswith('Line 2 of the file is "\\tb"\nwhere old has "    b".')


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("def greet(name):\\n    if name:", "x", "do not escape them twice"),
        (
            "     1\tdef greet(name):\n     2\t    if name:",
            "x",
            "without the line numbers that read_file puts",
        ),
        ("\ndef greet(name):", "x", "without the newlines at its beginning or end"),
        ("was greeted", "def greet(name):", "new is there already, on line 1"),
        ("import torch.nn", "x", "No lines of the file are like it; look at the file with read_file."),
    ],
)
def test_common_mistakes_are_named(context: ToolContext, old: str, new: str, why: str) -> None:
    put(context, CODE)
    assert why in refused(context, (old, new))


def test_a_masked_secret_in_old_is_named(context: ToolContext) -> None:
    put(context, 'key = "abcdefgh12345678"\n')
    said = refused(context, ('key = "***"', 'key = ""'))
    assert "*** stands for a secret that was masked in what you read: leave it out of old." in said


def test_a_mask_never_takes_the_place_of_the_secret(context: ToolContext) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz"
    file = put(context, f"debug = 1\nkey = {secret}\n")
    said = refused(context, ("debug = 1\n", "debug = 0\nkey = ***\n"))
    assert said.startswith("Line 2 of the new text has *** where the file has a secret")
    edit(context, ("debug = 1", 'debug = "***"'))
    assert file.read_text() == f'debug = "***"\nkey = {secret}\n'


def test_a_file_of_odd_bytes_is_told_in_valid_text(context: ToolContext) -> None:
    put(context, b"caf\xe9 one\ntwo\n")
    assert "caf\\xe9 one" in refused(context, ("cafe one\ntwo", "x"))
    assert " caf\\xe9 one\n" in edit(context, ("two", "2"))


@settings(max_examples=200, deadline=None)
@given(
    there=st.text(st.sampled_from("ab \t\n'\"’\\n*—\ufeff("), max_size=60),
    old=st.text(st.sampled_from("ab \t\n'\"’\\n*—\ufeff("), min_size=1, max_size=20),
)
def test_every_text_that_is_not_there_is_explained(there: str, old: str) -> None:
    if old in there:
        return
    said = near_misses.explain(there, old, "new")
    assert said
    assert not said.endswith("\n")


def test_a_large_file_is_explained_soon(context: ToolContext) -> None:
    lines = [f"    value_{number} = compute({number}, 'x')" for number in range(40_000)]
    put(context, "\n".join(lines))
    said = refused(context, ("value_31234 = compute(31234, 'y')", "z"))
    assert " 31235\t    value_31234 = compute(31234, 'x')" in said


# The difference -------------------------------------------------------------------------------------

APPLY = [
    ["git", "apply", "--whitespace=nowarn", "-"],
    *([["patch", "--binary", "-s", "-p1"]] if shutil.which("patch") else []),
]
LINE = st.sampled_from(["", "a", "b", "c d", "é", "\ta", "a\r", "-- x", "++ y", "\ufeffa"])
TEXT = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(LINE, max_size=25), st.sampled_from(["", "\n"])
)


@pytest.mark.parametrize("program", APPLY, ids=lambda program: program[0])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXT, new=TEXT, name=st.sampled_from(["file", "a file"]))
def test_other_programs_make_the_new_file_of_it(
    tmp_path: Path, program: list[str], old: str, new: str, name: str
) -> None:
    made = difference(old, new, name)
    assert (made.text == "") == (old == new)
    if old == new or not old or not new:  # the programs want to make or remove an empty file
        return
    file = tmp_path / name
    file.write_bytes(old.encode())
    patch = f"{made.text}\n".encode()
    subprocess.run(program, cwd=tmp_path, input=patch, check=True, capture_output=True)
    assert file.read_bytes() == new.encode()
    rows = made.text.split("\n")[2:]
    assert (made.added, made.removed) == tuple(sum(row.startswith(mark) for row in rows) for mark in "+-")


def test_far_changes_of_a_long_file_are_shown_by_themselves() -> None:
    lines = [f"line {number}" for number in range(30_000)]
    changed = ["first", *lines[1:15_000], "between", *lines[15_000:-1], "last"]
    made = difference("\n".join(lines), "\n".join(changed), "f")
    assert made.counts() == "3 lines added, 2 removed"
    assert made.text.count("@@ -") == 3


@pytest.mark.parametrize(
    ("apart", "hunks"), [(6, ["@@ -2,14 +2,14 @@"]), (7, ["@@ -2,7 +2,7 @@", "@@ -10,7 +10,7 @@"])]
)
def test_changes_whose_lines_around_touch_are_shown_together(apart: int, hunks: list[str]) -> None:
    lines = [f"{number}\n" for number in range(30)]
    changed = [*lines]
    for number in (4, 4 + apart + 1):
        changed[number] = "changed\n"
    made = difference("".join(lines), "".join(changed), "f")
    assert [row for row in made.text.split("\n") if row.startswith("@@")] == hunks


def test_the_whole_loop_through_an_agent(context: ToolContext) -> None:
    """A model reads, is refused, mends its call by what it is told, and the file is as it wanted."""
    file = put(context, "if a:\n\tb = 1\n")
    agent = agent_with(
        [*read_file.tools(context), *edit_file.tools(context)],
        ("read_file", {"path": "f"}),
        ("edit_file", {"path": "f", "edits": [{"old": "    b = 1", "new": "    b = 2"}]}),
        ("edit_file", {"path": "f", "edits": [{"old": "\tb = 1", "new": "\tb = 2"}]}),
    )
    agent("go")
    assert [result["status"] for result in results(agent)] == ["success", "error", "success"]
    assert file.read_text() == "if a:\n\tb = 2\n"
