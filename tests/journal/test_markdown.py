"""Markdown that people write, changed by tau: what is meant changes, every other byte stays."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.errors import JournalChanged, JournalRefused
from tau.journal import markdown
from tau.journal.markdown import Markdown, as_line, edit

BLOCKS = [
    "Some text about the work.",
    "Two lines of text\nwith trailing blanks  ",
    "- one",
    "- [ ] open\n- [x] done",
    "- [ ] outer\n  - [ ] inner\n    - deepest\n- [X] last",
    "* star\n\n* loose star\n\n  with a second paragraph",
    "1. first\n2. second",
    "+ plus\n  continued\nand lazily",
    "- - two at once",
    "-\n  late text",
    "- item with code\n  ```\n  - [ ] none\n  ```",
    " - a little in\n - again",
    "```sh\n## not a heading\n- [ ] no item\n```",
    "~~~\n### neither\n~~~",
    "<!--\n## hidden\n- [ ] hidden\n-->",
    "> - [x] recap\n> ## quoted",
    "| a | b |\n|---|---|\n| - x | y |",
    "<div>\n- html\n</div>",
    "---",
    "***",
    "    indented code\n    - no item",
    "[x]: https://example.org",
    "Tab:\tand byte \udcff here",
    "-\t[ ] tabbed\n\t- [x] sub",
    "1)  paren\n    - four in\n2) next",
    "- a\n\n  > quoted in it\n- b",
    "- [ ] noted <!-- sessions: ab -->",
    "10. ten\n11. eleven\n    continued",
    "-   wide marker\n    more",
    "- ",
    "  * two in\n    * [ ] sub\n\n      para",
    "- [ ] **bold** `code` [link](x)\n  second line",
    "* * *",
    "<!-- one line -->",
    "- ## heading in an item",
    ">quote\nlazy",
    "- [x]no blank",
]
TITLES = ["Open items", "Decisions ##", "Assumptions to validate", "Zwölf & mehr", "open ITEMS", "Active"]
HEADINGS = ["## {}", "# {}", "### {} ###", "## {}  ", "{}\n====", "{}\n---"]

headings = st.builds(
    lambda form, title: form.format(title), st.sampled_from(HEADINGS), st.sampled_from(TITLES)
)
parts = st.lists(st.one_of(st.sampled_from(BLOCKS), headings), max_size=9)
gaps = st.sampled_from(["\n\n", "\n\n", "\n", "\n\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A document with a heading at least, in any of the forms that files have."""
    text: str = draw(st.sampled_from(["", "---\ntitle: x\n## no: heading\n---\n", "---\na: 1\n...\n\n"]))
    text += draw(headings)
    for part in draw(parts):
        text += draw(gaps) + part
    text += draw(
        st.sampled_from(["", "\n", "\n\n", "\n\n```\n## never closed", "\n\n<!-- never closed\n## no"])
    )
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))
    bom: bytes = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return bom + text.encode("utf-8", "surrogateescape")


def whole_lines(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r\n") for line in data.removeprefix(b"\xef\xbb\xbf").splitlines()]


def contains_in_order(data: bytes, before: bytes) -> bool:
    """Whether every line of `before` still stands, in its order."""
    rest = iter(whole_lines(data))
    return all(line in rest for line in whole_lines(before))


def titles(document: Markdown) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in document.headings()]


def texts(document: Markdown) -> Counter[tuple[str, bool | None, int]]:
    return Counter((item.text, item.checked, item.depth) for item in document.items())


def ends(data: bytes) -> set[str]:
    crlf = data.count(b"\r\n")
    return ({"crlf"} if crlf else set()) | ({"lf"} if data.count(b"\n") > crlf else set())


@given(st.one_of(st.binary(max_size=200), documents()))
@settings(max_examples=150, deadline=None)
def test_reading_changes_no_byte(data: bytes) -> None:
    document = Markdown(data)
    document.headings()
    document.items()
    assert document.data == data


@given(documents(), st.data(), st.booleans())
@settings(max_examples=250, deadline=None)
def test_an_appended_item_is_in_its_section_and_nothing_else_changed(
    data: bytes, draw: st.DataObject, at_end: bool
) -> None:
    document = Markdown(data)
    before, items = titles(document), texts(document)
    section = draw.draw(st.sampled_from(document.sections()))
    number = document.sections().index(section)
    document.append(section, "- [ ] a new item", at_end=at_end)
    assert contains_in_order(document.data, data)
    assert titles(document) == before
    added = texts(document) - items
    assert added == Counter({("a new item", False, 0): 1})
    assert not items - texts(document)
    found = document.sections()[number]
    new = [item for item in document.items(found) if item.text == "a new item"]
    assert len(new) == 1
    assert found.body <= new[0].first < found.own_end
    if ends(data):
        assert ends(document.data) == ends(data)


