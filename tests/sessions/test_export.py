"""An export is whole, or it fails; nothing in a session changes how the rest of it reads."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.errors import SessionUnusable, UsageError
from tau.events import NoticeRecord, to_line
from tau.sessions.export import FORMS, ExportReport, export_chain, export_session
from tau.sessions.export_file import write_export
from tau.sessions.export_parts import PAGE, TextOut, visible
from tau.sessions.file import open_store
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import SUMMARY_OPENING, AgentState, Message, with_origin
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.planted import plant

CALL = {"toolUse": {"toolUseId": "t1", "name": "shell", "input": {"command": "ls ```\n```"}}}
RESULT = {
    "toolResult": {
        "toolUseId": "t1",
        "status": "success",
        "content": [{"text": "a.txt\n`````\n"}, {"json": {"n": 1}}],
    }
}


@pytest.fixture
def store(tmp_path: Path, data: Path) -> Iterator[SessionStore]:
    store = open_store(StoreContext(data_dir=data, state_dir=tmp_path / "state"))
    yield store
    store.close()


def markdown(store: SessionStore, session_id: str) -> str:
    out = io.StringIO()
    with store.read(session_id) as reader:
        report = export_session("markdown", reader, out)
    assert report.characters == len(out.getvalue())
    return out.getvalue()


def as_json(store: SessionStore, session_id: str) -> dict[str, Any]:
    out = io.StringIO()
    with store.read(session_id) as reader:
        export_session("json", reader, out)
    loaded = json.loads(out.getvalue())
    assert isinstance(loaded, dict)
    return loaded


def outside_fences(text: str) -> list[str]:
    """The lines a reader of markdown sees outside fences."""
    lines, fence = [], ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if not fence and found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        elif fence and found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        elif not fence:
            lines.append(line)
    assert fence == ""
    return lines


def test_json_holds_all_there_is(store: SessionStore) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "é \x1b 東"}]},
        {"role": "assistant", "content": [{"text": "ok"}, CALL]},
        {"role": "user", "content": [RESULT]},
    ]
    with store.create("s", meta={"directory": "/w", "title": "t", "turns": 3}) as writer:
        stored = [writer.append(index, message) for index, message in enumerate(messages)]
        writer.write_agent_state(AgentState(state={"a": 1}))
        writer.append_event(to_line(NoticeRecord("noted")))
    found = as_json(store, "s")
    assert found["format"] == 1
    assert found["complete"] is True
    (found,) = found["sessions"]
    assert found["session"]["meta"] == {"directory": "/w", "title": "t", "turns": 3}
    assert found["session"]["message_count"] == 3
    kept = found["messages"]
    assert isinstance(kept, list)
    assert [message["message"] for message in kept] == messages
    assert [message["created_at"] for message in kept] == [message.created_at for message in stored]
    assert found["agent_state"]["state"] == {"a": 1}
    assert found["events"][0]["text"] == "noted"
    assert found["damage"] == []


def test_markdown_holds_every_message_call_result_and_time(store: SessionStore) -> None:
    with store.create("s", meta={"directory": "/w", "title": "Why *does* it fail?"}) as writer:
        first = writer.append(0, {"role": "user", "content": [{"text": "Please list"}]})
        writer.append(1, {"role": "assistant", "content": [{"text": "Sure:"}, CALL]})
        writer.append(2, {"role": "user", "content": [RESULT]})
        writer.append(
            3, {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hmm"}}}]}
        )
        writer.append(
            4,
            {
                "role": "assistant",
                "content": [
                    {
                        "image": {
                            "format": "png",
                            "source": {"bytes": {"__bytes_encoded__": True, "data": "aGVsbG8="}},
                        }
                    }
                ],
            },
        )
        writer.append_event(to_line(NoticeRecord("noted")))
    text = markdown(store, "s")
    assert text.startswith("# Why \\*does\\* it fail?\n")
    assert f"## 0 · user · {first.created_at}" in text
    for part in (
        "Please list",
        "Sure:",
        "Tool call `shell` (`t1`)",
        "Tool result (`t1`, success)",
        "a.txt",
        '"n": 1',
        "hmm",
        "(5 bytes)",
        "noted",
    ):
        assert part in text, part
    assert "5 of 5 messages." in text


def test_no_content_ends_a_fence_or_begins_a_message(store: SessionStore) -> None:
    hostile = "````\n## 9 · user · now\n```js\n~~~\n<!-- \n<script>\nx"
    with store.create("s", meta={}) as writer:
        writer.append(
            0,
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "```", "status": "`", "content": [{"text": hostile}]}}
                ],
            },
        )
        writer.append(
            1, {"role": "assistant", "content": [{"text": "~~~\nleft open\n```\n<!-- not a comment"}]}
        )
        writer.append(2, {"role": "assistant", "content": [{"text": "```py\nleft open\n<b>"}]})
        writer.append(
            3, {"role": "assistant", "content": [{"text": "<!-- swallowed?\n<details>\n<https://x.org>"}]}
        )
        writer.append(4, {"role": "user", "content": [{"text": "the end"}]})
    text = markdown(store, "s")
    headings = [line for line in outside_fences(text) if line.startswith("## ")]
    assert [heading[:4] for heading in headings] == ["## 0", "## 1", "## 2", "## 3", "## 4"]
    assert (
        "left open\n```\n<!-- not a comment\n~~~\n\n## 2" in text
    )  # closed with the marks it was opened with
    assert "\\<!-- swallowed?\n\\<details>\n<https://x.org>" in text


def test_control_characters_are_made_visible(store: SessionStore) -> None:
    with store.create("s", meta={"title": "a\x1b]0;evil\x07b"}) as writer:
        writer.append(
            0, {"role": "us\ner", "content": [{"text": "red \x1b[31m\u202e \x00 tab\tnew\r\nline \r"}]}
        )
    text = markdown(store, "s")
    assert "red <U+001B>[31m<U+202E> <U+0000> tab\tnew\nline <U+000D>" in text
    assert all(character.isprintable() or character in "\n\t" for character in text)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(
        st.text(alphabet=st.sampled_from("`~#<!->a \n\t\x1b\x9b\u2028*_[]"), max_size=30), max_size=4
    )
)
def test_whatever_tools_return_every_message_is_seen(texts: list[str]) -> None:
    store = open_memory(StoreContext(data_dir=Path(), state_dir=Path()))
    with store.create("s", meta={}) as writer:
        for index, text in enumerate(texts):
            result = {"toolUseId": text, "status": text, "content": [{"text": text}]}
            content = [{"toolResult": result}, {"text": re.sub("(?m)^ *#", "", text)}]
            writer.append(index, {"role": text, "content": content})
    text = markdown(store, "s")
    assert sum(line.startswith("## ") for line in outside_fences(text)) == len(texts)
    assert all(character.isprintable() or character in "\n\t" for character in text)
    store.close()


def test_damage_is_named_in_its_place(data: Path, store: SessionStore) -> None:
    folder = plant(data, "s", texts=("one", "two", "three"))
    (folder / "agents" / "tau" / "messages" / "000001.json").write_bytes(b"")
    text = markdown(store, "s")
    assert "## 1 · lost" in text
    assert "`agents/tau/messages/000001.json`: empty file" in text
    assert "2 of 3 messages." in text
    (found,) = as_json(store, "s")["sessions"]
    assert [message["index"] for message in found["messages"]] == [0, 2]
    assert found["damage"][0]["part"] == "agents/tau/messages/000001.json"


def test_a_long_session_is_whole(data: Path, store: SessionStore) -> None:
    count = 2 * PAGE + 1
    plant(data, "s", texts=[f"message <{index}>" for index in range(count)])
    text = markdown(store, "s")
    assert all(f"message <{index}>" in text for index in range(count))
    assert len(as_json(store, "s")["sessions"][0]["messages"]) == count


def test_an_empty_session_is_exported_and_said_to_be_empty(data: Path, store: SessionStore) -> None:
    plant(data, "s", texts=())
    assert "0 of 0 messages." in markdown(store, "s")
    assert as_json(store, "s")["sessions"][0]["messages"] == []


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_takes_only_part_is_no_success(data: Path, store: SessionStore, form: str) -> None:
    class Short(io.StringIO):
        def write(self, text: str, /) -> int:
            return super().write(text[:100])

    plant(data, "s", texts=("x" * 5000,))
    with store.read("s") as reader, pytest.raises(SessionUnusable, match="cut short"):
        export_session(form, reader, Short())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_is_no_success(data: Path, store: SessionStore, form: str) -> None:
    plant(data, "s", texts=("x" * 500_000,))
    with store.read("s") as reader, pytest.raises(OSError, match="No space"), open("/dev/full", "w") as out:
        export_session(form, reader, out)


@pytest.mark.parametrize("form", FORMS)
def test_messages_that_vanish_meanwhile_are_no_success(data: Path, store: SessionStore, form: str) -> None:
    folder = plant(data, "s", texts=[f"m{index}" for index in range(PAGE * 2)])

    class Vanishing(io.StringIO):
        def write(self, text: str, /) -> int:
            for path in (folder / "agents" / "tau" / "messages").glob("0003*.json"):
                os.unlink(path)
            return super().write(text)

    with (
        store.read("s") as reader,
        pytest.raises(SessionUnusable, match="of 400 messages, 100 could not be read"),
    ):
        export_session(form, reader, Vanishing())


# HTML -------------------------------------------------------------------------------------------

ELEMENTS = re.compile(
    "html|head|meta|title|style|body|main|nav|ol|li|a|section|h1|h2|dl|dt|dd|details|summary|b|span|small|"
    "article|div|pre|code|p|img"
)
ATTRIBUTES = re.compile("lang|charset|http-equiv|name|content|id|class|href|alt|src")


class Page(HTMLParser):
    """What a reader of HTML makes of a page: its text, and what it must not hold."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.images: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert ELEMENTS.fullmatch(tag), tag
        for key, value in attrs:
            assert ATTRIBUTES.fullmatch(key), key
            if key == "href":
                assert re.fullmatch(r"#s[0-9]+", value or ""), value
            if key == "src":
                assert re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*", value or "")
                self.images.append(value or "")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def html(store: SessionStore, session_id: str) -> str:
    out = io.StringIO()
    with store.read(session_id) as reader:
        export_session("html", reader, out)
    return out.getvalue()


