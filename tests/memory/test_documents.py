"""Reading memory files: what is one, what of it counts, and what cannot be read is named."""

from __future__ import annotations

import os
import string
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.memory.documents import LARGEST, front_matter, line_count, read
from tests.memory.conftest import Desk, write
from tests.memory.test_places import AS_ROOT

BELL = (
    '"bell\\x07" cannot be the label of a memory: it holds a character that cannot be seen'
    " (a label is a few plain words, such as worktree-preferences)"
)


def test_global_files_come_first_each_by_name(desk: Desk) -> None:
    where = desk.made("quail")
    for name in ("b.md", "a.md", "B.md", "é.md"):
        write(where.shared, name, f"global {name}")
        write(where.memory, name, f"project {name}")
    documents, problems = read(where)
    assert problems == []
    assert [document.title for document in documents] == [
        *(f"global/{name}" for name in ("B.md", "a.md", "b.md", "é.md")),
        *(f"project/{name}" for name in ("B.md", "a.md", "b.md", "project.md", "é.md")),
    ]
    first = documents[0]
    assert (first.scope, first.path, first.text) == ("global", where.shared / "B.md", "global B.md")
    assert first.digest == sha256(b"global B.md").hexdigest()
    assert first.modified_ns == first.path.stat().st_mtime_ns


def test_nothing_there_is_nothing_read(desk: Desk) -> None:
    assert read(desk.find("quail")) == ([], [])


def test_bytes_stay_as_they_are_and_text_is_utf_8_whatever_it_holds(desk: Desk) -> None:
    where = desk.made("quail")
    data = b"\xef\xbb\xbfcaf\xe9 \xc3\xa9 \xe6\xbc\xa2\r\n\x00\xed\xa0\x80"
    write(where.shared, "odd.md", data)
    document = read(where)[0][0]
    assert document.data == data
    assert document.text == "caf\ufffd é 漢\r\n\x00\ufffd\ufffd\ufffd"


def test_only_regular_files_are_read_and_what_is_not_is_named(desk: Desk) -> None:
    where = desk.made("quail")
    secret = write(desk.top, "secret.md", "SECRET")
    (where.shared).mkdir()
    (where.shared / "link.md").symlink_to(secret)
    (where.shared / "dangling.md").symlink_to("nowhere")
    (where.shared / "folder.md").mkdir()
    os.mkfifo(where.shared / "pipe.md")
    write(where.shared, "large.md", b"x" * (LARGEST + 1))
    write(where.shared, "bell\x07.md", "x")
    write(where.shared, "UPPER.MD", "x")
    for name in (".seeded", ".lock", ".draft.md", "notes.txt", "x.md~"):
        write(where.shared, name, "nobody's memory")
    write(where.shared, "good.md", b"x" * LARGEST)
    documents, problems = read(where)
    assert [document.title for document in documents] == ["global/good.md", "project/project.md"]
    shared = where.shared
    assert problems == [
        f"{shared}/UPPER.MD is not read: UPPER.MD does not end in .md (rename it to NAME.md)",
        f"{shared}/bell\\x07.md is not read: {BELL}",
        f"{shared}/dangling.md cannot be read: a symbolic link, which is never followed",
        f"{shared}/folder.md cannot be read: not a regular file",
        f"{shared}/large.md is larger than 1,000 kB, so it is not read",
        f"{shared}/link.md cannot be read: a symbolic link, which is never followed",
        f"{shared}/pipe.md cannot be read: not a regular file",
    ]


@pytest.mark.parametrize("above", ["memory", "projects", "project"])
def test_no_folder_on_the_way_is_a_link(desk: Desk, tmp_path: Path, above: str) -> None:
    where = desk.made("quail")
    write(where.shared, "a.md", "x")
    place = {"memory": where.shared, "projects": where.project.parent, "project": where.project}[above]
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    documents, problems = read(where)
    shown = where.shared if above == "memory" else where.memory
    assert problems == [f"{shown} cannot be read: a symbolic link, which is never followed"]
    assert [document.scope for document in documents] == ["project" if above == "memory" else "global"]


@AS_ROOT
def test_a_file_of_another_user_is_not_read(desk: Desk) -> None:
    where = desk.made("quail")
    path = write(where.memory, "planted.md", "x")
    os.chown(path, 12_345, 12_345)
    documents, problems = read(where)
    assert [document.name for document in documents] == ["project.md"]
    assert problems == [f"{path} belongs to another user, so it is not read"]


def test_front_matter_says_what_came_with_tau_and_what_came_from_outside(desk: Desk) -> None:
    where = desk.made("quail")
    write(where.shared, "a.md", "---\nbuiltin: true\n---\nbody\n")
    write(where.shared, "b.md", '---\r\norigin: "https://x.example/a: b"\r\norigin: mine\r\n---\r\nbody\r\n')
    write(where.shared, "c.md", "body\n---\nbuiltin: true\n---\n")
    a, b, c, _ = read(where)[0]
    assert (a.builtin, a.origin) == (True, "")
    assert (b.builtin, b.origin) == (False, "https://x.example/a: b")
    assert (c.builtin, c.origin) == (False, "")
    assert front_matter(b.text)[1] == "body\r\n"


@pytest.mark.parametrize(
    ("text", "keys", "body"),
    [
        ("---\na: 1\nb:\n# note\n  - item\n\n---\nx", {"a": "1", "b": ""}, "x"),
        ("---\n---\nx", {}, "x"),
        ("---\na: 1\n---", {"a": "1"}, ""),
        ("---\na: 1\nx", {}, "---\na: 1\nx"),
        ("---\nA rule above and below.\n---\nx", {}, "---\nA rule above and below.\n---\nx"),
        ("----\na: 1\n---\nx", {}, "----\na: 1\n---\nx"),
        ("", {}, ""),
        ("---", {}, "---"),
    ],
)
def test_front_matter(text: str, keys: dict[str, str], body: str) -> None:
    assert front_matter(text) == (keys, body)


@given(st.text(alphabet=string.printable + "é\u2028\x85", max_size=80), st.booleans())
def test_front_matter_never_fails_and_loses_nothing_of_the_body(text: str, fenced: bool) -> None:
    whole = f"---\nkey: value\n---\n{text}" if fenced else text
    keys, body = front_matter(whole)
    assert whole.endswith(body)
    if fenced:
        assert (keys, body) == ({"key": "value"}, text)


@given(st.lists(st.sampled_from(["", "a", "\r"]), max_size=6), st.booleans())
def test_lines_are_counted_as_an_editor_does(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    expected = len(lines) - (1 if lines and not lines[-1] and not ended else 0)
    assert line_count(text.encode()) == expected
