"""An export is whole, or it fails; nothing in a session changes how the rest of it reads."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.errors import SessionUnusable
from tau.events import NoticeRecord, to_line
from tau.sessions.export import FORMS, export_session
from tau.sessions.export_parts import PAGE
from tau.sessions.file import open_store
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import AgentState
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
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


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
