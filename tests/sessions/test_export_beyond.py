"""The export of a chain has the sessions behind as far as the conversation goes on from them, and says so."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.events import ApprovalRecord, NoticeRecord, SharedCommandRecord, ToolCallRecord, to_line
from tau.sessions.export import FORMS, ExportReport, export_chain, export_session
from tau.sessions.memory import open_store
from tau.sessions.records import AgentState, Message, with_origin
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.trees import Tree


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    """``s1`` is a fork of ``s0``, ``s2`` goes on from a summary of it; both were gone on with since."""
    opened = open_store(StoreContext(data_dir=tmp_path, state_dir=tmp_path))
    Tree(opened, counted=True).do(
        [("fork", 0, 2, 2), ("say", 0, 0, 3), ("compact", 1, 0, 1), ("say", 1, 0, 1)]
    )
    yield opened
    opened.close()


def exported(store: SessionStore, form: str, session_id: str) -> tuple[str, ExportReport]:
    out = io.StringIO()
    report = export_chain(form, store.read, session_id, out)
    return out.getvalue(), report


@pytest.mark.parametrize("form", list(FORMS))
def test_what_was_undone_is_not_in_it(store: SessionStore, form: str) -> None:
    text, report = exported(store, form, "s2")
    for said in ("s0x0y", "s0x1y", "s1x2y", "s1x3y", "s2x0y", "s2x1y"):
        assert text.count(f"heron {said}") == 1
    for undone in ("s0x2y", "s0x5y", "s1x4y"):
        assert undone not in text
    assert (report.sessions, report.messages, report.missing) == (3, 6, ())
    if form != "json":
        assert (
            "Messages 2 to 5 are no part of this conversation, which goes on from message 1 in another"
            in text
        )
        assert "Message 4 is no part of this conversation, which goes on from message 3 in another" in text
        assert "2 of 6 messages; 4 no part of this conversation." in text


def test_json_names_what_is_left_out(store: SessionStore) -> None:
    text, _ = exported(store, "json", "s2")
    assert [session["beyond"] for session in json.loads(text)["sessions"]] == [[2, 3, 4, 5], [4], []]


@pytest.mark.parametrize("form", list(FORMS))
def test_the_session_in_hand_and_what_continues_it_are_whole(store: SessionStore, form: str) -> None:
    text, _ = exported(store, form, "s1")
    assert "s1x4y" in text
    assert "s0x5y" not in text
    out = io.StringIO()
    with store.read("s0") as reader:
        export_session(form, reader, out)
    assert "s0x5y" in out.getvalue()


def call(text: str, name: str) -> list[Message]:
    """A turn in which a file is read; the ids of calls are the same in every turn."""
    use = {"toolUseId": "call_0", "name": "read_file", "input": {"path": f"{text}.txt"}}
    result = {"toolUseId": "call_0", "status": "success", "content": [{"text": f"{text} inside"}]}
    return [
        {"role": "user", "content": [{"text": f"read {text}"}]},
        {"role": "assistant", "content": [{"toolUse": use}], "tracking_id": name},
        {"role": "user", "content": [{"toolResult": result}]},
        {"role": "assistant", "content": [{"text": "done"}]},
    ]


def say(store: SessionStore, session_id: str, text: str, name: str) -> None:
    """Record a turn as a conversation does: with a command of the person's, and what its call came to."""
    with store.hold(session_id) as writer:
        at = writer.count()
        shared = SharedCommandRecord(f"cat {text}", f"{text} shared", "success", 0.1, at, f"{name}-shared")
        writer.append_event(to_line(shared))
        for index, message in enumerate(call(text, name), at):
            if index == at + 2:
                path = {"path": f"{text}.txt"}
                writer.append_event(
                    to_line(ApprovalRecord("read_file", path, "yes", "call_0", f"{text} asked"))
                )
                record = ToolCallRecord(
                    "read_file", 1, path, "success", f"{text} inside", "approved", 0.1, "call_0", message=name
                )
                writer.append_event(to_line(record))
                writer.append_event({"kind": "notice", "at": "yesterday", "text": f"{text} at no time"})
            if index == at + 3:
                writer.append_event(to_line(NoticeRecord(f"{text} noticed")))
            writer.append(index, message)


@pytest.fixture
def undone(tmp_path: Path) -> Iterator[SessionStore]:
    """The second turn of ``old`` was undone, and ``new`` goes on from before it."""
    opened = open_store(StoreContext(data_dir=tmp_path, state_dir=tmp_path))
    opened.create("old", meta={"title": "read heron"}).close()
    say(opened, "old", "heron", "m1")
    say(opened, "old", "hunter2", "m2")
    with opened.hold("old") as writer:
        writer.write_agent_state(AgentState(state={"seen": "hunter2"}))
    opened.create("new", meta={"forked_from": "old", "from_count": 4}).close()
    with opened.hold("new") as writer, opened.read("old") as reader:
        for stored in reader.messages(limit=4):
            writer.append(stored.index, with_origin(stored.message, "old", stored.index))
    say(opened, "new", "quail", "m3")
    yield opened
    opened.close()


@pytest.mark.parametrize("form", list(FORMS))
def test_the_events_of_what_was_undone_are_not_in_it(undone: SessionStore, form: str) -> None:
    text, report = exported(undone, form, "new")
    assert "hunter2" not in text
    for kept in ("heron shared", "heron asked", "heron inside", "heron noticed", "quail inside"):
        assert kept in text
    assert "heron at no time" not in text, "it cannot be told when it was"
    assert report.events == 4 + 5
    if form == "json":
        whole = json.loads(text)["sessions"]
        assert [session["events_beyond"] for session in whole] == [6, 0]
        assert [len(session["events"]) for session in whole] == [4, 5]
    else:
        assert "6 agent events are no part of this conversation." in text
    alone = io.StringIO()
    with undone.read("old") as reader:
        assert export_session(form, reader, alone).events == 10
    assert "hunter2 inside" in alone.getvalue()


@pytest.mark.parametrize("form", list(FORMS))
def test_nothing_is_left_of_a_session_of_which_all_was_undone(undone: SessionStore, form: str) -> None:
    undone.create("anew", meta={"forked_from": "old", "from_count": 0}).close()
    text, report = exported(undone, form, "anew")
    assert report.events == 0
    for word in ("hunter2", "heron"):
        assert word not in text, "not even in the title"
