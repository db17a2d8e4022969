"""Labels: what can be one, and that no two share a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.display import visible
from tau.errors import MemoryRefused
from tau.memory.labels import file_name, label_of, on_disk, parse


def usable(label: str) -> bool:
    try:
        file_name(label)
    except MemoryRefused:
        return False
    return True


@pytest.mark.parametrize(
    "label", ["C", "C++", "C#", "c", "two words", "é 漢字", "a.b", "-x", "x" * 100, "~", "x.md"]
)
def test_a_file_is_called_as_its_label(label: str) -> None:
    assert file_name(label) == f"{label}.md"
    assert label_of(f"{label}.md") == label


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("a/b", "it holds a /"),
        ("..", "it begins or ends with a dot or a space"),
        (".seeded", "it begins or ends with a dot or a space"),
        ("a ", "it begins or ends with a dot or a space"),
        ("a.", "it begins or ends with a dot or a space"),
        ("a\0b", "it holds a character that cannot be seen"),
        ("a\nb", "it holds a character that cannot be seen"),
        ("a\x1b[31m", "it holds a character that cannot be seen"),
        ("a\u202eb", "it holds a character that cannot be seen"),
        ("a\u200bb", "it holds a character that cannot be seen"),
        ("caf\udce9", "it holds a character that cannot be seen"),
        ("x" * 101, "it is longer than 100 bytes"),
        ("é" * 51, "it is longer than 100 bytes"),
    ],
)
def test_what_cannot_be_a_label(label: str, reason: str) -> None:
    with pytest.raises(MemoryRefused, match=reason) as caught:
        file_name(label)
    assert "\n" not in caught.value.line()
    assert visible(caught.value.line()) == caught.value.line()


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_two_labels_share_a_file(one: str, other: str) -> None:
    if usable(one) and usable(other):
        assert (file_name(one) == file_name(other)) == (one == other)


@given(st.text(max_size=60))
def test_any_label_that_can_be_used_names_a_file_of_one_folder(
    tmp_path_factory: pytest.TempPathFactory, label: str
) -> None:
    if not usable(label):
        return
    folder = tmp_path_factory.mktemp("labels")
    (folder / file_name(label)).write_bytes(b"x")
    assert [path.name for path in folder.iterdir()] == [file_name(label)]
    assert label_of(file_name(label)) == label
    for scope in ("global", "project"):
        assert parse(f"{scope}/{label}.md") == (scope, label)
    if not label.endswith(".md"):
        assert parse(label) == ("project", label)
        assert parse(f"global/{label}") == ("global", label)


def test_what_a_label_names() -> None:
    assert parse("preferences") == ("project", "preferences")
    assert parse(" preferences.md\n") == ("project", "preferences")
    assert parse("global") == ("project", "global")
    assert parse("caf\udcc3\udca9") == ("project", "café")  # as arguments come in an ASCII locale
    assert parse("project/global") == ("project", "global")
    with pytest.raises(MemoryRefused, match="neither a global memory nor one of this project"):
        parse("elsewhere/x")
    for label in (
        "a\ud83d",
        "a\udcff",
        "global/../x",
        "project/a/b",
        "/etc/passwd",
        "../x",
        "global/",
        ".md",
    ):
        with pytest.raises(MemoryRefused):
            parse(label)


def test_only_markdown_has_a_label() -> None:
    for name in ("notes.txt", "README", "x.MD", ".md", ".x.md", "a\x1b.md"):
        with pytest.raises(MemoryRefused):
            label_of(name)


def test_a_name_that_differs_in_case_alone_is_what_the_disk_says_it_is(tmp_path: Path) -> None:
    (tmp_path / "Port.md").write_bytes(b"x")
    (tmp_path / "other.md").write_bytes(b"x")
    same = (tmp_path / "port.md").exists()
    assert on_disk("port.md", tmp_path) == ("Port.md" if same else "port.md")
    assert on_disk("Port.md", tmp_path) == "Port.md"
    assert on_disk("new.md", tmp_path) == "new.md"
    assert on_disk("new.md", tmp_path / "missing") == "new.md"