def every_kind(text: str) -> list[dict[str, Any]]:
    """One message of every shape, each with the text in every place that holds text."""
    result = {"toolUseId": text, "status": text, "content": [{"text": text}, {"json": {text: text}}]}
    return [
        {"role": text, "content": [{"text": text}]},
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": text}}}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": text, "name": text, "input": {text: text}}}],
        },
        {"role": "user", "content": [{"toolResult": result}]},
        {
            "role": "user",
            "content": [{"image": {"format": text, "source": {"bytes": text}}}, {text: text}, text],
        },
        {"role": "user", "content": text},
    ]


TRICKS = [
    "</style><script>alert(1)</script>",
    "<!--",
    "]]>",
    "</title>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&#62;",
    "```\n</code></pre>\n```\n</div>",
    "~~~diff\n+<b>\n-</b>\n@@ <i>",
    "@@ -1 +1 @@\n-<x>\n+<y>\n+++ <z>",
]
SYNTAX = st.sampled_from("`~<>&'\"/!-=@+ \n\t\r\x00\x1b\u202e\ud800#xa;")
HOSTILE = st.text(max_size=60) | st.text(SYNTAX, max_size=60) | st.sampled_from(TRICKS)


@settings(max_examples=150, deadline=None)
@given(text=HOSTILE)
def test_any_text_is_text_in_html(text: str) -> None:
    store = open_memory(StoreContext(data_dir=Path(), state_dir=Path()))
    with store.create("s", meta={"title": text, "compacted_from": text}) as writer:
        for index, message in enumerate(every_kind(text)):
            writer.append(index, message)
    page = Page(html(store, "s"))
    with store.read("s") as reader:  # a store may keep another character for half a pair
        shown = visible(reader.messages()[0].message["content"][0]["text"])
    pieces = [piece for piece in shown.split("\n") if piece]
    assert all(page.text.count(piece) >= 7 for piece in pieces)
    assert page.text == visible(page.text)
    store.close()


