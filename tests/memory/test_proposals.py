"""What a refinement may propose: read strictly, checked before anything is written, junk refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.memory.documents import Document
from tau.memory.proposals import Checked, ProposalInvalid, check, parse

INSTRUCTIONS = """\
You read a conversation and keep the memory files of this project in order.
- Write down only what will still hold in later conversations, in plain sentences.
Answer with JSON alone."""


def document(title: str, data: str | bytes) -> Document:
    scope, name = title.split("/")
    raw = data if isinstance(data, bytes) else data.encode()
    assert scope in ("global", "project")
    return Document("global" if scope == "global" else "project", name, Path("/m") / name, raw, 1)


def operation(**fields: Any) -> dict[str, Any]:
    return {"file": "project/x", "action": "write", "sentence": "added the port", **fields}


def checked(*operations: dict[str, Any], there: dict[str, str | bytes] | None = None, **more: Any) -> Checked:
    documents = [document(title, data) for title, data in (there or {}).items()]
    return check(parse(json.dumps({"operations": operations})), documents, instructions=INSTRUCTIONS, **more)


def test_the_form_that_the_docs_show_is_taken() -> None:
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text("utf-8")
    shown = page[page.index("```json\n") : page.index("`edit` puts `new`")]
    assert [(each.title, each.action) for each in parse(shown)] == [
        ("project/deploy.md", "edit"),
        ("global/style.md", "write"),
        ("project/old-ci.md", "delete"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        '{"operations": []}', "[]", '```json\n{"operations": []}\n```', "  ```\n[]\n```\n\n", "~~~\n[]\n~~~",
    ],
)  # fmt: skip
def test_nothing_to_change(answer: str) -> None:
    assert parse(answer) == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "not JSON"),
        ("There is nothing to change.", "not JSON"),
        ('Here is the JSON:\n```json\n{"operations": []}\n```', "not JSON"),
        ('{"operations": []} I hope this helps', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"operations": [], "operations": []}', "a key is given twice"),
        (INSTRUCTIONS, "not JSON"),
        ("null", "not a list"),
        ('"[]"', "not a list"),
        ('{"operations": {}}', "not a list"),
        ('{"operations": [], "note": "x"}', "key operations alone"),
        ("[1]", "operation 1 is not an object"),
        ('[{"file": "project/x", "action": "append", "sentence": "s"}]', "no action of write, edit, delete"),
        ('[{"file": "project/x", "action": ["write"], "sentence": "s"}]', "no action of"),
        ('[{"file": "project/x", "action": "write", "sentence": "s"}]', "does not hold content"),
        (json.dumps([operation(content="x", why="x")]), "holds why, which means nothing there"),
        (json.dumps([operation(content="x", why="")]), "holds why, which means nothing there"),
        (json.dumps([operation(content="x", old="y")]), "a write holds old, so that it is not clear"),
        (json.dumps([operation(content="x", new="y")]), "a write holds new, so that it is not clear"),
        (json.dumps([operation(new="x")]), "a write holds new"),
        (json.dumps([operation(action="delete", content="x")]), "a delete holds content"),
        (json.dumps([operation(action="edit", old="x", new="y", content="z")]), "an edit holds content"),
        (json.dumps([operation(action="edit", old="x")]), "does not hold new"),
        (json.dumps([operation(action="edit", content="x", new="y")]), "an edit holds content"),
        (json.dumps([operation(action="edit", new="")]), "does not hold old"),
        ('[{"file": "project/x", "action": "delete"}]', "does not hold sentence"),
        (json.dumps([{**operation(), "content": 1}]), "something else than strings"),
        (json.dumps([operation(content="x", sentence=" \n")]), "no sentence"),
        (json.dumps([operation(content="x", sentence="...")]), "no sentence"),
        (json.dumps([operation(content="x", sentence="TODO")]), "no sentence"),
        (json.dumps([operation(content="x", file="x")]), "names no file as global/NAME or project/NAME"),
        (json.dumps([operation(content="x", file="/etc/passwd")]), "names no file"),
        (json.dumps([operation(content="x", file="project/../x")]), "cannot be the label of a memory"),
        (json.dumps([operation(content="x", file="global/.seeded")]), "cannot be the label of a memory"),
    ],
)
def test_what_is_no_proposal(answer: str, reason: str) -> None:
    with pytest.raises(ProposalInvalid, match=reason):
        parse(answer)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"content": "The port is 9000", "old": "", "new": None}, b"The port is 9000\n"),
        ({"content": "The port is 9000", "new": "The port is 9000"}, b"The port is 9000\n"),
        ({"action": "edit", "content": "The port is 9000"}, b"The port is 9000\n"),
        ({"action": "edit", "old": "", "new": "The port is 9000", "content": ""}, b"The port is 9000\n"),
        ({"action": "edit", "file": "project/y", "old": "8", "new": "9", "content": ""}, b"9000\n"),
        ({"action": "delete", "file": "project/y", "old": "", "new": "", "content": None}, None),
    ],
)
def test_what_an_operation_has_too_much_and_changes_no_meaning(
    fields: dict[str, Any], wanted: bytes | None
) -> None:
    there: dict[str, str | bytes] = {"project/y.md": "8000\n"}
    assert [*checked(operation(**fields), there=there).wanted.values()] == [wanted]


def test_a_whole_text_for_a_file_that_is_there_is_no_edit() -> None:
    there: dict[str, str | bytes] = {"project/x.md": "8000\n"}
    with pytest.raises(ProposalInvalid, match="the text to replace is empty"):
        checked(operation(action="edit", content="9000"), there=there)
    with pytest.raises(ProposalInvalid, match="talk about the answer"):
        checked(operation(action="edit", content="Here is the updated file:\n\n9000"))


def test_without_a_sentence_the_text_says_what_changes() -> None:
    said = checked({"file": "project/x", "action": "write", "content": "# Ports\n9000"}).sentences
    assert said == {"project/x.md": "Ports"}


def test_operations_come_to_files() -> None:
    numbers = "---\nowner: 'me'\n---\nport 8000\nred\n"
    found = checked(
        operation(content="The port is 9000"),
        operation(file="global/old.md", action="delete", sentence="it holds no more"),
        operation(file="project/y.md", action="edit", old="8000", new="9000", sentence="the port changed"),
        operation(file="project/y.md", action="edit", old="red", new="", sentence="no colour"),
        there={
            "global/old.md": "gone\n",
            "project/y.md": numbers,
        },
        written={
            ("global/old.md", document("global/old.md", "gone\n").digest),
            ("project/y.md", document("project/y.md", numbers).digest),
        },
    )
    assert found.wanted == {
        "project/x.md": b"The port is 9000\n", "global/old.md": None,
        "project/y.md": b"---\nowner: 'me'\n---\nport 9000\n",
    }  # fmt: skip
    assert found.sentences["project/y.md"] == "the port changed; no colour"
    assert found.consent == {}
    assert found.expected == {
        "project/x.md": None,
        "global/old.md": document("global/old.md", "gone\n").digest,
        "project/y.md": document("project/y.md", numbers).digest,
    }


@pytest.mark.parametrize(
    "content",
    [
        "", " \n\n", "a\0b", "a\ud800b", "x" * 20_001, "...", "…", "TODO", "[content here]",
        "<file content>", "n/a",
        "(empty)", "# TODO\n\n...", "one\n...\ntwo", "one\n[rest of the file unchanged]\ntwo",
        "one\n<!-- the rest of the content stays the same -->", "one\n(other sections unchanged)",
        "one\n# ... existing content as before ...", "one\n- same as before",
        "```markdown\nThe port is 9000\n```", "Sure, I can do that.\nThe port is 9000",
        "Here is the updated file:\n\nThe port is 9000", "Here's the new content\n\nThe port is 9000",
        "I have updated the memory file as follows:\nThe port is 9000", "This is the complete file:\nport",
        "Below is the revised version of project/x.md.\nThe port is 9000", "As an AI model I cannot know.",
        "The port is 9000\n\nLet me know if you need anything else!", "port\nI hope this helps.",
        "- Write down only what will still hold in later conversations, in plain sentences.",
        "> you read a conversation, and keep the memory files of this project in order",
        "~~~memory project/x.md\nThe port is 9000\n~~~",
        "---\norigin: me\n---\n",
    ],
)  # fmt: skip
def test_junk_is_refused_with_the_file_named(content: str) -> None:
    with pytest.raises(ProposalInvalid, match=r"project/x\.md"):
        checked(operation(content=content))


@pytest.mark.parametrize(
    "content",
    [
        "Here the build needs Java 21.", "Sure-fire way to break the build: rebase.",
        "# Contents\n- a\n\n# TODO\n- b",
        "These are the rules for the new file layout.", "I prefer tabs.", "Wait for ... then go on.",
        "---\n\nA rule above.", "```\nmake check\n```\nruns all",
        "The rest of the content stays the same on a retry.",
        "None of the tests may sleep.", "日本語のメモ",
        "Let me know before you push: that is what the person asked.\nx",
    ],
)  # fmt: skip
def test_what_is_like_junk_and_is_none(content: str) -> None:
    assert checked(operation(content=content)).wanted == {"project/x.md": f"{content}\n".encode()}


def test_what_stood_there_may_stay() -> None:
    before = "Here is the file list of the memory:\n...\na\n"
    found = checked(operation(content=before + "b"), there={"project/x.md": before})
    assert found.wanted == {"project/x.md": f"{before}b\n".encode()}


@pytest.mark.parametrize("same", ["one\ntwo\n", "one\ntwo", "\none\r\ntwo\n\n"])
def test_a_file_that_would_be_as_it_is_is_left_out(same: str) -> None:
    there: dict[str, str | bytes] = {
        "project/x.md": "---\nbuiltin: true\n---\none\ntwo\n",
        "project/y.md": "y\n",
    }
    found = checked(
        operation(content=same),
        operation(file="project/y", action="edit", old="y", new="y", sentence="said the same"),
        operation(file="project/z", content="new"),
        there=there,
    )
    assert found.wanted == {"project/z.md": b"new\n"}
    assert [*found.sentences] == [*found.expected] == ["project/z.md"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"old": "nine", "new": "x"}, "is not there"),
        ({"old": "one", "new": "x"}, "is there 3 times"),
        ({"old": "aa", "new": "x"}, "is there 2 times"),
        ({"old": "", "new": "x"}, "is empty"),
        ({"old": "  \n", "new": "x"}, "is not there"),
        ({"old": "one  one", "new": "x"}, "is there 2 times"),
        ({"file": "global/x", "old": "one", "new": "x"}, "is not there to edit"),
        ({"old": "builtin: true", "new": "x"}, "is not there"),
        ({"old": "two", "new": "x" * 20_001}, "at most 20,000"),
        ({"old": "two", "new": "[rest of the file unchanged]"}, "leaves something out"),
        ({"file": "project/none", "old": "two", "new": "x"}, "is not there to edit"),
        ({"file": "project/short", "old": "two", "new": " "}, "would be empty"),
    ],
)
def test_an_edit_must_hit_one_place(fields: dict[str, str], reason: str) -> None:
    there: dict[str, str | bytes] = {
        "project/x.md": "---\nbuiltin: true\n---\none\none\none\ntwo\naaa\n",
        "project/short.md": "two\n",
    }
    with pytest.raises(ProposalInvalid, match=reason):
        checked(operation(**{"action": "edit", **fields}), there=there)


def test_an_edit_finds_its_place_over_other_ends_of_lines() -> None:
    there: dict[str, str | bytes] = {
        "project/x.md": "Look at the queue\n  first, then at\nthe port 8000.\nEnd\n"
    }
    old = "Look at the queue first, then at the port 8000."
    added = checked(operation(action="edit", old=old, new=f"{old}\nOnly Priya pushes."), there=there)
    assert added.wanted == {
        "project/x.md": b"Look at the queue\n  first, then at\nthe port 8000.\nOnly Priya pushes.\nEnd\n"
    }
    other = checked(operation(action="edit", old=old, new="Look at the port 9000."), there=there)
    assert other.wanted == {"project/x.md": b"Look at the port 9000.\nEnd\n"}


def test_an_edit_that_only_fits_the_other_scope_is_one_there() -> None:
    there: dict[str, str | bytes] = {"global/x.md": "one\ntwo\n"}
    found = checked(operation(action="edit", old="two", new="2"), there=there)
    assert found.wanted == {"global/x.md": b"one\n2\n"}
    both = there | {"project/x.md": "three\n"}
    with pytest.raises(ProposalInvalid, match=r"project/x\.md: the text to replace is not there"):
        checked(operation(action="edit", old="two", new="2"), there=both)


def test_the_ends_of_lines_stay_as_they_are() -> None:
    there: dict[str, str | bytes] = {"project/x.md": "one\r\ntwo\r\nthree\r\n"}
    found = checked(operation(action="edit", old="one\ntwo", new="1\n2"), there=there)
    assert found.wanted == {"project/x.md": b"1\r\n2\r\nthree\r\n"}


def test_where_lines_end_in_two_ways_each_keeps_its_own_and_a_mark_before_the_first_stays() -> None:
    there: dict[str, str | bytes] = {"project/x.md": b"\xef\xbb\xbfone\r\ntwo\nthree\r\ntwo\r\n"}
    found = checked(operation(action="edit", old="three", new="3\nfour"), there=there)
    assert found.wanted == {"project/x.md": b"\xef\xbb\xbfone\r\ntwo\n3\r\nfour\r\ntwo\r\n"}


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "edit", "old": "Deutsch", "new": "Englisch"},
        {"content": "Gr\ufffd\ufffde auf Deutsch.\nUse tabs."},
        {"action": "delete"},
    ],
)
def test_a_file_that_is_not_utf_8_is_left_as_it_is(fields: dict[str, str]) -> None:
    there: dict[str, str | bytes] = {"project/x.md": "Grüße auf Deutsch.\n".encode("latin-1")}
    with pytest.raises(ProposalInvalid, match=r"project/x\.md is not UTF-8 text.*`tau memory edit"):
        checked(operation(**fields), there=there)


FRONT = """\
---
# agreed with Kim
title: "yes: really"
tags:
  - prod

  # since May
  - never-on-friday