@given(documents(), st.data())
@settings(max_examples=250, deadline=None)
def test_one_item_is_changed_and_every_other_line_stays(data: bytes, draw: st.DataObject) -> None:
    document = Markdown(data)
    items = [item for item in document.items() if item.text]
    if not items:
        return
    item = draw.draw(st.sampled_from(items))
    before, all_items = titles(document), texts(document)
    what = draw.draw(st.sampled_from(["replace", "tick", "untick", "remove"]))
    lines = whole_lines(data)
    if what == "remove":
        document.remove(item)
        left = [*lines[: item.first], *lines[item.last + 1 :]]
        now = whole_lines(document.data)
        assert now in (
            left,
            [*lines[: item.first], b"", *lines[item.last + 1 :]],
            [*lines[: item.first], *lines[item.last + 2 :]],  # of two blank lines that meet one stays
        )
        assert [line for line in now if line.strip()] == [line for line in left if line.strip()]
        assert titles(document) == before
        assert not texts(document) - all_items
        return
    if what == "replace":
        document.replace(item, as_line("# something - else"))
        wanted = ("\\# something - else", item.checked, item.depth)
    else:
        document.tick(item, what == "tick")
        wanted = (item.text, what == "tick", item.depth)
    now = whole_lines(document.data)
    assert now[: item.text_first] == lines[: item.text_first]
    behind = len(lines) - item.text_last - 1
    assert not behind or now[-behind:] == lines[-behind:]
    assert titles(document) == before
    expected = all_items - Counter({(item.text, item.checked, item.depth): 1}) + Counter({wanted: 1})
    assert texts(document) == expected


