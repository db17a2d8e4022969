"""`@path` in a text: what is one, what is none, and that every name can be written and read back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.display import visible
from tau.input.mentions import begun, mention, mentions, pieces


def put(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("")


def named(text: str, directory: Path) -> list[str]:
    found = mentions(text, directory)
    assert all(text[one.start] == "@" for one in found)
    return [text[one.start : one.end] for one in found]


def test_what_names_a_file_is_a_mention(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "src/b.py", "my notes.txt", "a.py:1", "odd.")
    assert named("@a.py and @src/b.py, then @src/.", tmp_path) == ["@a.py", "@src/b.py", "@src/"]
    assert named('see @"my notes.txt": (@a.py), [@a.py] “@a.py” "@a.py"', tmp_path)[:3] == [
        '@"my notes.txt"', "@a.py", "@a.py",
    ]  # fmt: skip
    assert named("@src/b.py:12 @src/b.py:12-30. @a.py:1 @odd. @odd.!", tmp_path) == [
        "@src/b.py", "@src/b.py", "@a.py:1", "@odd.", "@odd.",
    ]  # fmt: skip
    assert named(f"@{tmp_path}/a.py", tmp_path / "src") == [f"@{tmp_path}/a.py"]
    assert named("@../a.py", tmp_path / "src") == ["@../a.py"]
    (one,) = mentions("@src", tmp_path)
    assert one.is_directory
    assert one.path == tmp_path / "src"


def test_addresses_decorators_and_names_of_nothing_are_none(tmp_path: Path) -> None:
    put(tmp_path, "example.org", "a.py")
    text = 'ana@example.org @property\ndef a(): @staticmethod @missing.py @ @" @"missing" @@a.py x@a.py @\0'
    assert named(text, tmp_path) == []


def test_a_home_directory_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path, "a.py")
    assert [one.path for one in mentions("@~/a.py", Path("/"))] == [tmp_path / "a.py"]


NAMES = st.binary(min_size=1, max_size=30).filter(
    lambda name: not set(b"/\0") & set(name) and name not in (b".", b"..")
)


@given(NAMES)
def test_every_name_that_a_file_can_have_is_read_back(name: bytes) -> None:
    check_round_trip(os.fsdecode(name))


@given(st.text(min_size=1, max_size=12).filter(lambda name: not set("/\0") & set(name)))
def test_every_text_that_can_be_a_name_is_read_back(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    if name not in (".", ".."):
        check_round_trip(name)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.py", "@a.py"),
        ("src/a b.py", '@"src/a b.py"'),
        ('say "hi".txt', '@"say \\"hi\\".txt"'),
        ("back\\slash", '@"back\\\\slash"'),
        ("new\nline", '@"new\\nline"'),
        ("\x1b[31m", '@"\\x1b[31m"'),
        ("\u202ertl", '@"\\u202ertl"'),
        (os.fsdecode(b"caf\xe9"), '@"caf\\xe9"'),
        ("שלום", "@שלום"),
        ("(app)/page.tsx", '@"(app)/page.tsx"'),
        ("a.py:12", '@"a.py:12"'),
        ("v1.", '@"v1."'),
        ("v1:@2", '@"v1:@2"'),
        ("a@b", "@a@b"),
        ("\\\\n", '@"\\\\\\\\n"'),
    ],
)
def test_how_names_are_written(name: str, written: str) -> None:
    assert mention(name) == written
    check_round_trip(name)


def check_round_trip(name: str) -> None:
    """What is written for a name is a mention of it, on one line, safe to show, at any place in a text."""
    written = mention(name)
    assert visible(written) == written
    assert "\n" not in written
    for before, after in (("", ""), ("look at ", " please"), ("(", ", and")):
        text = before + written + after
        assert begun(text, len(before + written.rstrip('"'))) == (len(before), name.removesuffix('"')) or (
            name.endswith(('"', "\\"))  # its last characters are part of the writing
        )
        reads = text[len(before) :]
        assert read_back(reads) == name


def read_back(text: str) -> str:
    """The path of the mention that a text begins with, as if every file were there."""
    import tau.input.mentions as module

    match = module._MENTION.match(text)
    assert match is not None
    if match["quoted"] is not None:
        return os.fsdecode(module.read(match["quoted"]).encode("utf-8", "surrogateescape"))
    ways = list(module._ways(match["plain"]))
    longest = text[1:].split(" ", maxsplit=1)[0].rstrip(",")
    assert longest in ways
    return longest


def test_files_with_such_names_are_really_found(tmp_path: Path) -> None:
    names = ["a b", 'q"', "n\nl", "\u202e", os.fsdecode(b"\xff\xfe"), "back\\", "'", "@at", "[x]", "a,", "~"]
    put(tmp_path, *names)
    for name in names:
        text = f"see {mention(name)}, please"
        (one,) = mentions(text, tmp_path)
        assert one.path == tmp_path / name
        assert text[one.end :] == ", please"


def test_the_mention_that_is_being_written() -> None:
    def at_end(text: str) -> tuple[int, str] | None:
        return begun(text, len(text))

    assert at_end("look at @src/m") == (8, "src/m")
    assert at_end("@") == (0, "")
    assert at_end('@"my no') == (0, "my no")
    assert at_end('@"') == (0, "")
    assert at_end('@"my notes.txt"') is None
    assert at_end("@src done") is None
    assert at_end("ana@example") is None
    assert at_end("(@a") == (1, "a")
    assert at_end("") is None
    assert begun("@abc def", 2) == (0, "a")
    assert at_end("@a @b") == (3, "b")
    assert at_end("@a,@b") == (3, "b")
    assert at_end('@"@b') == (0, "@b")
    assert at_end("x" * 600_000 + " @b") == (600_001, "b")


def test_long_texts_take_no_time(tmp_path: Path) -> None:
    import time

    put(tmp_path, "a.py")
    began = time.monotonic()
    for text in (
        "@" * 600_000,
        "@." * 300_000,
        '@"' * 300_000,
        "@a" + "." * 600_000 + "x",
        "@a.py " * 100_000,
    ):
        mentions(text, tmp_path)
        begun(text, len(text))
    assert time.monotonic() - began < 5


@given(st.text(max_size=20))
def test_pieces_are_safe_and_one_for_each_character(path: str) -> None:
    shown = pieces(path)
    assert len(shown) == len(path)
    assert visible("".join(shown)) == "".join(shown)
    assert "\n" not in "".join(shown)
