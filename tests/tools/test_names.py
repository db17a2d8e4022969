"""Names of any bytes are shown as valid text on one line, and what is shown can be opened."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tools import find_files, list_files, read_file, search_files
from tau.tools.context import ToolContext
from tau.tools.names import shown, unescaped
from tests.tools.conftest import watch

ODD = [b"caf\xe9.txt", b"two\nlines.txt", b"esc\x1b[2J.txt", b"back\\slash\xff.txt", "rtl\u202e.txt".encode()]


@given(st.binary(min_size=1, max_size=20).filter(lambda data: b"\0" not in data))
def test_any_name_comes_back(data: bytes) -> None:
    name = os.fsdecode(data)
    text = shown(name)
    text.encode()
    assert text.isprintable()
    assert name in (unescaped(text), text)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_listed_found_searched_and_opened(context: ToolContext, name: bytes) -> None:
    (context.directory / os.fsdecode(name)).write_text("needle\n")
    listed = list_files.listing(context, ".", watch=watch()).splitlines()[0].rsplit("  ", 1)[0]
    found = find_files.find(context, "*", ".", watch=watch()).splitlines()[0]
    assert listed == found == shown(os.fsdecode(name))
    for rg in ("", None):
        matched = search_files.search(context, "needle", ".", "", watch=watch(), rg=rg).splitlines()
        assert matched == [f"{found}:1: needle", "[1 matching line.]"]
    assert "needle" in read_file.read(context, found, offset=None, limit=None, watch=watch())[0]["text"]


def test_a_name_with_a_backslash_means_itself_first(context: ToolContext) -> None:
    (context.directory / "a\\x62").write_text("literal")
    (context.directory / "ab").write_text("escaped")
    assert "literal" in read_file.read(context, "a\\x62", offset=None, limit=None, watch=watch())[0]["text"]