@given(documents(), st.sampled_from([None, "before", "after"]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_section_is_added_where_it_is_asked_for(data: bytes, where: str | None, under: bool) -> None:
    document = Markdown(data)
    before = titles(document)
    first = document.sections()[0]
    inside = document.section(first.title, level=first.level) if under else None
    beside = {where: "Open items"} if where else {}
    found = document.section("Open items", under=inside)
    added = document.add_section("Brand new", 6, under=inside, **beside)
    assert contains_in_order(document.data, data)
    assert Counter(titles(document)) - Counter(before) == Counter({(6, "Brand new"): 1})
    assert not Counter(before) - Counter(titles(document))
    assert document.data.count(b"###### Brand new") == 1
    document.append(added, "- [ ] in it")
    section = document.section("brand NEW ##", level=6)
    assert section is not None
    assert [item.text for item in document.items(section)][:1] == ["in it"]
    if found is not None and where == "after":
        assert section.line >= found.body
    if found is not None and where == "before":
        again = document.section("Open items", under=document.sections()[0] if under else None)
        assert again is not None
        assert section.line < again.line


def test_the_form_of_a_file_is_kept() -> None:
    data = b"\xef\xbb\xbf# Work\r\n\r\n## Open items\r\n\r\n## Notes\r\nx \xff\r\nlast line"
    document = Markdown(data)
    section = document.section("OPEN items")
    assert section is not None
    document.append(section, "- [ ] one\n- [ ] two")
    notes = document.section("notes")
    assert notes is not None
    document.append(notes, "- seen")
    assert document.data == (
        b"\xef\xbb\xbf# Work\r\n\r\n## Open items\r\n\r\n- [ ] one\r\n- [ ] two\r\n\r\n## Notes\r\n"
        b"x \xff\r\nlast line\r\n\r\n- seen\r\n"
    )


def test_an_item_of_an_old_edition_is_refused() -> None:
    document = Markdown(b"## A\n- x\n- y\n")
    first, second = document.items()
    document.tick(first, True)
    with pytest.raises(ValueError, match="look for it again"):
        document.remove(second)
    assert document.data == b"## A\n- [x] x\n- y\n"


@given(st.text(max_size=60).filter(lambda text: "\0" not in text and text.strip()))
@settings(max_examples=300, deadline=None)
def test_any_text_is_one_item_and_nothing_else(text: str) -> None:
    document = Markdown(b"## A\n\n- [ ] before\n- [ ] after\n\n## B\n")
    section = document.section("a")
    assert section is not None
    document.append(section, f"- [ ] {as_line(text)}")
    items = document.items()
    assert [(item.checked, item.depth) for item in items] == [(False, 0)] * 3
    assert titles(document) == [(2, "A"), (2, "B")]
    assert b"<!--" not in document.data.replace(b"\\<!--", b"")


def test_a_nul_is_refused() -> None:
    with pytest.raises(JournalRefused, match="NUL"):
        as_line("a\0b")


# On disk --------------------------------------------------------------------------------------------


def add(text: str, document: Markdown) -> None:
    section = document.section("Open items")
    if section is None:
        section = document.add_section("Open items", 2)
    document.append(section, f"- [ ] {text}")


def _add_many(path: str, who: str, count: int) -> None:
    for number in range(count):
        edit(Path(path), lambda document, number=number: add(f"{who} {number}", document))  # type: ignore[misc]  # mypy does not infer the default's type


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    path.write_bytes(b"# X\r\n\r\n## Open items\r\n\r\nTail stays\r\n")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_many, args=(str(path), who, 40)) for who in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    found = [item.text for item in Markdown(path.read_bytes()).items()]
    assert sorted(found) == sorted(f"{who} {number}" for who in "ab" for number in range(40))
    assert os.listdir(tmp_path) == ["context.md"]
    assert b"Tail stays\r\n" in path.read_bytes()


def test_an_edit_by_hand_in_between_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    path.write_bytes(b"## Open items\n")
    calls = []

    def change(document: Markdown) -> None:
        calls.append(document.data)
        if len(calls) == 1:  # an editor saves between tau's look and its write
            path.write_bytes(b"By hand\n\n## Open items\n")
        add("by tau", document)

    assert edit(path, change)
    assert path.read_bytes() == b"By hand\n\n## Open items\n- [ ] by tau\n"
    assert len(calls) == 2


def test_who_never_stops_writing_wins(tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    path.write_bytes(b"## Open items\n")

    def change(document: Markdown) -> None:
        path.write_bytes(path.read_bytes() + b"more\n")
        add("by tau", document)

    with pytest.raises(JournalChanged, match=r"context\.md was changed by somebody else"):
        edit(path, change)
    assert path.read_bytes() == b"## Open items\n" + b"more\n" * 5
    assert os.listdir(tmp_path) == ["context.md"]


def test_a_change_that_raises_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x")

    def change(document: Markdown) -> None:
        add("half", document)
        raise JournalRefused("no")

    with pytest.raises(JournalRefused, match="no"):
        edit(path, change)
    assert path.read_bytes() == b"x"


def test_modes_and_what_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with pytest.raises(JournalRefused, match="No such file"):
        edit(path, lambda document: add("x", document))
    old = os.umask(0o027)
    try:
        assert edit(tmp_path / "logs" / "x" / "b.md", lambda _: None, create=b"# B\n", root=tmp_path / "logs")
        assert edit(
            tmp_path / "own" / "c.md", lambda _: None, create=b"", root=tmp_path / "own", private=True
        )
    finally:
        os.umask(old)
    assert (tmp_path / "logs" / "x" / "b.md").read_bytes() == b"# B\n"
    assert (tmp_path / "logs" / "x" / "b.md").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "own" / "c.md").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    path.write_bytes(b"## Open items\n")
    path.chmod(0o664)
    inode = path.stat().st_ino
    assert not edit(path, lambda _: None)
    assert path.stat().st_ino == inode
    assert edit(path, lambda document: add("x", document))
    assert path.stat().st_mode & 0o777 == 0o664
    path.chmod(0o444)
    with pytest.raises(JournalRefused, match="write-protected"):
        edit(path, lambda document: add("y", document))


def test_a_file_stays_whose_it_is(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    path = tmp_path / "a.md"
    path.write_bytes(b"## Open items\n")
    path.chmod(0o640)
    os.chown(path, 12_345, 54_321)
    assert edit(path, lambda document: add("x", document))
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (12_345, 54_321, 0o640)


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(b"## Open items\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "linked").symlink_to(outside)
    (root / "a.md").symlink_to(outside / "a.md")
    for path in (root / "linked" / "a.md", root / "a.md"):
        with pytest.raises(JournalRefused, match="symbolic link"):
            edit(path, lambda document: add("x", document), root=root, create=b"")
    assert (outside / "a.md").read_bytes() == b"## Open items\n"


def test_a_file_is_made_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a.md"
    assert markdown.create(path, b"first", root=tmp_path / "logs")
    assert not markdown.create(path, b"second", root=tmp_path / "logs")
    assert path.read_bytes() == b"first"
    (tmp_path / "logs" / "b.md").symlink_to(tmp_path / "elsewhere")
    assert not markdown.create(tmp_path / "logs" / "b.md", b"x", root=tmp_path / "logs")
    assert not (tmp_path / "elsewhere").exists()
    assert sorted(markdown.listed(tmp_path / "logs", root=tmp_path / "logs")) == ["a.md", "b.md"]
    assert markdown.listed(tmp_path / "none", root=tmp_path / "none") == []
    assert markdown.read(path, root=tmp_path / "logs") == b"first"
    assert markdown.read(tmp_path / "logs" / "c.md") is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-16-le"])
def test_what_is_in_another_encoding_is_neither_read_nor_changed(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.md"
    data = "# A\r\n\r\n- one\r\n".encode(encoding)
    path.write_bytes(data)
    said = r"a\.md is UTF-16 or no text, so it is not read \(save it as UTF-8\)"
    with pytest.raises(JournalRefused) as refused:
        edit(path, lambda document: add("two", document))
    assert re.search(said, refused.value.line())
    with pytest.raises(JournalRefused) as refused:
        markdown.read(path)
    assert re.search(said, refused.value.line())
    assert path.read_bytes() == data


def test_a_byte_that_is_no_utf_8_is_read_and_the_file_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    data = "# A\n\n- caf\xe9\n".encode("latin-1")
    path.write_bytes(data)
    assert markdown.read(path) == data
    with pytest.raises(JournalRefused, match=r"a\.md is not UTF-8 in line 3, so it is not changed"):
        edit(path, lambda document: add("two", document))
    assert path.read_bytes() == data


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"## Open items\n" + b"x" * markdown.LARGEST)
    with pytest.raises(JournalRefused, match="larger than 1,000 kB"):
        markdown.read(path)