origin: a page
builtin: true
owner: Kim
---

"""


def test_front_matter_stays_as_it_stands_but_for_what_is_taus() -> None:
    there: dict[str, str | bytes] = {"project/x.md": FRONT + "Use tabs.\nLine two.\n"}
    edit = operation(action="edit", old="Use tabs.", new="Use spaces.")
    front = FRONT.replace("builtin: true\n", "")
    assert checked(edit, there=there).wanted == {"project/x.md": f"{front}Use spaces.\nLine two.\n".encode()}
    front = front.replace("origin: a page", "origin: a page, fetch_url")
    assert checked(edit, there=there, origin="fetch_url").wanted == {
        "project/x.md": f"{front}Use spaces.\nLine two.\n".encode()
    }
    brought = "---\n# new\n# agreed with Kim\nowner: Priya\ntitle: 'yes: really'\ntags:\nlane: red\n---\n"
    front = front.replace("owner: Kim\n", "owner: Priya\n# new\nlane: red\n").replace(", fetch_url", "")
    assert checked(operation(content=f"{brought}Use tabs.\nAnd"), there=there).wanted == {
        "project/x.md": f"{front}Use tabs.\nAnd\n".encode()
    }


@given(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from(["# note", "a: 'b'", "a: c", "tags:", "  - x", "- y", "", "origin: a page"])),
    st.lists(st.sampled_from(["", "# Head", "- one", "two  ", "---", "b: c"])),
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1),
)
def test_an_edit_changes_nothing_but_its_place(
    mark: bytes, front: list[str], body: list[str], ends: list[str]
) -> None:
    lines = [*(["---", "k: v", *front, "---"] if front else []), "First", *body, "port 8000"]
    text = "".join(line + ends[number % len(ends)] for number, line in enumerate(lines))
    edit = operation(action="edit", old="8000", new="9000")
    (wanted,) = checked(edit, there={"project/x.md": mark + text.encode()}).wanted.values()
    before, after = (data.splitlines(keepends=True) for data in (mark + text.encode(), wanted or b""))
    assert after[:-1] == before[:-1]
    assert after[-1].rstrip() == b"port 9000"


def test_a_line_that_says_something_else_by_its_marks_alone_is_lost() -> None:
    before = "Test with a != b.\nWrite it in C++.\nLink with rm -f x.\n- Ask\n"
    there: dict[str, str | bytes] = {"project/x.md": before, "project/y.md": "Gone\n"}
    part = operation(file="project/y", action="delete")
    for old, new in (("!=", "=="), ("C++", "C"), ("rm -f", "rm f")):
        found = checked(operation(content=before.replace(old, new)), part, there=there)
        assert found.consent["project/x.md"].startswith("it would lose 1 of its 4 lines"), old
    set_off = checked(operation(content=f"# Rules\n{before.replace('- Ask', '1. Ask')}"), part, there=there)
    assert [*set_off.consent] == ["project/y.md"]


def test_too_much_at_once_is_refused() -> None:
    many = [operation(file=f"project/x{number}", content="a text") for number in range(11)]
    with pytest.raises(ProposalInvalid, match="changes 11 files, more than 10"):
        checked(*many)
    assert len(checked(*many[:10]).wanted) == 10
    with pytest.raises(ProposalInvalid, match="changed twice"):
        checked(operation(content="a"), operation(file="project/x.md", content="b"))
    with pytest.raises(ProposalInvalid, match="not there to delete"):
        checked(operation(action="delete"))


LONG = "".join(f"- rule number {number}\n" for number in range(10))
SHORT = """\
Never push to main.
Ask before deleting.
Use uv.
The deployment goes by make ship on the machine called vault-3 and needs the key of Kim, in on weekdays.
"""


@pytest.mark.parametrize(
    ("before", "fields", "reason"),
    [
        (LONG, {"content": "".join(LONG.splitlines(keepends=True)[:4])}, "it would lose 6 of its 10 lines"),
        (LONG, {"content": "".join(LONG.splitlines(keepends=True)[:5])}, ""),
        (LONG, {"content": LONG.replace("- rule", "* **Rule**")}, ""),
        (
            LONG,
            {"content": "".join(f"a fact {number}\n" for number in range(10))},
            "it would lose 10 of its 10 lines",
        ),
        (LONG, {"action": "edit", "old": LONG[20:], "new": ""}, "it would lose"),
        ("a\n" * 6, {"content": "b"}, "it would lose 6 of its 6 lines"),
        (SHORT, {"content": SHORT.splitlines()[3]}, "it would lose 3 of its 4 lines"),
        (SHORT, {"content": SHORT.replace("main", "trunk").replace("uv", "poetry")}, ""),
        (SHORT, {"content": SHORT.replace("\n", " ")}, ""),
        ("one\nport 8000\n", {"content": "one\nport 9000"}, ""),
        (
            "Never push. " * 1_000,
            {"content": "Releases need care."},
            "it would lose 9,000 of its 9,000 charac",
        ),
        ("Never push. " * 1_000, {"content": "Never push. " * 501}, ""),
        ("Never push. " * 9 + "\n", {"content": "Never push. " * 4}, "it would lose 45 of its 81 characters"),
        ("日本語のメモ", {"content": "日本語のリスト"}, ""),
        ("日本語のメモ", {"content": "リスト"}, "it would lose 6 of its 6 characters"),
        (
            "---\nbuiltin: true\n---\n" + LONG,
            {"content": "- rule number 1"},
            "it would lose 9 of its 10 lines",
        ),
        (
            f"---\nrules:\n{LONG}---\none\ntwo\n",
            {"content": "red"},
            "it would lose 2 of its 2 lines",
        ),
        (
            "---\ntags:\n  - prod\n  - staging\n  - canary\n---\nport 8000\n",
            {"content": "---\ntags:\n  - none\n---\nport 9000"},
            "it would lose 3 of its 5 lines",
        ),
        (LONG, {"action": "delete"}, "you wrote it"),
        ("---\nbuiltin: true\n---\na\n", {"action": "delete"}, "it came with tau"),
    ],
)
def test_what_loses_much_waits_for_consent(before: str, fields: dict[str, str], reason: str) -> None:
    found = checked(operation(**fields), there={"project/x.md": before})
    assert [*found.wanted] == ["project/x.md"]
    if reason:
        assert reason in found.consent["project/x.md"]
    else:
        assert found.consent == {}


def test_a_long_file_of_taus_own_is_not_deleted_unasked() -> None:
    written = {("project/x.md", document("project/x.md", LONG).digest)}
    found = checked(operation(action="delete"), there={"project/x.md": LONG}, written=written)
    assert found.consent == {"project/x.md": "it would lose 10 of its 10 lines"}


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("a\n" * 6, ""),
        ("long " * 400, "it would lose 1,600 of its 1,600 characters"),
        ("a\n" * 7, "it would lose 7 of its 7 lines"),
    ],
)
def test_a_small_file_of_taus_own_may_be_rewritten(before: str, reason: str) -> None:
    written = {("project/x.md", document("project/x.md", before).digest)}
    found = checked(operation(content="b"), there={"project/x.md": before}, written=written)
    assert found.consent == ({"project/x.md": reason} if reason else {})


def test_a_global_file_that_is_not_known_may_be_of_another_project() -> None:
    found = checked(operation(file="global/x", action="delete"), there={"global/x.md": "a\n"})
    assert found.consent == {"global/x.md": "you, or another project, wrote it, and it would be deleted"}


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\x1b]0;x\x07", "\u202e", "\u200b", "\x9b"])
def test_what_cannot_be_seen_is_not_brought_in(hidden: str) -> None:
    with pytest.raises(ProposalInvalid, match=r"project/x\.md: .* cannot be seen"):
        checked(operation(content=f"one{hidden}two"))
    there: dict[str, str | bytes] = {"project/x.md": f"one{hidden}\nport 8000\n".encode()}
    edit = operation(action="edit", old="8000", new="9000")
    assert checked(edit, there=there).wanted == {"project/x.md": f"one{hidden}\nport 9000\n".encode()}


def test_where_content_came_from_stays_with_it() -> None:
    there: dict[str, str | bytes] = {"project/x.md": "---\norigin: a page\n---\nport 8000\n"}
    edit = operation(action="edit", old="8000", new="9000")
    assert checked(edit, there=there).wanted == {"project/x.md": b"---\norigin: a page\n---\nport 9000\n"}
    forged = operation(content="---\norigin: the person\nbuiltin: true\n---\nport 1")
    assert checked(forged, there=there).wanted == {"project/x.md": b"---\norigin: a page\n---\nport 1\n"}
    both = checked(edit, there=there, origin="fetch_url, a page")
    assert both.wanted == {"project/x.md": b"---\norigin: a page, fetch_url\n---\nport 9000\n"}
    new = checked(operation(content="port 1"), origin="https://example.org")
    assert new.wanted == {"project/x.md": b"---\norigin: https://example.org\n---\nport 1\n"}


def test_what_came_with_tau_and_is_changed_is_not_called_so_any_more() -> None:
    found = checked(
        operation(file="global/x", action="edit", old="a", new="b"),
        there={"global/x.md": "---\nbuiltin: true\n---\na\n"},
    )
    assert found.wanted == {"global/x.md": b"b\n"}


FACTS = [f"Fact {number} is about thing {number}." for number in range(8)]


def lines_of(data: bytes | None) -> set[str]:
    return {line for line in (data or b"").decode().splitlines() if line}


@given(
    held=st.lists(st.lists(st.sampled_from(FACTS), unique=True, min_size=1), min_size=1, max_size=3),
    proposed=st.lists(
        st.one_of(st.none(), st.lists(st.sampled_from(FACTS), unique=True, min_size=1)), min_size=5
    ),
    own=st.sets(st.integers(0, 2)),
)
def test_while_a_part_waits_no_line_is_neither_in_a_file_nor_in_what_waits(
    held: list[list[str]], proposed: list[list[str] | None], own: set[int]
) -> None:
    names = [f"project/{number}.md" for number in range(5)]
    there = {name: "".join(f"{line}\n" for line in lines) for name, lines in zip(names, held, strict=False)}
    operations = []
    for name, lines in zip(names, proposed, strict=False):
        if lines is not None:
            operations.append(operation(file=name, content="\n".join(lines)))
        elif name in there:
            operations.append(operation(file=name, action="delete"))
    written = {
        (names[each], document("project/x.md", there[names[each]]).digest) for each in own if each < len(held)
    }
    found = checked(*operations, there=dict(there), written=written)
    at_once = {title: data for title, data in found.wanted.items() if title not in found.consent}
    files = {title: data.encode() for title, data in there.items()} | at_once
    before = set().union(*(lines_of(data.encode()) for data in there.values()))
    if found.consent:
        assert before <= set().union(*map(lines_of, files.values())), "only what adds was written"
    accepted = files | {title: found.wanted[title] for title in found.consent}
    meant = {title: data.encode() for title, data in there.items()} | found.wanted
    assert accepted == meant