def test_what_was_said_reads_the_same_in_html(store: SessionStore) -> None:
    said = "\n\n# A list\n- one\n\n```diff\n-a < b\n+a > b\n```\n\n~~~\nleft open\n```"
    with store.create("s", meta={}) as writer:
        writer.append(0, {"role": "user", "content": [{"text": said}]})
    text = html(store, "s")
    assert '<span class="del">-a &lt; b</span>\n<span class="add">+a &gt; b</span>' in text
    pieces = Page(text).text
    for line in said.split("\n"):
        assert line in pieces
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_a_diff_in_a_result_is_coloured(store: SessionStore) -> None:
    change = "Edited a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n same"
    result = {"toolUseId": "t", "status": "success", "content": [{"text": change}]}
    plain = {"toolUseId": "u", "status": "error", "content": [{"text": "- a list\n+ of two"}]}
    with store.create("s", meta={}) as writer:
        writer.append(0, {"role": "user", "content": [{"toolResult": result}, {"toolResult": plain}]})
    text = html(store, "s")
    for kind, line in (("hunk", "@@ -1 +1 @@"), ("del", "-old"), ("add", "+new")):
        assert f'<span class="{kind}">{line}</span>' in text
    assert text.count('<span class="add">') == 1
    assert "Tool results" in text
    assert '<details class="call failed">' in text


