"""`read_file`: lines, parts of lines, encodings, images, and what it refuses."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.config.settings import ContextSettings
from tau.tools import read_file
from tau.tools.context import ToolContext
from tau.tools.cutting import boundary, sendable
from tau.tools.line_reader import LineReader
from tau.tools.refusals import Cancelled, Refused, Watch
from tests.tools.conftest import called, make_context, text, watch


def read(context: ToolContext, path: str = "f", offset: Any = None, limit: int | None = None) -> str:
    (block,) = read_file.read(context, path, offset=offset, limit=limit, watch=watch())
    return str(block["text"])


def put(context: ToolContext, data: bytes | str, name: str = "f") -> None:
    (context.directory / name).write_bytes(data.encode() if isinstance(data, str) else data)


def test_through_an_agent(context: ToolContext) -> None:
    put(context, "one\ntwo\nthree\n")
    result = called(read_file.tools(context), "read_file", path="f", offset=2, limit=1)
    assert result["status"] == "success"
    assert text(result) == "     2\ttwo\n[Lines 2 to 2 of 3. Go on with offset=3.]"


def test_a_refusal_through_an_agent_is_an_error_result(context: ToolContext) -> None:
    put(context, "x", "notes.md")
    result = called(read_file.tools(context), "read_file", path="note.md")
    assert result["status"] == "error"
    assert text(result) == "Error: note.md does not exist; did you mean notes.md?"


def test_it_looks_only() -> None:
    (tool,) = read_file.tools(make_context_anywhere())
    assert tool.tier == 0  # type: ignore[attr-defined]  # declared by the tool kit
    schema = tool.tool_spec["inputSchema"]["json"]
    assert list(schema["properties"]) == ["path", "offset", "limit"]
    assert schema["required"] == ["path"]


def make_context_anywhere() -> ToolContext:
    from pathlib import Path

    return ToolContext(directory=Path("/nowhere"), state_dir=Path("/nowhere/state"), session_id="one")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", "[f is empty.]"),
        (b"\n", "     1\t"),
        (b"a", "     1\ta"),
        (b"a\n\nb\n", "     1\ta\n     2\t\n     3\tb"),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n[Lines end with CRLF.]"),
        (b"\xef\xbb\xbfa\n", "     1\ta"),
        ("é→🎉\n".encode(), "     1\té→🎉"),
        ("a\nß\n".encode("utf-16"), "     1\ta\n     2\tß\n[The file is encoded as UTF-16.]"),
        (
            b"caf\xe9 ol\xe9\n",
            "     1\tcaf\\xe9 ol\\xe9\n[The file is not valid UTF-8: bytes that are not are shown as \\xNN.]",
        ),
    ],
)
def test_text_of_every_kind(context: ToolContext, data: bytes, shown: str) -> None:
    put(context, data)
    assert read(context) == shown


def test_a_long_file_is_read_to_its_end_by_following_the_notes(context: ToolContext) -> None:
    lines = [f"line {number} " + "x" * (number % 70) for number in range(1, 5_001)]
    put(context, "\n".join(lines) + "\n")
    seen: list[str] = []
    offset: int | None = 1
    while offset is not None:
        shown = read(context, offset=offset)
        assert len(shown) <= context.context.spill_result_chars
        rows = [row.split("\t", 1) for row in shown.splitlines() if "\t" in row]
        assert [int(number) for number, _ in rows] == list(range(offset, offset + len(rows)))
        seen += [row for _, row in rows]
        note = re.search(r"\[Lines [\d,]+ to [\d,]+ of 5,000\. Go on with offset=(\d+)\.\]", shown)
        offset = int(note[1]) if note else None
    assert seen == lines
    assert shown.endswith("[That was the last line, 5,000.]")


def test_one_long_line_is_read_to_its_end_by_following_the_notes(context: ToolContext) -> None:
    line = "".join(f"{number:07}é" for number in range(25_000)) + "END"
    put(context, line)
    seen, offset = "", "1"
    while offset:
        shown = read(context, offset=offset)
        assert len(shown) <= context.context.spill_result_chars
        seen += shown.splitlines()[0].split("\t", 1)[1]
        note = re.search(r'Go on inside it with offset="(1:\d+)"', shown)
        offset = note[1] if note else ""
    assert seen == line


def test_several_long_lines_are_cut_and_said(context: ToolContext) -> None:
    put(context, "\n".join(["x" * 5_000] * 5) + "\nshort\n")
    shown = read(context).splitlines()
    assert [len(row) for row in shown[:5]] == [2_007] * 5
    assert shown[5] == "     6\tshort"
    assert shown[6] == (
        '[Line 1 is cut after character 2,000 of 5,000. Go on inside it with offset="1:2001".]'
    )
    assert shown[9] == "[2 more lines are cut at 2,000 characters.]"
    assert read(context, offset="5:4999").splitlines()[:2] == ["5:4999\txx", "     6\tshort"]


def test_a_line_that_takes_all_the_room_leaves_the_next_for_later(context: ToolContext) -> None:
    put(context, "x" * 40_000 + "\nsecond\n")
    shown = read(context, offset="1:1").splitlines()
    assert shown[1:] == [
        "[Lines 1 to 1 of 2. Go on with offset=2.]",
        '[Line 1 is cut after character 30,000 of 40,000. Go on inside it with offset="1:30001".]',
    ]


def test_a_cut_splits_no_character(context: ToolContext) -> None:
    family = "👩\u200d👩\u200d👧"
    put(context, "x" * 1_998 + family + "y" * 100)
    shown = read(context)
    assert shown.splitlines()[0].endswith("x")
    assert read(context, offset="1:1999").splitlines()[0] == f"1:1999\t{family}" + "y" * 100


def test_a_small_limit_on_results_holds(tmp_path: Any) -> None:
    context = make_context(tmp_path / "w", context=ContextSettings(spill_result_chars=5_300))
    put(context, "\n".join(["word " * 30] * 400))
    assert 3_000 < len(read(context)) <= 5_300
    put(context, "\0" + "y" * 9_000, "nul")
    (context.spill_dir).mkdir(parents=True)
    (context.spill_dir / "s.txt").write_bytes(b"\0" * 20_000)
    context.grants.add(context.spill_dir)
    assert len(read(context, str(context.spill_dir / "s.txt"), offset="1:5")) <= 5_300


@pytest.mark.parametrize(
    ("offset", "limit", "reason"),
    [
        (4, None, "f has 3 lines; there is no line 4"),
        ("2:9", None, "Line 2 of f has 3 characters; there is no character 9"),
        (0, None, "offset is a line number from 1"),
        (-3, None, "offset is a line number from 1"),
        ("end", None, "offset is a line number from 1"),
        ("1:0", None, "offset is a line number from 1"),
        (1, 0, "limit is a number of lines, at least 1"),
    ],
)
def test_impossible_places_are_refused(
    context: ToolContext, offset: Any, limit: int | None, reason: str
) -> None:
    for end in ("", "\n"):
        put(context, "one\ntwo\nthree" + end)
        with pytest.raises(Refused, match=reason):
            read(context, offset=offset, limit=limit)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\x02\x01\x01\x00" + b"\0" * 8, "an ELF executable or library of 16 bytes"),
        (b"SQLite format 3\x00" + b"\0" * 84, "an SQLite database of 100 bytes"),
        (b"PK\x03\x04\x00\x00", "a ZIP archive"),
        (b"abc\x00def", "binary data of 7 bytes"),
    ],
)
def test_binary_files_are_refused_with_type_and_size(context: ToolContext, data: bytes, kind: str) -> None:
    put(context, data)
    with pytest.raises(Refused, match=f"f is {kind}.*not text"):
        read(context)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("png", b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x08IHDR\0\0\0\1\0\0\0\1crc!"
         + b"\0\0\0\0IDATcrc!" + b"\0\0\0\0IENDcrc!"),
        ("jpeg", b"\xff\xd8\xff\xc0\0\x08\x08\0\1\0\1\1\xff\xda\0\2pixels\xff\xd9"),
        ("gif", b"GIF89a\1\0\1\0\0\0\0;"),
        ("webp", b"RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0\0\0\0\x9d\x01\x2a\1\0\1\0\0\0\0\0"),
    ],
)  # fmt: skip
def test_images_come_as_images(context: ToolContext, kind: str, data: bytes) -> None:
    put(context, data, "picture.of.any.name")
    result = called(read_file.tools(context), "read_file", path="picture.of.any.name")
    assert result["status"] == "success"
    said, image = result["content"]
    assert said["text"] == f"picture.of.any.name is a {kind.upper()} image of {len(data)} bytes:"
    assert image["image"] == {"format": kind, "source": {"bytes": data}}
    put(context, data[:-1], "cut")
    with pytest.raises(Refused, match=f"cut begins as a {kind.upper()} image and breaks off"):
        read(context, path="cut")


def test_an_image_too_large_for_providers_is_refused(context: ToolContext) -> None:
    put(context, b"\x89PNG\r\n\x1a\n" + b"\0" * read_file.IMAGE_BYTES)
    with pytest.raises(Refused, match="PNG image of 3,932,168 bytes; only images up to 3,932,160 bytes"):
        read(context)


def test_a_stray_nul_far_inside_is_shown_as_an_escape(context: ToolContext) -> None:
    put(context, "x" * 99 + "\n" + "line\n" * 20_000 + "a\0b\n")
    shown = read(context, offset=20_002)
    assert shown.splitlines()[0] == " 20002\ta\\x00b"


def test_a_huge_file_is_not_held(context: ToolContext) -> None:
    import tracemalloc

    with (context.directory / "f").open("wb") as file:
        for _ in range(80):
            file.write(b"0123456789abcde\n" * 65_536)
    tracemalloc.start()
    try:
        shown = read(context, offset=5_000_000, limit=2)
        assert shown.splitlines()[0] == "5000000\t0123456789abcde"
        assert shown.splitlines()[2] == "[Lines 5,000,000 to 5,000,001 of many. Go on with offset=5000002.]"
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_reading_stops_when_the_turn_is_cancelled(context: ToolContext) -> None:
    put(context, "line\n" * 10)
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        read_file.read(context, "f", offset=None, limit=None, watch=Watch(cancelled, 60))


def test_what_may_not_be_opened_is_said(context: ToolContext) -> None:
    import os

    put(context, "x", "locked")
    (context.directory / "locked").chmod(0)
    if os.geteuid() == 0:  # nothing is locked for root; the refusal is that of a directory instead
        assert read(context, "locked") == "     1\tx"
    else:
        with pytest.raises(Refused, match="locked cannot be opened: Permission denied"):
            read(context, "locked")


@settings(max_examples=150, deadline=None)
@given(
    content=st.text(alphabet="ab\né\r", max_size=60),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    first=st.integers(1, 12),
)
def test_lines_are_the_same_however_the_text_comes(content: str, sizes: list[int], first: int) -> None:
    def chunks() -> Any:
        at = turn = 0
        while at < len(content):
            size = sizes[turn % len(sizes)]
            yield content[at : at + size]
            at, turn = at + size, turn + 1

    expected = content.split("\n")
    if expected[-1] == "":
        expected.pop()
    reader = LineReader(chunks())
    found = reader.skip_to(first)
    assert found == (first <= len(expected))
    if found:
        assert reader.line(begin=0, keep=100) == (first, 0, expected[first - 1], len(expected[first - 1]))
    assert reader.count() == len(expected)


@given(st.text(max_size=30).map(lambda text: text * 4), st.integers(0, 130))
def test_a_boundary_is_at_or_before_and_near(content: str, position: int) -> None:
    found = boundary(content, position)
    assert 0 <= found <= min(position, len(content))
    assert min(position, len(content)) - found <= 64


@pytest.mark.parametrize(
    ("content", "position", "found"),
    [
        ("e\u0301x", 1, 0),
        ("ab", 1, 1),
        ("\U0001f1e9\U0001f1ea!", 1, 0),
        ("\ud83d\ude00", 1, 0),
        ("a\r\nb", 2, 1),
    ],
)
def test_characters_that_stay_whole(content: str, position: int, found: int) -> None:
    assert boundary(content, position) == found


def test_text_that_cannot_be_sent_is_escaped() -> None:
    assert sendable("a\0b \ud83d end \ud83d\ude00 é") == "a\\x00b \\ud83d end 😀 é"