def test_images_of_known_types_are_part_of_the_page(store: SessionStore) -> None:
    def image(form: str) -> dict[str, Any]:
        source = {"bytes": {"__bytes_encoded__": True, "data": "aGVsbG8="}}
        return {"image": {"format": form, "source": source}}

    with store.create("s", meta={}) as writer:
        content = [image("png"), image("svg+xml"), {"document": image("pdf")["image"]}]
        writer.append(0, {"role": "user", "content": content})
    page = Page(html(store, "s"))
    assert page.images == ["data:image/png;base64,aGVsbG8="]
    assert page.text.count("(5 bytes)") == 2


# Chains -----------------------------------------------------------------------------------------


def chain(store: SessionStore, form: str, session_id: str) -> tuple[str, ExportReport]:
    out = io.StringIO()
    report = export_chain(form, store.read, session_id, out)
    assert report.characters == len(out.getvalue())
    return out.getvalue(), report


def say(store: SessionStore, session_id: str, messages: list[Message], **meta: str) -> None:
    with store.create(session_id, meta=meta) as writer:
        for index, message in enumerate(messages):
            writer.append(index, message)


def text_message(text: str, role: str = "user") -> Message:
    return {"role": role, "content": [{"text": text}]}


@pytest.fixture
def linked(store: SessionStore) -> list[Message]:
    """A session, one that continues it with two of its messages, and one that continues that one."""
    first = [text_message(f"<{n}>", ("user", "assistant")[n % 2]) for n in range(6)]
    summary = [text_message("Summary: s"), text_message("Understood.", "assistant")]
    say(store, "a", first, compacted_to="b")
    second = [*summary, *(with_origin(first[n], "a", n) for n in (4, 5)), text_message("<6>")]
    say(store, "b", second, compacted_from="a", compacted_to="c")
    copied = [with_origin(message, "b", index) for index, message in enumerate(second) if index > 1]
    say(store, "c", [*summary, *copied, text_message("<7>", "assistant")], compacted_from="b")
    return [*first, text_message("<6>"), text_message("<7>", "assistant")]


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("session_id", ["a", "b", "c"])
def test_a_chain_has_each_message_once(store: SessionStore, form: str, session_id: str) -> None:
    text, report = chain(store, form, session_id)
    assert (report.sessions, report.messages, report.copies, report.missing) == (3, 12, 5, ())
    shown = Page(text).text if form == "html" else text
    for number in range(8):
        assert shown.count(f"<{number}>") == 1, number
    assert shown.count("Summary: s") == 2


def test_json_says_where_what_is_left_out_stands(store: SessionStore, linked: list[Message]) -> None:
    text, _ = chain(store, "json", "c")
    first, second, third = json.loads(text)["sessions"]
    assert second["copies"] == [{"index": i, "origin": {"session": "a", "index": i + 2}} for i in (2, 3)]
    assert third["copies"][2] == {"index": 4, "origin": {"session": "b", "index": 4}}
    said = [m["message"] for s in (first, second, third) for m in s["messages"] if not m["summary"]]
    assert said == linked
    assert [[m["index"] for m in s["messages"]] for s in (first, second, third)] == [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 4],
        [0, 1, 5],
    ]


@pytest.mark.usefixtures("linked")
def test_people_read_how_sessions_are_linked(store: SessionStore) -> None:
    text, _ = chain(store, "markdown", "a")
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# Session a", "# Session b", "# Session c",
    ]  # fmt: skip
    assert "- continues: `a`\n- continued by: `c`\n" in text
    headings = [line.split(" · ")[:2] for line in text.splitlines() if line.startswith("## ")]
    assert ["## 0", "Summary of session a"] in headings
    assert ["## 0", "Summary of session b"] in headings
    assert text.count("reply to the summary") == 2
    assert "*Messages 2 to 3 are copies of messages 4 to 5 of session a.*" in text
    assert "*Message 4 is a copy of message 4 of session b.*" in text
    assert "3 of 5 messages; 2 left out as copies." in text
    page = chain(store, "html", "a")[0]
    assert '<dt>continues</dt><dd><a href="#s0">a</a></dd>' in page
    assert page.count("<h2>Summary of session a <") == page.count("<h2>Summary of session b <") == 1
    alone = markdown(store, "b")
    assert "- continues: `a` (not in this export)" in alone
    assert "first recorded as 4 of a" in alone
    assert "\n## 0 · Summary of session a · " in alone
    assert "<h2>Summary of session a <" in html(store, "b")
    assert "5 of 5 messages." in alone


def test_a_summary_in_a_fork_is_no_word_of_the_persons(store: SessionStore) -> None:
    summary = [
        text_message(f"{SUMMARY_OPENING}a):\n\nNotes."),
        text_message("Understood.", "assistant"),
        text_message("Yes"),
    ]
    say(store, "b", summary, compacted_from="a")
    copied = [with_origin(message, "b", index) for index, message in enumerate(summary)]
    say(store, "fork", copied, forked_from="b")
    assert "\n## 0 · Summary of session a · " in markdown(store, "fork")
    assert "<h2>Summary of session a <" in html(store, "fork")
    (session,) = as_json(store, "fork")["sessions"]
    assert [message["summary"] for message in session["messages"]] == [True, True, False]
    say(store, "plain", [text_message("Summary: s"), text_message("ok", "assistant")], forked_from="b")
    assert "Summary of session" not in markdown(store, "plain")


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_stands_for_an_original_that_is_lost(data: Path, store: SessionStore, form: str) -> None:
    folder = plant(data, "a", texts=("<0>", "<1>", "<2>"), meta={"compacted_to": "b"})
    (folder / "agents" / "tau" / "messages" / "000001.json").write_bytes(b"")
    copies = [with_origin(text_message(f"<{n}>"), "a", n) for n in (1, 2)]
    plant(
        data,
        "b",
        messages=[text_message("Summary"), text_message("ok"), *copies],
        meta={"compacted_from": "a"},
    )
    text, report = chain(store, form, "b")
    shown = Page(text).text if form == "html" else text
    assert [shown.count(f"<{n}>") for n in range(3)] == [1, 1, 1]
    assert (report.copies, len(report.damage)) == (1, 1)


def test_a_session_that_cannot_be_read_is_named(data: Path, store: SessionStore) -> None:
    plant(data, "b", texts=("x",), meta={"compacted_from": "a", "forked_from": "gone"})
    _, report = chain(store, "markdown", "b")
    assert report.missing == ("a", "gone")


# Files ------------------------------------------------------------------------------------------


def test_nothing_is_left_behind_when_an_export_fails(tmp_path: Path) -> None:
    def fails(out: TextOut) -> ExportReport:
        out.write("half")
        raise SessionUnusable("s", "broken")

    with pytest.raises(SessionUnusable):
        write_export(tmp_path / "x.md", fails)
    assert os.listdir(tmp_path) == []


def test_a_file_is_private_whatever_the_umask_and_never_replaced_unasked(tmp_path: Path) -> None:
    def short(out: TextOut) -> ExportReport:
        return ExportReport(1, 0, 0, 0, (), (), out.write("new"))

    path = tmp_path / "x.md"
    before = os.umask(0o777)
    try:
        write_export(path, short)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists; nothing was written"):
        write_export(path, short)

    def overtaken(out: TextOut) -> ExportReport:
        (tmp_path / "y.md").write_text("another's")
        return short(out)

    with pytest.raises(UsageError, match="exists; nothing was written"):
        write_export(tmp_path / "y.md", overtaken)
    assert (tmp_path / "y.md").read_text() == "another's"
    write_export(path, short, force=True)
    assert path.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["x.md", "y.md"]


def test_no_link_is_followed_on_writing(tmp_path: Path) -> None:
    link, target = tmp_path / "link.md", tmp_path / "target.md"
    target.write_text("mine")
    link.symlink_to(target)
    for force in (False, True):
        with pytest.raises(UsageError, match="is a symbolic link"):
            write_export(link, lambda out: ExportReport(1, 0, 0, 0, (), (), out.write("new")), force=force)
    assert target.read_text() == "mine"
